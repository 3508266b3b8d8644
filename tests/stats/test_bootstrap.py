"""Published examples, SciPy, and properties tested once for all ways of resampling."""

from __future__ import annotations

import time
import tracemalloc
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mindgauge.stats import bootstrap
from mindgauge.stats.interval import AGREED, SAME
from tests.thinned import examples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mindgauge.stats.interval import Interval

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

SPATIAL_A = np.array(
    [48, 36, 20, 29, 42, 42, 20, 42, 22, 41, 45, 14, 6, 0, 33, 28, 34, 4, 32, 24, 47, 41, 24, 26, 30, 41.0]
)
"""Efron and Tibshirani 1993, table 14.1, test A."""


def mean(values: Floats) -> Callable[[Floats], Floats]:
    return lambda weights: np.asarray(weights @ values / weights.sum(axis=1))


def mean_of_sums(totals: Floats) -> Floats:
    return np.asarray(totals[:, 1] / totals[:, 0])


def variance_of_sums(totals: Floats) -> Floats:
    return np.asarray(totals[:, 2] / totals[:, 0] - (totals[:, 1] / totals[:, 0]) ** 2)


def moments(values: Floats) -> Floats:
    return np.stack([np.ones(len(values)), values, values**2], axis=1)


def joined(chunks: Iterator[Floats]) -> Floats:
    return np.concatenate(list(chunks))


def bounds(found: Interval) -> tuple[float, float]:
    assert found.low is not None and found.high is not None, found.undefined
    return found.low, found.high


# -- weights ----------------------------------------------------------------------------------------------------------


def test_weights_count_whole_clusters() -> None:
    cluster = np.array([0, 0, 1, 2, 2, 2])
    weights = joined(bootstrap.cluster_weights(cluster, 500, seed=3))
    assert weights.shape == (500, 6)
    assert (weights[:, 0] == weights[:, 1]).all()
    assert (weights[:, 3] == weights[:, 5]).all()
    assert (weights[:, 0] + weights[:, 2] + weights[:, 3] == 3).all(), "as many clusters in each resample as there are"


def test_items_are_clusters_of_one() -> None:
    np.testing.assert_array_equal(
        joined(bootstrap.draw(np.ones(7, dtype=np.intp), 50, seed=2)),
        joined(bootstrap.cluster_weights(np.arange(7), 50, seed=2)),
    )


def test_systems_and_conversations_are_drawn_independently() -> None:
    pairs = list(bootstrap.two_way_weights(5, 40, 4000, seed=1))
    systems, conversations = (np.concatenate(part) for part in zip(*pairs, strict=True))
    assert systems.shape == (4000, 5) and conversations.shape == (4000, 40)
    assert (systems.sum(axis=1) == 5).all() and (conversations.sum(axis=1) == 40).all()
    assert systems.var(axis=0) == pytest.approx(1 - 1 / 5, abs=0.12)
    assert conversations.var(axis=0) == pytest.approx(1 - 1 / 40, abs=0.2)
    correlation = np.corrcoef(systems.T, conversations.T)[:5, 5:]
    assert np.abs(correlation).max() < 5 / np.sqrt(4000)


