"""`profile` of real runs: two tasks of a small suite, one closed and one judged, from answers to a report of scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import mindgauge
from mindgauge import Scripted
from mindgauge.benchmarks import suite
from mindgauge.commands.compare import profile
from mindgauge.records.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.records.request import Request

CRISIS, RESPONSE = "help_or_harm/crisis_type", "help_or_harm/response"
SUITE = f"""
title = "Two"
[[dimensions]]
name = "Seeing"
[[dimensions.tasks]]
name = "crisis_type"
title = "Crisis type"
benchmark = "{CRISIS}"
headline = [{{ metric = "macro_f1", criterion = "crisis_type" }}]
better = "higher"
low = 0
high = 1
defined = "ours"
[[dimensions]]
name = "Helping"
[[dimensions.tasks]]
name = "response"
title = "Response"
benchmark = "{RESPONSE}"
headline = [{{ metric = "mean", criterion = "appropriateness" }}]
better = "higher"
low = 1
high = 5
defined = "upstream"
"""
LIMIT = 12


def answers(label: str) -> Scripted:
    return Scripted(f"always-{label}", lambda request: f'{{"crisis_type": "{label}"}}')


def judges(request: Request) -> str:
    """Rate the replies of the model that always says `no_crisis` worse than the others."""
    low = '"crisis_type": "no_crisis"' in request.messages[-1].content
    return f'{{"appropriateness": {{"value": {2 if low else 4}, "rationale": "as planned", "quotes": []}}}}'


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of two models in both tasks of a suite."""
    (tmp_path / "suites" / "two").mkdir(parents=True)
    (tmp_path / "suites" / "two" / "suite.toml").write_text(SUITE, encoding="utf-8")
    monkeypatch.setattr(suite, "HERE", tmp_path / "suites")
    models = [answers("no_crisis"), answers("suicidal_ideation")]
    run = tmp_path / "run"
    mindgauge.run([CRISIS, RESPONSE], model=models, judge=Scripted("judge", judges), limit=LIMIT, out=run)
    return run


def test_a_run_is_profiled(two: Path) -> None:
    found = profile(two, resamples=200)
    assert (found.suite, found.judge, found.lacking) == ("two", "judge", [])
    assert sorted(found.models) == ["always-no_crisis", "always-suicidal_ideation"]
    assert found.by_dimension.columns == ["dimension", *found.models]
    assert {score.rater for score in found.tasks if score.task == "crisis_type"} == {""}
    scores = mindgauge.score(two).metrics
    scored = {(s.name, s.criterion, s.model): s.value for s in scores if s.slice == "all"}
    for score in found.tasks:
        assert score.n == score.clusters == LIMIT
        assert score.value == pytest.approx(scored[score.metric, score.criterion, score.model])


def test_models_of_several_runs_stand_beside_each_other(two: Path, tmp_path: Path) -> None:
    third = answers("self-harm")
    mindgauge.run(CRISIS, model=third, limit=LIMIT, out=tmp_path / "other")
    found = profile([two, tmp_path / "other", two], resamples=100)
    assert len(found.runs) == 2, "a run that is named twice is one"
    assert len(found.models) == 3
    seeing = [score for score in found.dimensions if score.dimension == "Seeing"]
    assert sum(score.rank or 0 for score in seeing) == 1 + 2 + 3
    assert any("Helping" in note or "no score of always-self-harm" in note for note in found.notes)


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no run here|names no benchmark"):
        profile(tmp_path / "nothing")
