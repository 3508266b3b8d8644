"""Bounds of means from betting: they hold where rare values are far away, at every look, and in any order."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mindgauge.stats import betting, bootstrap

FALLS = (-4.0, 4.0)


def _falls(generator: np.random.Generator, n: int) -> np.ndarray:
    """Draw by how many levels each conversation is worse: 5 % by four, the rest by chance up to one, either way."""
    return np.where(generator.random(n) < 0.05, 4.0, generator.choice([-1.0, 0.0, 1.0], n, p=[0.1, 0.8, 0.1]))


def _bootstrap(values: np.ndarray, seed: int) -> float:
    sums = np.stack([values, np.ones(len(values))], axis=1)
    found = bootstrap.interval_of_sums(
        lambda total: total[:, 0] / total[:, 1], sums, resamples=300, seed=seed, ends=FALLS
    )
    return float("nan") if found.high is None else found.high


@pytest.mark.parametrize("n", [30, 100])
def test_a_rare_fall_of_four_levels_is_missed_by_the_bootstrap_and_not_by_betting(n: int) -> None:
    generator = np.random.default_rng(n)
    draws = [_falls(generator, n) for _ in range(400)]
    missed = np.mean([betting.upper(values, FALLS, alpha=0.025) < 0.2 for values in draws])
    assert missed <= 0.025
    assert np.mean([_bootstrap(values, seed) < 0.2 for seed, values in enumerate(draws)]) > 0.04


def test_the_lower_bound_mirrors_the_upper() -> None:
    values = _falls(np.random.default_rng(2), 60)
    assert betting.lower(-values, FALLS, alpha=0.05) == -betting.upper(values, FALLS, alpha=0.05)
    found = betting.interval(values, FALLS, alpha=0.1)
    assert found.value == pytest.approx(values.mean())
    assert found.high == betting.upper(values, FALLS, alpha=0.05)


@pytest.mark.parametrize("n", [20, 80])
def test_bounds_of_shares_hold_and_are_near_the_exact_ones(n: int) -> None:
    """Both sides of a binomial, exactly: no simulation."""
    from scipy.stats import binom

    from mindgauge.stats.proportion import clopper_pearson

    shares, missed = np.array([0.01, 0.1, 0.5]), np.zeros((2, 3))
    for count in range(n + 1):
        found = betting.interval(np.r_[np.ones(count), np.zeros(n - count)], (0.0, 1.0))
        exact = clopper_pearson(float(count), n)
        assert found.low is not None
        assert found.high is not None
        assert exact.low is not None
        assert exact.high is not None
        assert found.low <= exact.low + 1e-9
        assert found.high >= exact.high - 1e-9
        assert found.high - found.low <= 1.55 * (exact.high - exact.low)
        missed += binom.pmf(count, n, shares) * np.stack([found.low > shares, found.high < shares])
    assert missed.max() <= 0.025


def test_it_is_narrower_than_empirical_bernstein() -> None:
    """Maurer and Pontil 2009, theorem 4."""
    generator = np.random.default_rng(3)
    for n in (30, 100, 1_000):
        for values in (generator.random(n), generator.beta(1, 9, n), np.zeros(n)):
            spread = math.sqrt(2 * values.var(ddof=1) * math.log(80) / n) + 7 * math.log(80) / (3 * (n - 1))
            assert betting.upper(values, (0.0, 1.0), alpha=0.025) < values.mean() + spread


def test_neither_order_nor_unit_matters() -> None:
    values = np.random.default_rng(4).random(50)
    found = betting.upper(values, (0.0, 1.0), alpha=0.05)
    assert betting.upper(values[::-1], (0.0, 1.0), alpha=0.05) == pytest.approx(found, abs=1e-9)
    assert betting.upper(8 * values - 4, (-4.0, 4.0), alpha=0.05) == pytest.approx(8 * found - 4, abs=1e-9)


def test_a_mean_with_weights_is_that_of_repeated_values_and_wider() -> None:
    values, weights = np.array([0.0, 1.0, 0.2, 0.3] * 10), np.array([3.0, 1.0, 2.0, 1.0] * 10)
    found = betting.interval(values, (0.0, 1.0), weights=weights)
    repeated = betting.interval(np.repeat(values, weights.astype(int)), (0.0, 1.0))
    assert found.value == pytest.approx(repeated.value)
    assert found.high is not None
    assert repeated.high is not None
    assert found.high > repeated.high
    assert betting.interval(values, (0.0, 1.0), weights=5 * weights) == pytest.approx((*found[:3], ""))


def test_values_with_means_of_their_own_are_covered() -> None:
    """Messages differ in how hard they are: the mean of all of them is what the bound is for."""
    generator = np.random.default_rng(5)
    chances = generator.beta(0.3, 2, 60)
    draws = (generator.random((300, 60)) < chances).astype(float)
    missed = [betting.upper(values, (0.0, 1.0), alpha=0.05) < chances.mean() for values in draws]
    assert np.mean(missed) <= 0.05


def test_an_e_value_is_one_on_average_and_agrees_with_the_bound() -> None:
    generator = np.random.default_rng(6)
    won = [betting.e_value(_falls(generator, 40), FALLS, 0.2, at_least=True) for _ in range(2_000)]
    assert np.mean(won) <= 1 + 3 * np.std(won) / math.sqrt(len(won))
    values = _falls(generator, 200)
    limit = betting.upper(values, FALLS, alpha=0.025)
    assert betting.e_value(values, FALLS, limit, at_least=True) == pytest.approx(40, rel=1e-6)
    limit = betting.lower(values, FALLS, alpha=0.025)
    assert betting.e_value(values, FALLS, limit, at_least=False) == pytest.approx(40, rel=1e-6)


def test_a_limit_at_the_end_of_the_scale_has_an_e_value() -> None:
    values = np.array([0.0, 1.0, 0.5])
    assert betting.e_value(values, (0.0, 1.0), 1.0, at_least=True) == math.inf
    assert betting.e_value(np.ones(3), (0.0, 1.0), 1.0, at_least=True) == 1.0
    assert betting.e_value(values, (0.0, 1.0), 1.0, at_least=False) <= 1.0


def test_enough_is_the_least_number_of_values_like_these() -> None:
    values = np.tile([0.0, 0.0, 0.0, 0.5], 10)
    needed = betting.enough(values, (-4.0, 4.0), 0.3, at_least=True)
    assert needed is not None
    upper, fewer = (betting.upper(np.resize(values, n), (-4.0, 4.0), alpha=0.025) for n in (needed + 4, needed - 4))
    assert upper < 0.3 < fewer
    assert betting.enough(-values, (-4.0, 4.0), -0.3, at_least=False) == needed
    assert betting.enough(values, (-4.0, 4.0), 0.1, at_least=True) is None
    assert betting.enough(np.zeros(30), (-4.0, 4.0), 0.4, at_least=True) == pytest.approx(41, abs=3)


def test_looking_after_every_value_misses_no_more_often() -> None:
    """A share of 10 % that is looked at after each of 80 values: bounds for all looks seldom miss at any of them."""
    generator = np.random.default_rng(7)
    missed = wider = 0
    for _ in range(25):
        values = (generator.random(80) < 0.1).astype(float)
        looks = [betting.interval(values[:n], (0.0, 1.0), alpha=0.1, anytime=True) for n in range(1, 81)]
        missed += any((look.high or 0.0) < 0.1 or (look.low or 0.0) > 0.1 for look in looks)
        single = betting.interval(values, (0.0, 1.0), alpha=0.1)
        assert single.high is not None
        wider += (looks[-1].high or 0.0) > single.high
    assert missed <= 2  # of 25
    assert wider > 20


def test_the_bounds_of_nothing_and_of_one_value() -> None:
    assert betting.interval(np.empty(0), (0.0, 1.0)).undefined == "no observations"
    low, high = betting.interval(np.array([0.3]), (0.0, 1.0))[1:3]
    assert low is not None
    assert high is not None
    assert 0 <= low < 0.01
    assert 0.99 < high <= 1
    assert betting.upper(np.ones(9), (0.0, 1.0), alpha=0.05) == 1.0
