"""What guessing would score."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mindgauge.metrics import accuracy
from mindgauge.metrics.options import CHANCE

if TYPE_CHECKING:
    from mindgauge.analysis.profile.headlines import Measured


def of(measured: Measured) -> float | None:
    """Return what a part's value would be under guessing, in its own unit; None where that is not known."""
    if measured.part.chance is not None:
        return measured.part.chance
    metric, table = measured.metric, measured.table
    own = next((m for m in measured.question.metrics if m.name == CHANCE), None)
    if metric.name == accuracy.name and own is not None:
        value = float(own.compute(table, np.ones((1, len(table))))[0])
        return value if np.isfinite(value) else None
    criterion = measured.part.criterion
    if criterion in measured.question.benchmark.composites or measured.question.criterion.options:
        return None
    return metric.chance(table) if metric.chance is not None else None
