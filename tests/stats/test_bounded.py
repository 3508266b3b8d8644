"""Gaffke's interval: what it is where exact intervals are known, and how often it holds near the end of a scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.stats import beta

from mindgauge.stats import bounded
from mindgauge.stats.correction import prediction_powered_mean
from mindgauge.stats.interval import AGREED
from mindgauge.stats.proportion import unanimous

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mindgauge.stats.interval import Interval

ENDS = (1.0, 5.0)


def known(values: list[float], cluster: NDArray[np.intp] | None = None) -> Interval:
    n = len(values)
    codes = np.arange(n) if cluster is None else cluster
    return bounded.interval(np.array(values), np.full(n, 1 / n), codes, ENDS)


@pytest.mark.parametrize("high", [1, 4, 15, 19])
def test_of_two_kinds_of_values_it_is_clopper_and_pearson_s(high: int) -> None:
    found = known([5.0] * high + [1.0] * (20 - high))
    exact = beta.ppf([0.025, 0.975], [high, high + 1], [21 - high, 20 - high])
    assert found[1:3] == pytest.approx(1 + 4 * exact, abs=0.01)


def test_of_values_alike_it_is_the_exact_bound_of_their_conversations() -> None:
    assert known([4.0] * 20)[:3] == pytest.approx(unanimous(4.0, 20, ENDS)[:3])
    assert known([5.0] * 20, np.repeat(np.arange(4), 5)).low == pytest.approx(unanimous(5.0, 4, ENDS).low)


def test_it_is_the_quantile_of_randomly_weighted_values() -> None:
    values = [5.0] * 16 + [4.0, 4.0, 3.0, 2.0]
    weights = np.random.default_rng(0).dirichlet(np.ones(21), 100_000)
    assert known(values).low == pytest.approx(np.quantile(weights @ [*values, 1.0], 0.025), abs=0.02)


def test_replies_of_a_conversation_that_say_the_same_count_once() -> None:
    values = np.random.default_rng(1).integers(1, 6, 10).astype(float)
    single = known([*values])
    fivefold = known([*values.repeat(5)], np.repeat(np.arange(10), 5))
    assert fivefold[1:3] == pytest.approx(single[1:3])
    mixed = known([*np.tile(values, 5)], np.repeat(np.arange(10), 5))
    assert single.low is not None and mixed.low is not None and mixed.low > single.low


@pytest.mark.parametrize("best", [0.85, 0.97])
@pytest.mark.parametrize("each", [1, 5])
def test_corrected_means_of_few_labels_near_the_ceiling_hold(best: float, each: int) -> None:
    """Student's intervals of the same labels hold less often, and have no width in up to half of the studies."""
    generator = np.random.default_rng(2)
    levels, shares = np.arange(1.0, 6.0), (1 - best) * np.array([0.1, 0.2, 0.3, 0.4, 0.0])
    shares[4] = best
    true, held, before = float(levels @ shares), np.zeros(2), 0
    for _ in range(150):
        people = generator.choice(levels, 500, p=shares)
        judge = np.where(generator.random(500) < 0.7, people, 5.0)
        cluster = np.arange(500) // each
        human = np.where(np.arange(500) < 20, people, np.nan)
        found = prediction_powered_mean(judge, human, cluster, ends=ENDS)
        for place, mean in enumerate((found.corrected, found.human_only)):
            assert mean.low is not None and mean.high is not None and mean.low < mean.high
            held[place] += mean.low <= true <= mean.high
        student = prediction_powered_mean(judge, human, cluster).corrected
        before += student.low is not None and student.high is not None and student.low <= true <= student.high
    assert (held / 150).min() >= 0.93
    assert before / 150 < 0.93


def test_in_the_middle_of_a_scale_it_costs_little_and_never_leaves_the_scale() -> None:
    generator = np.random.default_rng(3)
    widths = []
    for _ in range(60):
        people = generator.integers(1, 6, 500).astype(float)
        judge = np.clip(people + generator.integers(-1, 2, 500), 1, 5)
        human = np.where(np.arange(500) < 20, people, np.nan)
        pair = [prediction_powered_mean(judge, human, np.arange(500), ends=ends).corrected for ends in (ENDS, None)]
        widths.append([(x.high or 0.0) - (x.low or 0.0) for x in pair])
        assert 1 <= (pair[0].low or 0) <= (pair[0].value or 0) <= (pair[0].high or 9) <= 5
    known_ends, student = np.mean(widths, axis=0)
    assert student <= known_ends <= 1.15 * student


def test_labels_all_alike_have_an_interval() -> None:
    human = np.where(np.arange(300) < 20, 5.0, np.nan)
    judge = np.random.default_rng(4).integers(3, 6, 300).astype(float)
    found = prediction_powered_mean(judge, human, np.arange(300), ends=ENDS)
    assert found.corrected == found.human_only
    assert found.corrected[:3] == pytest.approx(unanimous(5.0, 20, ENDS)[:3])
    assert found.corrected.undefined == AGREED


def test_long_conversations_that_agree_within_themselves_leave_little() -> None:
    """Of two conversations of 40 replies, one reply differs: it counts for a twentieth of an observation."""
    found = known([1.0] * 79 + [5.0], np.repeat([0, 1], 40))
    assert found.low == pytest.approx(1.0, abs=0.01) and found.high is not None and found.high > 3
