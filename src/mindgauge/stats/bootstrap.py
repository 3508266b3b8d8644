"""The bootstrap as a matrix of weights: one row per resample, one column per observation.

A resample that draws a cluster k times gives each of its observations weight k, so every statistic that takes weights
can be bootstrapped as a matrix product, without a loop over resamples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

CHUNK = 4_000_000
"""Weights held in memory at once (32 MB as float64)."""


def cluster_weights(cluster: NDArray[np.intp], resamples: int, seed: int = 0) -> Iterator[NDArray[np.float64]]:
    """Draw clusters with replacement, as weights, in chunks of rows.

    The number of clusters is kept in each resample (Davison and Hinkley 1997, section 3.8: resample the highest level).

    Args:
        cluster: shape (n,), for each observation the index of its cluster, 0 to C-1.
        resamples: how many rows to draw in all.
        seed: of the generator; the same seed gives the same weights, whatever the chunks.

    Yields:
        Weights of shape (b, n), where the b add up to `resamples`.
    """
    n = len(cluster)
    clusters = int(cluster.max()) + 1 if n else 0
    rows = max(1, CHUNK // max(n, clusters, 1))
    generator = np.random.default_rng(seed)
    for start in range(0, resamples, rows):
        size = min(rows, resamples - start)
        drawn = generator.integers(0, clusters, size=(size, clusters))
        offset = np.arange(size)[:, None] * clusters
        counts = np.bincount((drawn + offset).ravel(), minlength=size * clusters).reshape(size, clusters)
        yield counts.astype(np.float64)[:, cluster]


def distribution(
    statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    cluster: NDArray[np.intp],
    resamples: int = 2000,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Return a statistic's values over cluster resamples, shape (resamples,).

    Args:
        statistic: weights (b, n) to values (b,).
        cluster: shape (n,), the index of each observation's cluster.
        resamples: how many.
        seed: of the generator.
    """
    return np.concatenate([statistic(weights) for weights in cluster_weights(cluster, resamples, seed)])


def percentile(values: NDArray[np.float64], level: float = 0.95) -> tuple[float, float]:
    """Return the percentile interval (Efron 1979); resamples in which the statistic is not defined are left out.

    NaN, NaN where fewer than half of the resamples define it.
    """
    defined = values[np.isfinite(values)]
    if len(defined) * 2 < len(values) or not len(defined):
        return np.nan, np.nan
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
