from __future__ import annotations

import json
import re
import time
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import mindgauge
from mindgauge.analysis.reproduce import Published, load_published
from mindgauge.benchmarks.mentalbench import released
from mindgauge.benchmarks.mentalbench import reproduce as pairs
from mindgauge.benchmarks.mentalbench.cells import ATTRIBUTES
from mindgauge.benchmarks.mentalbench.mentalbench import misaligned
from mindgauge.benchmarks.mentalbench.reproduce import (
    JUDGES,
    PUBLISHED,
    classify,
    estimates,
    reproduce,
    system_means,
    two_way_interval,
    units,
)
from mindgauge.benchmarks.mentalbench.reproduce import source_interval as interval
from mindgauge.cli import app
from tests.benchmarks.recomputed import as_published_and_ours

from .conftest import CLAUDE, GPT, PEOPLE, SYSTEMS, cell, rated, values

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray

    from mindgauge.analysis.reproduce import CellComparison
    from mindgauge.benchmarks import RecomputedCell
    from mindgauge.benchmarks.mentalbench.reproduce import ValuePairs, Values

    from .conftest import Copy

Key = tuple[str, str, str]

# Recomputed beforehand from the same files: C1 and A1 of nine systems, then bias and mean squared error of all pairs.
NINE = {
    "Claude": [
        (0.881, 0.837, 0.248, 0.924), (0.915, 0.915, -0.100, 0.830), (0.730, 0.742, 0.054, 1.002),
        (0.687, 0.597, 0.119, 0.522), (0.906, 0.473, 0.642, 1.184), (0.901, 0.741, 0.428, 0.948),
        (0.790, 0.806, 0.031, 1.086),
    ],
    "GPT-4o": [
        (0.849, 0.474, 0.772, 1.515), (0.856, 0.680, 0.462, 0.960), (0.534, 0.243, 0.389, 0.781),
        (0.484, 0.281, 0.218, 0.452), (0.835, 0.287, 0.817, 1.394), (0.800, 0.456, 0.671, 1.133),
        (0.824, 0.486, 0.349, 0.770),
    ],
}  # fmt: skip
# Of the authors' script as released, which drops the original reply: eight systems, C1 and A1, the ends of C1.
EIGHT = {
    "Claude": [
        (0.958, 0.933, 0.769, 0.989), (0.929, 0.894, 0.799, 0.983), (0.841, 0.858, 0.614, 0.995),
        (0.910, 0.851, 0.725, 0.974), (0.833, 0.236, 0.345, 0.962), (0.936, 0.756, 0.623, 0.996),
        (0.796, 0.816, 0.549, 0.969),
    ],
    "GPT-4o": [
        (0.936, 0.514, 0.531, 0.994), (0.882, 0.667, 0.462, 0.991), (0.761, 0.359, 0.311, 0.872),
        (0.749, 0.483, 0.132, 0.928), (0.656, 0.095, 0.190, 0.925), (0.803, 0.388, 0.257, 0.945),
        (0.745, 0.368, 0.335, 0.877),
    ],
}  # fmt: skip
# Without zeros, sixes and the 19 mispaired rows: C1 and A1 of nine systems, to two digits.
CLEANED = {
    "Claude": [(0.88, 0.84), (0.91, 0.91), (0.71, 0.72), (0.64, 0.55), (0.90, 0.47), (0.90, 0.74), (0.78, 0.79)],
    "GPT-4o": [(0.85, 0.47), (0.86, 0.68), (0.47, 0.20), (0.36, 0.19), (0.83, 0.29), (0.80, 0.45), (0.81, 0.46)],
}


def compared(data: Path) -> dict[Key, CellComparison]:
    return figures(reproduce(data))[0]


def repaired(data: Path) -> dict[Key, CellComparison]:
    return figures(reproduce(data))[1]


def figures(cells: Iterable[RecomputedCell]) -> tuple[dict[Key, CellComparison], dict[Key, CellComparison]]:
    return as_published_and_ours(PUBLISHED, cells)


@pytest.fixture(scope="module")
def recomputed(real: Path) -> list[RecomputedCell]:
    return list(reproduce(real))


@pytest.fixture(scope="module")
def of_paper(recomputed: list[RecomputedCell]) -> dict[Key, CellComparison]:
    return figures(recomputed)[0]


def both(found: dict[str, Values], judge: str, systems: list[str] | None = None) -> tuple[Values, Values]:
    systems = units(JUDGES[judge]) if systems is None else systems
    return found["panel"].only(systems), found[JUDGES[judge]].only(systems)


