from __future__ import annotations

import statistics
import time
from collections import Counter
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING

import numpy as np
import pytest
from sklearn.metrics import precision_recall_fscore_support

from mindgauge.analysis.reproduce import load_published
from mindgauge.benchmarks.dialogue_safety.dialogue_safety import PUBLISHED, codes, majority, reproduce
from mindgauge.benchmarks.dialogue_safety.inputs import LABELS, SAFE
from tests.benchmarks.recomputed import as_published_and_ours

from .conftest import CHAT, ENCODER, ITEMS, guess, label

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from mindgauge.analysis.reproduce import CellComparison
    from mindgauge.benchmarks import RecomputedCell, Released

    from .conftest import Copy

Key = tuple[str, str, str]
ZERO, FEW, BERT = "gpt-3.5-turbo-0301 zero-shot", "gpt-3.5-turbo-0301 few-shot", "BERT-base"
FIGURES = ("accuracy", "precision", "recall", "f1")


def compared(data: Path) -> dict[Key, CellComparison]:
    return figures(reproduce(data))[0]


def repaired(data: Path) -> dict[Key, CellComparison]:
    return figures(reproduce(data))[1]


def figures(cells: Iterable[RecomputedCell]) -> tuple[dict[Key, CellComparison], dict[Key, CellComparison]]:
    return as_published_and_ours(PUBLISHED, cells)


def number(found: CellComparison) -> float:
    assert isinstance(found.recomputed, float)
    return found.recomputed


def half_up(value: float) -> float:
    """Round to one decimal as the authors' table does; the last bits of a float must not decide."""
    return float(Decimal(str(round(value, 9))).quantize(Decimal("0.1"), ROUND_HALF_UP))


@pytest.fixture(scope="module")
def recomputed(real: Path) -> list[RecomputedCell]:
    return list(reproduce(real))


@pytest.fixture(scope="module")
def of_paper(recomputed: list[RecomputedCell]) -> dict[Key, CellComparison]:
    return figures(recomputed)[0]


# -- the authors' files --------------------------------------------------------------------------------------------


def test_every_printed_number_whose_files_are_here_is_reproduced(of_paper: dict[Key, CellComparison]) -> None:
    printed = {key: c for key, c in of_paper.items() if key[0] == "results"}
    assert Counter(c.verdict for c in printed.values()) == {"match": 24, "missing": 24}
    for (_, row, _), c in printed.items():
        assert (c.verdict == "match") == (row in {ZERO, FEW, BERT})
        if c.verdict == "match":
            assert half_up(number(c)) == c.published
        else:
            assert c.note.endswith(": five whole runs")


def test_earlier_figures_are_reproduced(of_paper: dict[Key, CellComparison]) -> None:
    derived = Counter(c.verdict for key, c in of_paper.items() if key[0].startswith("derived."))
    assert derived == {"match": 96}


def test_halves_are_rounded_up(of_paper: dict[Key, CellComparison]) -> None:
    value = number(of_paper["results", BERT, "accuracy"])
    assert value == pytest.approx(70.25, abs=1e-9)
    assert half_up(value) == 70.3
    assert half_up(np.nextafter(70.25, 0)) == 70.3
    assert [half_up(x) for x in (70.249, 70.35, 44.65)] == [70.2, 70.4, 44.7]


def test_weighted_recall_repeats_the_accuracy_and_macro_averages_do_not(recomputed: list[RecomputedCell]) -> None:
    found, ours = figures(recomputed)
    assert len(ours) == 24
    for row in (ZERO, FEW, BERT):
        assert number(found["results", row, "recall"]) == pytest.approx(number(found["results", row, "accuracy"]))
        assert number(ours["results", row, "recall"]) < number(ours["results", row, "accuracy"]) - 10
        assert number(ours["results", row, "accuracy"]) == number(found["results", row, "accuracy"])
    assert half_up(number(ours["results", BERT, "f1"])) == 45.9


def test_majority_with_other_rules_for_ties(loaded: Released) -> None:
    """Ties to the lowest id would give 48.625, 49.375 and 70.750."""
    found = loaded
    gold = codes(str(sample.target) for sample in found.samples)
    by: dict[str, dict[int, dict[str, str | None]]] = {}
    for r in found.ratings:
        by.setdefault(r.rater, {}).setdefault(r.run, {})[r.subject] = None if r.value is None else str(r.value)
    expected = {
        "gpt-3.5-turbo-0301:zero_shot": (10, 48.5, 48.625),
        "gpt-3.5-turbo-0301:few_shot": (45, 49.875, 49.375),
        "bert-base-chinese": (5, 70.625, 70.75),
    }
    for rater, (ties, first, lowest) in expected.items():
        runs = np.stack([codes(by[rater][run][s.id] for s in found.samples) for run in range(5)])
        votes = np.stack([(runs == c).sum(axis=0) for c in range(len(LABELS))])
        assert ((votes == votes.max(axis=0)).sum(axis=0) > 1).sum() == ties
        assert 100 * (majority(runs) == gold).mean() == pytest.approx(first)
        assert 100 * (votes.argmax(axis=0) == gold).mean() == pytest.approx(lowest)


def test_two_runs_are_identical_and_fast(real: Path, recomputed: list[RecomputedCell]) -> None:
    started = time.process_time()
    again = sorted(reproduce(real), key=repr)
    assert time.process_time() - started < 10  # about 0.7 here
    assert again == sorted(recomputed, key=repr)


# -- published numbers alone ---------------------------------------------------------------------------------------


