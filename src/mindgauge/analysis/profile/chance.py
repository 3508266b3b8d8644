"""What guessing would score."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from mindgauge.analysis.profile.headlines import Measured
    from mindgauge.metrics import Table

CHANCE = "chance"
"""The name of the metric by which a benchmark says it itself, where options differ from sample to sample."""


def of(one: Measured) -> float | None:
    """Return what a part's value would be under guessing, in its own unit; None where that is not known."""
    if one.part.chance is not None:
        return one.part.chance
    own = next((m for m in one.question.metrics if m.name == CHANCE), None)
    if one.metric.name == "accuracy" and own is not None:
        value = float(own.compute(one.table, np.ones((1, len(one.table))))[0])
        return value if np.isfinite(value) else None
    if one.part.criterion in one.question.benchmark.composites or one.question.criterion.options:
        return None
    return {"accuracy": _accuracy, "macro_f1": _macro_f1}.get(one.metric.name, _unknown)(one.table)


def _accuracy(table: Table) -> float | None:
    return 1 / len(table.levels)


def _macro_f1(table: Table) -> float | None:
    """Return the macro-F1 of levels drawn evenly: their precision is the target's share, their recall 1 / levels."""
    share = np.unique(table.target, return_counts=True)[1] / len(table)
    recall = 1 / len(table.levels)
    return float((2 * share * recall / (share + recall)).mean())


def _unknown(_: Table) -> float | None:
    return None