def plain_icc(means: NDArray[np.float64]) -> tuple[float, float]:
    """Compute ICC(C,1) and ICC(A,1) of n × 2 means by sums of squares, step by step."""
    n = len(means)
    grand = sum(float(a + b) for a, b in means) / (2 * n)
    rows = 2 * sum((float(a + b) / 2 - grand) ** 2 for a, b in means) / (n - 1)
    columns = n * sum((float(means[:, j].sum()) / n - grand) ** 2 for j in (0, 1))
    total = sum((float(x) - grand) ** 2 for x in means.ravel())
    rest = (total - rows * (n - 1) - columns) / (n - 1)
    return (rows - rest) / (rows + rest), (rows - rest) / (rows + rest + 2 * (columns - rest) / n)


# -- the paper's own numbers ---------------------------------------------------------------------------------------


def published() -> dict[Key, Published]:
    return {cell[:3]: cell for cell in load_published(PUBLISHED)}


def test_all_printed_classes_follow_from_the_printed_widths() -> None:
    found = published()
    rows = {row for table, row, _ in found if table == "cells"}
    assert rows == {f"{judge} / {attribute}" for judge in JUDGES for attribute in ATTRIBUTES}
    for row in rows:
        width, status = found["cells", row, "width"].value, found["cells", row, "status"].value
        assert isinstance(width, float)
        assert classify(width) == status
    assert Counter(found["cells", row, "status"].value for row in rows) == {"GR": 9, "MR": 10, "PR": 9}


def test_classes_have_their_limits_in_the_better_class() -> None:
    widths = (0.2, 0.355, 0.3554, 0.356, 0.56, 0.561, 1.4)
    assert [classify(width) for width in widths] == ["GR", "GR", "GR", "MR", "MR", "PR", "PR"]


# -- the authors' files --------------------------------------------------------------------------------------------


def test_human_means_are_the_papers_save_one_misprint(of_paper: dict[Key, CellComparison]) -> None:
    found = {key: c for key, c in of_paper.items() if key[0] == "human means"}
    assert len(found) == 72
    far = {
        key[1:]: c.recomputed for key, c in found.items() if abs(float(c.recomputed or 0) - float(c.published)) > 0.009
    }
    assert far == {("Qwen-3-4B", "Guidance"): pytest.approx(2.762, abs=5e-4)}
    assert found["human means", "Qwen-3-4B", "average"].verdict == "match"  # the printed average fits 2.76


@pytest.mark.parametrize("judge", ["Claude", "GPT-4o"])
def test_nine_systems(of_paper: dict[Key, CellComparison], judge: str) -> None:
    found = of_paper
    for attribute, expected in zip(ATTRIBUTES, NINE[judge], strict=True):
        row = [found["cells", f"{judge} / {attribute}", c].recomputed for c in ("c1", "a1", "bias", "mse")]
        assert row == pytest.approx(expected, abs=6e-4)


@pytest.mark.parametrize("judge", ["Claude", "GPT-4o"])
def test_eight_systems_are_the_released_scripts(real_values: dict[str, Values], judge: str) -> None:
    """The script's seeds give its intervals to the last digit."""
    eight = pairs.by_row(*both(real_values, judge, units(JUDGES[judge])[1:]))
    means, found = system_means(eight), estimates(eight)
    low, high, _ = interval(means)
    for k, expected in enumerate(EIGHT[judge]):
        assert (found.c1[k], found.a1[k]) == pytest.approx(plain_icc(means[k]), abs=1e-10)
        assert (found.c1[k], found.a1[k], low[k], high[k]) == pytest.approx(expected, abs=6e-4)


@pytest.mark.parametrize("judge", ["Claude", "GPT-4o"])
def test_cleaned(real: Path, real_values: dict[str, Values], judge: str) -> None:
    people, other = both(real_values, judge)
    sheets = released.find(real).sheets
    wrong = misaligned(sheets[0], sheets[1])
    assert len(wrong) == 19
    rows = [(i, i) for i, ident in enumerate(sheets[0].conversation) if ident not in wrong]
    found = estimates(pairs.paired(people.levels, other.levels, rows))
    assert [*zip(found.c1.round(2).tolist(), found.a1.round(2).tolist(), strict=True)] == CLEANED[judge]
    assert ((found.n > 8730) & (found.n < 8745)).all()


