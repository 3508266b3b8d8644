"""How far a recomputed number can be trusted: 95 % percentile intervals of 10,000 resamples of items, in words."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from mindgauge.metrics.correlation import pearson
from mindgauge.rounding import decimal
from mindgauge.stats import agreement, bootstrap, classification
from mindgauge.stats.proportion import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

RESAMPLES = 10_000


def mean(values: Sequence[float]) -> tuple[float | None, str]:
    """Return the mean of some items' values, and its n and interval in words.

    A share of 0 or 1, of which every resample is the same, gets its exact interval.
    """
    known = np.array(values, dtype=np.float64)
    if len(known) and {*known} in ({0.0}, {1.0}):
        value, low, high, _ = clopper_pearson(float(known.sum()), len(known))
        return value, f"{len(known)} items, exact 95 % interval {decimal(low, 3)} to {decimal(high, 3)}"
    return _estimated(lambda weights: weights @ known / weights.sum(axis=1), len(known))


def mean_of_rows(rows: Floats) -> tuple[float | None, str]:
    """Return the mean over items, each a row of values, shape (n, k); NaN where there is none."""
    known = np.isfinite(rows)
    sums, counts = np.nan_to_num(rows).sum(axis=1), known.sum(axis=1).astype(np.float64)
    return _estimated(lambda weights: weights @ sums / (weights @ counts), len(rows))


def correlation(first: Sequence[float], second: Sequence[float]) -> tuple[float | None, str]:
    """Return Pearson's r, and its n and interval in words; none of fewer than three items, or where one side is constant."""
    a, b = (np.array(values, dtype=np.float64)[None, :] for values in (first, second))
    return _estimated(partial(pearson, a, b), len(first)) if len(first) > 2 else (None, f"{len(first)} items")


def macro_f1(expected: Sequence[str], chosen: Sequence[str | None]) -> tuple[float | None, str]:
    """Return the mean F1 over the letters that are right answers; a choice that is none of them is wrong."""
    letters = sorted({*expected})
    right, told = (
        np.array([letters.index(c) if c in letters else -1 for c in choices], dtype=np.intp)
        for choices in (expected, chosen)
    )
    return _estimated(
        lambda weights: classification.macro_f1(agreement.confusion(right, told, len(letters), weights)), len(right)
    )


def _estimated(statistic: Callable[[Floats], Floats], n: int) -> tuple[float | None, str]:
    found = bootstrap.interval(statistic, np.arange(n), resamples=RESAMPLES)
    if found.low is None or found.high is None:
        return found.value, f"{n} items"
    return found.value, f"{n} items, 95 % interval {decimal(found.low, 3)} to {decimal(found.high, 3)}"
