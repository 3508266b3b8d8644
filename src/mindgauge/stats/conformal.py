"""Conformal intervals for a value of people's, given a judge's, with conversations as the unit.

Hierarchical conformal prediction (Lee, Barber and Willett 2023): with K exchangeable clusters and the mean over each
cluster's members, the weighted quantile of K clusters and one at infinity covers a member of a new cluster with a
chance of at least the level, whatever the members of one cluster have to do with each other.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

LEVEL = 0.9


class Residuals(NamedTuple):
    """How far people's value lies from the judge's: between `low` and `high` with the level asked for.

    Both are None where `n` clusters are fewer than the `needs` with which there is an end at all.
    """

    low: float | None
    high: float | None
    n: int
    needs: int


def needed(level: float = LEVEL) -> int:
    """Return the least number of clusters with which an interval has two ends: (1 - level) / 2 · (n + 1) ≥ 1; 19 for 90 %."""
    return math.ceil(2 / (1 - level) - 1 - 1e-9)


def residuals(distance: Floats, cluster: Codes, level: float = LEVEL) -> Residuals:
    """Return the interval in which a new cluster's distance lies with a chance of at least `level`.

    Half of what may be missed is missed on each side: a judge who is mild has an interval that is not symmetric.

    Args:
        distance: shape (n,), people's value less the judge's.
        cluster: shape (n,).
        level: of coverage.
    """
    clusters, place, sizes = np.unique(cluster, return_inverse=True, return_counts=True)
    needs = needed(level)
    if len(clusters) < needs:
        return Residuals(None, None, len(clusters), needs)
    weight = 1 / sizes[place] / (len(clusters) + 1)
    side = (1 - level) / 2
    return Residuals(
        -_quantile(-distance, weight, 1 - side), _quantile(distance, weight, 1 - side), len(clusters), needs
    )


def _quantile(values: Floats, weight: Floats, level: float) -> float:
    """Return the lowest value at or below which weights (n,) add up to the level; the highest where they never do."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    return float(values[order][min(int(np.searchsorted(reached, level - 1e-12)), len(values) - 1)])


def covered(distance: Floats, cluster: Codes, among: Mask, level: float = LEVEL) -> Floats:
    """Say of each member whether the interval of the others' clusters holds its distance; shape (n,), NaN where there is none.

    Each cluster is left out in turn.

    Args:
        distance: shape (n,).
        cluster: shape (n,).
        among: shape (n,), the group that is calibrated on itself; the others are NaN.
        level: of coverage.
    """
    result = np.full(len(distance), np.nan)
    values, (clusters, place, sizes) = (
        distance[among],
        np.unique(cluster[among], return_inverse=True, return_counts=True),
    )
    if len(clusters) <= needed(level):
        return result
    limit = (1 + level) / 2 * len(clusters) - 1e-12
    inside = [_others_below(side, place, 1 / sizes[place]) < limit for side in (values, -values)]
    result[among] = inside[0] & inside[1]
    return result


def _others_below(values: Floats, place: Codes, weight: Floats) -> Floats:
    """Return the weight of other clusters' members with a lower value; an end lies at or above a value if that is small."""
    order = np.argsort(values, kind="stable")
    lower_weight = np.r_[0.0, np.cumsum(weight[order])][np.searchsorted(values[order], values - 1e-9)]
    stride = 2 * (np.ptp(values) + 1)  # clusters one after the other on one line
    line = np.sort(values + stride * place)
    starts = np.searchsorted(line, values.min() + stride * place - 1e-9)
    own = (np.searchsorted(line, values + stride * place - 1e-9) - starts) * weight
    return np.asarray(lower_weight - own)
