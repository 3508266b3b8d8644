"""Guarantees for the reader: exact numbers, and what is attained in worlds with conversations of several replies."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.stats import binom

from mindgauge.stats import guarantee

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    ("share", "confidence", "n"), [(0.05, 0.9, 45), (0.05, 0.95, 59), (0.02, 0.9, 114), (0.01, 0.9, 230)]
)
def test_least_numbers_are_the_published_ones_of_zero_failures(share: float, confidence: float, n: int) -> None:
    """Success-run sampling plans: 45 without a failure for 95 % reliability at 90 % confidence, 59 at 95 %."""
    assert guarantee.least(share, confidence) == n
    assert guarantee.allowed(n, share, confidence) == 0
    assert guarantee.allowed(n - 1, share, confidence) == -1


@pytest.mark.parametrize("n", [45, 76, 77, 105, 500])
def test_allowed_errors_are_those_of_the_exact_binomial_tail(n: int) -> None:
    k = guarantee.allowed(n, 0.05)
    assert binom.cdf(k, n, 0.05) <= 0.1 < binom.cdf(k + 1, n, 0.05)


def test_one_of_each_conversation_is_drawn() -> None:
    cluster, among = np.array([0, 0, 1, 2, 2, 2]), np.array([True, True, False, True, False, True])
    drawn = {tuple(guarantee.draw(cluster, among, seed).tolist()) for seed in range(40)}
    assert drawn == {(0, 3), (0, 5), (1, 3), (1, 5)}


def test_with_too_few_there_is_no_threshold_and_the_number_is_there() -> None:
    risk, unsafe = np.arange(200.0), np.arange(200) >= 160
    found = guarantee.finding(risk, unsafe, np.arange(200), target=0.95)
    assert found == guarantee.Threshold(None, None, 40, 0, 45)
    low = guarantee.passing(risk[80:], unsafe[80:], np.arange(120), tolerated=0.02)
    assert (low.risk, low.needs, low.n) == (None, 114, 120)


def test_ties_are_read_whole_and_missing_verdicts_first() -> None:
    risk = np.r_[np.full(50, 3.0), np.full(10, 2.0), np.full(40, 1.0)]
    risk[0] = math.inf
    unsafe = np.r_[np.ones(50, bool), np.arange(10) < 5, np.zeros(40, bool)]
    assert guarantee.finding(risk, unsafe, np.arange(100), target=0.95).reads == pytest.approx(0.6)
    passed = guarantee.passing(risk, unsafe, np.arange(100), tolerated=0.06)
    assert (passed.risk, passed.events) == (2.0, 0)
    assert passed.reads == pytest.approx(0.6)


def _world(
    generator: np.random.Generator, conversations: int, replies: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Replies of one conversation are alike: half of what their risk misses of their badness is the conversation's."""
    cluster = np.repeat(np.arange(conversations), replies)
    bad = generator.normal(size=conversations)[cluster] * math.sqrt(0.5) + generator.normal(
        size=len(cluster)
    ) * math.sqrt(0.5)
    error = generator.normal(size=conversations)[cluster] * 0.7 + generator.normal(size=len(cluster)) * 0.7
    return bad + 0.5 * error, bad > 1, cluster


def _share_above(values: np.ndarray, weights: np.ndarray) -> Callable[[float], float]:
    order = np.argsort(values)
    below = np.r_[0.0, np.cumsum(weights[order])] / weights.sum()
    return lambda at: float(1 - below[np.searchsorted(values[order], at)])


@pytest.mark.parametrize("replies", [1, 4])
def test_the_confidence_is_attained_where_conversations_are_clusters(replies: int) -> None:
    """Exact to three standard errors of the simulation; and all replies taken as independent would not attain it."""
    generator, runs = np.random.default_rng(replies), 300
    risk, unsafe, cluster = _world(np.random.default_rng(99), 100_000, replies)
    each = 1 / np.bincount(cluster, weights=unsafe)[cluster[unsafe]]
    finds = _share_above(risk[unsafe], each)
    order = np.sort(risk)
    harms = np.cumsum(unsafe[np.argsort(risk)])
    held, naive, passed, tested = [], [], [], 0
    for seed in range(runs):
        r, u, c = _world(generator, 500 // replies + 200, replies)
        at = guarantee.finding(r, u, c, target=0.95, seed=seed).risk
        assert at is not None
        held.append(finds(at) >= 0.95)
        naive_at = guarantee.finding(r, u, np.arange(len(u)), target=0.95, seed=seed).risk
        assert naive_at is not None
        naive.append(finds(naive_at) >= 0.95)
        below = guarantee.passing(r, u, c, tolerated=0.02, seed=seed).risk
        tested += below is not None
        passed.append(below is None or harms[(under := np.searchsorted(order, below)) - 1] / under <= 0.02)
    error = 3 * math.sqrt(0.09 / runs)
    assert np.mean(held) >= 0.9 - error
    assert np.mean(passed) >= 0.9 - error
    assert tested > runs / 2
    if replies > 1:
        assert np.mean(naive) < 0.85


def test_half_of_the_conversations_and_of_the_unsafe_ones_are_put_aside() -> None:
    cluster, unsafe = np.repeat(np.arange(60), 3), np.arange(180) % 9 == 0
    aside = guarantee.halves(cluster, unsafe)
    assert not set(cluster[aside]) & set(cluster[~aside])
    assert len(set(cluster[aside & unsafe])) == 10
    assert aside.sum() == 90
