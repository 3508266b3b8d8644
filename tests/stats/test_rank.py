"""Rank correlations agree with scipy's on every input, weights and ties included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from mindgauge.stats import rank

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
