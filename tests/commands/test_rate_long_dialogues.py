"""Dialogues of many turns: rated turn by turn and whole, fitted to a judge's context, with what was left out on record."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge.models.scripted import Scripted
from mindgauge.raters.window import TOO_LONG
from mindgauge.records import Rating, Reply, Sample, Status
from mindgauge.records.errors import DataError, UsageError
from mindgauge.runs.forecast import DryRun
from mindgauge.runs.session import tokens
from mindgauge.store import Store
from tests.commands.test_compare import invoke
from tests.thinned import later

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.records.request import Request

OPEN = "help_or_harm/response"
DISCLOSED = "I want to die and nobody knows."


class Rater:
    """A scripted judge with a context of its own that gives every criterion its first level; it keeps what it was shown."""

    def __init__(self, context: int | None = None, max_tokens: int = 200, *, mumbles: bool = False) -> None:
        self.seen: list[str] = []
        self.mumbles = mumbles
        self.lengths: list[int] = []
        self.answers: list[int] = []
        self.model = Scripted("judge", self)
        self.model.context, self.model.max_tokens = context, max_tokens

    def __call__(self, request: Request) -> str:
        self.seen.append(request.messages[0].content)
        self.lengths.append(tokens(request.messages))
        self.answers.append(request.parameters.get("max_tokens", self.model.max_tokens))
        assert request.schema is not None
        if self.mumbles and "could not be read" not in self.seen[-1]:
            return json.dumps(
                {"quotes": [], "rationale": "r", **dict.fromkeys(request.schema["properties"], "Hm. " * 40)}
            )
        return json.dumps(filled(request.schema))


def filled(schema: dict[str, Any]) -> Any:
    """Answer as a schema says: the first of all choices, the first disclosure as the quote."""
    if "enum" in schema:
        return schema["enum"][0]
    if "properties" in schema:
        return {name: filled(inner) for name, inner in schema["properties"].items()}
    return [DISCLOSED] if schema["type"] == "array" else "because"


def turns(pairs: int, disclosed: int | None = None, words: int = 12) -> list[dict[str, str]]:
    said = []
    for pair in range(pairs):
        person = DISCLOSED if pair == disclosed else f"Person, pair {pair}: " + "the week was hard. " * words
        said += [
            {"role": "user", "content": person},
            {"role": "assistant", "content": f"Assistant, pair {pair}: " + "tell me more. " * 3},
        ]
    return said


def row(pairs: int, **more: Any) -> dict[str, Any]:
    disclosed, words = more.pop("disclosed", None), more.pop("words", 12)
    return {"messages": turns(pairs, disclosed, words), "model": "bot", "category": "suicidal_ideation", **more}


def written(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "dialogues.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
    return path


def rate(path: Path, out: Path, rater: Rater, **more: Any) -> Any:
    return mindgauge.rate(OPEN, dialogues=path, judge=rater.model, out=out, **more)


def held(folder: Path) -> tuple[dict[str, Sample], dict[str, Reply], list[Rating]]:
    with Store(folder) as store:
        samples = {sample.id: sample for sample in store.samples(OPEN)}
        return samples, {reply.id: reply for reply in store.replies(OPEN)}, list(store.ratings(OPEN))


def test_every_turn_and_the_whole_are_rated_by_the_same_rubric(tmp_path: Path) -> None:
    rater = Rater()
    path = written(tmp_path, row(3, id="a"), row(2, id="b"))
    found = rate(path, tmp_path / "r", rater, unit="both")
    samples, replies, ratings = held(tmp_path / "r")
    assert len(rater.seen) == 3 + 2, "the same question about two dialogues that begin alike is asked once"
    assert {reply.model for reply in replies.values()} == {"bot", "bot (whole dialogue)"}
    assert sorted(len(r.provenance["held"]) for r in replies.values() if r.model == "bot") == [1, 1, 3, 3, 5]
    assert {sample.cluster for sample in samples.values()} == {"a", "b"}
    assert len({sample.id for sample in samples.values()}) == 7, "dialogues that begin alike by chance stay two"
    names = {replies[r.subject].model: r.instrument for r in ratings}
    assert len(set(names.values())) == 2, "the prompt about a whole dialogue is another instrument"
    assert {r.rater for r in ratings} == {"judge"} and all(r.status is Status.OK for r in ratings)
    whole = [text for text in rater.seen if "Assess all turns of the assistant" in text]
    assert len(whole) == 2
    assert all(f"Assistant, pair {pair}:" in whole[0] for pair in range(3))
    score = next(m for m in found.metrics if m.model == "bot" and m.slice == "all" and m.n == 5)
    assert score.clusters == 2


def test_a_long_dialogue_is_shortened_without_losing_the_first_disclosure(tmp_path: Path) -> None:
    said: list[str] = []
    whole_context = Rater()
    path = written(tmp_path, row(30, disclosed=1))
    rate(path, tmp_path / "whole", whole_context)
    context = min(whole_context.lengths) + 1700
    rater = Rater(context)
    rate(path, tmp_path / "r", rater, notice=said.append)
    assert len(rater.seen) == 30 and max(rater.lengths) + 200 <= context < max(whole_context.lengths) + 200
    _, replies, ratings = held(tmp_path / "r")
    shortened = [r for r in ratings if "window" in r.provenance]
    assert shortened and len(shortened) < len(ratings)
    assert all(r.provenance["window"]["first_risk"] == 3 for r in shortened)
    assert all(r.evidence[0].found for r in shortened), "the words of the first disclosure were shown and can be quoted"
    last = next(r for r in shortened if replies[r.subject].provenance["turn"] == 30)
    (gap,) = last.provenance["window"]["left_out"][-1:]
    shown = next(text for text in rater.seen if "Assistant, pair 29:" in text)
    assert f"[turns {gap[0]}–{gap[1]} left out" in shown and DISCLOSED in shown
    assert (
        "Person, pair 29:" in shown and "Person, pair 0:" in shown and f"Person, pair {gap[0] // 2 + 1}:" not in shown
    )
    (line,) = said
    cut = len({r.subject for r in shortened})
    assert f"judge: {cut} of 30 dialogues are shortened" in line
    assert f"the first sign of risk stays in {cut} of {cut}" in line


@pytest.mark.long
@pytest.mark.parametrize(
    ("method", "mumbles"), [("rule", True), later("rule", False), later("chain", False), later("chain", True)]
)
def test_all_that_is_sent_and_answered_fits_and_four_hundred_turns_keep_the_third(
    tmp_path: Path, method: str, mumbles: bool
) -> None:
    talk = turns(200, disclosed=1)
    rater = Rater(4096, 700, mumbles=mumbles)
    rate(written(tmp_path, {**row(1), "messages": [*talk[:4], *talk[-120:]]}), tmp_path / "r", rater, method=method)
    assert len(rater.seen) == 62 * (1 + mumbles)
    longest = max(room + answer for room, answer in zip(rater.lengths, rater.answers, strict=True))
    assert longest <= 4096, "rubric, dialogue, the repair's words and the longest answer together"
    assert longest > 3700, "and hardly any room is wasted"
    whole = Rater(4096, 700)
    rate(written(tmp_path, {**row(1), "messages": talk}), tmp_path / "whole", whole, method=method, unit="turn")
    shown = [text for text in whole.seen if "[3 " in text or "left out" in text]
    assert len(whole.seen) == 200 and len(shown) >= 199
    assert all(DISCLOSED in text for text in shown), "however far the dialogue went on, its third turn is there"
    assert all("left out" in text for text in whole.seen[-100:])
    _, replies, ratings = held(tmp_path / "whole")
    last = next(r for r in ratings if replies[r.subject].provenance["turn"] == 200)
    gaps = last.provenance["window"]["left_out"]
    assert (last.status, last.provenance["window"]["first_risk"]) == (Status.OK, 3)
    assert not any(first <= 3 <= until for first, until in gaps)
    assert whole.seen[-1].count("left out") == len(gaps)


def test_one_monstrous_turn_is_counted_before_the_run_and_fails_where_it_is_needed(tmp_path: Path) -> None:
    said: list[str] = []
    talk = turns(6, disclosed=1)
    talk[6] = {"role": "user", "content": "And then it went on and on. " * 2000}
    rater = Rater(4096)

    def before(line: str) -> None:
        assert not rater.seen, "said before anything is sent"
        said.append(line)

    path = written(tmp_path, {**row(1), "messages": talk})
    ahead = rate(path, tmp_path / "r", rater, notice=before, dry_run=True)
    assert isinstance(ahead, DryRun) and (len(said), rater.seen) == (2, []) and not (tmp_path / "r").exists()
    found = rate(path, tmp_path / "r", rater, notice=before)
    assert len(rater.seen) == 5 and said[:2] == said[2:]
    _, replies, ratings = held(tmp_path / "r")
    status = {replies[r.subject].provenance["turn"]: r.status for r in ratings}
    assert status == {turn: Status.FAILED if turn == 4 else Status.OK for turn in (1, 2, 3, 4, 5, 6)}
    assert all(DISCLOSED in text and "went on and on" not in text for text in rater.seen[1:])
    assert said[0].startswith("judge: 1 of 6 turns or dialogues have more words to rate than fit")
    assert said[1].startswith("judge: 2 of 6 dialogues are shortened")
    (mean,) = [m for m in found.find("mean") if m.model == "bot"]
    assert (mean.n, mean.missing) == (6, 1)


def test_what_alone_does_not_fit_gets_a_status_and_no_call(tmp_path: Path) -> None:
    said: list[str] = []
    path = written(tmp_path, row(2, id="short"), row(200, id="long"))
    rater = Rater()
    rate(written(tmp_path, row(2, id="short")), tmp_path / "first", rater, unit="dialogue")
    path = written(tmp_path, row(2, id="short"), row(200, id="long"))
    judged = Rater(rater.lengths[0] + 1500)
    found = rate(path, tmp_path / "r", judged, unit="dialogue", notice=said.append)
    assert len(judged.seen) == 1
    samples, replies, ratings = held(tmp_path / "r")
    by_dialogue = {samples[replies[r.subject].sample].cluster: r for r in ratings}
    assert by_dialogue["short"].status is Status.OK
    long = by_dialogue["long"]
    assert (long.status, long.value, long.provenance["problem"]) == (Status.FAILED, None, TOO_LONG)
    assert found.statuses["failed"] >= 1
    (line,) = said
    assert line.startswith("judge: 1 of 2 turns or dialogues have more words to rate than fit")


def test_a_csv_may_name_its_columns_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "logs.csv"
    said = json.dumps(turns(2)).replace('"', '""')
    path.write_text(f'talk,system,category\n"{said}",bot-7,suicidal_ideation\n', encoding="utf-8")
    rate(path, tmp_path / "r", Rater(), columns={"messages": "talk", "model": "system"})
    _, replies, _ = held(tmp_path / "r")
    assert [(r.model, r.provenance["source_row"]) for r in replies.values()] == [("bot-7", 2)] * 2


def test_an_open_end_and_a_greeting_are_not_rated(tmp_path: Path) -> None:
    greeted = [{"role": "assistant", "content": "Welcome."}, *turns(2), {"role": "user", "content": "Thank you."}]
    rater = Rater()
    rate(written(tmp_path, {**row(1), "messages": greeted}), tmp_path / "r", rater)
    assert len(rater.seen) == 2
    assert "1 transcript ends with a message of the person" in (tmp_path / "r" / "manifest.toml").read_text()


def test_what_cannot_be_rated_is_said_in_one_line(tmp_path: Path) -> None:
    mute = written(tmp_path, {"messages": turns(1)[:1], "category": "suicidal_ideation"})
    with pytest.raises(DataError, match=r"dialogues.jsonl:1: in this dialogue the assistant never answers"):
        rate(mute, tmp_path / "r", Rater())
    with pytest.raises(DataError, match="no column holds dialogues"):
        rate(written(tmp_path, {"user": "I feel low"}), tmp_path / "r", Rater())
    path = written(tmp_path, row(1))
    with pytest.raises(UsageError, match=r"--unit is turn, dialogue, client, several of these .*not 'session'"):
        rate(path, tmp_path / "r", Rater(), unit="session")
    with pytest.raises(UsageError, match="one of them"):
        rate(path, tmp_path / "r", Rater(), replies=path)
    with pytest.raises(UsageError, match="--unit goes with --dialogues"):
        mindgauge.rate(OPEN, replies=path, judge=Rater().model, out=tmp_path / "r", unit="both")
    with pytest.raises(UsageError, match="rule/refusal rates single replies; add turn to --unit"):
        mindgauge.rate(OPEN, dialogues=path, judge="rule/refusal", out=tmp_path / "r", unit="dialogue")
    with pytest.raises(UsageError, match="dialogue_safety is asked about one reply at a time"):
        mindgauge.rate("dialogue_safety", dialogues=path, judge=Rater().model, out=tmp_path / "r", unit="dialogue")
    with pytest.raises(UsageError, match="--write-items writes what --dialogues are cut into"):
        mindgauge.rate(OPEN, replies=path, judge=Rater().model, out=tmp_path / "r", write_items=tmp_path / "i.csv")
    assert not (tmp_path / "r").exists()


def test_the_command_line_takes_them_and_a_rule_rates_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, row(3))
    given = ("rate", OPEN, "--dialogues", path, "--judge", "rule/refusal")
    code, out, err = invoke(monkeypatch, capsys, *given, "--unit", "turn", "--out", tmp_path / "r")
    assert (code, err) == (0, "")
    assert "bot" in out
    code, _, _ = invoke(monkeypatch, capsys, *given, "--unit", "both", "--out", tmp_path / "r2")
    assert code == 0
    with Store(tmp_path / "r2") as store:
        units = {reply.id: reply.provenance["unit"] for reply in store.replies(OPEN)}
        statuses = Counter((units[r.subject], r.status.value) for r in store.ratings(OPEN) if r.rater == "rule/refusal")
    assert statuses == {("turn", "ok"): 3, ("dialogue", "not_applicable"): 1}
    code, _, err = invoke(monkeypatch, capsys, *given, "--unit", "dialogue", "--out", tmp_path / "r3")
    assert (code, err.count("\n")) == (2, 1)
