"""Conformal intervals: the least number, a hand-made example, and coverage where conversations are clusters."""

from __future__ import annotations

import numpy as np
import pytest

from mindgauge.stats import conformal


@pytest.mark.parametrize(("level", "n"), [(0.9, 19), (0.8, 9), (0.95, 39)])
def test_the_least_number_is_that_of_two_ends(level: float, n: int) -> None:
    values = np.arange(float(n))
    assert conformal.needed(level) == n
    assert conformal.residuals(values, np.arange(n), level)[:2] == (0, n - 1)
    assert conformal.residuals(values[1:], np.arange(n - 1), level) == (None, None, n - 1, n)


def test_without_clusters_it_is_the_order_statistic() -> None:
    values = np.random.default_rng(0).normal(size=99)
    low, high, *_ = conformal.residuals(values, np.arange(99), 0.9)
    assert (low, high) == (np.sort(values)[4], np.sort(values)[94])


def test_a_conversation_of_many_replies_weighs_as_much_as_one_of_one() -> None:
    values, cluster = np.r_[np.arange(40.0), np.full(500, 1e6)], np.r_[np.arange(40), np.full(500, 40)]
    assert conformal.residuals(values, cluster, 0.9).high == 39
    assert conformal.residuals(values, cluster, 0.94).high == 1e6
    assert conformal.residuals(values, np.arange(540), 0.9).high == 1e6, "that one conversation alone would decide"


@pytest.mark.parametrize("replies", [1, 6])
def test_a_new_conversation_is_covered_with_the_level(replies: int) -> None:
    """The mean over calibrations is at least the level, and replies taken as independent are no help in one study."""
    generator = np.random.default_rng(replies)
    share = []
    for _ in range(150):
        shared = generator.normal(size=40)
        values = np.repeat(shared, replies) + 0.3 * generator.normal(size=40 * replies)
        low, high, *_ = conformal.residuals(values, np.repeat(np.arange(40), replies))
        new = generator.normal(size=400) + 0.3 * generator.normal(size=400)
        assert low is not None
        assert high is not None
        share.append(np.mean((new >= low) & (new <= high)))
    assert np.mean(share) >= 0.9 - 3 * np.std(share) / np.sqrt(150)
    assert np.mean(share) < 0.97


def test_what_is_left_out_is_not_calibrated_on() -> None:
    values, cluster = np.r_[np.zeros(40), 50.0], np.arange(41)
    found = conformal.covered(values, cluster, np.ones(41, dtype=bool))
    assert found[:40].all()
    assert found[40] == 0
    few = conformal.covered(values, cluster, np.arange(41) < 19)
    assert np.isnan(few).all()


@pytest.mark.parametrize("seed", range(5))
def test_all_conversations_at_once_are_covered_as_one_by_one(seed: int) -> None:
    generator = np.random.default_rng(seed)
    cluster, values = generator.integers(0, 45, 140), np.rint(2 * generator.normal(size=140)) / 2
    among = generator.random(140) < 0.9
    quick = conformal.covered(values, cluster, among)
    for number in np.unique(cluster[among]):
        own, rest = among & (cluster == number), among & (cluster != number)
        low, high, *_ = conformal.residuals(values[rest], cluster[rest])
        np.testing.assert_array_equal(quick[own], (values[own] >= low) & (values[own] <= high))
    assert np.isnan(quick[~among]).all()
