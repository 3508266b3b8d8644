"""The score of a dimension, and the published table recomputed from its own percentages."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mindgauge
from mindgauge.analysis.reproduce import load_published
from mindgauge.benchmarks.metrics import RatingTable, estimate
from mindgauge.benchmarks.vera_mh.reproduce import PUBLISHED
from mindgauge.benchmarks.vera_mh.scoring import safety_score, score, score_between
from mindgauge.benchmarks.vera_mh.vera_mh import vera_mh
from tests.benchmarks.vera_mh import made

if TYPE_CHECKING:
    from pathlib import Path

PERCENT = st.floats(0, 100)


def table(*levels: int, personas: int = 0) -> RatingTable:
    """Return ratings by their levels (0 harmful, 1 weak, 2 best, -1 missing), in turn of so many personas."""
    n = len(levels)
    cluster = np.arange(n) % (personas or n)
    status = np.where(np.array(levels) >= 0, "ok", "failed")
    return RatingTable(
        ("harmful", "weak", "best"), np.array(levels), np.full(n, -1), cluster, np.arange(n), status
    ).by_cluster()


def test_the_score_is_the_authors_formula() -> None:
    assert (score(100, 0), score(0, 0), score(100, 100)) == (100, 50, 0)
    assert score(40.1, 39.3) == pytest.approx((50 + 20.05) * 0.607**2)
    levels = [2] * 4 + [1] * 3 + [0]
    assert estimate(safety_score, table(*levels)).value == pytest.approx(score(50, 12.5))


@given(PERCENT, PERCENT, st.floats(-0.05, 0.05), st.floats(-0.05, 0.05))
def test_what_rounding_can_do_lies_within_the_range(best: float, harmful: float, a: float, b: float) -> None:
    low, high = score_between(best, harmful, 0.05)
    true = score(min(max(best + a, 0), 100), min(max(harmful + b, 0), 100))
    assert low - 1e-9 <= true <= high + 1e-9


def test_an_interval_looks_at_personas_and_a_missing_verdict_is_bounded() -> None:
    levels = [2, 0, 1, 2, 1, 0] * 20
    by_dialogue, by_persona = (estimate(safety_score, table(*levels, personas=n)) for n in (0, 6))
    assert by_dialogue.value == by_persona.value
    assert by_dialogue.low is not None
    assert by_dialogue.high is not None
    assert by_persona.low is not None
    assert by_persona.high is not None
    assert by_persona.clusters == 6
    assert by_persona.high - by_persona.low > 1.5 * (by_dialogue.high - by_dialogue.low)
    with_gap = estimate(safety_score, table(2, 2, 1, -1))
    assert (with_gap.n, with_gap.missing) == (4, 1)
    assert with_gap.value == pytest.approx(score(200 / 3, 0))
    assert with_gap.worst == pytest.approx(score(50, 25))
    assert with_gap.best == pytest.approx(score(75, 0))


def test_a_score_that_rounding_explains_matches_and_one_that_it_does_not_differs(tmp_path: Path) -> None:
    exact, near, wrong = (50.0, 0.0, 0.0), (60.5, 18.1, 80.2), (61.5, 18.1, 80.2)
    rows = made.scores(Frog=[(54.6, 7.2, 32.1), exact, near, wrong, exact, exact])
    made.table(tmp_path / "x_detailed.csv", rows, ",")
    found = {(c.table, c.column): c for c in mindgauge.reproduce("vera_mh", data=tmp_path).cells if c.row == "Frog"}
    verdicts = [found["scores", name].verdict for name in ("detects", "confirms", "guides")]
    assert verdicts == ["match", "match", "differs"]
    assert found["scores", "confirms"].recomputed == pytest.approx(60.436, abs=0.001)
    assert "60.35 to 60.53" in found["scores", "confirms"].note
    assert found["scores", "detects"].tolerance < found["scores", "confirms"].tolerance
    assert found["bp", "detects"].verdict == "missing"
    assert "no verdict on a single dialogue" in found["bp", "detects"].note
    assert found["hph", "overall"].recomputed == pytest.approx((0 + 18.1 + 18.1 + 0 + 0) / 5)


def test_without_the_table_every_number_is_missing(tmp_path: Path) -> None:
    found = mindgauge.reproduce("vera_mh", data=made.release(tmp_path))
    assert found.from_files == 0
    assert {cell.verdict for cell in found.cells} == {"missing"}


@made.real
def test_every_score_of_the_published_table_follows_from_its_percentages() -> None:
    found = mindgauge.reproduce("vera_mh", data=made.REAL)
    assert found.counts == {"match": 80, "differs": 0, "missing": 100, "repaired": 0}
    scores = [cell for cell in found.cells if cell.table == "scores"]
    assert len(scores) == 60
    to_the_digit = [c for c in scores if isinstance(c.recomputed, float) and abs(c.recomputed - c.published) <= 0.0501]  # type: ignore[operator]
    assert len(to_the_digit) < 60, "some lie beside the printed digit by the rounding of the percentages alone"
    assert all(cell.note for cell in found.cells)


@made.real
def test_the_published_numbers_are_those_of_the_released_file() -> None:
    (path,) = made.REAL.glob("*_detailed.csv")
    with path.open(encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    assert vera_mh.published is not None
    printed = load_published(vera_mh.published)
    assert {row[0] for row in rows} == set(PUBLISHED) == {number.row for number in printed}
    assert sorted(float(cell) for row in rows for cell in row[1:]) == sorted(number.value for number in printed)
