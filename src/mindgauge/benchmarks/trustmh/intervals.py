"""How far a recomputed number can be trusted: 95 % percentile intervals of 10,000 resamples of items, in words."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from mindgauge.benchmarks.metrics.correlation import pearson
from mindgauge.records.rounding import decimal
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
    numbers = np.array(values, dtype=np.float64)
    if len(numbers) and {*numbers} in ({0.0}, {1.0}):
        value, low, high, _ = clopper_pearson(float(numbers.sum()), len(numbers))
        return value, f"{len(numbers)} items, exact 95 % interval {decimal(low, 3)} to {decimal(high, 3)}"
    return _estimated(lambda weights: weights @ numbers / weights.sum(axis=1), len(numbers))


def mean_of_rows(rows: Floats) -> tuple[float | None, str]:
    """Return the mean over items, each a row of values, shape (n, k); NaN where there is none."""
    finite = np.isfinite(rows)
    sums, counts = np.nan_to_num(rows).sum(axis=1), finite.sum(axis=1).astype(np.float64)
    return _estimated(lambda weights: weights @ sums / (weights @ counts), len(rows))


def correlation(first: Sequence[float], second: Sequence[float]) -> tuple[float | None, str]:
    """Return Pearson's r, and its n and interval in words; none of fewer than three items, or where one side is constant."""
    a, b = (np.array(values, dtype=np.float64)[None, :] for values in (first, second))
    return _estimated(partial(pearson, a, b), len(first)) if len(first) > 2 else (None, f"{len(first)} items")


def macro_f1(expected: Sequence[str], chosen: Sequence[str | None]) -> tuple[float | None, str]:
    """Return the mean F1 over the letters that are right answers; a choice that is none of them is wrong."""
    letters = sorted({*expected})
    right, answered = (
        np.array([letters.index(c) if c in letters else -1 for c in choices], dtype=np.intp)
        for choices in (expected, chosen)
    )
    return _estimated(
        lambda weights: classification.macro_f1(agreement.confusion(right, answered, len(letters), weights)), len(right)
    )


def _estimated(statistic: Callable[[Floats], Floats], n: int) -> tuple[float | None, str]:
    interval = bootstrap.interval(statistic, np.arange(n), resamples=RESAMPLES)
    if interval.low is None or interval.high is None:
        return interval.value, f"{n} items"
    return interval.value, f"{n} items, 95 % interval {decimal(interval.low, 3)} to {decimal(interval.high, 3)}"
