"""Is a system no worse than another: the sign-flip test of several measures, its intervals, and how much data it takes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge.stats import betting, noninferiority
from mindgauge.stats.proportion import clopper_pearson


def test_one_measure_is_fishers_sign_flip_by_hand() -> None:
    worsening = np.array([2.0, 1.0, -1.0, 3.0])
    sums = [float(np.dot(signs, worsening)) for signs in itertools.product((1, -1), repeat=4)]
    by_hand = np.mean([total >= worsening.sum() for total in sums])
    assert noninferiority.adjusted(worsening[:, None])[0] == pytest.approx(by_hand)


def test_two_measures_by_hand() -> None:
    worsening = np.array([[1.0, 1.0], [1.0, -1.0], [1.0, 2.0], [1.0, 1.0]])
    signs = np.array(list(itertools.product((1, -1), repeat=4)))
    sums = signs @ worsening
    p = np.array([[(sums[:, r] >= sums[b, r]).mean() for r in range(2)] for b in range(len(sums))])
    observed = p[np.flatnonzero((signs == 1).all(axis=1))[0]]
    first = (p.min(axis=1) <= observed.min()).mean()
    second = max(first, (p[:, np.argmax(observed)] <= observed.max()).mean())
    expected = [first, second] if observed[0] <= observed[1] else [second, first]
    assert noninferiority.adjusted(worsening).tolist() == pytest.approx(expected)


def test_a_copy_of_a_measure_costs_nothing() -> None:
    worsening = np.random.default_rng(1).integers(-1, 3, (11, 1)).astype(float)
    alone = noninferiority.adjusted(worsening)[0]
    assert noninferiority.adjusted(np.repeat(worsening, 10, axis=1)) == pytest.approx(np.full(10, alone))


def test_measures_on_which_nothing_differs_cost_nothing() -> None:
    worsening = np.zeros((60, 10))
    worsening[:8, 0] = 1
    adjusted = noninferiority.adjusted(worsening)
    assert adjusted[0] == pytest.approx(2**-8)
    assert (adjusted[1:] == 1).all()


def test_no_difference_and_no_measures() -> None:
    assert noninferiority.adjusted(np.zeros((5, 2))).tolist() == [1, 1]
    assert noninferiority.adjusted(np.zeros((0, 2))).tolist() == [1, 1]
    assert noninferiority.adjusted(np.zeros((4, 0))).tolist() == []


def test_false_alarms_of_ten_measures_stay_within_the_level() -> None:
    generator = np.random.default_rng(7)
    alarms = sum(
        noninferiority.adjusted(
            generator.integers(0, 2, (40, 10)).astype(float) - generator.integers(0, 2, (40, 10)), flips=999, seed=n
        ).min()
        <= 0.1
        for n in range(200)
    )
    assert alarms <= 35  # 20 expected; 35 of 200 has p < .001 at a true share of .1


def test_many_conversations_are_drawn_and_few_are_tried() -> None:
    generator = np.random.default_rng(3)
    few = generator.normal(0.3, 1, (12, 2))
    drawn = noninferiority.adjusted(np.concatenate([few, np.full((1, 2), 1e-12)]), flips=20_000)
    assert drawn == pytest.approx(noninferiority.adjusted(few), abs=0.02)


def test_an_interval_of_what_never_differs_has_a_width() -> None:
    bounds = noninferiority.interval(np.zeros(30), 4.0, exact=False)
    assert bounds.low is not None
    assert bounds.high is not None
    assert bounds.low < 0 < bounds.high


@given(st.integers(1, 40), st.integers(0, 40), st.floats(0.01, 0.99))
def test_above_agrees_with_the_exact_interval(n: int, events: int, limit: float) -> None:
    events = min(events, n)
    low = clopper_pearson(events, n).low
    assert low is not None
    if abs(low - limit) > 1e-6:
        assert (noninferiority.above(events, n, limit) <= 0.025) == (low > limit)


@given(st.floats(0.01, 0.5), st.floats(0.01, 0.9))
def test_enough_for_share_is_the_least_number(value: float, limit: float) -> None:
    needed = noninferiority.enough_for_share(value, limit)
    if needed is None or needed < 3:
        return

    def reaches(n: int) -> bool:
        bounds = clopper_pearson(value * n, n)
        assert bounds.high is not None
        assert bounds.low is not None
        return bounds.high <= limit if value < limit else bounds.low >= limit

    assert reaches(needed)
    assert not reaches(needed - 1)


def test_a_share_that_is_to_fail_takes_as_many_as_its_level_asks() -> None:
    needed = noninferiority.enough_for_share(0.3, 0.2, 1 - 2 * 0.001)
    assert needed is not None
    assert noninferiority.above(0.3 * needed, needed, 0.2) <= 0.001
    assert noninferiority.above(0.3 * (needed - 1), needed - 1, 0.2) > 0.001


@pytest.mark.parametrize("differing", [0, 1, 4])
def test_enough_for_a_difference_of_shares_counts_with_its_exact_bounds(differing: int) -> None:
    """Bounds of few differences fall as 1/n: by the root of n, up to eight times as many would be asked for."""
    few = np.repeat([1.0, -1.0, 0.0], [differing // 2, differing - differing // 2, 40 - differing])
    needed = noninferiority.enough_for_difference(few, 0.05)
    high = noninferiority.interval(few, 1.0, exact=True).high
    assert high is not None
    assert needed is not None
    assert needed > 40
    by_root = noninferiority.enough(float(few.mean()), high, 0.05, 40)
    assert by_root is not None
    assert needed < by_root
    if not differing:
        for n, keeps in ((needed, True), (needed - 1, False)):
            bound = noninferiority.interval(np.zeros(n), 1.0, exact=True).high
            assert bound is not None
            assert (bound < 0.05) is keeps


@pytest.mark.parametrize("block", [[4.0] + [0.0] * 19, [1.0] * 4 + [-1.0] + [0.0] * 5, [0.5] * 10])
@pytest.mark.parametrize("level", [0.02, 0.002])
def test_enough_for_flips_counts_as_the_flips_do(block: list[float], level: float) -> None:
    """A fall in few conversations has a p of 2⁻ᵏ, however far it is."""
    needed = noninferiority.enough_for_flips(np.array(block), level)
    assert needed is not None
    whole = -(-needed // len(block))

    def p(blocks: int) -> float:
        return float(noninferiority.adjusted(np.tile(block, blocks)[:, None])[0])

    assert p(whole) <= level * 1.3
    assert p(max(whole // 2, 1)) > level or whole == 1


def test_waits_outside_the_scale_do_not_fail_a_night() -> None:
    within = noninferiority.over_nights(np.ones(40), np.ones(40), 1.0, 1, level=0.02)
    outside = noninferiority.over_nights(np.full(40, 1.5), np.full(40, 1.5), 1.0, 1, level=0.02)
    assert within < 0.02
    assert outside == 1


def test_enough_of_a_mean_by_hand() -> None:
    assert noninferiority.enough(0.0, 0.4, 0.2, 100) == 400
    assert noninferiority.enough(0.2, 0.4, 0.2, 100) is None
    assert noninferiority.enough(0.3, 0.4, 0.2, 100) is None


def test_a_mean_with_few_far_falls_is_bounded_and_that_of_a_share_stays() -> None:
    worsening = np.r_[np.zeros(70), np.tile([1.0, -1.0], 15)]
    mean = noninferiority.interval(worsening, 4.0, exact=False)
    assert mean == betting.interval(worsening, (-4.0, 4.0))
    share = noninferiority.interval(worsening, 1.0, exact=True)
    assert share.high is not None
    assert mean.high is not None
    assert share.high < mean.high


def test_parts_of_nights_are_one_together() -> None:
    assert sum(noninferiority.part(night) for night in range(1, 10_000)) == pytest.approx(1, abs=2e-4)


def _failing(nights: np.ndarray, level: float) -> list[bool]:
    """Say of each night whether a series fails on it; rows are nights."""
    return [
        noninferiority.over_nights(night, nights[: place + 1].mean(axis=0), 4.0, place + 1, level=level) <= level
        for place, night in enumerate(nights)
    ]


def test_equal_builds_hardly_ever_fail_in_a_series_and_a_drift_shows() -> None:
    generator = np.random.default_rng(9)

    def nights(drop: float) -> np.ndarray:
        chance = generator.beta(2, 2, 60) * 0.8
        baseline = 5 - generator.binomial(4, chance)
        drops = np.where(np.arange(20) >= 10, drop / 4, 0.0)
        return np.stack([baseline - (5 - generator.binomial(4, chance + less * (1 - chance))) for less in drops])

    assert sum(any(_failing(nights(0.0), 0.1)) for _ in range(100)) <= 10
    assert sum(any(_failing(nights(2.0), 0.1)) for _ in range(20)) == 20


def test_more_tests_share_the_level_of_a_series() -> None:
    worsening = np.full(30, 0.5)
    one, five = (noninferiority.over_nights(worsening, worsening, 4.0, 1, level=0.02, tests=n) for n in (1, 5))
    assert one < five <= 5.5 * one
