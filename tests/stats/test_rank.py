"""Rank correlations agree with scipy's on every input, weights and ties included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from mindgauge.stats import rank
from mindgauge.stats.rank import ranges, surely_better
from tests.thinned import later

Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Pairs = list[tuple[int, int]]
PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=2, max_size=30)


def table(pairs: Pairs) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    found = np.zeros((1, 5, 4))
    for x, y in pairs:
        found[0, x, y] += 1
    return found


def varies(pairs: Pairs) -> bool:
    return all(len(set(side)) > 1 for side in zip(*pairs, strict=True))


@given(PAIRS)
def test_tables_give_what_scipy_gives(pairs: Pairs) -> None:
    x, y = zip(*pairs, strict=True)
    tau, rho = rank.kendall_tau_b(table(pairs)), rank.spearman(table(pairs))
    if varies(pairs):
        assert tau[0] == pytest.approx(stats.kendalltau(x, y).statistic)
        assert rho[0] == pytest.approx(stats.spearmanr(x, y).statistic)
    else:
        assert np.isnan([tau[0], rho[0]]).all()


@given(PAIRS)
def test_columns_give_what_scipy_gives(pairs: Pairs) -> None:
    x, y = (np.array(side, dtype=float)[None] for side in zip(*pairs, strict=True))
    found = [f(x, y)[0] for f in (rank.kendall_of_columns, rank.spearman_of_columns, rank.pearson_of_columns)]
    if varies(pairs):
        scipys = [stats.kendalltau(x[0], y[0]), stats.spearmanr(x[0], y[0]), stats.pearsonr(x[0], y[0])]
        assert found == pytest.approx([its.statistic for its in scipys])
    else:
        assert np.isnan(found).all()


@given(PAIRS, st.integers(2, 5))
def test_a_weight_is_that_many_copies(pairs: Pairs, times: int) -> None:
    for statistic in (rank.kendall_tau_b, rank.spearman):
        several, once = statistic(table(pairs * times)), statistic(table(pairs) * times)
        np.testing.assert_allclose(several, once)
        np.testing.assert_allclose(statistic(table(pairs)), once)


def test_resamples_are_computed_at_once_and_apart() -> None:
    generator = np.random.default_rng(1)
    joint = generator.integers(0, 5, (20, 5, 4)).astype(float)
    for statistic in (rank.kendall_tau_b, rank.spearman):
        np.testing.assert_allclose(statistic(joint), [statistic(one[None])[0] for one in joint])


def test_a_system_that_is_not_there_does_not_count() -> None:
    x = np.array([[1.0, 2.0, np.nan, 4.0], [1.0, 2.0, 3.0, 4.0]])
    y = np.array([[1.0, 3.0, 9.0, 2.0], [1.0, 3.0, 9.0, 2.0]])
    left = [0, 1, 3]
    for statistic in (rank.kendall_of_columns, rank.spearman_of_columns, rank.pearson_of_columns):
        assert statistic(x, y)[0] == pytest.approx(statistic(x[:1, left], y[:1, left])[0])


def test_means_that_differ_by_rounding_are_tied() -> None:
    x = np.array([[0.1 + 0.2, 0.3, 1.0]])
    assert rank.kendall_of_columns(x, np.array([[1.0, 2.0, 3.0]]))[0] == pytest.approx(2 / np.sqrt(6))


def test_published_example() -> None:
    """Ten people's IQ and hours of television a week (English Wikipedia, Spearman's rank correlation coefficient)."""
    iq = np.array([[106, 86, 100, 101, 99, 103, 97, 113, 112, 110]], dtype=float)
    hours = np.array([[7, 0, 27, 50, 28, 29, 20, 12, 6, 17]], dtype=float)
    assert rank.spearman_of_columns(iq, hours)[0] == pytest.approx(-29 / 165)


# -- ranks that systems may have --------------------------------------------------------------------------------------


def drawn(scores: Floats, generator: np.random.Generator, resamples: int = 500) -> Floats:
    """Return systems' means over resampled conversations; scores have shape (C, S)."""
    n = len(scores)
    return np.asarray(generator.multinomial(n, np.full(n, 1 / n), size=resamples) / n @ scores)


def test_ranges_by_hand() -> None:
    better = np.array([[0, 1, 1], [0, 0, 0], [0, 0, 0]], dtype=bool)
    assert ranges(better) == [(1, 1), (2, 3), (2, 3)]


@pytest.mark.parametrize("conversations", [5, later(10), 20])
@pytest.mark.parametrize("systems", [later(2), 5])
@pytest.mark.parametrize("kind", ["even", "near the ceiling", "shares"])
def test_no_equal_system_is_called_better_in_more_than_a_twentieth(kind: str, systems: int, conversations: int) -> None:
    generator = np.random.default_rng(0)
    wrong = 0
    for _ in range(200):
        shared = generator.normal(0, 0.7, (conversations, 1)) + generator.normal(0, 0.7, (conversations, systems))
        scores = {
            "even": shared,
            "near the ceiling": np.minimum(np.rint(shared), -0.5),
            "shares": (shared > -0.5) * 1.0,
        }[kind]
        better = surely_better(scores.mean(axis=0), drawn(scores, generator), conversations)
        assert better is not None
        wrong += bool(better.any())
    assert wrong <= 18, "5 % of 200, and what chance makes of it"


def test_systems_that_differ_are_told_apart() -> None:
    generator = np.random.default_rng(1)
    scores = generator.normal(0, 1, (20, 3)) + np.array([0, 3, 6])
    better = surely_better(scores.mean(axis=0), drawn(scores, generator), 20)
    assert better is not None
    assert ranges(better) == [(3, 3), (2, 2), (1, 1)]
    same = np.tile([1.0, 0.0], (10, 1))
    surely = surely_better(same.mean(axis=0), drawn(same, generator), 10)
    assert surely is not None and surely[0, 1] and not surely[1, 0]
    few = surely_better(same[:5].mean(axis=0), drawn(same[:5], generator), 5)
    assert few is not None and not few.any(), "five signs alike: 2 of 32 ways"


def test_what_is_not_known_leaves_no_ranges() -> None:
    assert surely_better(np.array([1.0, 2.0]), np.full((10, 2), np.nan), 20) is None
    assert surely_better(np.array([1.0, np.nan]), np.ones((10, 2)), 20) is None
    assert surely_better(np.array([1.0, 2.0]), np.ones((10, 2)), 1) is None
    alone = surely_better(np.array([1.0]), np.ones((10, 1)), 20)
    assert alone is not None and ranges(alone) == [(1, 1)]
