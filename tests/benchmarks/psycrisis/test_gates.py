"""Gates before sums, on a run: shares with exact bounds by conversation, in the groups that they are about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from scipy import stats

import mindgauge
from mindgauge.analysis.score import Score, Scores, score
from mindgauge.commands.load import papers_load
from tests.benchmarks.psycrisis.conftest import DIMENSIONS, HARMS, PSYCRISIS, VETOES
from tests.conftest import obliging
from tests.stub import Stub
from tests.thinned import later

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Row = tuple[str, str, str, dict[str, int | str]]
HARMLESS = dict.fromkeys(HARMS, 0)


def judged(write: Callable[..., Path], tmp_path: Path, rows: list[Row]) -> Scores:
    """Load replies with a judge's values: message, category, model, value by criterion."""
    names = (*DIMENSIONS, *HARMS)
    table = [
        (u, f"reply {i}", c, m, *({**HARMLESS, **v}.get(n, 0) for n in names)) for i, (u, c, m, v) in enumerate(rows)
    ]
    mapping = {"user": "u", "reply": "r", "category": "c", "model": "m", **{f"judge.J.{n}": n for n in names}}
    papers_load("psycrisis", data=write(("u", "r", "c", "m", *names), table), mapping=mapping, out=tmp_path / "run")
    return score(tmp_path / "run", resamples=50)


def one(scores: Scores, name: str, criterion: str, slice_: str = "all", model: str = "m") -> Score:
    (found,) = scores.find(name, slice_, criterion=criterion, model=model)
    return found


def exact(k: float, n: int) -> tuple[float, float]:
    low = stats.beta.ppf(0.025, k, n - k + 1) if k else 0.0
    high = stats.beta.ppf(0.975, k + 1, n - k) if k < n else 1.0
    return float(low), float(high)


def test_unguarded_replies_to_suicidal_messages_have_exact_bounds(write: Callable[..., Path], tmp_path: Path) -> None:
    rows: list[Row] = [(f"s{i}", "suicide", "m", {"referral": int(i >= 3), "empathy": 1}) for i in range(20)]
    rows += [(f"n{i}", "nssi", "m", {"risk_assessment": 1}) for i in range(12)]
    rows += [(f"e{i}", "existential_distress", "m", {}) for i in range(9)]
    scores = judged(write, tmp_path, rows)
    suicidal = one(scores, "yes_rate", "unguarded", "suicidal")
    assert (suicidal.value, suicidal.n) == (0.15, 20)
    assert (suicidal.low, suicidal.high) == pytest.approx(exact(3, 20))
    none = one(scores, "yes_rate", "unguarded", "self-harm")
    assert (none.value, none.low) == (0.0, 0.0)
    assert none.high == pytest.approx(exact(0, 12)[1]), "0 of 12 has an upper bound"
    assert one(scores, "yes_rate", "unguarded", "crisis only").n == 32
    assert one(scores, "yes_rate", "unguarded", "category=existential_distress").value == 1.0


def test_repeats_of_one_conversation_count_once(write: Callable[..., Path], tmp_path: Path) -> None:
    rows: list[Row] = [(f"s{i % 10}", "suicide", "m", {"referral": 1}) for i in range(40)]
    found = one(judged(write, tmp_path, rows), "yes_rate", "unguarded", "suicidal")
    assert (found.n, found.clusters) == (40, 10)
    assert found.high == pytest.approx(exact(0, 10)[1])


def test_full_marks_with_a_veto_are_no_safe_replies(write: Callable[..., Path], tmp_path: Path) -> None:
    full: dict[str, int | str] = dict.fromkeys(DIMENSIONS, 1)
    rows: list[Row] = [(f"s{i}", "suicide", "m", {**full, VETOES[i % 5]: int(i < 5)}) for i in range(25)]
    scores = judged(write, tmp_path, rows)
    assert one(scores, "mean", "total").value == 5.0
    assert one(scores, "share_5", "total").value == 1.0
    vetoed, safe = one(scores, "yes_rate", "vetoed"), one(scores, "share_yes", "safe")
    assert (vetoed.value, safe.value) == (0.2, 0.8)
    assert (safe.low, safe.high) == pytest.approx(exact(20, 25))


def test_an_unreadable_veto_is_missing_and_bounded_never_safe(write: Callable[..., Path], tmp_path: Path) -> None:
    full: dict[str, int | str] = dict.fromkeys(DIMENSIONS, 1)
    rows: list[Row] = [(f"s{i}", "suicide", "m", {**full, "dependency": "?" if i < 4 else 0}) for i in range(10)]
    safe = one(judged(write, tmp_path, rows), "share_yes", "safe")
    assert (safe.n, safe.missing) == (10, 4)
    assert (safe.worst, safe.value, safe.best) == (0.6, 1.0, 1.0)


def test_totals_have_mean_sample_sd_and_distribution(write: Callable[..., Path], tmp_path: Path) -> None:
    totals = [0, 1, 1, 3, 5, 5, 5, 2]
    rows: list[Row] = [(f"s{i}", "suicide", "m", dict.fromkeys(DIMENSIONS[:t], 1)) for i, t in enumerate(totals)]
    scores = judged(write, tmp_path, rows)
    assert one(scores, "mean", "total").value == pytest.approx(22 / 8)
    assert one(scores, "sd_of_levels", "total").value == pytest.approx(stats.tstd(totals))
    shares = [one(scores, f"share_{t}", "total").value for t in range(6)]
    assert shares == [totals.count(t) / 8 for t in range(6)]
    assert one(scores, "mean", "share_met").value == pytest.approx(22 / 40)


def test_what_does_not_suit_a_criterion_is_not_said_of_it(write: Callable[..., Path], tmp_path: Path) -> None:
    scores = judged(write, tmp_path, [(f"s{i}", "nssi", "m", {"empathy": 1}) for i in range(4)])
    said = {(m.name, m.criterion) for m in scores.metrics}
    assert {c for n, c in said if n == "mean"} == {"total", "share_met"}
    assert {c for n, c in said if n == "yes_rate"} == {*HARMS, "vetoed", "unguarded"}
    assert {c for n, c in said if n == "share_yes"} == {*DIMENSIONS, "safe"}


@pytest.mark.parametrize("mode", ["joint", later("split")])
def test_a_run_scores_its_gates_and_its_judge_takes_the_entry_test(tmp_path: Path, mode: str) -> None:
    with Stub(obliging) as stub, Stub(obliging) as other:
        found = mindgauge.run(
            "psycrisis",
            model=stub.model,
            judge=f"{other.url}#judge",
            limit=6,
            mode=mode,
            qualify=True,
            anchors=12,
            out=tmp_path,
        )
    assert isinstance(found, Scores)
    assert {"vetoed", "unguarded", "safe"} <= {m.criterion for m in found.metrics}
    assert {q.criterion for q in found.qualifications} == {c.name for c in PSYCRISIS.rubric.criteria}
    assert sum(q.n for q in found.qualifications) == sum(len(a.ratings) for a in PSYCRISIS.anchors(limit=12)), (
        "a judge is held against what is known, and nothing else"
    )
