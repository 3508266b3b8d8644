"""Intervals for a share with exact bounds for rare events, an exact test of two shares, and how many events it takes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from mindgauge.stats.interval import AGREED, Ends, Interval

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

NONE = Interval(None, undefined="no observations")


def clopper_pearson(count: float, n: float, level: float = 0.95) -> Interval:
    """Return a share with its exact interval (Clopper and Pearson 1934), by quantiles of the beta distribution.

    low = B(α/2; x, n-x+1), high = B(1-α/2; x+1, n-x), with α = 1 - level. For 0 of n only the upper bound says
    anything, for n of n only the lower; both keep α/2 on their side, so "0 of n" is bounded by 1-(α/2)^(1/n).
    `count` need not be whole: with clusters it is the sum of the clusters' shares, and n the number of clusters,
    which takes repeats of one cluster as one observation.
    Published example: Newcombe 1998, table I: 81 of 263 gives .2527 to .3676, 0 of 20 gives 0 to .1684.

    Args:
        count: events, 0 to n.
        n: observations.
        level: of confidence.

    Raises:
        ValueError: `count` is not between 0 and n.
    """
    _check(count, n)
    if n == 0:
        return NONE
    alpha = 1 - level
    low = float(special.betaincinv(count, n - count + 1, alpha / 2)) if count > 0 else 0.0
    high = float(special.betaincinv(count + 1, n - count, 1 - alpha / 2)) if count < n else 1.0
    return Interval(count / n, low, high)


def share(value: float, n: float) -> Interval:
    """Return a mean of n clusters' shares with exact bounds that take each cluster as one observation.

    Args:
        value: the mean; rounding may put it a little outside of 0 to 1.
        n: clusters.
    """
    return clopper_pearson(min(max(value, 0.0), 1.0) * n, n)


def stratified(share: ArrayLike, n: ArrayLike, weight: ArrayLike, open_: ArrayLike = 1.0, level: float = 0.95) -> Interval:  # fmt: skip
    """Return a weighted sum of strata's shares, with bounds that know of strata in which nothing was met.

    With p_h the share of stratum h, l_h and u_h exact bounds of it, W_h its weight and f_h = n_h / N_h,

        Σ W_h p_h,  low = it - √(Σ W_h² (1 - f_h) (p_h - l_h)²),  high = it + √(Σ W_h² (1 - f_h) (u_h - p_h)²):

    the estimate of a stratified sample (Cochran 1977, section 5.3), its bounds recovered from those of its parts (Zou and
    Donner 2008). Weights need not add up to 1: what is looked for in some strata only has the weight 0 elsewhere.

    Args:
        share: shape (S,), p_h.
        n: shape (S,), observations of each, above 0; of conversations as many as they are worth.
        weight: shape (S,), W_h.
        open_: shape (S,), 1 - f_h, where this frame alone is meant, of which a stratum that was drawn whole leaves nothing open.
        level: of confidence.
    """
    shares, numbers, weights, open_shares = (np.asarray(part, dtype=np.float64) for part in (share, n, weight, open_))
    bounds = [clopper_pearson(p * m, m, level) for p, m in zip(shares, numbers, strict=True)]
    low, high = (np.array(ends, dtype=np.float64) for ends in zip(*((b.low, b.high) for b in bounds), strict=True))
    value = float(weights @ shares)
    reach_down, reach_up = (
        float(np.sqrt(np.sum(weights**2 * open_shares * (end - shares) ** 2))) for end in (low, high)
    )
    return Interval(value, max(value - reach_down, 0.0), min(value + reach_up, float(weights.sum())))


_STEPS = 10_001


def part_of(inside: Interval, outside: Interval) -> Interval:
    """Return which part of two sums the first is, a / (a + b), from independent intervals of both.

    All r stay of which (1 - r) a - r b may be 0 (Fieller 1954), its bounds recovered from those of a and b as above.

    Args:
        inside: of a.
        outside: of b; not both are 0.
    """
    a, b = (np.array([end for end in part[:3] if end is not None]) for part in (inside, outside))
    r = np.linspace(0, 1, _STEPS)
    gap = (1 - r) * a[0] - r * b[0]
    reach_down = np.hypot((1 - r) * (a[0] - a[1]), r * (b[2] - b[0]))
    reach_up = np.hypot((1 - r) * (a[2] - a[0]), r * (b[0] - b[1]))
    low, high = r[gap - reach_down <= 0], r[gap + reach_up >= 0]
    return Interval(float(a[0] / (a[0] + b[0])), float(low.min(initial=1.0)), float(high.max(initial=0.0)))


_MOST = 1e9
"""More observations than that are as good as endless."""


def observations(value: float, bound: float) -> float:
    """Return of how many observations a share has a given exact bound: what an interval is worth, however it was made.

    Args:
        value: the share.
        bound: of it, below it or above, of 95 %.
    """
    lower = bound < value

    def reaches(n: float) -> bool:
        found = clopper_pearson(value * n, n)
        return (found.low or 0.0) >= bound if lower else found.high is not None and found.high <= bound

    few, many = 1e-3, _MOST
    while many / few > 1 + 1e-9:
        middle = math.sqrt(few * many)
        few, many = (few, middle) if reaches(middle) else (middle, many)
    return many


FEW = 10
"""Conversations in which two systems must differ for the bootstrap to say anything about a share."""


def difference_of_shares(gaps: NDArray[np.float64], interval: Interval) -> Interval:
    """Bound the difference of two shares exactly where it rests on a few conversations; else the interval stands.

    It is the share of conversations in which only the first has it, minus that in which only the second has; each gets
    97.5 % Clopper-Pearson bounds, so that both hold together with 95 % (Bonferroni). Half an event counts half.

    Args:
        gaps: shape (C,), the difference in each conversation, -1 to 1.
        interval: of their mean.
    """
    if interval.low is None or np.count_nonzero(gaps) >= FEW:
        return interval
    gained, lost = (float(np.maximum(sign * gaps, 0).sum()) for sign in (1, -1))
    exact = bounds_of_difference(gained, lost, len(gaps))
    return Interval(interval.value, exact.low, exact.high)


def bounds_of_difference(gained: float, lost: float, n: int) -> Interval:
    """Return the exact bounds of `difference_of_shares`.

    Args:
        gained: conversations in which only the first has it.
        lost: those in which only the second has.
        n: conversations.
    """
    gains, losses = clopper_pearson(gained, n, 0.975), clopper_pearson(lost, n, 0.975)
    bounds = (gains.low, gains.high, losses.low, losses.high)
    low, high, low_less, high_less = (bound or 0.0 for bound in bounds)
    return Interval((gained - lost) / n, low - high_less, high - low_less)


def fisher_greater(events: int, n: int, others: int, m: int) -> float:
    """Return the one-sided p of Fisher's exact test that events are no commoner among the n than among the m.

    Σ_{k ≥ events} C(n, k) C(m, t - k) / C(n + m, t), with t = events + others the total (Fisher 1934). Published
    example: the tea tasting of Fisher 1935, 3 of 4 cups right and 1 of 4, gives 17/70 = .243.

    Args:
        events: among the n.
        n: observations.
        others: events among the m.
        m: other observations.

    Raises:
        ValueError: more events than observations.
    """
    _check(events, n)
    _check(others, m)
    total = events + others
    k = np.arange(events, min(n, total) + 1)

    def log_choose(a: float, b: np.ndarray | float) -> np.ndarray:
        return np.asarray(
            special.gammaln(a + 1) - special.gammaln(np.asarray(b) + 1.0) - special.gammaln(a - np.asarray(b) + 1.0)
        )

    possible = k[total - k <= m]
    logs = log_choose(n, possible) + log_choose(m, total - possible) - log_choose(n + m, float(total))
    return min(1.0, float(np.exp(logs).sum()))


def fewest(limit: float, level: float = 0.95) -> int:
    """Return the least number of events of which all must be found for the exact lower bound to reach a limit.

    (α/2)^(1/n) ≥ limit, so n ≥ log(α/2) / log(limit): 17 for .80, 8 for .60.

    Args:
        limit: between 0 and 1.
        level: of confidence.
    """
    return math.ceil(math.log((1 - level) / 2) / math.log(limit) - 1e-12)


def unanimous(value: float, n: float, ends: Ends, level: float = 0.95) -> Interval:
    """Return the interval of a mean, on a scale with known ends, of which all n observations had the same value.

    No resample differs from the others then, yet the next observation may. With the confidence asked for, at most
    u = 1 - ((1-level)/2)^(1/n) of all observations differ (Clopper and Pearson 1934, for 0 of n), and these lie between
    the ends: the mean lies within value - u (value - lowest) and value + u (highest - value). 30 of 30 replies at 5 of
    a scale from 1 to 5: 5 [4.54, 5].

    Args:
        value: of every observation.
        n: observations; clusters, where some observations repeat others.
        ends: the lowest and highest value that an observation can have.
        level: of confidence.

    Raises:
        ValueError: n is not above 0, or the value lies off the scale.
    """
    lowest, highest = ends
    if not (n > 0 and lowest <= value <= highest):
        raise ValueError(f"{value} in {n} observations, on a scale from {lowest} to {highest}")
    other = -math.expm1(math.log((1 - level) / 2) / n)
    return Interval(value, value - other * (value - lowest), value + other * (highest - value), AGREED)


def _check(count: float, n: float) -> None:
    if not 0 <= count <= n:
        raise ValueError(f"{count} events in {n} observations")