def test_the_table_is_whole_and_its_recall_is_its_accuracy() -> None:
    printed = {cell[:3]: cell.value for cell in load_published(PUBLISHED) if cell.table == "results"}
    assert len(printed) == 6 * 8
    for row in {row for _, row, _ in printed}:
        assert printed["results", row, "recall"] == printed["results", row, "accuracy"]
        assert printed["results", row, "recall_sd"] == printed["results", row, "accuracy_sd"]


def test_the_standard_deviation_is_that_of_a_sample() -> None:
    cells = {cell[:3]: cell.value for cell in load_published(PUBLISHED)}
    runs = [float(cells["derived.runs", FEW, str(run)]) for run in range(1, 6)]
    assert statistics.stdev(runs) == pytest.approx(1.762, abs=5e-4)
    assert statistics.pstdev(runs) == pytest.approx(1.576, abs=5e-4)
    assert cells["results", FEW, "accuracy_sd"] == half_up(statistics.stdev(runs)) != half_up(statistics.pstdev(runs))


# -- made-up files -------------------------------------------------------------------------------------------------


def by_sklearn(runs: list[list[int]], average: str) -> dict[str, tuple[float, float]]:
    """Mean and sample SD of each figure over runs; -1 is no answer."""
    gold = [label(item) for item in range(ITEMS)]
    rows = [
        precision_recall_fscore_support(gold, run, labels=range(len(LABELS)), average=average, zero_division=0)[:3]
        for run in runs
    ]
    rights = [sum(a == b for a, b in zip(gold, run, strict=True)) / ITEMS for run in runs]
    columns = [rights, *zip(*rows, strict=True)]
    return {
        name: (100 * statistics.mean(values), 100 * statistics.stdev(values))
        for name, values in zip(FIGURES, columns, strict=True)
    }


def test_a_small_copy_is_as_scikit_learn_has_it(small: Copy) -> None:
    found, ours = figures(reproduce(small.root))
    chat = [[guess(item, run) for item in range(ITEMS)] for run in range(5)]
    encoder = [[guess(item, run + 1) for item in range(ITEMS)] for run in range(5)]
    for row, runs in ((ZERO, chat), (FEW, [chat[0]] * 5), (BERT, encoder)):
        for values, average in ((found, "weighted"), (ours, "macro")):
            for column, (mean, sd) in by_sklearn(runs, average).items():
                assert number(values["results", row, column]) == pytest.approx(mean)
                assert number(values["results", row, f"{column}_sd"]) == pytest.approx(sd)
    assert {c.verdict for (_, row, _), c in found.items() if "0613" in row or "RoBERTa" in row} == {"missing"}


def test_an_answer_that_only_we_can_read_counts_in_our_figures_only(small: Copy) -> None:
    right = number(compared(small.root)["results", ZERO, "accuracy"])
    small.answer("zero_shot/one/1", "It is a case of humanoid mimicry")
    assert guess(1, 0) == label(1)
    found, ours = (cells["results", ZERO, "accuracy"] for cells in figures(reproduce(small.root)))
    assert number(found) == pytest.approx(right - 100 / ITEMS / 5)
    assert "1 of 60 answers cannot be read by the authors' rule" in found.note
    assert number(ours) == pytest.approx(right)
    assert ours.note == "answers read leniently"


@pytest.mark.parametrize("item", [0, 5])
def test_an_answer_that_nobody_can_read_is_wrong_and_takes_no_neighbour_s_label(small: Copy, item: int) -> None:
    small.answer(f"zero_shot/one/{item}", LABELS[label(item)])
    before = number(repaired(small.root)["results", ZERO, "accuracy"])
    small.answer(f"zero_shot/one/{item}", "Hm.")
    found = repaired(small.root)["results", ZERO, "accuracy"]
    assert number(found) == pytest.approx(before - 100 / ITEMS / 5)
    assert "1 of 60 answers cannot be read so, counted as wrong" in found.note
    runs = [[-1 if (run, i) == (0, item) else guess(i, run) for i in range(ITEMS)] for run in range(5)]
    assert number(found) == pytest.approx(by_sklearn(runs, "macro")["accuracy"][0])


def test_a_run_that_lacks_an_item_is_left_out_and_said(small: Copy) -> None:
    (small.root / f"{CHAT}/zero_shot/three/10.json").unlink()
    found = compared(small.root)["results", ZERO, "accuracy"]
    runs = [[guess(item, run) for item in range(ITEMS)] for run in (0, 1, 3, 4)]
    assert number(found) == pytest.approx(by_sklearn(runs, "macro")["accuracy"][0])
    assert found.note == "from 4 runs instead of 5"


def test_one_run_has_no_standard_deviation(small: Copy) -> None:
    for seed in (43, 44, 45, 46):
        for path in (small.root / f"{ENCODER}/{seed}").glob("*.json"):
            path.unlink()
    found = compared(small.root)
    assert found["results", BERT, "accuracy"].recomputed is not None
    assert (found["results", BERT, "accuracy_sd"].recomputed, found["results", BERT, "accuracy_sd"].verdict) == (
        None,
        "missing",
    )


def test_ties_go_to_the_label_that_came_first() -> None:
    runs = np.array([[3, 1, 5, -1], [1, 1, 4, 2], [1, 2, 4, -1], [3, 2, 5, 2], [0, 7, 0, 0]])
    assert majority(runs).tolist() == [3, 1, 5, -1]


def test_only_the_test_file(small: Copy) -> None:
    for path in small.root.rglob("*.json"):
        if path.name != "test.json":
            path.unlink()
    found = compared(small.root)
    assert {c.verdict for key, c in found.items() if key[0] != "derived.constant"} == {"missing"}
    safe = sum(label(item) == 7 for item in range(ITEMS))
    assert number(found["derived.constant", f"always {SAFE}", "all"]) == pytest.approx(100 * safe / ITEMS)
