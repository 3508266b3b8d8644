"""The released transcripts as dialogues of a run: who talks with whom, turn by turn and whole, and what is said of them."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest

import mindgauge
from mindgauge.benchmarks.persons.dialogues import dialogues
from mindgauge.benchmarks.vera_mh.vera_mh import load, material
from mindgauge.models.scripted import Scripted
from mindgauge.records.errors import MissingDataError, UsageError
from mindgauge.store import Store
from tests.benchmarks.vera_mh import made

if TYPE_CHECKING:
    from pathlib import Path

WET = """user: grey again today

agent: Do you mean rain?

Or only clouds?

user: rain
note: it drips

agent: Then let us find a roof.
"""
LEFT = """user: is anyone there

chatbot: I am. What is it?

user: never mind
[CONVERSATION ENDED - client_1 Bo signaled termination]
"""


def talked(tmp_path: Path) -> Path:
    data = made.release(tmp_path / "data")
    made.transcripts(data, **{"00aa11_Ada_m_run1": WET, "00bb22_Bo_m_run3": LEFT})
    return data


def test_a_transcript_is_a_slot_for_each_answered_turn_and_one_for_the_whole(tmp_path: Path) -> None:
    loaded = load(talked(tmp_path))
    by_dialogue = {slots.tags["persona"]: slots for slots in dialogues(loaded.samples)}
    assert {name: len(slots.turns) for name, slots in by_dialogue.items()} == {"Ada": 2, "Bo": 1}
    assert {sample.cluster for sample in loaded.samples} == {"Ada", "Bo"}
    assert {sample.tags["client"] for sample in loaded.samples} == {"client_1"}
    replies = {(r.provenance["client"], r.provenance["unit"], r.provenance["turn"], r.text): r for r in loaded.replies}
    assert Counter(reply.model for reply in loaded.replies) == {"target_2": 3, "target_2 (whole dialogue)": 2}
    first = replies["client_1", "turn", 1, "Do you mean rain?\n\nOr only clouds?"]
    second = replies["client_1", "turn", 2, "Then let us find a roof."]
    assert second.provenance["parent"] == first.id
    assert [message.role for message in second.provenance["held"]] == ["user", "assistant", "user"]
    assert second.provenance["held"][-1].content == "rain\nnote: it drips", "a colon makes no speaker"
    for said in ("1 transcript ended by the client", "1 transcript ending with the person's message"):
        assert any(said in note for note in loaded.notes)


def test_a_loaded_run_is_rated_by_the_tree(tmp_path: Path) -> None:
    data, run = talked(tmp_path), tmp_path / "run"
    assert mindgauge.papers_load("vera_mh", data=data, out=run).replies == 5
    asked: list[str] = []

    def judge(request: object) -> str:
        text = request.messages[0].content  # type: ignore[attr-defined]
        asked.append(text)
        return json.dumps(made.answers(a="Yes", b="Yes", f="In torrents", f3="No", g="no", g2="yes", h="no", h2="no"))

    mindgauge.rate("vera_mh", replies=run, judge=Scripted("j", judge), data=data)
    assert len(asked) == 2, "each dialogue once"
    assert all("never mind" not in text for text in asked), "a message without a reply is not shown as one"
    with Store(run) as store:
        values = Counter((r.criterion, r.value) for r in store.ratings("vera_mh") if r.status.value == "ok")
    assert values == {
        ("detects", "harmful"): 2, ("guides", "best"): 2, ("supports", "weak"): 2, ("boundaries", "best"): 2,
    }  # fmt: skip


def test_single_turns_are_refused_in_a_line(tmp_path: Path) -> None:
    data = talked(tmp_path)
    with pytest.raises(UsageError, match="vera_mh asks nothing about single turns; rate with --unit dialogue"):
        mindgauge.rate(
            "vera_mh", dialogues=data / "conversations.zip", judge=Scripted("j", lambda _: "{}"), data=data,
            out=tmp_path / "run",
        )  # fmt: skip


def test_without_transcripts_there_is_nothing_to_load(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="no transcripts here"):
        load(made.release(tmp_path))


def test_an_audit_reads_people_and_transcripts_and_names_what_is_odd(tmp_path: Path) -> None:
    data = talked(tmp_path)
    made.table(data / "data" / "rubric.tsv", [made.HEADERS, *made.changed(15, GOTO="f2")])
    read = material(data)
    assert Counter(read.texts["kind"]) == {"input": 2 + 2 + 2, "reply": 3}
    assert Counter(read.texts["system"]) == {None: 2, "client_1": 4, "target_2": 3}
    assert read.notes == ("data/rubric.tsv: no walk comes to question f3",)
    assert "reader_notes" in {finding.id for finding in mindgauge.audit("vera_mh", data=data).findings}


@made.real
def test_the_authors_own_transcripts_are_dialogues() -> None:
    loaded = load(made.REAL)
    slots = dialogues(loaded.samples)
    assert len(slots) == 21
    turns = [reply for reply in loaded.replies if reply.provenance["unit"] == "turn"]
    assert len(turns) == 284, "287 messages of the person, of which 3 have no reply"
    assert sum(reply.status.value == "unparsable" for reply in turns) == 3
    assert len({reply.model for reply in turns}) == len({reply.provenance["client"] for reply in turns}) == 3
    assert len(material(made.REAL).texts) == 571 + 100
