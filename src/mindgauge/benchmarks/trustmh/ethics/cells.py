"""What the stored outputs on the dilemmas give, beside what they state."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from mindgauge.benchmarks import RecomputedCell
from mindgauge.benchmarks.trustmh import intervals
from mindgauge.benchmarks.trustmh.ethics.dilemmas import LETTERS
from mindgauge.benchmarks.trustmh.released import outputs
from mindgauge.benchmarks.trustmh.released.ethics import PRINCIPLES, STORED, Stored, stored_in
from mindgauge.raters.rule import choice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease

NOT_STORED = "the raw outputs are not stored"
SAME = 1e-6
"""How far a number that a file states to all digits may be off."""
_CLASSES = ("accuracy", "precision", "recall", "f1")


def cells(files: TrustMHRelease, derived: dict[str, Any]) -> Iterator[RecomputedCell]:
    """Recompute what the stored outputs allow; of two files of one model, the later one.

    Args:
        files: where to look.
        derived: the table of what was recomputed when the benchmark was specified.
    """
    outputs_read, faults = outputs.readable(files, STORED, stored_in)
    names, spelt = outputs.spellings((output.model for output in outputs_read), derived["rows"])
    by_model = {names[output.model]: output for output in outputs_read}
    yield from (
        RecomputedCell("files", source, "content", None, fault, stated="readable") for source, fault in faults.items()
    )
    for model in derived["rows"].keys() - by_model.keys():
        lacking = f"no outputs of {model} that can be read"
        yield from (RecomputedCell("derived.ethics", model, column, None, lacking) for column in derived["columns"])
    common = (
        set.intersection(*({row["sample_id"] for row in output.results} for output in outputs_read))
        if outputs_read
        else set()
    )
    for model, output in by_model.items():
        spelling = "".join(f"; {note}" for note in spelt if note.startswith(f"{model} is "))
        yield from _chosen(model, output, spelling, common)
        yield from _judged(model, output)
        if model in derived["rows"]:
            yield from _derived(model, output)


def _letters(output: Stored) -> tuple[list[str], list[str]]:
    return [str(row["ground_truth_option"]) for row in output.judged], [
        str(row["model_choice_option"]) for row in output.judged
    ]


def _chosen(model: str, output: Stored, spelling: str, common: set[object]) -> Iterator[RecomputedCell]:
    expected, chosen = _letters(output)
    right, note = intervals.mean([a == b for a, b in zip(expected, chosen, strict=True)])
    for name in _CLASSES:
        yield RecomputedCell(
            "ethics", model, name, right, note + spelling, stated=output.stated.get(name), tolerance=SAME
        )
    macro, note = intervals.macro_f1(expected, chosen)
    method = "macro over the letters that are right answers; theirs is the accuracy"
    yield RecomputedCell("ethics", model, "f1", macro, f"{method}; {note}", repaired=True)
    yield _read_anew(model, output, common)


def _read_anew(model: str, output: Stored, common: set[object]) -> RecomputedCell:
    """Return the accuracy where the choice is read from the raw output by our rules, on the items that all models have."""
    rows = [row for row in output.results if row["sample_id"] in common]
    raw = [row["response"].get("content") if isinstance(row.get("response"), dict) else None for row in rows]
    if not any(raw):
        return RecomputedCell("ethics", model, "accuracy", None, NOT_STORED, repaired=True)
    choices = [choice(str(text or ""), LETTERS) for text in raw]
    value, note = intervals.mean([a == row["expected_reasoning"] for a, row in zip(choices, rows, strict=True)])
    method = f"read from the raw output, unreadable ones wrong ({choices.count(None)} of {len(choices)})"
    return RecomputedCell(
        "ethics", model, "accuracy", value, f"{method}; {note}, those that all models have", repaired=True
    )


def _levels(output: Stored) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the judge's levels, shape (items, 5); NaN where it gave none."""
    rows = [[row["judge_parsed"].get(name) for name in PRINCIPLES] for row in output.judged]
    numbers = [[float(v) if isinstance(v, int | float) else np.nan for v in row] for row in rows]
    return np.array(numbers, dtype=np.float64).reshape(-1, len(PRINCIPLES))


def _judged(model: str, output: Stored) -> Iterator[RecomputedCell]:
    for name, levels in zip(PRINCIPLES, _levels(output).T, strict=True):
        finite = levels[np.isfinite(levels)]
        value, note = intervals.mean(finite)
        note += f", {len(levels) - len(finite)} without a level" * (len(finite) < len(levels))
        margin = 1.96 * float(np.std(finite, ddof=1)) / len(finite) ** 0.5 if len(finite) > 1 else None
        stated = output.stated.get(name) or {}
        yield RecomputedCell("ethics", model, f"{name} mean", value, note, stated=stated.get("mean"), tolerance=SAME)
        yield RecomputedCell("ethics", model, f"{name} ±", margin, note, stated=stated.get("ci_margin"), tolerance=SAME)


def _derived(model: str, output: Stored) -> Iterator[RecomputedCell]:
    expected, chosen = _letters(output)
    figures = {
        "accuracy": intervals.mean([a == b for a, b in zip(expected, chosen, strict=True)]),
        "macro_f1": intervals.macro_f1(expected, chosen),
        "judge_mean": intervals.mean_of_rows(_levels(output)),
    }
    counts = Counter(chosen)
    yield from (RecomputedCell("derived.ethics", model, name, *figure) for name, figure in figures.items())
    yield from (RecomputedCell("derived.ethics", model, letter, float(counts[letter])) for letter in LETTERS)
