"""Transcripts are rated turn by turn and whole: every answered turn is a reply to a slot, whatever file they come from."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.benchmarks.persons.dialogues import dialogues
from mindgauge.commands.compare import compare
from mindgauge.models.scripted import Scripted
from mindgauge.raters.window import Unit
from mindgauge.records import HELD, Exchange, Status
from mindgauge.records.errors import DataError
from mindgauge.runs import dialogue_files
from mindgauge.store import Store
from tests.commands.test_compare import invoke
from tests.records.transcripts.shapes import SHAPES, Spoken, labelled, messages

OPEN, RISK = "help_or_harm/response", "conversations/risk"
BOTH = (Unit.TURN, Unit.DIALOGUE)
TALKS: list[Spoken] = [
    [("user", "I am worn out."), ("assistant", "Since when?"), ("user", "May."), ("assistant", "Long.")],
    [("user", "Nobody calls."), ("assistant", "Whom do you miss?"), ("user", "My sister.")],
]
RELEASED = Path(os.environ.get("MINDGAUGE_DATA", Path(__file__).parents[3] / "shared" / "data"))


def judge(request: Any) -> Exchange:
    """Answer any form with its last levels."""
    return Exchange(Status.OK, json.dumps(_filled(request.schema)), seconds=0.1)


def _filled(schema: dict[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][-1]
    if schema["type"] == "object":
        return {name: _filled(part) for name, part in schema["properties"].items()}
    return {"array": [], "boolean": False, "string": "r"}[schema["type"]]


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_gives_the_same_replies_with_what_they_answer(tmp_path: Path, shape: str) -> None:
    read = dialogue_files.read(SHAPES[shape](tmp_path, TALKS), benchmarks.find_one(OPEN), {}, BOTH)
    turns = [reply for reply in read.replies if reply.provenance["unit"] == Unit.TURN]
    asked = {reply.text: (reply.provenance["turn"], [m.content for m in reply.provenance[HELD]]) for reply in turns}
    assert asked == {
        "Since when?": (1, ["I am worn out."]),
        "Long.": (2, ["I am worn out.", "Since when?", "May."]),
        "Whom do you miss?": (1, ["Nobody calls."]),
    }
    samples = {sample.id: sample for sample in read.samples}
    first, second = (next(reply for reply in turns if reply.text == text) for text in ("Since when?", "Long."))
    assert second.provenance["parent"] == first.id
    assert second.answered(samples[second.sample]).messages == second.provenance[HELD]
    wholes = [reply for reply in read.replies if reply.provenance["unit"] == Unit.DIALOGUE]
    assert [reply.provenance.get("unanswered", False) for reply in wholes].count(True) == 1
    assert {reply.provenance["outcome"] for reply in wholes} == {"complete"}
    assert len({sample.cluster for sample in read.samples}) == 2


def test_slots_of_our_own_conversations_are_put_together(tmp_path: Path) -> None:
    read = dialogue_files.read(SHAPES["a zip of texts"](tmp_path, TALKS), benchmarks.find_one(RISK), {}, BOTH)
    assert sorted(len(slots.turns) for slots in dialogues(read.samples)) == [1, 2]


def test_two_models_on_one_case_share_its_slots_and_people_are_clusters(tmp_path: Path) -> None:
    rows = [
        {"id": f"case {n}", "participant": f"p{n // 2}", "model": model, "messages": messages([("user", f"Hello, {n}."), ("assistant", f"{model}?"), ("user", f"{model}: yes."), ("assistant", f"Good, {model}.")])}
        for n in range(6)
        for model in ("calm", "brisk")
    ]  # fmt: skip
    path = tmp_path / "d.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    read = dialogue_files.read(path, benchmarks.find_one(OPEN), {}, (Unit.TURN,))
    assert (len(read.samples), len(read.replies)) == (12, 24)
    assert {sample.cluster for sample in read.samples} == {"p0", "p1", "p2"}
    found: Any = mindgauge.rate(
        OPEN, dialogues=path, judge=Scripted("judge", judge), out=tmp_path / "r", protocol="recognised"
    )
    (mean,) = (m for m in found.find("mean") if m.model == "calm" and m.criterion == "appropriateness")
    assert (mean.n, mean.clusters) == (12, 3)
    pair = compare(tmp_path / "r").find("mean")[0].differences[0]
    assert (pair.n, pair.clusters) == (6, 3), "pairs are of cases"


def test_two_dialogues_of_one_model_under_one_id_are_two(tmp_path: Path) -> None:
    rows = [{"id": "x", "messages": messages([("user", "Hello."), ("assistant", text)])} for text in ("Hm.", "Yes?")]
    path = tmp_path / "d.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    read = dialogue_files.read(path, benchmarks.find_one(OPEN), {}, (Unit.TURN,))
    assert len({reply.sample for reply in read.replies}) == 2
    assert {sample.cluster for sample in read.samples} == {"x"}


def test_the_account_is_said_before_anything_is_sent_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "talks"
    folder.mkdir()
    for n, spoken in enumerate([*TALKS, [("user", "Hm."), ("assistant", "")]]):
        text = labelled(spoken, {"user": "Klient", "assistant": "Berater"})
        (folder / f"d{n}.txt").write_text(text, encoding="utf-8")
    command = ("rate", OPEN, "--dialogues", folder, "--judge", "rule/refusal", "--map", "user=Klient,assistant=Berater")
    code, _, err = invoke(monkeypatch, capsys, *command, "--out", tmp_path / "r")
    assert code == 0
    assert "3 transcripts with 9 messages in 5 turns read from 3 files" in err
    assert "'Klient' is user (3)" in err
    assert "1 transcript ends with a message of the person; this turn is unanswered and not rated" in err
    assert "1 reply empty" in err
    assert "1 transcript ends" in (tmp_path / "r" / "manifest.toml").read_text()
    with Store(tmp_path / "r") as store:
        statuses = sorted(reply.status for reply in store.replies(OPEN))
    assert statuses == [Status.OK, Status.OK, Status.OK, Status.UNPARSABLE], "an empty reply stays in n"
    code, _, err = invoke(monkeypatch, capsys, *command[:-1], "user=Klient", "--out", tmp_path / "r2")
    assert code == 2
    assert len(err.strip().splitlines()) == 1
    assert "speakers, 'Klient' and 'Berater'" in err


def test_a_transcript_without_a_reply_is_left_out_and_said(tmp_path: Path) -> None:
    mute = {"id": "m", "messages": messages([("assistant", "Welcome."), ("user", "Is anybody there?")])}
    path = tmp_path / "d.jsonl"
    path.write_text(json.dumps({"id": "a", "messages": messages(TALKS[0])}) + "\n" + json.dumps(mute) + "\n")
    read = dialogue_files.read(path, benchmarks.find_one(OPEN), {}, BOTH)
    assert len(read.replies) == 3
    assert any("d.jsonl:2" in line and "never answers" in line for line in read.lines)
    path.write_text(json.dumps(mute) + "\n")
    with pytest.raises(DataError, match=r"d\.jsonl:1: in this dialogue the assistant never answers the person"):
        dialogue_files.read(path, benchmarks.find_one(OPEN), {}, BOTH)


@pytest.mark.skipif(not (RELEASED / "vera_mh").is_dir(), reason="the released transcripts are not here")
@pytest.mark.parametrize("name", [OPEN, RISK])
def test_the_released_transcripts_are_rated_by_turn_and_whole(tmp_path: Path, name: str) -> None:
    """21 transcripts: 284 replies, 3 of them empty; three end with the person, by whose name the file is called."""
    columns = {"file": "p_*__a_{model}__t30*/{id}_{persona}_*_run{run}"}
    said: list[str] = []
    options: dict[str, Any] = {"protocol": "recognised"} if name == OPEN else {}
    found: Any = mindgauge.rate(
        name, dialogues=RELEASED / "vera_mh" / "conversations.zip", unit="both", columns=columns,
        judge=Scripted("judge", judge), out=tmp_path / "r", notice=said.append, **options,
    )  # fmt: skip
    assert "21 transcripts with 571 messages in 287 turns read from 21 files" in said[0]
    figure, criterion = ("mean", "appropriateness") if name == OPEN else ("worst_turn", "appropriate")
    means = [m for m in found.find(figure) if m.criterion == criterion and m.slice == "all" and "whole" not in m.model]
    if name != OPEN:  # dialogues count, not turns
        assert {m.model: (m.n, m.clusters) for m in means} == {
            "claude_opus_4_1_20250805": (7, 5), "claude_sonnet_4_20250514": (7, 5), "gpt_5": (7, 4),
        }  # fmt: skip
        return
    assert {m.model: (m.n, m.clusters, m.missing) for m in means} == {
        "claude_opus_4_1_20250805": (74, 5, 0),
        "claude_sonnet_4_20250514": (105, 5, 0),
        "gpt_5": (105, 4, 3),
    }
    with Store(tmp_path / "r") as store:
        units = [reply.provenance["unit"] for reply in store.replies(name)]
    assert (units.count("turn"), units.count("dialogue")) == (284, 21)
