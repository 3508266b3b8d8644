"""How long until something happens, where for some it has not happened yet: weighted Kaplan-Meier curves and their means.

With d_j the weight of those to whom it happens at time t_j, and r_j of those who are still observed just before (who is
censored at t_j is among them), the chance that it has not happened by t is (Kaplan and Meier 1958)

    S(t) = Π_{t_j ≤ t} (1 - d_j / r_j)

and the mean restricted to a horizon T is the mean of min(time, T): ∫ S over 0 to T (Irwin 1949; Royston and Parmar
2013). Unlike a hazard ratio it needs no model, and is in the unit of the time. A resample that draws a cluster k times
gives its observations weight k, as in `bootstrap`.

S stays where it is after the last observation, which takes who is censored last for somebody to whom it never happens (Gill
1980): of what one waits for, that is the feared side. So T should be no longer than somebody was observed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mindgauge.stats import bootstrap
from mindgauge.stats.ratio import ratio

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from mindgauge.stats.interval import Interval

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]


class Waits(NamedTuple):
    """How long n waited: `time` (n,) from 0 on; `event` (n,) says whether it happened then, or that nothing is known after.

    `cluster` (n,) numbers what is drawn together, from 0.
    """

    time: Floats
    event: Mask
    cluster: Codes

    def __len__(self) -> int:
        return len(self.time)

    def rows(self, mask: Mask) -> Waits:
        """Return those of some."""
        return Waits(self.time[mask], self.event[mask], self.cluster[mask])


class SurvivalCurve(NamedTuple):
    """S after each of the K times at which something happens, shape (B, K), with d and r; the times rise, shape (K,)."""

    times: Floats
    survival: Floats
    events: Floats
    at_risk: Floats

    def at(self, time: float) -> Floats:
        """Return S(time), shape (B,)."""
        place = int(np.searchsorted(self.times, time, side="right"))
        return self.survival[:, place - 1] if place else np.ones(len(self.survival))


class WaitDifference(NamedTuple):
    """The first's restricted mean minus the second's; p is of the test that swaps the two within clusters."""

    difference: Interval
    p: float | None
    clusters: int
    """Those in which either was observed: both, if they are paired in full."""


def kaplan_meier(waits: Waits, weights: Floats | None = None) -> SurvivalCurve:
    """Return the Kaplan-Meier curve under each row of weights.

    Published example: the 6-mercaptopurine arm of Freireich et al. 1963 (in weeks 6, 6, 6, 6+, 7, 9+, 10, 10+, 11+, 13, 16,
    17+, 19+, 20+, 22, 23, 25+, 32+, 32+, 34+, 35+) has S(6) = .857, S(10) = .753 and S(23) = .448 (Collett 2015, Cox and
    Oakes 1984).

    Args:
        waits: of n.
        weights: shape (B, n), from 0 up; ones if not given.

    Raises:
        ValueError: a time is below 0 or not finite.
    """
    if not (np.isfinite(waits.time) & (waits.time >= 0)).all():
        raise ValueError("a time is a finite number from 0 up")
    weights = np.ones((1, len(waits))) if weights is None else weights
    times = np.unique(waits.time[waits.event])
    events = weights @ (waits.event[:, None] & (waits.time[:, None] == times)).astype(np.float64)
    at_risk = weights @ (waits.time[:, None] >= times).astype(np.float64)
    hazard = ratio(events, at_risk, 0.0)
    return SurvivalCurve(times, np.asarray(np.cumprod(1 - hazard, axis=1)), events, at_risk)


def restricted_mean(waits: Waits, horizon: float, weights: Floats | None = None) -> Floats:
    """Return the mean of min(time, horizon) by ∫ S under each row of weights, shape (B,); NaN where nobody has a weight.

    Args:
        waits: of n.
        horizon: above 0, in the unit of the times.
        weights: shape (B, n); ones if not given.

    Raises:
        ValueError: the horizon is not above 0, or a time is below 0.
    """
    if not (np.isfinite(horizon) and horizon > 0):
        raise ValueError(f"a horizon is above 0, not {horizon}")
    weights = np.ones((1, len(waits))) if weights is None else weights
    curve = kaplan_meier(waits, weights)
    steps = np.diff(np.concatenate([[0.0], np.minimum(curve.times, horizon), [horizon]]))
    means = np.concatenate([np.ones((len(weights), 1)), curve.survival], axis=1) @ steps
    return np.where(weights.sum(axis=1) > 0, means, np.nan)


def mean_interval(
    waits: Waits, horizon: float, *, resamples: int = 2000, seed: int = 0, level: float = 0.95
) -> Interval:
    """Return the restricted mean with its cluster bootstrap interval, exact where all clusters waited the same.

    Args:
        waits: of n.
        horizon: above 0.
        resamples: of clusters.
        seed: of their generator.
        level: of confidence.
    """
    return bootstrap.interval(
        lambda weights: restricted_mean(waits, horizon, weights), waits.cluster, resamples=resamples, seed=seed,
        level=level, ends=(0.0, horizon),
    )  # fmt: skip


def cluster_means(waits: Waits, horizon: float) -> tuple[Codes, Floats]:
    """Return what each cluster says of the restricted mean: the C clusters that there are, and a value each, shape (C,).

    These are pseudo-observations by leaving each cluster out (Andersen, Hansen and Klein 2004), moved so that their mean is
    the restricted mean itself: m + (C - 1) (mean of m₋ - m₋c). Without censoring, and with equally many waits in each
    cluster, a cluster's value is its mean of min(time, horizon). With one cluster alone, it is m.

    Args:
        waits: of n, at least one.
        horizon: above 0, in the unit of the times.
    """
    clusters, place = np.unique(waits.cluster, return_inverse=True)
    mean = float(restricted_mean(waits, horizon)[0])
    if len(clusters) < 2:
        return clusters, np.full(len(clusters), mean)
    without = np.concatenate(
        [
            restricted_mean(waits, horizon, (place != np.arange(start, stop)[:, None]).astype(np.float64))
            for start, stop in _blocks(len(clusters), len(waits))
        ]
    )
    return clusters, mean + (len(clusters) - 1) * (without.mean() - without)


def _blocks(rows: int, width: int) -> Iterator[tuple[int, int]]:
    size = max(1, bootstrap.CHUNK // width)
    return ((start, min(start + size, rows)) for start in range(0, rows, size))


def difference(
    first: Waits, second: Waits, horizon: float, *, resamples: int = 2000, seed: int = 0, level: float = 0.95
) -> WaitDifference:
    """Return by how much the first's restricted mean exceeds the second's, clusters being paired.

    The interval is the percentile one of resampled clusters, which both share, so what makes a cluster slow for both
    cancels. p is the share of swaps of the two, each cluster as a whole, that set their means at least as far apart (the
    permutation test of Fisher 1935, section 21, with clusters as pairs), (1 + hits) / (1 + swaps), or of all swaps where
    there are no more than `resamples`.

    Args:
        first: of one system; its clusters have the numbers of the second's.
        second: of the other.
        horizon: above 0.
        resamples: of clusters, and swaps.
        seed: of their generators.
        level: of confidence.
    """
    waits = Waits(*(np.concatenate(parts) for parts in zip(first, second, strict=True)))
    of_first = np.arange(len(waits)) < len(first)
    used, cluster = np.unique(waits.cluster, return_inverse=True)

    def gaps(firsts: Floats, seconds: Floats) -> Floats:
        return np.asarray(restricted_mean(waits, horizon, firsts) - restricted_mean(waits, horizon, seconds))

    interval = bootstrap.interval(
        lambda weights: gaps(weights * of_first, weights * ~of_first), cluster, resamples=resamples, seed=seed, level=level,
        ends=(-horizon, horizon),
    )  # fmt: skip
    if interval.value is None or len(used) < 2:
        return WaitDifference(interval, None, len(used))
    n = len(used)
    is_exact = n < 63 and 2**n <= resamples
    if is_exact:
        swapped = (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(bool)
    else:
        swapped = np.random.default_rng([seed, 1]).integers(0, 2, size=(resamples, n)).astype(bool)
    hits = 0
    for start, stop in _blocks(len(swapped), len(waits)):
        as_first = (swapped[start:stop, cluster] ^ of_first).astype(np.float64)
        hits += int((np.abs(gaps(as_first, 1 - as_first)) >= abs(interval.value) - 1e-12).sum())
    p = hits / len(swapped) if is_exact else (hits + 1) / (len(swapped) + 1)
    return WaitDifference(interval, p, n)
