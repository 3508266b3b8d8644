"""The score of a dimension, and the published table recomputed from its own percentages."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mindgauge
from mindgauge.analysis import frame
from mindgauge.analysis.fitness import Qualification, unfit_judges
from mindgauge.analysis.reliability.card import Bound
from mindgauge.analysis.reproduce import load_published
from mindgauge.analysis.score import Score, Scores
from mindgauge.benchmarks.anchors import EntryResult
from mindgauge.benchmarks.metrics import RatingTable, estimate
from mindgauge.benchmarks.vera_mh.released import DIMENSIONS
from mindgauge.benchmarks.vera_mh.vera_mh import PUBLISHED, safety_score, score, score_between, vera_mh
from mindgauge.models.scripted import Scripted
from mindgauge.store import Store
from tests.benchmarks.vera_mh import made

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.records.request import Request

PERCENT = st.floats(0, 100)


def table(*levels: int, personas: int = 0) -> RatingTable:
    """Return ratings by their levels (0 harmful, 1 weak, 2 best, -1 missing), in turn of so many personas."""
    n = len(levels)
    cluster = np.arange(n) % (personas or n)
    status = np.where(np.array(levels) >= 0, "ok", "failed")
    return RatingTable(
        ("harmful", "weak", "best"), np.array(levels), np.full(n, -1), cluster, np.arange(n), status
    ).rows(np.ones(n, dtype=bool))


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
    found = {
        (c.table, c.column): c for c in mindgauge.papers_reproduce("vera_mh", data=tmp_path).cells if c.row == "Frog"
    }
    verdicts = [found["scores", name].verdict for name in ("detects", "confirms", "guides")]
    assert verdicts == ["match", "match", "differs"]
    assert found["scores", "confirms"].recomputed == pytest.approx(60.436, abs=0.001)
    assert "60.35 to 60.53" in found["scores", "confirms"].note
    assert found["scores", "detects"].tolerance < found["scores", "confirms"].tolerance
    assert found["bp", "detects"].verdict == "missing"
    assert "no verdict on a single dialogue" in found["bp", "detects"].note
    assert found["hph", "overall"].recomputed == pytest.approx((0 + 18.1 + 18.1 + 0 + 0) / 5)


def test_without_the_table_every_number_is_missing(tmp_path: Path) -> None:
    found = mindgauge.papers_reproduce("vera_mh", data=made.release(tmp_path))
    assert found.from_files == 0
    assert {cell.verdict for cell in found.cells} == {"missing"}


@made.real
def test_every_score_of_the_published_table_follows_from_its_percentages() -> None:
    found = mindgauge.papers_reproduce("vera_mh", data=made.REAL)
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


LEVELS = {
    "wet": ("best", "harmful", "best", "best", "weak"),
    "dry": ("best", None, None, "best", "best"),
    "grey": ("weak", "harmful", "best", "best", "weak"),
    "mist": (None, None, None, None, None),
}
"""What a judge says of the five dimensions of a dialogue; None where one does not apply."""


def rated(tmp_path: Path, lost: str = "") -> Scores:
    """Have four dialogues of two people rated on the five dimensions."""
    rows = [
        {"id": name, "persona": "ada" if name == "wet" else "bo", "model": "frog",
         "messages": [{"role": "user", "content": f"{name} again"}, {"role": "assistant", "content": "I see."}]}
        for name in LEVELS
    ]  # fmt: skip
    talks = tmp_path / "talks.jsonl"
    talks.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")

    def judge(request: Request) -> str:
        text = request.messages[0].content
        name = next(name for name in LEVELS if f"{name} again" in text)
        levels = dict(zip(DIMENSIONS, LEVELS[name], strict=True))
        said = {k: None if k == lost else v or "not_applicable" for k, v in levels.items()}
        return json.dumps({"quotes": [], "rationale": "r", **said})

    found = mindgauge.rate(
        "vera_mh", dialogues=talks, unit="dialogue", judge=Scripted("j", judge), out=tmp_path / "run", qualify=False
    )
    assert isinstance(found, Scores)
    return found


def of_all(scores: Scores, name: str) -> Score:
    return next(m for m in scores.metrics if (m.name, m.criterion, m.slice) == (name, "all_dimensions", "all"))


def test_the_score_on_all_dimensions_takes_all_verdicts_that_apply_together(tmp_path: Path) -> None:
    scores = rated(tmp_path)
    verdicts = [level for levels in LEVELS.values() for level in levels if level is not None]
    best, harmful = (100 * verdicts.count(level) / len(verdicts) for level in ("best", "harmful"))
    overall = of_all(scores, "safety_score")
    assert overall.value == pytest.approx(score(best, harmful))
    assert (overall.n, overall.missing, overall.clusters, overall.subjects) == (len(verdicts), 0, 2, 3)
    assert overall.low is not None and overall.high is not None
    assert overall.value is not None and overall.low < overall.value < overall.high
    alone = [v for v in LEVELS["wet"] if v], [v for name in ("dry", "grey", "mist") for v in LEVELS[name] if v]
    ends = [score(100 * part.count("best") / len(part), 100 * part.count("harmful") / len(part)) for part in alone]
    assert overall.low >= min(ends) - 1e-9 and overall.high <= max(ends) + 1e-9, (
        "a resample draws personas, not verdicts"
    )
    assert of_all(scores, "best_rate").value == pytest.approx(best / 100)
    assert "all_dimensions" in mindgauge.report(tmp_path / "run").path.read_text(encoding="utf-8").replace(" ", "_")


def test_without_verdicts_on_one_dimension_the_rest_is_bounded(tmp_path: Path) -> None:
    overall = of_all(rated(tmp_path, lost="supports"), "safety_score")
    assert overall.missing == 4, "an unreadable verdict is in n wherever it was asked for"
    assert overall.worst is not None and overall.best is not None and overall.value is not None
    assert overall.worst < overall.value < overall.best


def test_a_judge_that_cannot_be_used_on_a_dimension_has_no_score_on_all(tmp_path: Path) -> None:
    rated(tmp_path)
    with Store(tmp_path / "run") as store:
        rows = frame.ratings(store, vera_mh)
    none = Bound(None)
    failed = Qualification(
        vera_mh.name,
        "j",
        "guides",
        6,
        6,
        0,
        none,
        none,
        none,
        none,
        [],
        none,
        0,
        0,
        EntryResult.FAILED,
        "it gave no level right",
    )
    unfit = {entry.criterion: entry for entry in unfit_judges([failed], rows, vera_mh)}
    assert unfit["all_dimensions"].part == "guides"
