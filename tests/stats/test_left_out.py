"""A rater beside a left-out person: by hand, at the limit, and by exchange."""

from __future__ import annotations

import numpy as np
import pytest

from mindgauge.stats.left_out import exchanged, left_out

NAN = float("nan")


def alone(n: int) -> np.ndarray:
    return np.arange(n)


def test_each_call_of_another_person_is_the_measure_once() -> None:
    """Three people: two call the first reply so, one the second, all the third; the rater calls the first and the second."""
    called = np.array([[1, 1, 0], [0, 1, 0], [1, 1, 1], [0, 0, 0], [1, NAN, NAN]], dtype=float)
    found = left_out(np.array([1.0, 1.0, 0.0, 1.0, 1.0]), called, alone(5), 0.1)
    assert found.n == 3, "the fourth is called so by nobody, the fifth has no second person"
    assert found.rater == pytest.approx((2 + 1 + 0) / 6)
    assert found.person == pytest.approx((2 * 0.5 + 1 * 0 + 3 * 1) / 6)
    assert found.difference.value == pytest.approx((3 - 4) / 6)


def test_with_two_people_it_is_the_paired_difference_of_both_directions() -> None:
    random = np.random.default_rng(0)
    called = (random.random((200, 2)) < 0.4).astype(float)
    rater = (random.random(200) < 0.4).astype(float)
    pairs = [(rater[s], called[s, i]) for i in (0, 1) for s in range(200) if called[s, 1 - i]]
    found = left_out(rater, called, alone(200), 0.1)
    assert (found.rater, found.person) == pytest.approx(tuple(np.mean(pairs, axis=0)))


@pytest.mark.parametrize(("calls", "passes"), [(28, False), (29, True)])
def test_who_shares_every_call_must_share_twenty_nine(calls: int, passes: bool) -> None:
    found = left_out(np.ones(calls), np.ones((calls, 3)), alone(calls), 0.1)
    assert found.difference.low is not None
    assert (found.difference.low >= -0.1) is passes


def test_a_missing_verdict_shares_no_call() -> None:
    called = np.ones((40, 2))
    rater = np.where(np.arange(40) < 4, NAN, 1.0)
    found = left_out(rater, called, alone(40), 0.1)
    assert found.absent == 4
    assert found.rater == pytest.approx(0.9)


def test_spare_is_how_many_calls_may_still_be_lost() -> None:
    called = np.ones((100, 2))
    spare = left_out(np.ones(100), called, alone(100), 0.1).spare
    assert spare > 0
    for lost, holds in ((spare, True), (spare + 1, False)):
        low = left_out((np.arange(100) >= lost).astype(float), called, alone(100), 0.1).difference.low
        assert low is not None
        assert (low >= -0.1) is holds


def test_replies_of_one_conversation_are_one_observation() -> None:
    called, rater = np.ones((60, 2)), np.ones(60)
    found = left_out(rater, called, np.arange(60) // 3, 0.1)
    assert found.clusters == pytest.approx(20)
    assert found.difference.low is not None and found.difference.low < -0.1


@pytest.mark.parametrize("margin", [0.0, 1.0])
def test_a_margin_of_nothing_or_all_is_refused(margin: float) -> None:
    with pytest.raises(ValueError, match="margin"):
        left_out(np.ones(3), np.ones((3, 2)), alone(3), margin)


def test_a_rater_that_is_worse_by_the_margin_seldom_passes() -> None:
    """It loses one call in ten of unanimous ones, and one in ten more than people who find .7 of each other's."""
    random, studies = np.random.default_rng(3), 400
    for share in (1.0, 0.7):
        passed = 0
        for _ in range(studies):
            called = (random.random((80, 3)) < share).astype(float)
            rater = (random.random(80) < share - 0.1).astype(float)
            low = left_out(rater, called, alone(80), 0.1).difference.low
            passed += low is not None and low >= -0.1
        assert passed <= 0.085 * studies


def test_exchange_finds_a_rater_that_passes_the_worst() -> None:
    random = np.random.default_rng(1)
    worst = (random.random((60, 4)) < 0.9).astype(float)
    missed = (random.random((60, 4)) < 0.05).astype(float)
    blind = missed.copy()
    blind[:20, 0] = 1.0
    honest = exchanged(missed, worst, alone(60))
    found = exchanged(blind, worst, alone(60))
    assert honest.p is not None and honest.p > 0.05
    assert found.p is not None and found.p < 0.01
    assert found.rater is not None and found.person is not None and found.rater > found.person + 0.2


def test_exchange_errs_as_often_as_it_says() -> None:
    random, studies, alarms = np.random.default_rng(5), 300, 0
    for _ in range(studies):
        worst = (random.random((50, 3)) < 0.7).astype(float)
        missed = (random.random((50, 3)) < 0.2).astype(float)
        p = exchanged(missed, worst, alone(50), draws=199).p
        alarms += p is not None and p < 0.05
    assert alarms <= 0.08 * studies


def test_one_person_alone_is_no_measure() -> None:
    assert exchanged(np.zeros((5, 2)), np.ones((5, 2)), alone(5)).p is None
    assert left_out(np.ones(5), np.ones((5, 1)), alone(5), 0.1).rater is None
