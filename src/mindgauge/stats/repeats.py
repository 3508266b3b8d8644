"""Two intervals of one mean: over the repeats of a rater, and over ratings as if each were drawn for itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from mindgauge.stats.interval import Interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def over(values: Floats, level: float = 0.95) -> Interval:
    """Return mean ± t s / √R of R values, shape (R,), each of which is taken for a draw of its own.

    Of the results of R repeats on the same conversations this is an interval about further repeats; of single ratings it
    is the one that takes no notice of conversations.
    """
    values = values[np.isfinite(values)]
    if not len(values):
        return Interval(None, undefined="no observations")
    mean = float(values.mean())
    if len(values) < 2:
        return Interval(mean, undefined="one value has no spread")
    half = float(special.stdtrit(len(values) - 1, (1 + level) / 2) * values.std(ddof=1) / np.sqrt(len(values)))
    return Interval(mean, mean - half, mean + half)


def rescaled(half: float, level: float, target: float = 0.95) -> float:
    """Return the half-width that a normal interval of one level would have at another."""
    return half * float(special.ndtri((1 + target) / 2) / special.ndtri((1 + level) / 2))
