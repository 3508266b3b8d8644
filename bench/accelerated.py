"""The bias-corrected and accelerated bootstrap, which no card prints: `coverage.py` measures it beside what they print."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from mindgauge.stats.bootstrap import percentile_interval
from mindgauge.stats.interval import TIE, Interval, tied

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]


def bca(value: float, values: Floats, left_out: Floats, level: float = 0.95, counts: Codes | None = None) -> Interval:
    """Return an estimate with its bias-corrected and accelerated interval (Efron 1987; DiCiccio and Efron 1996).

    The bounds are quantiles of the resamples at Φ(z0 + (z0 + z) / (1 - a (z0 + z))), z = ∓Φ⁻¹((1+level)/2), with the
    bias correction z0 = Φ⁻¹(share of resamples below the estimate, half of those equal to it) and the acceleration
    a = Σ d³ / (6 (Σ d²)^1.5), d = mean of the jackknife values - each. Where z0 or a is not defined the percentile
    interval is given, and `undefined` says so.
    Published example: for the variance of Efron and Tibshirani 1993, table 14.1 (26 children, spatial test A), a is
    0.061 and the 90 % interval from 2,000 resamples (115.8, 259.6), against (100.8, 233.9) by percentiles.

    Args:
        value: the estimate.
        values: shape (resamples,), the statistic over resamples.
        left_out: shape (C,), the statistic with each cluster left out; or (K,), one for each type of cluster.
        level: of confidence.
        counts: shape (K,), how many clusters are of each type; ones if not given.
    """
    percentiles = percentile_interval(value, values, level)
    if percentiles.low is None:
        return percentiles
    z0, acceleration, reason = _corrections(
        value, values, left_out, np.ones(len(left_out)) if counts is None else counts
    )
    shift = z0 + special.ndtri([(1 - level) / 2, (1 + level) / 2])
    if not reason and (acceleration * shift >= 1).any():
        reason = "the acceleration is too large"
    if reason:
        return percentiles._replace(
            undefined="; ".join(filter(None, [percentiles.undefined, f"percentile, not BCa: {reason}"]))
        )
    low, high = np.quantile(values[np.isfinite(values)], special.ndtr(z0 + shift / (1 - acceleration * shift)))
    if tied(low, high):
        return percentiles._replace(undefined="percentile, not BCa: its two ends are the same")
    return percentiles._replace(low=float(low), high=float(high))


def _corrections(value: float, values: Floats, left_out: Floats, counts: Codes | Floats) -> tuple[float, float, str]:
    """Return the bias correction, the acceleration, and why they are not defined, if they are not."""
    gap = values[np.isfinite(values)] - value
    tie = np.abs(gap) <= TIE * max(1.0, abs(value))
    share_below = float(np.where(tie, 0.5, gap < 0).mean())
    if not 0 < share_below < 1:
        return 0.0, 0.0, "all resamples lie on one side of the estimate"
    if not np.isfinite(left_out).all():
        return 0.0, 0.0, "the statistic is not defined without one of the clusters"
    distance = counts @ left_out / counts.sum() - left_out
    spread = float(counts @ distance**2)
    if spread <= len(distance) * (TIE * max(1.0, abs(value))) ** 2:
        return 0.0, 0.0, "leaving out any one cluster changes nothing"
    return float(special.ndtri(share_below)), float(counts @ distance**3 / (6 * spread**1.5)), ""
