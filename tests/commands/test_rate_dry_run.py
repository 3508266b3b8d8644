"""What rating would take is said before anything is asked or written, and it is what rating then takes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.analysis.score import Scores
from mindgauge.commands.train import train
from mindgauge.models.scripted import Scripted
from mindgauge.raters.classifier import describe, open_classifier
from mindgauge.records.errors import UsageError
from mindgauge.runs.forecast import DryRun
from mindgauge.store import Store, manifest

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.records.request import Request

OPEN, CLOSED = "help_or_harm/response", "dialogue_safety"
NODES = 4
"""Decision nodes of the closed question; after four times no, the last label is left."""


class Judge(Scripted):
    """Gives the middle value, the first label, a no at each node, no crisis; counts its calls."""

    def __init__(self, name: str = "judge") -> None:
        super().__init__(name, self.say)
        self.asked: list[str] = []

    def say(self, request: Request) -> str:
        self.asked.append(request.messages[0].content)
        assert request.schema is not None
        values = {
            name: described["enum"][0]
            for name, described in request.schema["properties"].items()
            if isinstance(described, dict) and "enum" in described
        }
        return json.dumps({"quotes": [], "rationale": "r", **values})


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def foreseen(name: str, **given: Any) -> DryRun:
    found = mindgauge.rate(name, dry_run=True, **given)
    assert isinstance(found, DryRun)
    return found


def calls(found: DryRun) -> dict[str, int]:
    return {step.purpose: step.calls for step in found.steps}


@pytest.fixture
def replies(tmp_path: Path) -> Path:
    """Four replies: one is empty, one has no category to choose a protocol."""
    rows = [{"user": f"I feel low ({i})", "reply": "I hear you.", "category": "no_crisis"} for i in range(2)]
    rows += [{"user": "I feel low", "reply": " ", "category": "no_crisis"}, {"user": "I feel so low", "reply": "Oh."}]
    return written(tmp_path / "replies.jsonl", rows)


def test_replies(replies: Path, tmp_path: Path) -> None:
    judge, other = Judge(), Judge("other")
    given: dict[str, Any] = {"replies": replies, "out": tmp_path / "r", "judge_runs": 3, "method": ["rule", "general"]}
    found = foreseen(OPEN, judge=[judge, "rule/refusal"], qualify=True, anchors=5, **given)
    assert calls(found) == {"judge": 6, "judge (general)": 6, "entry test": 5, "entry test (general)": 5}
    assert (found.calls, found.done, found.cost) == (22, 0, 0.0)
    assert found.prompt_tokens > 22 * 100
    assert judge.asked == []
    assert not (tmp_path / "r").exists()
    mindgauge.rate(OPEN, judge=judge, qualify=True, anchors=5, **given)
    assert len(judge.asked) == 22, "what was foreseen is what it took"
    again = foreseen(OPEN, judge=judge, qualify=True, anchors=5, **given)
    assert (again.calls, again.done) == (0, 22)
    before = manifest.read(tmp_path / "r")
    more = foreseen(OPEN, replies=tmp_path / "r", judge=[judge, other], judge_runs=4)
    assert [(step.model, step.calls) for step in more.steps] == [("judge", 2), ("other", 8)]
    assert (more.run, more.done) == (str(tmp_path / "r"), 6)
    assert manifest.read(tmp_path / "r") == before, "a dry run notes nobody"


def test_a_judge_that_finds_the_protocol_itself(replies: Path, tmp_path: Path) -> None:
    judge = Judge()
    given: dict[str, Any] = {"replies": replies, "out": tmp_path / "r", "protocol": "recognised"}
    assert calls(foreseen(OPEN, judge=judge, **given)) == {"judge": 3, "recognise": 3}
    mindgauge.rate(OPEN, judge=judge, **given)
    assert len(judge.asked) == 6, "nothing is asked about a reply that is empty"
    again = foreseen(OPEN, judge=judge, **given)
    assert set(calls(again).values()) == {0}


def test_nothing_to_judge_takes_nothing(tmp_path: Path) -> None:
    path = written(tmp_path / "r.jsonl", [{"user": "a", "reply": "", "category": "no_crisis"}])
    found = foreseen(OPEN, replies=path, judge=Judge(), out=tmp_path / "r")
    assert (found.calls, found.prompt_tokens) == (0, 0)


def test_replies_too_long_are_counted_before(tmp_path: Path) -> None:
    rows = [{"user": "a", "reply": "word " * n, "category": "no_crisis"} for n in (10, 4000, 6000)]
    told: list[str] = []
    short = Judge()
    short.context = 6000
    foreseen(OPEN, replies=written(tmp_path / "r.jsonl", rows), judge=short, out=tmp_path / "r", notice=told.append)
    assert len(told) == 1
    assert "2 of 3 replies are probably longer than its context of 6000 tokens" in told[0]


def test_dialogues_of_several_turns(tmp_path: Path) -> None:
    turns = [("user", "I feel low."), ("assistant", "I hear you."), ("user", "Thanks."), ("assistant", "Take care.")]
    row = {"messages": [{"role": role, "content": text} for role, text in turns], "category": "no_crisis"}
    other = {**row, "messages": [{"role": role, "content": f"{text} Still."} for role, text in turns]}
    judge, path = Judge(), written(tmp_path / "d.jsonl", [row, other])
    found = foreseen(OPEN, dialogues=path, unit="both", judge=judge, out=tmp_path / "r")
    assert calls(found) == {"judge": 6}
    mindgauge.rate(OPEN, dialogues=path, unit="both", judge=judge, out=tmp_path / "r")
    assert len(judge.asked) == 6


def test_a_closed_question_and_a_classifier(tmp_path: Path) -> None:
    path = written(tmp_path / "d.jsonl", [{"user": f"I feel low ({i})", "reply": "I hear you."} for i in range(3)])
    train(CLOSED, out=tmp_path / "safety", baseline=True, dev=0.3)
    judge, name = Judge(), f"classifier/{tmp_path / 'safety'}"
    given: dict[str, Any] = {"replies": path, "out": tmp_path / "r", "judge_runs": 2}
    found = foreseen(CLOSED, judge=[judge, name], ask=["flat", "few-shot", "sequential"], **given)
    assert calls(found) == {
        "classify 3 samples": 0, "classify": 6, "classify (few-shot)": 6, "classify (sequential)": 6 * NODES,
    }  # fmt: skip
    assert not (tmp_path / "r").exists()
    done = mindgauge.rate(CLOSED, judge=judge, ask=["flat", "few-shot", "sequential"], **given)
    assert isinstance(done, Scores)
    assert len(judge.asked) <= found.calls
    assert {score.rater for score in done.metrics} >= {"judge", "judge (few-shot)", "judge (sequential)"}
    again = foreseen(CLOSED, judge=judge, ask=["flat", "few-shot", "sequential"], **given)
    assert (again.calls, again.done) == (0, len(judge.asked))
    with pytest.raises(UsageError, match="another plan"):
        mindgauge.rate(CLOSED, judge=judge, ask=["few-shot"], shots=2, **given)


def test_no_example_is_a_dialogue_that_is_asked_about(tmp_path: Path) -> None:
    known = benchmarks.find_one(CLOSED).samples(None)[:4]
    rows = [
        {"messages": [{"role": m.role, "content": m.content} for m in sample.messages], "model": "some-model"}
        for sample in known
    ]
    judge = Judge()
    mindgauge.rate(CLOSED, replies=written(tmp_path / "d.jsonl", rows), judge=judge, ask="few-shot", out=tmp_path / "r")
    assert len(judge.asked) == 4
    for sample, text in zip(known, sorted(judge.asked), strict=True):
        said = sample.messages[-1].content
        assert all(other.count(said) <= 1 for other in judge.asked), text


def test_ways_go_with_closed_questions_only_and_a_run_is_asked_one_way_with_the_same_examples(
    replies: Path, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="--ask is for closed questions"):
        mindgauge.rate(OPEN, replies=replies, judge=Judge(), ask="few-shot", out=tmp_path / "r")
    path = written(tmp_path / "d.jsonl", [{"user": "I feel low", "reply": "I hear you."}])
    mindgauge.rate(CLOSED, replies=path, judge=Judge(), out=tmp_path / "c")
    mindgauge.rate(CLOSED, replies=tmp_path / "c", judge=Judge(), ask="few-shot")
    with Store(tmp_path / "c") as store:
        assert {rating.rater for rating in store.ratings(CLOSED)} >= {"judge", "judge (few-shot)"}
    with pytest.raises(UsageError, match=r"judge \(few-shot\): .* after other examples"):
        mindgauge.rate(CLOSED, replies=tmp_path / "c", judge=Judge(), ask="few-shot", shots=2)


def test_a_rater_that_is_refused_is_not_noted(tmp_path: Path) -> None:
    path = written(tmp_path / "d.jsonl", [{"user": f"I feel low ({i})", "reply": "I hear you."} for i in range(3)])
    train(CLOSED, out=tmp_path / "safety", baseline=True, dev=0.3)
    name = f"classifier/{tmp_path / 'safety'}"
    mindgauge.rate(CLOSED, replies=path, judge=name, out=tmp_path / "r")
    before = manifest.read(tmp_path / "r")
    opened = open_classifier(tmp_path / "safety")
    decision = msgspec.structs.replace(opened.decision, threshold=0.99, risk=0.1)
    describe(tmp_path / "safety", opened.rubric, decision)
    with pytest.raises(UsageError, match="earlier weights or threshold"):
        mindgauge.rate(CLOSED, replies=tmp_path / "r", judge=name)
    assert manifest.read(tmp_path / "r") == before
