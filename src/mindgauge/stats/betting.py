"""Bounds of the mean of independent values in a known range, which hold at every sample size: they come from betting.

Against "the mean is m or more", a player stakes a share of the capital on each value being lower: the capital is the
product of 1 + λ (m - x). If the mean is m or more, no stake makes the capital grow on average, so that it is above 1/α
with a chance of at most α (Markov), and *ever* above it, however often one looks, with the same chance (Ville). The
bound is the least m against which it is above (Waudby-Smith and Ramdas 2024, *JRSS B* 86, sections 4 and 5).

The capital is shared among fixed stakes (a mixture; their section B.3). It so does not depend on the order of the values,
needs no random numbers, and is sound for values that have different means: by the inequality of the means, the product
of 1 + λ (m - μᵢ) is at most (1 + λ (m - μ̄))ⁿ.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from mindgauge.stats.interval import Ends, Interval

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_STAKES = np.linspace(0, 1, 24)
"""Where a stake is between the least one (0) and the one that can lose all (1), by its logarithm."""
_SHARES = np.where(_STAKES == 1, len(_STAKES) / 2, 1.0) / (len(_STAKES) * 1.5 - 1)
"""Of the capital: a third on the largest stake, which is the best one where all values are the same."""
_LEAST = 1 / 64
"""The least stake where the number of values is not known beforehand: the best one for about 100,000 of them."""
_HALVINGS = 40
_MOST = 1_000_000
"""More values than that are no plan."""


def interval(
    values: Floats, ends: Ends, *, alpha: float = 0.05, weights: Floats | None = None, anytime: bool = False
) -> Interval:
    """Estimate a mean, with an interval each of whose bounds holds with a confidence of 1 - alpha/2.

    Args:
        values: shape (n,), independent of each other, as those of conversations.
        ends: the lowest and the highest value that one can be.
        alpha: chance that the interval misses the mean, at most.
        weights: shape (n,), not negative: of each value in the mean; 1, if not given. They were fixed beforehand, or
            come with the values, as the number of a conversation's replies does.
        anytime: whether it is to hold at every look, however often one looks while values come in: then stakes do not
            depend on how many values there are. It is a little wider.
    """
    if not len(values):
        return Interval(None, undefined="no observations")
    return Interval(
        float(np.average(values, weights=weights)),
        lower(values, ends, alpha=alpha / 2, weights=weights, anytime=anytime),
        upper(values, ends, alpha=alpha / 2, weights=weights, anytime=anytime),
    )


def upper(values: Floats, ends: Ends, *, alpha: float, weights: Floats | None = None, anytime: bool = False) -> float:
    """Return the upper bound of the mean, which is below it with a chance of at most alpha; see `interval`."""
    low, high = ends
    scaled = np.clip((values - low) / (high - low), 0.0, 1.0)
    return low + (high - low) * _upper(scaled, weights, math.log(1 / alpha), anytime=anytime)


def lower(values: Floats, ends: Ends, *, alpha: float, weights: Floats | None = None, anytime: bool = False) -> float:
    """Return the lower bound of the mean, which is above it with a chance of at most alpha; see `interval`."""
    return -upper(-values, (-ends[1], -ends[0]), alpha=alpha, weights=weights, anytime=anytime)


def e_value(
    values: Floats, ends: Ends, limit: float, *, at_least: bool, alpha: float = 0.025, weights: Floats | None = None
) -> float:
    """Return the capital won against "the mean is at least (at most) the limit": above 1/α with a chance of at most α.

    Its mean is at most 1 if that is so. E-values of independent data for one hypothesis may be multiplied, and those of
    dependent data averaged; 1/e is a p-value.

    Args:
        values: shape (n,).
        ends: the lowest and the highest value that one can be.
        limit: of the hypothesis.
        at_least: whether it says that the mean is at least the limit, or at most.
        alpha: for which stakes are chosen: where the capital is meant to reach 1/alpha.
        weights: as in `interval`.
    """
    low, high = ends if at_least else (-ends[1], -ends[0])
    sign = 1 if at_least else -1
    scaled = np.clip((sign * values - low) / (high - low), 0.0, 1.0)
    weight = _weight(weights, len(values))
    smallest = _least(weight, math.log(1 / alpha))
    mean = (sign * limit - low) / (high - low)
    if mean >= 1:
        return math.inf if bool((scaled[weight > 0] < 1).any()) else 1.0
    return math.exp(min(_capital(scaled, weight, mean, smallest), 700.0))


def enough(
    values: Floats, ends: Ends, limit: float, *, at_least: bool, alpha: float = 0.025, weights: Floats | None = None
) -> int | None:
    """Return with how many values like these the bound would reach a limit; None where their mean is not on its side.

    Args:
        values: shape (n,).
        ends: the lowest and the highest value that one can be.
        limit: that the upper bound is to be below (`at_least`: the hypothesis that the mean is at least that falls), or
            the lower bound above.
        at_least: as in `e_value`.
        alpha: chance to miss.
        weights: as in `interval`.
    """
    low, high = ends if at_least else (-ends[1], -ends[0])
    sign = 1 if at_least else -1
    scaled, mean = np.clip((sign * values - low) / (high - low), 0.0, 1.0), (sign * limit - low) / (high - low)
    weight, needed = _weight(weights, len(values)), math.log(1 / alpha)
    if not len(values) or mean >= 1 or float(np.average(scaled, weights=weight)) >= mean:
        return None

    def reaches(n: int) -> bool:
        times = n / len(values)
        smallest = _least(np.sqrt(times) * weight, needed)
        return _capital(scaled, weight, mean, smallest, np.full(len(values), times)) >= needed

    return fewest(reaches)


def fewest(reaches: Callable[[int], bool]) -> int | None:
    """Return the least number for which something holds, and for all larger ones; None if that is more than any plan has."""
    high = 1
    while not reaches(high):
        high *= 2
        if high > _MOST:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high


def _upper(scaled: Floats, weights: Floats | None, needed: float, *, anytime: bool) -> float:
    """Return the least mean against which the log capital reaches what is needed; values are between 0 and 1."""
    weight = _weight(weights, len(scaled))
    scaled, weight = scaled[weight > 0], weight[weight > 0]
    if not len(scaled) or scaled.min() == 1:
        return 1.0
    smallest = _LEAST if anytime else _least(weight, needed)
    (scaled, weight), count = np.unique(np.stack([scaled, weight]), axis=1, return_counts=True)
    low, high = float(np.average(scaled, weights=weight * count)), 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle >= 1:
            break
        if _capital(scaled, weight, middle, smallest, count) >= needed:
            high = middle
        else:
            low = middle
    return high


def _capital(
    scaled: Floats, weight: Floats, mean: float, smallest: float, count: NDArray[np.intp] | Floats | None = None
) -> float:
    """Return the logarithm of the capital won against "the mean is this or more". It rises with the mean."""
    stakes = _stakes(np.array([[mean]]), smallest)[0]
    with np.errstate(divide="ignore"):
        won = np.log1p(np.maximum(stakes[:, None] * (weight * (mean - scaled)), -1.0))
    total = won.sum(axis=1) if count is None else won @ count
    return float(np.logaddexp.reduce(total + np.log(_SHARES)))


def _stakes(means: Floats, smallest: float) -> Floats:
    """Return the stakes against each mean, shape (m, 24): from the least to the one that a value of 1 takes away."""
    largest = 1 / (1 - means)
    return np.asarray(largest**_STAKES * np.minimum(smallest, largest) ** (1 - _STAKES))


def _least(weight: Floats, needed: float) -> float:
    """Return the best stake where values differ as much as they can: the root of 2 log(1/α) / (n σ²), with σ² = 1/4."""
    total = float((weight**2).sum())
    return math.sqrt(8 * needed / total) if total else 1.0


def _weight(weights: Floats | None, n: int) -> Floats:
    """Return weights of which the largest is 1."""
    return np.ones(n) if weights is None else weights / (weights.max() or 1.0)
