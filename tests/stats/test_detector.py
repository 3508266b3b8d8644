"""An alarm is rare where nothing changed, however often somebody looks, and soon where something did."""

from __future__ import annotations

import numpy as np
import pytest

from mindgauge.stats import detector


def looks_to_alarm(rate: float, limit: float, size: int, apart: float, most: int, seed: int) -> int:
    generator = np.random.default_rng(seed)
    evidence = detector.none_yet()
    for look in range(1, most + 1):
        evidence = detector.added(evidence, generator.binomial(1, rate, size).astype(float), limit)
        if detector.strength(evidence) >= apart:
            return look
    return most


@pytest.mark.parametrize(("limit", "size"), [(0.05, 20), (0.3, 5)])
def test_at_the_limit_false_alarms_are_as_far_apart_as_promised(limit: float, size: int) -> None:
    looks = [looks_to_alarm(limit, limit, size, 20, 400, seed) for seed in range(60)]
    assert np.mean(looks) >= 20


def test_evidence_has_the_mean_of_its_looks_at_most() -> None:
    """The bound itself, by exact expectation: one look of one observation of 0 or 1."""
    for limit in (0.02, 0.5, 0.9):
        before = np.arange(detector.BETS, dtype=float)
        outcomes = [detector.added(before, np.array([value]), limit) for value in (0.0, 1.0)]
        mean = (1 - limit) * outcomes[0] + limit * outcomes[1]
        np.testing.assert_allclose(mean, before + 1)


def test_a_rate_of_twice_the_limit_is_found_soon() -> None:
    looks = [looks_to_alarm(0.15, 0.05, 40, 100, 60, seed) for seed in range(40)]
    assert np.mean(looks) < 8


def test_below_the_limit_there_is_no_alarm() -> None:
    assert all(looks_to_alarm(0.01, 0.05, 40, 100, 200, seed) == 200 for seed in range(10))


def test_at_a_limit_of_nothing_one_is_enough_and_none_is_no_alarm() -> None:
    none = detector.added(detector.none_yet(), np.zeros(500), 0.0)
    assert detector.strength(none) == 1
    assert detector.strength(detector.added(none, np.array([0.0, 0.2]), 0.0)) > 1e9


def test_much_evidence_stays_finite() -> None:
    evidence = detector.none_yet()
    for _ in range(50):
        evidence = detector.added(evidence, np.ones(10_000), 0.01)
    assert np.isfinite(evidence).all()