@pytest.mark.parametrize(
    "draw",
    [
        partial(bootstrap.cluster_weights, np.arange(50)),
        partial(bootstrap.cluster_weights, np.repeat(np.arange(11), 3)),
        partial(bootstrap.draw, np.array([3, 1, 2, 5])),
        partial(bootstrap.draw, np.array([300, 1, 99])),
        partial(bootstrap.draw, np.array([300, 1, 99]), columns=40),
        partial(bootstrap.resampled_sums, np.arange(60.0).reshape(20, 3)),
        lambda resamples, seed: (w for pair in bootstrap.two_way_weights(5, 9, resamples, seed) for w in pair[:1]),
        lambda resamples, seed: (w for pair in bootstrap.two_way_weights(5, 9, resamples, seed) for w in pair[1:]),
    ],
)
@pytest.mark.parametrize("chunk", [1, 150, 151])
def test_the_seed_decides_whatever_the_chunks(
    draw: Callable[[int, int], Iterator[Floats]], chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = joined(draw(41, 1))
    assert not np.array_equal(joined(draw(41, 2)), whole)
    monkeypatch.setattr(bootstrap, "CHUNK", chunk)
    monkeypatch.setattr(bootstrap, "CACHED", chunk)
    bootstrap._same.cache_clear()
    parts = list(draw(41, 1))
    assert len(parts) > 1 or chunk > 1
    np.testing.assert_array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("counts", [[40, 10, 49, 1], [3, 1, 2, 4]], ids=["type by type", "one by one"])
def test_types_are_drawn_as_often_as_clusters_of_them(counts: list[int]) -> None:
    clusters = sum(counts)
    found = joined(bootstrap.draw(np.array(counts), 20_000, seed=5))
    assert (found.sum(axis=1) == clusters).all()
    share = np.array(counts) / clusters
    np.testing.assert_allclose(found.mean(axis=0), counts, rtol=0.05)
    covariance = clusters * (np.diag(share) - np.outer(share, share))  # of the multinomial distribution
    np.testing.assert_allclose(np.cov(found.T), covariance, atol=0.03 * clusters)


def test_few_weights_are_held_at_once() -> None:
    tracemalloc.start()
    rows = sum(len(weights) for weights in bootstrap.draw(np.full(25, 20_000), 50_000, columns=1000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows == 50_000
    assert peak < 3 * 8 * bootstrap.CHUNK


# -- clusters that say the same ---------------------------------------------------------------------------------------

MATRICES = st.integers(1, 4).flatmap(
    lambda m: st.lists(
        st.lists(st.sampled_from([0.0, -0.0, 1.0, 2.0, 0.5, 1e300]), min_size=m, max_size=m), min_size=1, max_size=30
    ).map(np.array)
)


@given(MATRICES)
def test_types_are_the_distinct_rows(sums: Floats) -> None:
    rows, counts, _ = bootstrap.types(sums)
    expected, copies = np.unique(sums + 0.0, axis=0, return_counts=True)
    dense = np.asarray(rows) + 0.0
    order = np.lexsort(dense.T[::-1])
    np.testing.assert_array_equal(dense[order], expected)
    np.testing.assert_array_equal(counts[order], copies)
    sparse, sparse_counts, _ = bootstrap.types(csr_array(sums))
    dense = sparse.toarray() + 0.0  # type: ignore[union-attr]
    order = np.lexsort(dense.T[::-1])
    np.testing.assert_array_equal(dense[order], expected)
    np.testing.assert_array_equal(sparse_counts[order], copies)


def test_zeros_that_are_stored_and_entries_given_twice_change_no_type() -> None:
    data, column, row = [1.0, 1.0, 2.0, 0.0, 2.0], [0, 0, 0, 1, 0], [0, 0, 1, 1, 2]
    sums = csr_array((data, column, np.searchsorted(row, np.arange(4))), shape=(3, 2))
    assert bootstrap.types(sums).counts.tolist() == [3]
    assert sums.nnz == 5, "what was given is left as it was"


@pytest.mark.parametrize("sparse", [False, True])
def test_a_hash_that_two_rows_share_does_not_make_them_one(sparse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "_mixed", lambda bits: bits * np.uint64(0))
    sums = np.array([[1.0, 0.0], [1.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
    rows, counts, _ = bootstrap.types(csr_array(sums) if sparse else sums)
    dense = rows.toarray() if sparse else rows  # type: ignore[union-attr]
    assert sorted(zip(map(tuple, dense.tolist()), counts.tolist(), strict=True)) in (
        [((0.0, 4.0), 1), ((1.0, 0.0), 2), ((3.0, 0.0), 1)],
        [((0.0, 4.0), 1), ((1.0, 0.0), 1), ((1.0, 0.0), 1), ((3.0, 0.0), 1)],
    )
    np.testing.assert_array_equal(counts @ dense, sums.sum(axis=0))


def test_half_a_million_clusters_of_25_kinds() -> None:
    generator = np.random.default_rng(0)
    cell = generator.integers(0, 25, 500_000)
    sums = csr_array((np.ones(500_000), cell, np.arange(500_001)), shape=(500_000, 25))
    start = time.process_time()
    found = bootstrap.interval_of_sums(lambda totals: totals[:, 0] / totals.sum(axis=1), sums, resamples=10_000)
    assert time.process_time() - start < 3
    share = float((cell == 0).mean())
    half = 1.96 * np.sqrt(share * (1 - share) / 500_000)
    assert bounds(found) == pytest.approx((share - half, share + half), abs=0.1 * half)


# -- intervals --------------------------------------------------------------------------------------------------------


def test_efron_and_tibshirani_1993_table_14_2() -> None:
    sums = moments(SPATIAL_A)
    found = bootstrap.interval_of_sums(variance_of_sums, sums, resamples=20_000, level=0.9)
    assert found.value == pytest.approx(171.5, abs=0.05)
    assert bounds(found) == pytest.approx((100.8, 233.9), abs=4)


@pytest.mark.parametrize("seed", [0, 1])
def test_scipy_gives_the_same_intervals(seed: int) -> None:
    data = np.random.default_rng(seed).gamma(4, size=40)
    theirs = scipy.stats.bootstrap(
        (data,), np.var, n_resamples=20_000, method="percentile", rng=np.random.default_rng(5)
    ).confidence_interval
    noise = 0.05 * (theirs.high - theirs.low)
    sums = moments(data)
    for found in (
        bootstrap.interval_of_sums(variance_of_sums, sums, resamples=20_000),
        bootstrap.interval(lambda w: variance_of_sums(w @ sums), np.arange(40), resamples=20_000),
    ):
        assert found.value == pytest.approx(data.var())
        assert bounds(found) == pytest.approx((theirs.low, theirs.high), abs=noise)


def test_clusters_and_their_sums_give_the_same_interval() -> None:
    generator = np.random.default_rng(3)
    cluster = generator.integers(0, 60, 300)
    cluster[:60] = np.arange(60)
    values = np.round(generator.normal(size=60)[cluster] + generator.normal(size=300) + 3)
    sums = np.stack([np.bincount(cluster), np.bincount(cluster, values)], axis=1)
    rows = bootstrap.interval(mean(values), cluster, resamples=20_000)
    totals = bootstrap.interval_of_sums(mean_of_sums, sums, resamples=20_000)
    sparse = bootstrap.interval_of_sums(mean_of_sums, csr_array(sums), resamples=20_000)
    assert rows.value == pytest.approx(totals.value) == pytest.approx(sparse.value)
    width = np.subtract(*bounds(rows)[::-1])
    assert bounds(totals) == pytest.approx(bounds(rows), abs=0.05 * width)
    assert bounds(sparse) == pytest.approx(bounds(rows), abs=0.05 * width)


def test_repeats_of_a_conversation_do_not_narrow_the_interval() -> None:
    generator = np.random.default_rng(0)
    values = generator.normal(size=100)
    tripled, cluster = np.repeat(values, 3), np.repeat(np.arange(100), 3)

    def width(data: Floats, groups: Codes) -> float:
        low, high = bounds(bootstrap.interval(mean(data), groups, resamples=4000))
        return high - low

    once = width(values, np.arange(100))
    assert width(tripled, cluster) == pytest.approx(once, rel=0.05)
    assert width(tripled, np.arange(300)) < 0.7 * once


def test_two_way_resampling_has_the_main_effects_right_and_single_cells_three_times() -> None:
    generator = np.random.default_rng(1)
    systems, conversations = generator.normal(size=(30, 1)), generator.normal(size=(1, 50))

    def spread(cells: Floats) -> float:
        def grand_mean(of_systems: Floats, of_conversations: Floats) -> Floats:
            return np.asarray(((of_systems @ cells) * of_conversations).sum(axis=1) / (30 * 50))

        weights = bootstrap.two_way_weights(30, 50, 8000, seed=2)
        return float(np.concatenate([grand_mean(*pair) for pair in weights]).var())

    assert spread(systems + conversations) == pytest.approx(systems.var() / 30 + conversations.var() / 50, rel=0.08)
    noise = generator.normal(size=(30, 50))
    assert 2.5 < spread(noise) / (noise.var() / (30 * 50)) < 3.5


@given(
    values=st.lists(st.integers(1, 5), min_size=3, max_size=12),
    seed=st.integers(0, 1000),
)
@examples(40)
def test_the_order_of_clusters_changes_nothing(values: list[int], seed: int) -> None:
    sums = moments(np.array(values, dtype=float))
    shuffled = np.random.default_rng(seed).permutation(sums)
    one, other = (bootstrap.interval_of_sums(mean_of_sums, s, resamples=200, seed=seed) for s in (sums, shuffled))
    assert one == other
    assert bootstrap.interval_of_sums(mean_of_sums, sums, resamples=200, seed=seed) == one
    assert one.value == pytest.approx(np.mean(values))
    if len({*values}) > 1 or one.low is not None:
        low, high = bounds(one)
        assert min(values) - 1e-9 <= low < high <= max(values) + 1e-9


@given(value=st.floats(-1e6, 1e6), n=st.integers(2, 20))
@examples(30)
def test_constant_data_have_no_interval(value: float, n: int) -> None:
    constant = np.full(n, value)
    for found in (
        bootstrap.interval(mean(constant), np.arange(n), resamples=50),
        bootstrap.interval_of_sums(mean_of_sums, moments(constant), resamples=50),
    ):
        assert found.value == pytest.approx(value)
        assert found[1:] == (None, None, SAME)


@given(value=st.integers(1, 5), n=st.integers(2, 200))
@examples(30)
def test_a_constant_mean_on_a_known_scale_has_an_exact_interval(value: int, n: int) -> None:
    constant = np.full(n, float(value))
    other = 1 - 0.025 ** (1 / n)
    for found in (
        bootstrap.interval(mean(constant), np.arange(n), resamples=50, ends=(1.0, 5.0)),
        bootstrap.interval_of_sums(mean_of_sums, moments(constant), resamples=50, ends=(1.0, 5.0)),
    ):
        low, high = bounds(found)
        assert (low, high) == pytest.approx((value - other * (value - 1), value + other * (5 - value)))
        assert 1 <= low < high <= 5
        assert found.undefined == AGREED


def test_the_exact_interval_covers_what_resampling_cannot_see() -> None:
    """Of 3,000 samples of 20 in which every tenth reply is a 1 and all others are a 5: at most 1 in 20 miss the mean."""
    generator = np.random.default_rng(5)
    truth, missed = 0.1 * 1 + 0.9 * 5, 0
    for _ in range(3000):
        drawn = np.where(generator.random(20) < 0.1, 1.0, 5.0)
        if (drawn == drawn[0]).all():
            found = bootstrap.interval(mean(drawn), np.arange(20), resamples=20, ends=(1.0, 5.0))
            low, high = bounds(found)
            missed += not low <= truth <= high
    assert missed / 3000 < 0.05


def scarce(values: Floats) -> Callable[[Floats], Floats]:
    """A mean that is defined only where the first observation was drawn."""
    return lambda weights: np.where(weights[:, 0] > 0, mean(values)(weights), np.nan)


def test_reasons_instead_of_numbers() -> None:
    values = np.arange(10.0)
    assert bootstrap.interval(mean(values[:0]), np.arange(0)) == (None, None, None, "no observations")
    assert bootstrap.interval_of_sums(mean_of_sums, np.zeros((0, 3))).undefined == "no observations"
    assert bootstrap.interval(mean(values), np.zeros(10, dtype=np.intp)) == (4.5, None, None, "fewer than 2 clusters")
    assert bootstrap.interval_of_sums(mean_of_sums, moments(values[4:5])) == (4, None, None, "fewer than 2 clusters")
    nowhere = bootstrap.interval(lambda w: np.full(len(w), np.nan), np.arange(10))
    assert nowhere == (None, None, None, "the statistic is not defined on these data")


def test_resamples_without_a_value_are_counted() -> None:
    half = np.where(np.arange(1200) % 4 == 0, np.nan, 1.0)
    assert bootstrap.percentile_interval(1.0, half) == (
        1,
        None,
        None,
        f"{SAME}; not defined in 300 of 1,200 resamples",
    )
    varied = bootstrap.percentile_interval(1.0, half + np.linspace(-1, 1, 1200))
    assert varied.undefined == "not defined in 300 of 1,200 resamples, which are left out"
    most = np.where(np.arange(1200) % 4 == 0, 1.0, np.nan)
    assert bootstrap.percentile_interval(1.0, most) == (1, None, None, "not defined in 900 of 1,200 resamples")
    assert bootstrap.percentile_interval(np.nan, half).value is None
    found = bootstrap.interval(scarce(np.arange(10.0)), np.arange(10), resamples=1000)
    assert found.low is not None
    assert found.undefined.endswith("of 1,000 resamples, which are left out")


def test_percentiles_of_what_is_defined() -> None:
    assert np.isnan(bootstrap.percentile(np.array([np.nan, np.nan, 1.0]))).all()
    assert bootstrap.percentile(np.array([np.nan, 1.0, 1.0])) == (1.0, 1.0)
    assert bootstrap.percentile(np.arange(101.0), 0.9) == pytest.approx((5.0, 95.0))


def test_intervals_cover_the_mean() -> None:
    generator = np.random.default_rng(7)
    hits = 0
    for trial in range(200):
        effects = generator.normal(size=30)
        cluster = np.repeat(np.arange(30), 4)
        values = effects[cluster] + generator.normal(size=120)
        low, high = bounds(bootstrap.interval(mean(values), cluster, resamples=400, seed=trial))
        hits += low <= 0 <= high
    assert 0.88 <= hits / 200 <= 0.99, "nominal .95; percentile intervals of 30 clusters are a little short"
