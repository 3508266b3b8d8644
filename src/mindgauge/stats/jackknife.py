"""Intervals from leaving out one cluster at a time: what few clusters allow, since Student's t knows how few they are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from mindgauge.stats.interval import Interval, tied
from mindgauge.stats.proportion import unanimous

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mindgauge.stats.interval import Ends

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]

UNMOVED = "no interval: it is the same without any one conversation"


def effective(sizes: Floats, counts: Codes | None = None) -> float:
    """Return Kish's effective number of clusters, (Σ m)² / Σ m² (Kish 1965, section 5.6): 10 equal ones are 10.

    Nine clusters of one and one of 41 are 1.5: a number of clusters says little where one holds nearly everything.

    Args:
        sizes: shape (K,), what a cluster of each kind holds.
        counts: shape (K,), how many clusters there are of each kind; one if not given.
    """
    times = np.ones(len(sizes)) if counts is None else counts
    square = float(times @ np.square(sizes))
    return float(times @ sizes) ** 2 / square if square > 0 else 0.0


def student(
    value: float,
    left_out: Floats,
    counts: Codes,
    *,
    correlation: bool = False,
    ends: Ends | None = None,
    level: float = 0.95,
    clusters: float | None = None,
) -> Interval:
    """Return Student's interval from the jackknife (Tukey 1958), for correlations on Fisher's z scale (Fisher 1921).

    θ ± t(C-1) √((C-1)/C Σ (θ_(i) - mean)²). For a mean of equally large clusters this is Student's own interval: the
    sleep of ten patients (Student 1908, the differences of his table) gives 1.58 [0.70, 2.46].

    Args:
        value: the estimate θ.
        left_out: shape (K,), the estimate without a cluster of each kind; NaN where it is not defined.
        counts: shape (K,), how many clusters there are of each kind; C in all.
        correlation: whether θ lies between -1 and 1, as agreement coefficients do.
        ends: the lowest and the highest value of a cluster's mean, where θ is the mean of clusters: no bound lies beyond
            them, and where all clusters have the same value, the interval is that of `unanimous`.
        level: of confidence.
        clusters: how many clusters there are in effect (`effective`), for the degrees of freedom; C if not given.
    """
    number = int(counts.sum())
    freedom = (number if clusters is None else min(clusters, number)) - 1
    if not math.isfinite(value):
        return Interval(None, undefined="not defined: all values are the same, or there are none")
    hindrance = _hindrance(value, left_out, freedom, correlation=correlation)
    if hindrance:
        return Interval(value, undefined=f"no interval: {hindrance}")
    transformed, centre = (np.arctanh(left_out), math.atanh(value)) if correlation else (left_out, value)
    spread = float(counts @ (transformed - counts @ transformed / number) ** 2)
    half = float(special.stdtrit(freedom, (1 + level) / 2)) * math.sqrt((number - 1) / number * spread)
    low, high = centre - half, centre + half
    if correlation:
        low, high = math.tanh(low), math.tanh(high)
    if tied(low, high):
        if ends is None:
            return Interval(value, undefined=UNMOVED)
        return unanimous(min(max(value, ends[0]), ends[1]), freedom + 1, ends, level)
    return Interval(value, low, high) if ends is None else Interval(value, max(low, ends[0]), min(high, ends[1]))


def _hindrance(value: float, left_out: Floats, freedom: float, *, correlation: bool) -> str:
    """Say why the jackknife gives no interval; empty where it does."""
    if freedom <= 0:
        return "fewer than two conversations"
    if not np.isfinite(left_out).all():
        return "it rests on a single conversation"
    if correlation and not (np.abs(np.append(left_out, value)) < 1).all():
        return "without one conversation, or with all, agreement is perfect"
    return ""


def p_value(value: float, left_out: Floats, counts: Codes) -> float | None:
    """Return the two-sided p of Student's test that the estimate is 0, which rejects where the interval of `student` does.

    Args:
        value: the estimate.
        left_out: shape (K,), the estimate without a cluster of each kind.
        counts: shape (K,), how many clusters there are of each kind.
    """
    clusters = int(counts.sum())
    if clusters < 2 or not (math.isfinite(value) and np.isfinite(left_out).all()):
        return None
    spread = float(counts @ (left_out - counts @ left_out / clusters) ** 2) * (clusters - 1) / clusters
    if spread <= 1e-24:
        return 1.0 if abs(value) <= 1e-12 else None
    return 2 * float(special.stdtr(clusters - 1, -abs(value) / math.sqrt(spread)))
