"""What the stored outputs on the dilemmas give, beside what they state."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from mindgauge.benchmark import Cell
from mindgauge.benchmarks.trustmh import intervals
from mindgauge.benchmarks.trustmh.ethics.dilemmas import LETTERS
from mindgauge.benchmarks.trustmh.released import outputs
from mindgauge.benchmarks.trustmh.released.ethics import PRINCIPLES, STORED, Stored, stored_in
from mindgauge.raters.choice import choice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.benchmarks.trustmh.released.files import Files

NOT_STORED = "the raw outputs are not stored"
SAME = 1e-6
"""How far a number that a file states to all digits may be off."""
_CLASSES = ("accuracy", "precision", "recall", "f1")


def cells(files: Files, derived: dict[str, Any]) -> Iterator[Cell]:
    """Recompute what the stored outputs allow; of two files of one model, the later one.

    Args:
        files: where to look.
        derived: the table of what was recomputed when the benchmark was specified.
    """
    found, faults = outputs.readable(files, STORED, stored_in)
    names, spelt = outputs.spellings((one.model for one in found), derived["rows"])
    by_model = {names[one.model]: one for one in found}
    yield from (Cell("files", source, "content", None, fault, stated="readable") for source, fault in faults.items())
    for model in derived["rows"].keys() - by_model.keys():
        lacking = f"no outputs of {model} that can be read"
        yield from (Cell("derived.ethics", model, column, None, lacking) for column in derived["columns"])
    common = set.intersection(*({row["sample_id"] for row in one.results} for one in found)) if found else set()
    for model, one in by_model.items():
        also = "".join(f"; {note}" for note in spelt if note.startswith(f"{model} is "))
        yield from _chosen(model, one, also, common)
        yield from _judged(model, one)
        if model in derived["rows"]:
            yield from _derived(model, one)


def _letters(one: Stored) -> tuple[list[str], list[str]]:
    return [str(row["ground_truth_option"]) for row in one.judged], [
        str(row["model_choice_option"]) for row in one.judged
    ]


def _chosen(model: str, one: Stored, also: str, common: set[object]) -> Iterator[Cell]:
    expected, chosen = _letters(one)
    right, note = intervals.mean([a == b for a, b in zip(expected, chosen, strict=True)])
    for name in _CLASSES:
        yield Cell("ethics", model, name, right, note + also, stated=one.stated.get(name), tolerance=SAME)
    macro, note = intervals.macro_f1(expected, chosen)
    said = "macro over the letters that are right answers; theirs is the accuracy"
    yield Cell("ethics", model, "f1", macro, f"{said}; {note}", repaired=True)
    yield _read_anew(model, one, common)


def _read_anew(model: str, one: Stored, common: set[object]) -> Cell:
    """Return the accuracy where the choice is read from the raw output by our rules, on the items that all models have."""
    rows = [row for row in one.results if row["sample_id"] in common]
    raw = [row["response"].get("content") if isinstance(row.get("response"), dict) else None for row in rows]
    if not any(raw):
        return Cell("ethics", model, "accuracy", None, NOT_STORED, repaired=True)
    told = [choice(str(text or ""), LETTERS) for text in raw]
    value, note = intervals.mean([a == row["expected_reasoning"] for a, row in zip(told, rows, strict=True)])
    said = f"read from the raw output, unreadable ones wrong ({told.count(None)} of {len(told)})"
    return Cell("ethics", model, "accuracy", value, f"{said}; {note}, those that all models have", repaired=True)


def _levels(one: Stored) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the judge's levels, shape (items, 5); NaN where it gave none."""
    told = [[row["judge_parsed"].get(name) for name in PRINCIPLES] for row in one.judged]
    numbers = [[float(v) if isinstance(v, int | float) else np.nan for v in row] for row in told]
    return np.array(numbers, dtype=np.float64).reshape(-1, len(PRINCIPLES))


def _judged(model: str, one: Stored) -> Iterator[Cell]:
    for name, given in zip(PRINCIPLES, _levels(one).T, strict=True):
        known = given[np.isfinite(given)]
        value, note = intervals.mean(known)
        note += f", {len(given) - len(known)} without a level" * (len(known) < len(given))
        margin = 1.96 * float(np.std(known, ddof=1)) / len(known) ** 0.5 if len(known) > 1 else None
        stated = one.stated.get(name) or {}
        yield Cell("ethics", model, f"{name} mean", value, note, stated=stated.get("mean"), tolerance=SAME)
        yield Cell("ethics", model, f"{name} ±", margin, note, stated=stated.get("ci_margin"), tolerance=SAME)


def _derived(model: str, one: Stored) -> Iterator[Cell]:
    expected, chosen = _letters(one)
    figures = {
        "accuracy": intervals.mean([a == b for a, b in zip(expected, chosen, strict=True)]),
        "macro_f1": intervals.macro_f1(expected, chosen),
        "judge_mean": intervals.mean_of_rows(_levels(one)),
    }
    counts = Counter(chosen)
    yield from (Cell("derived.ethics", model, name, *figure) for name, figure in figures.items())
    yield from (Cell("derived.ethics", model, letter, float(counts[letter])) for letter in LETTERS)
