"""Bounds of a mean on a scale with known ends: what few values leave open, near an end too.

Student's interval takes its width from the values that were seen. Where 19 of 20 are the best of a scale, it knows
nothing of a worse one that was not drawn. Gaffke (2005, *Three test statistics for a nonparametric one-sided hypothesis
on the mean of a nonnegative variable*) adds one unseen value at the end of the scale that a bound fears, and gives all
n + 1 values random weights from a flat Dirichlet distribution; the bound is a quantile of the weighted mean. For values
of two kinds it is Clopper and Pearson's bound, for values all alike that of `unanimous`. That it always holds is a
conjecture without a known counterexample (Learned-Miller and Thomas 2019); bench/results/coverage.md has how often it did.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy import optimize, special

from mindgauge.stats.interval import AGREED, SAME, Interval
from mindgauge.stats.proportion import unanimous

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mindgauge.stats.interval import Ends

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]

_NEAR = 1e-9
"""Of the distance between an end and the mean: differences below this are rounding."""


def interval(values: Floats, weights: Floats, cluster: Codes, ends: Ends, *, level: float = 0.95) -> Interval:
    """Return Gaffke's interval of a weighted mean of clustered values.

    Values of one cluster repeat each other: n of them, in effect, count as n / d, d being the design effect (Kish 1965,
    section 8.2). Into d enters the unseen value, as a whole cluster of them, so that clusters that all say the same
    count once each, and what a few different values seem to show of d counts little.

    Args:
        values: shape (n,).
        weights: shape (n,), which add up to 1.
        cluster: shape (n,), codes from 0.
        ends: the lowest and the highest value.
        level: of confidence.
    """
    mean = float(weights @ values)
    shares, squares = np.bincount(cluster, weights), float(weights @ weights)
    clusters, number = 1 / float(shares @ shares), 1 / squares
    if np.ptp(values) <= _NEAR * (ends[1] - ends[0]):
        return unanimous(min(max(mean, ends[0]), ends[1]), clusters, ends, level)
    residual = weights * (values - mean)
    together, alone = float((np.bincount(cluster, residual) ** 2).sum()), float(residual @ residual)
    bounds = []
    for end, sign in ((ends[0], 1.0), (ends[1], -1.0)):
        unseen = (mean - end) ** 2
        if abs(mean - end) <= _NEAR * (ends[1] - ends[0]):
            bounds.append(end)
            continue
        effect = (together + unseen / clusters**2) / (alone + unseen / (clusters * number))
        effective = min(max(number / effect, clusters), number)
        bounds.append(sign * _lower(sign * values, weights * effective, sign * end, (1 - level) / 2))
    return Interval(mean, max(bounds[0], ends[0]), min(bounds[1], ends[1]))


def widened(corrected: Interval, people: Interval, bounds: Interval, ends: Ends) -> tuple[Interval, Interval]:
    """Widen Student's interval of people's mean to Gaffke's, and that of a mean which the judge steadies by as much.

    What people did not draw, the judge may not know either, so each bound of the corrected mean moves as far as people's
    own. In the middle of a scale people's hardly moves. Gaffke's bound of the corrected values themselves would reach
    for the judge's worst mistake, also where it errs little.

    Args:
        corrected: of people and judge.
        people: of people alone, of the same labels.
        bounds: people's by `interval`.
        ends: the lowest and the highest value.
    """
    if people.value is None or corrected.value is None or bounds.low is None or bounds.high is None:
        return corrected, people
    if not {people.undefined, corrected.undefined} <= {"", SAME}:
        return corrected, people
    of_people, steadied = ((x.value or 0.0, x.value or 0.0) if x.low is None or x.high is None else (x.low, x.high) for x in (people, corrected))  # fmt: skip
    low, high = min(of_people[0], bounds.low), max(of_people[1], bounds.high)
    note = AGREED if bounds.undefined else ""
    moved = steadied[0] - (of_people[0] - low), steadied[1] + (high - of_people[1])
    clipped = np.clip([corrected.value, *moved], *ends).tolist()
    return (
        Interval(clipped[0], clipped[1], clipped[2], note),
        Interval(people.value, max(low, ends[0]), min(high, ends[1]), note),
    )


def _lower(values: Floats, counts: Floats, end: float, tail: float) -> float:
    """Return the quantile of Σ D x, D from a Dirichlet distribution with parameters `counts`, and 1 for the end."""
    kinds, place = np.unique(values, return_inverse=True)
    points, shape = np.append(kinds, end), np.append(np.bincount(place, counts), 1.0)
    mean, lowest = float(shape @ points) / float(shape.sum()), float(points.min())
    reach = mean - lowest

    def excess(mean_value: float) -> float:
        return _below(points - mean_value, shape) - tail

    low, high = lowest + _NEAR * reach, mean - 1e-3 * reach
    if excess(low) >= 0:  # of values that count for little, most of the weight can be on the end
        return lowest
    return float(optimize.brentq(excess, low, high)) if excess(high) > 0 else mean


def _below(distances: Floats, shape: Floats) -> float:
    """Return P(Σ w G ≤ 0) of gamma variables G, by the saddlepoint approximation (Lugannani and Rice 1980)."""

    def slope(s: float) -> float:
        return float((shape * distances / (1 - s * distances)).sum())

    margin = 1 - _NEAR
    s = float(optimize.brentq(slope, margin / distances.min(), margin / distances.max()))
    root = math.copysign(math.sqrt(2 * max(float(shape @ np.log1p(-s * distances)), 0.0)), s)
    curved = s * math.sqrt(float(shape @ (distances / (1 - s * distances)) ** 2))
    return 0.5 if abs(root) < 1e-4 else float(special.ndtr(root + math.log(curved / root) / root))
