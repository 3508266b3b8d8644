"""Intervals for a share, with exact bounds for rare events."""

from __future__ import annotations

import math

from scipy.special import betaincinv  # scipy.stats has the same and takes 40 MB more to import

from mindgauge.stats.interval import Interval


def clopper_pearson(count: float, n: float, level: float = 0.95) -> Interval:
    """Return a share with its exact interval (Clopper and Pearson 1934), by quantiles of the beta distribution.

    low = B(α/2; x, n-x+1), high = B(1-α/2; x+1, n-x), with α = 1 - level. For 0 of n only the upper bound says
    anything, for n of n only the lower; both keep α/2 on their side, so "0 of n" is bounded by 1-(α/2)^(1/n).
    `count` need not be whole: with clusters it is the sum of the clusters' shares, and n the number of clusters,
    which takes repeats of one cluster as one observation.

    Args:
        count: events, 0 to n.
        n: observations.
        level: of confidence.
    """
    if n <= 0:
        return Interval(math.nan, math.nan, math.nan)
    alpha = 1 - level
    low = float(betaincinv(count, n - count + 1, alpha / 2)) if count > 0 else 0.0
    high = float(betaincinv(count + 1, n - count, 1 - alpha / 2)) if count < n else 1.0
    return Interval(count / n, low, high)
