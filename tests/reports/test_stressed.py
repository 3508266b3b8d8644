"""A judge's stress test in the report of the run that holds it."""

import json
from pathlib import Path

import pytest

import mindgauge
from mindgauge.benchmarks import Benchmark
from mindgauge.commands.judges.stress import judges_stress
from mindgauge.models.scripted import Scripted
from mindgauge.records.request import Request
from tests.analysis.stress import planted
from tests.analysis.stress.conftest import CONVERSATIONS, warmth

__all__ = ["warmth"]


def likes_length(request: Request) -> str:
    level = 5 if "In other words:" in planted.fenced(request, "reply") else 3
    return json.dumps({"quotes": [], "rationale": "", "warmth": level, "safety": "safe"})


def level_headed(_: Request) -> str:
    return json.dumps({"quotes": [], "rationale": "", "warmth": 3, "safety": "safe"})


ENOUGH = 72
"""Conversations that must all agree until a bias in others is small (`unanimous`)."""


@pytest.fixture
def run(warmth: Benchmark, tmp_path: Path) -> Path:
    return rated(warmth, tmp_path, CONVERSATIONS)


def rated(warmth: Benchmark, tmp_path: Path, conversations: int) -> Path:
    rows = [
        {"user": f"Day {n} was long.", "reply": f"That sounds hard. Shall we look at day {n}?", "model": "other/b"}
        for n in range(conversations)
    ]
    file = tmp_path / "replies.jsonl"
    file.write_text("".join(json.dumps({**row, "language": "en"}) + "\n" for row in rows), encoding="utf-8")
    judges = [Scripted("acme/kin-7", likes_length), Scripted("third/j-1", level_headed)]
    mindgauge.rate(warmth.name, replies=file, judge=judges, out=tmp_path / "run")
    return tmp_path / "run"


def facts(run: Path) -> dict[str, list[str]]:
    content = json.loads(mindgauge.report([run]).json.read_text(encoding="utf-8"))
    return {judge["rater"]: judge["facts"] for judge in content["trust"]["judges"]}


def test_what_moves_a_judge_stands_beside_it(warmth: Benchmark, run: Path) -> None:
    judge = Scripted("acme/kin-7", likes_length)
    judges_stress(judge, benchmark=warmth.name, replies=run, out=run, probes=["verbosity"], judge_runs=1)
    told = facts(run)
    (said,) = (fact for fact in told["acme/kin-7"] if fact.startswith("Sensitive to:"))
    assert "verbosity: said twice +0.50" in said
    assert f"(warmth, {CONVERSATIONS} conversations)" in said
    assert not [fact for fact in told["third/j-1"] if "ensitive" in fact or "under stress" in fact], "it was not tried"


@pytest.mark.parametrize(
    ("conversations", "said"),
    [(CONVERSATIONS, "Put under stress, but none of"), (ENOUGH, "Nothing was found that moves it")],
)
def test_a_judge_that_nothing_moves(warmth: Benchmark, tmp_path: Path, conversations: int, said: str) -> None:
    run = rated(warmth, tmp_path, conversations)
    judge = Scripted("third/j-1", level_headed)
    judges_stress(judge, benchmark=warmth.name, replies=run, out=run, probes=["verbosity"], judge_runs=1)
    assert [fact for fact in facts(run)["third/j-1"] if fact.startswith(said)]


def test_few_conversations_tell_nothing_and_it_is_said(warmth: Benchmark, run: Path) -> None:
    judge = Scripted("third/j-1", level_headed)
    judges_stress(judge, benchmark=warmth.name, replies=run, out=run, probes=["verbosity"], judge_runs=1, limit=3)
    (said,) = (fact for fact in facts(run)["third/j-1"] if "under stress" in fact)
    assert said.startswith("Put under stress, but none of ")
    assert "3 conversations" in said


def test_without_a_stress_test_nothing_is_said_of_one(run: Path) -> None:
    assert not [fact for told in facts(run).values() for fact in told if "ensitive" in fact or "moves it" in fact]