def test_which_cells_differ_and_how_far(of_paper: dict[Key, CellComparison]) -> None:
    """Printed C1, A1, means, bias and MSE are those of a slightly different merge; they lie within .004 of these."""
    found = {key: c for key, c in of_paper.items() if key[0] == "cells"}
    assert Counter(c.verdict for c in found.values()) == {"missing": 140, "match": 94, "differs": 46}
    for (_, row, column), c in found.items():
        if c.verdict == "differs" and isinstance(c.recomputed, float):
            assert abs(c.recomputed - float(c.published)) < (0.012 if column == "high" else 0.004), row
    words = {row: (c.published, c.recomputed) for (_, row, column), c in found.items() if column == "status" and c.verdict == "differs"}  # fmt: skip
    assert words == {"GPT-4o / Empathy": ("MR", "PR")}
    matched = Counter(column for (_, _, column), c in found.items() if c.verdict == "match")
    assert matched["width"] == matched["low"] == 14
    assert matched["c1"] == 8


def test_judges_that_are_not_here_are_missing_and_named(of_paper: dict[Key, CellComparison]) -> None:
    found = of_paper
    assert "gemini_llm_judge.xlsx" in found["cells", "Gemini / Safety", "c1"].note
    assert "o4-mini_llm_judge.xlsx" in found["cells", "o4-mini / Safety", "status"].note


def test_repaired_cells(recomputed: list[RecomputedCell]) -> None:
    """Without the empty replies, which are easy to rank, safety hardly ranks systems at all."""
    found = figures(recomputed)[1]
    assert len(found) == 72 + 140
    safety = [found["cells", "GPT-4o / Safety", column].recomputed for column in ("c1", "low", "high")]
    assert safety == pytest.approx([0.220, 0.05, 0.54], abs=0.02)
    # An interval half as wide is a better class to the source, although the coefficient has more than halved.
    assert found["cells", "GPT-4o / Safety", "status"].recomputed == "MR"
    assert float(found["human means", "Qwen-2.5-7B", "Safety"].recomputed or 0) > 4.84
    assert "n = 8,748" in found["cells", "GPT-4o / Safety", "c1"].note


def test_two_runs_are_identical_and_fast(real: Path, recomputed: list[RecomputedCell]) -> None:
    started = time.process_time()
    again = list(reproduce(real))
    assert time.process_time() - started < 4  # about 0.8 here
    assert again == recomputed


# -- made-up files -------------------------------------------------------------------------------------------------


def by_hand(copy: Copy, judge: str) -> ValuePairs:
    return pairs.by_row(*both(values(copy.root), judge))


def test_a_small_copy_is_computed_by_hand(small: Copy) -> None:
    found, data = compared(small.root), by_hand(small, "Claude")
    assert data.human.shape == (12, 9, 7)
    for k, attribute in enumerate(ATTRIBUTES):
        human, judge = data.human[..., k], data.judge[..., k]
        c1, a1 = plain_icc(np.stack([human.mean(axis=0), judge.mean(axis=0)], axis=1))
        row = {
            c: found["cells", f"Claude / {attribute}", c].recomputed for c in ("c1", "a1", "human_mean", "bias", "mse")
        }
        expected = {"c1": c1, "a1": a1, "human_mean": human.mean(), "bias": (judge - human).mean(), "mse": ((judge - human) ** 2).mean()}  # fmt: skip
        assert row == pytest.approx(expected, abs=1e-10)
    assert found["cells", "Claude / Safety", "c1"].note == "n = 108"


def test_zeros_and_sixes_count_as_published_but_not_repaired(small: Copy) -> None:
    key = "cells", "Claude / Safety", "human_mean"
    before, clean = (cells[key].recomputed for cells in figures(reproduce(small.root)))
    row, old = 3, by_hand(small, "Claude").human[3, 1, 3]
    small.set(PEOPLE, "ds_llama", row, cell(0))
    after, found = (cells[key] for cells in figures(reproduce(small.root)))
    assert after.recomputed == pytest.approx(float(before or 0) - old / 108)
    assert found.recomputed == pytest.approx((float(clean or 0) * 108 - old) / 107)
    assert found.note.endswith("n = 107")


def test_rows_of_another_concern_are_paired_as_published_and_by_concern_repaired(small: Copy) -> None:
    key = "cells", "GPT-4o / Empathy", "mse"
    before = repaired(small.root)[key].recomputed
    frame = rated(2, "judge_response_")
    moved = frame[[1, 2, 3, 0, *range(4, 12)]].with_columns(frame["ConvID"])
    small.write(GPT, moved)
    as_published, ours = figures(reproduce(small.root))
    assert ours[key].recomputed == before
    assert as_published[key].recomputed != before


def test_a_cell_that_only_we_can_read_is_not_in_the_published_numbers(small: Copy) -> None:
    small.set(CLAUDE, "ds_llama", 3, f"Here it is: {cell(4)}")
    as_published, ours = (cells["cells", "Claude / Safety", "c1"] for cells in figures(reproduce(small.root)))
    assert as_published.note == "n = 107"
    assert ours.note.endswith("n = 108")


