"""The bootstrap as a matrix of weights: one row per resample, one column per observation.

A resample that draws a cluster k times gives each of its observations weight k, so every statistic that takes weights
can be bootstrapped as a matrix product, without a loop over resamples. Items are clusters of one.

Where a statistic is a function of totals (means, kappas, ICCs, correlations all are), clusters whose totals are equal
can be drawn together: `types` finds them, `draw` draws how often each kind comes, `interval_of_sums` does it all.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mindgauge.stats.interval import SAME, Interval, tied
from mindgauge.stats.proportion import unanimous

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from mindgauge.stats.interval import Ends

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Statistic = Callable[[Floats], Floats]

CHUNK = 4_000_000
"""Weights held in memory at once (32 MB as float64)."""

CACHED = 100_000
"""Numbers drawn and counted at once: what a processor keeps at hand is counted faster."""

KEPT = 16_000_000
"""Weights that are kept for whoever asks for the same again (two bytes each)."""

DRAWS_PER_TYPE = 10
"""A binomial number takes about as long as drawing and counting this many clusters one by one."""


# -- weights ----------------------------------------------------------------------------------------------------------


def draw(
    counts: Codes,
    resamples: int,
    seed: int | np.random.SeedSequence = 0,
    *,
    columns: int = 0,
    precision: type[np.floating | float] = float,
) -> Iterator[Floats]:
    """Draw clusters with replacement (Efron 1979) and say how often each type of cluster came.

    With C clusters of K types, a resample's counts are Multinomial(C, counts / C): the distribution of the cluster
    bootstrap itself, whether drawn type by type (K numbers) or cluster by cluster (C numbers); the quicker is taken.

    Args:
        counts: shape (K,), how many clusters there are of each type; all 1 where each cluster is a type of its own.
        resamples: how many rows to draw in all.
        seed: of the generator; the same seed gives the same weights, whatever the chunks.
        columns: numbers that the caller holds per row, if more than K; chunks get smaller by it.
        precision: of the weights, which are whole numbers.

    Yields:
        Weights of shape (b, K), where the b add up to `resamples`; each row sums to C.
    """
    rows = max(1, CHUNK // max(len(counts), columns, 1))
    if isinstance(seed, int) and resamples * len(counts) <= KEPT and (counts == 1).all():
        drawn = _same(len(counts), resamples, seed)
        yield from (drawn[start : start + rows].astype(precision) for start in range(0, resamples, rows))
        return
    generator = np.random.default_rng(seed)
    few_types = len(counts) * DRAWS_PER_TYPE < counts.sum()
    for start in range(0, resamples, rows):
        size = min(rows, resamples - start)
        weights = _by_type(counts, size, generator) if few_types else _one_by_one(counts, size, generator)
        yield weights.astype(precision, copy=False)


@functools.lru_cache(maxsize=2)
def _same(clusters: int, resamples: int, seed: int) -> NDArray[np.uint16]:
    """Draw once what is asked for hundreds of times: scoring resamples the same conversations for every metric.

    Nothing comes 65,536 times where each comes once on average.
    """
    generator, counts = np.random.default_rng(seed), np.ones(clusters, dtype=np.intp)
    rows = max(1, CHUNK // max(clusters, 1))
    sizes = [min(rows, resamples - start) for start in range(0, resamples, rows)]
    parts = (_one_by_one(counts, size, generator).astype(np.uint16) for size in sizes)
    return np.concatenate([np.zeros((0, clusters), dtype=np.uint16), *parts])


def _by_type(counts: Codes, size: int, generator: np.random.Generator) -> Floats:
    clusters = int(counts.sum())
    return generator.multinomial(clusters, counts / clusters, size=size).astype(np.float64)


def _one_by_one(counts: Codes, size: int, generator: np.random.Generator) -> Floats:
    kinds, clusters = len(counts), int(counts.sum())
    kind = np.repeat(np.arange(kinds), counts) if kinds < clusters else None
    weights = np.empty((size, kinds))
    rows = max(1, CACHED // max(clusters, 1))
    for start in range(0, size, rows):
        block = weights[start : start + rows]
        drawn = generator.integers(0, clusters, size=(len(block), clusters))
        drawn = drawn if kind is None else kind[drawn]
        drawn += np.arange(len(block))[:, None] * kinds
        block[:] = np.bincount(drawn.ravel(), minlength=block.size).reshape(block.shape)
    return weights


def cluster_weights(cluster: Codes, resamples: int, seed: int = 0) -> Iterator[Floats]:
    """Draw clusters with replacement, as weights, in chunks of rows.

    The number of clusters is kept in each resample (Davison and Hinkley 1997, section 3.8: resample the highest level).

    Args:
        cluster: shape (n,), for each observation the index of its cluster, 0 to C-1.
        resamples: how many rows to draw in all.
        seed: of the generator; the same seed gives the same weights, whatever the chunks.

    Yields:
        Weights of shape (b, n), where the b add up to `resamples`.
    """
    clusters = int(cluster.max()) + 1 if len(cluster) else 0
    own = np.array_equal(cluster, np.arange(clusters))
    for weights in draw(np.ones(clusters, dtype=np.intp), resamples, seed, columns=len(cluster)):
        yield weights if own else weights[:, cluster]


def two_way_weights(
    systems: int, conversations: int, resamples: int, seed: int = 0, *, columns: int = 0
) -> Iterator[tuple[Floats, Floats]]:
    """Draw systems and, independently, conversations with replacement; a cell's weight is the product of the two.

    The pigeonhole bootstrap of crossed factors (Owen 2007; product weights: Owen and Eckles 2012). No bootstrap is
    exact for crossed random effects (McCullagh 2000); this one errs to the safe side: it has the main effects right
    and counts the variance of what is left in single cells up to three times.

    Args:
        systems: S, the levels of the first factor.
        conversations: C, the levels of the second.
        resamples: how many rows to draw in all.
        seed: of the two generators.
        columns: numbers that the caller holds per row, if more than either.

    Yields:
        Weights (b, S) of the systems and (b, C) of the conversations.
    """
    first, second = np.random.SeedSequence(seed).spawn(2)
    columns = max(columns, systems, conversations)
    yield from zip(
        draw(np.ones(systems, dtype=np.intp), resamples, first, columns=columns),
        draw(np.ones(conversations, dtype=np.intp), resamples, second, columns=columns),
        strict=True,
    )


# -- clusters that say the same ---------------------------------------------------------------------------------------


class Types(NamedTuple):
    """What clusters say: the distinct rows, shape (K, m), how many clusters say each, (K,), and which each says, (C,)."""

    rows: Floats | csr_array
    counts: Codes
    kind: Codes


def types(sums: Floats | csr_array) -> Types:
    """Find the clusters whose rows are equal.

    Rows are told apart by a 64-bit hash and then compared; a row that only shares another's hash becomes a type of its
    own. Types stand in the order of their hashes, so that results do not depend on the order of the clusters.

    Args:
        sums: shape (C, m), the totals of each cluster; dense or a scipy.sparse array in CSR format.
    """
    if isinstance(sums, np.ndarray):
        key, equal = _dense_key(sums), _dense_equal
    else:
        sums = sums.copy()
        sums.sum_duplicates()
        sums.eliminate_zeros()
        key, equal = _sparse_key(sums), _sparse_equal
    _, first, kind = np.unique(key, return_index=True, return_inverse=True)
    alone = np.flatnonzero(~equal(sums, first[kind]))
    kind[alone] = len(first) + np.arange(len(alone))
    first = np.concatenate([first, alone])
    return Types(sums[first], np.bincount(kind, minlength=len(first)), kind)


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread the bits of each number over all 64 (the finalizer of SplitMix64: Steele, Lea and Flood 2014)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def _salted(values: Floats, column: NDArray[np.uint64] | np.uint64) -> NDArray[np.uint64]:
    bits = np.ascontiguousarray(values, dtype=np.float64) + 0.0  # -0.0 is 0.0
    return _mixed(bits.view(np.uint64) + _mixed(np.atleast_1d(column) + np.uint64(1)))


def _dense_key(sums: Floats) -> NDArray[np.uint64]:
    key = np.zeros(len(sums), dtype=np.uint64)
    for column in range(sums.shape[1]):
        key += _salted(sums[:, column], np.uint64(column))
    return key


def _sparse_key(sums: csr_array) -> NDArray[np.uint64]:
    key = np.zeros(sums.shape[0], dtype=np.uint64)
    filled = np.flatnonzero(np.diff(sums.indptr))
    if len(filled):
        key[filled] = np.add.reduceat(_salted(sums.data, sums.indices.astype(np.uint64)), sums.indptr[filled])
    return key


def _dense_equal(sums: Floats, other: Codes) -> NDArray[np.bool_]:
    rows = max(1, CHUNK // max(sums.shape[1], 1))
    parts = [
        (sums[start : start + rows] == sums[other[start : start + rows]]).all(axis=1)
        for start in range(0, len(sums), rows)
    ]
    return np.concatenate([np.zeros(0, dtype=bool), *parts])


def _sparse_equal(sums: csr_array, other: Codes) -> NDArray[np.bool_]:
    difference = sums - sums[other]
    difference.eliminate_zeros()
    return np.asarray(np.diff(difference.indptr) == 0)


def resampled_sums(sums: Floats | csr_array, resamples: int, seed: int = 0) -> Iterator[Floats]:
    """Resample clusters and add up their totals.

    Args:
        sums: shape (C, m), the totals of each cluster, dense or CSR.
        resamples: how many rows to draw in all.
        seed: of the generator.

    Yields:
        Totals of shape (b, m), where the b add up to `resamples`.
    """
    rows, counts, _ = types(sums)
    for weights in draw(counts, resamples, seed, columns=sums.shape[1]):
        yield np.asarray(weights @ rows)


# -- distributions ----------------------------------------------------------------------------------------------------


def distribution(statistic: Statistic, cluster: Codes, resamples: int = 2000, seed: int = 0) -> Floats:
    """Return a statistic's values over cluster resamples, shape (resamples,).

    Args:
        statistic: weights (b, n) to values (b,).
        cluster: shape (n,), the index of each observation's cluster.
        resamples: how many.
        seed: of the generator.
    """
    return np.concatenate([statistic(weights) for weights in cluster_weights(cluster, resamples, seed)])


# -- intervals --------------------------------------------------------------------------------------------------------


def percentile(values: Floats, level: float = 0.95) -> tuple[float, float]:
    """Return the percentile interval (Efron 1979); resamples in which the statistic is not defined are left out.

    NaN, NaN where fewer than half of the resamples define it; `percentile_interval` says so in words. These are the
    bare quantiles, as published figures have them: they may be equal.
    """
    defined = np.sort(values[np.isfinite(values)])  # and read off, which takes a quarter of `np.quantile`'s time
    if len(defined) * 2 < len(values) or not len(defined):
        return np.nan, np.nan
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    low, high = np.interp(tails * (len(defined) - 1), np.arange(len(defined)), defined)
    return float(low), float(high)


def percentile_interval(
    value: float, values: Floats, level: float = 0.95, *, ends: Ends | None = None, clusters: int = 0
) -> Interval:
    """Return an estimate with its percentile interval, or the reason why there is none.

    Resamples in which the statistic is not defined are left out and said to be; if they are more than half, there is
    no interval. Nor is there one where all resamples give the same value, since they know nothing then of what others
    would give: but of a mean on a scale with known ends `unanimous` does.

    Args:
        value: the estimate.
        values: shape (resamples,), the statistic over resamples; NaN where it is not defined.
        level: of confidence.
        ends: the lowest and the highest value that a cluster's mean can have, if the statistic is a mean of clusters.
        clusters: how many there are, where `ends` are known.
    """
    if not np.isfinite(value):
        return Interval(None, undefined="the statistic is not defined on these data")
    low, high = percentile(values, level)
    lost = int((~np.isfinite(values)).sum())
    reason = f"not defined in {lost:,} of {len(values):,} resamples" if lost else ""
    if not np.isfinite(low):
        return Interval(float(value), undefined=reason or "no resamples")
    if tied(low, high):
        if ends is not None and clusters > 1 and tied(low, value):
            return unanimous(min(max(float(value), ends[0]), ends[1]), clusters, ends, level)
        return Interval(float(value), undefined="; ".join(filter(None, [SAME, reason])))
    return Interval(float(value), low, high, reason and f"{reason}, which are left out")


def interval(
    statistic: Statistic,
    cluster: Codes,
    *,
    resamples: int = 2000,
    seed: int = 0,
    level: float = 0.95,
    ends: Ends | None = None,
    valued: int | None = None,
) -> Interval:
    """Estimate a statistic of weighted observations, with its cluster bootstrap interval.

    Args:
        statistic: weights (b, n) to values (b,), NaN where it is not defined; ones give the estimate.
        cluster: shape (n,), the index of each observation's cluster, 0 to C-1; `np.arange(n)` resamples items.
        resamples: how many.
        seed: of the generator.
        level: of confidence.
        ends: the lowest and the highest value of a cluster's mean, where the statistic is a mean; see
            `percentile_interval`.
        valued: how many clusters have a mean, where `ends` are known; all, if not given.
    """
    n = len(cluster)
    if not n:
        return Interval(None, undefined="no observations")
    value = float(statistic(np.ones((1, n)))[0])
    if not np.isfinite(value) or int(cluster.max()) < 1:
        return _without_resamples(value)
    values = distribution(statistic, cluster, resamples, seed)
    clusters = int(cluster.max()) + 1 if valued is None else valued
    return percentile_interval(value, values, level, ends=ends, clusters=clusters)


def interval_of_sums(
    statistic: Statistic,
    sums: Floats | csr_array,
    *,
    resamples: int = 2000,
    seed: int = 0,
    level: float = 0.95,
    ends: Ends | None = None,
    valued: int | None = None,
) -> Interval:
    """Estimate a statistic that is a function of totals over clusters, with its cluster bootstrap interval.

    The same interval as `interval`, from other random numbers; much faster where many clusters say the same. It does
    not depend on the order of the clusters. `statistic` takes totals (b, m) to values (b,), NaN where it is not defined;
    `sums` are the totals of each cluster, shape (C, m), dense or CSR. The options are those of `interval`.
    """
    if not sums.shape[0]:
        return Interval(None, undefined="no observations")
    rows, counts, _ = types(sums)
    total = np.asarray(counts[None, :].astype(np.float64) @ rows)
    value = float(statistic(total)[0])
    if not np.isfinite(value) or sums.shape[0] < 2:
        return _without_resamples(value)
    chunks = draw(counts, resamples, seed, columns=sums.shape[1])
    values = np.concatenate([statistic(np.asarray(weights @ rows)) for weights in chunks])
    clusters = sums.shape[0] if valued is None else valued
    return percentile_interval(value, values, level, ends=ends, clusters=clusters)


def _without_resamples(value: float) -> Interval:
    if not np.isfinite(value):
        return Interval(None, undefined="the statistic is not defined on these data")
    return Interval(value, undefined="fewer than 2 clusters")