def test_a_declared_system_that_is_missing_leaves_the_cells_missing(small: Copy) -> None:
    small.write(CLAUDE, rated(1, "judge_response_", tuple(s for s in SYSTEMS if s != "original")))
    found = compared(small.root)
    assert found["cells", "Claude / Safety", "c1"].verdict == "missing"
    assert found["cells", "Claude / Safety", "c1"].note.endswith("claude_llm_judge.xlsx or .csv, with every system")
    assert found["cells", "GPT-4o / Safety", "c1"].recomputed is not None


def test_the_judges_own_system_need_not_be_there(small: Copy) -> None:
    small.write(CLAUDE, rated(1, "judge_response_", tuple(s for s in SYSTEMS if s != "claude")))
    assert compared(small.root)["cells", "Claude / Safety", "c1"].recomputed is not None


def test_words_and_numbers_in_the_table_in_json_and_on_the_terminal(small: Copy) -> None:
    found = mindgauge.papers_reproduce("mentalbench", data=small.root)
    status = found.table.filter(pl.col("column") == "status", pl.col("verdict") == "differs")
    assert {*status["recomputed"]} <= {"GR", "MR", "PR"}
    arguments = ["papers", "reproduce", "mentalbench", "--data", str(small.root)]
    said = CliRunner().invoke(app, [*arguments, "--json"], catch_exceptions=False)
    cells = json.loads(said.stdout)["cells"]
    assert {type(c["published"]) for c in cells if c["column"] == "status"} == {str}
    assert {type(c["published"]) for c in cells if c["column"] == "c1"} == {float}
    shown = CliRunner().invoke(app, [*arguments, "--full"], catch_exceptions=False).stdout
    assert re.search(r"Claude / Safety +status +PR +(GR|MR|PR) +0 ", shown)
    assert re.search(r"Gemini / Safety +status +PR +– +0 +missing", shown)


def test_unknown_judges_and_systems_change_nothing(small: Copy) -> None:
    before = compared(small.root)
    small.write("LLMs_as_a_judge/mistral_llm_judge.xlsx", rated(1, "judge_response_"))
    small.write(CLAUDE, rated(1, "judge_response_", (*SYSTEMS, "new_system")))
    assert compared(small.root) == before


def test_people_alone_give_their_means(small: Copy) -> None:
    for name in (CLAUDE, GPT):
        (small.root / name).unlink()
    verdicts = Counter((key[0], c.recomputed is None) for key, c in compared(small.root).items())
    assert verdicts == {("human means", False): 72, ("cells", True): 280}


def test_judges_alone_give_nothing_and_name_what_is_needed(small: Copy) -> None:
    (small.root / PEOPLE).unlink()
    found = compared(small.root)
    assert {c.verdict for c in found.values()} == {"missing"}
    assert "Human_Judge/Human_judge.xlsx" in found["cells", "Claude / Safety", "c1"].note


def test_files_without_a_row_or_a_concern_in_common_lack_those_cells(small: Copy) -> None:
    key = "cells", "Claude / Safety", "c1"
    frame = rated(1, "judge_response_")
    small.write(CLAUDE, frame.with_columns(frame["ConvID"] + 100))
    as_published, ours = figures(reproduce(small.root))
    assert as_published[key].verdict == "missing"
    assert ours[key].recomputed is not None
    small.write(CLAUDE, frame.with_columns(context=frame["context"] + " Another."))
    as_published, ours = figures(reproduce(small.root))
    assert as_published[key].recomputed is not None
    assert key not in ours


def test_a_system_that_nobody_could_rate_leaves_its_cells_undefined(small: Copy) -> None:
    for row in range(12):
        small.set(CLAUDE, "gemini", row, None)
    found = compared(small.root)
    c1 = found["cells", "Claude / Safety", "c1"]
    assert (c1.verdict, c1.recomputed) == ("missing", None)
    assert found["cells", "Claude / Safety", "bias"].recomputed is not None


def test_discarded_resamples_are_counted(small: Copy) -> None:
    """With as good as random means some resamples fall outside [0, 1]; the source drops them, the repaired interval does not."""
    rng = np.random.default_rng(5)
    systems = rng.normal(size=(7, 9, 1))
    low, _, kept = interval(systems + rng.normal(size=(7, 9, 2)))
    assert kept.min() < 1000
    assert (low >= 0).all()
    human, judge = (rng.integers(1, 6, (40, 9, 7)).astype(float) for _ in range(2))
    assert (two_way_interval(pairs.ValuePairs(human, judge))[0] < 0).all()
