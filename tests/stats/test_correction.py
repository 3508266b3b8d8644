"""Published examples, the paper's own formulas, and what must hold for any data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import norm, t

from mindgauge.stats.correction import prediction_powered_mean
from mindgauge.stats.interval import SAME
from tests.thinned import examples

if TYPE_CHECKING:
    from mindgauge.stats.interval import Interval

Floats = NDArray[np.float64]
NAN = math.nan


class Rated(NamedTuple):
    """Scores of a judge and of people, and the conversations they are of."""

    judge: Floats
    human: Floats
    cluster: NDArray[np.intp]


def conversations(
    generator: np.random.Generator, clusters: int, labelled: int, *, replies: int = 3, bias: float = 0.7
) -> Rated:
    """People's scores from 1 to 5, of some conversations, with mean 3.5; a judge that is biased and roughly right."""
    common = generator.normal(size=(clusters, 1))
    true = 3.5 + 0.6 * common + 0.6 * generator.normal(size=(clusters, replies))
    human = true.copy()
    human[labelled:] = np.nan
    judge = true + bias + 0.5 * generator.normal(size=true.shape)
    return Rated(judge.ravel(), human.ravel(), np.repeat(np.arange(clusters), replies))


def bounds(found: Interval) -> tuple[float, float]:
    assert found.low is not None and found.high is not None, found.undefined
    return found.low, found.high


@pytest.mark.parametrize("tuning", [None, 0.0, 0.4, 1.0])
def test_without_clusters_it_is_the_formula_of_the_paper(tuning: float | None) -> None:
    generator = np.random.default_rng(0)
    n, rest = 400, 3000
    human = generator.normal(size=n + rest)
    judge = human + 0.5 + generator.normal(size=n + rest)
    y, f, f_rest = human[:n], judge[:n], judge[n:]
    found = prediction_powered_mean(judge, np.concatenate([y, np.full(rest, NAN)]), np.arange(n + rest), tuning=tuning)

    covariance = np.cov(y, f, bias=True)
    tuned = covariance[0, 1] / (covariance[1, 1] + n / rest * f_rest.var())
    weight = tuned if tuning is None else tuning
    mean = weight * f_rest.mean() + (y - weight * f).mean()
    lost = 2 if tuning is None else 1
    error = math.sqrt((weight**2 * f_rest.var() / rest + (y - weight * f).var() / n) * n / (n - lost))
    reach = t.ppf(0.975, n - lost) * error
    assert found.tuning == pytest.approx(weight)
    assert found.corrected[:3] == pytest.approx((mean, mean - reach, mean + reach))
    assert reach == pytest.approx(
        norm.ppf(0.975) * math.sqrt(weight**2 * f_rest.var() / rest + (y - weight * f).var() / n), rel=0.01
    )
    assert found.human_only[:3] == pytest.approx(
        (y.mean(), *t.interval(0.95, n - 1, y.mean(), y.std(ddof=1) / np.sqrt(n)))
    )
    everything = t.interval(0.95, n + rest - 1, judge.mean(), judge.std(ddof=1) / np.sqrt(n + rest))
    assert found.judge_only[:3] == pytest.approx((judge.mean(), *everything))
    human_variance = y.var() / (n - 1)
    assert found.gain == pytest.approx(human_variance / error**2)
    assert found[5:] == (n + rest, n, n + rest, n, 0)


def test_a_judge_that_is_no_use_is_not_listened_to() -> None:
    generator = np.random.default_rng(1)
    human = np.where(np.arange(2000) < 500, generator.normal(size=2000), NAN)
    contrary = prediction_powered_mean(np.where(np.isnan(human), 0, -human), human, np.arange(2000))
    assert contrary.tuning == 0
    assert contrary.corrected.value == contrary.human_only.value
    noise = prediction_powered_mean(generator.normal(size=2000), human, np.arange(2000))
    assert noise.tuning == pytest.approx(0, abs=0.1)
    assert noise.gain == pytest.approx(1, abs=0.02)


def test_a_perfect_judge_is_as_good_as_all_labels() -> None:
    generator = np.random.default_rng(2)
    scores = generator.normal(size=3000)
    found = prediction_powered_mean(scores, np.where(np.arange(3000) < 100, scores, NAN), np.arange(3000))
    assert found.tuning == pytest.approx(1, abs=0.05)
    assert found.corrected.value == pytest.approx(scores.mean(), abs=0.01)
    assert found.gain is not None and found.gain > 20
    everything = prediction_powered_mean(scores, scores + 1, np.arange(3000))
    assert everything.tuning == 0, "where people rated all, there is nothing to correct"
    assert everything.corrected.value == pytest.approx(scores.mean() + 1)


@pytest.mark.parametrize("bias", [-2.0, 0.0, 3.0])
def test_a_constant_bias_cancels(bias: float) -> None:
    rated = conversations(np.random.default_rng(3), 200, 40)
    one = prediction_powered_mean(*rated)
    other = prediction_powered_mean(rated.judge + bias, rated.human, rated.cluster)
    assert other.corrected[:3] == pytest.approx(one.corrected[:3])
    assert other.judge_only.value == pytest.approx(float(one.judge_only.value or 0) + bias)


def test_labelled_and_other_replies_of_one_conversation_may_mix() -> None:
    """Every conversation has one labelled reply: the judge's error, not the conversation's level, decides the width."""
    generator = np.random.default_rng(4)
    rated = conversations(generator, 300, 300)
    human = np.where(np.arange(900) % 3 == 0, rated.human, NAN)
    mixed = prediction_powered_mean(rated.judge, human, rated.cluster, tuning=1.0)
    apart = prediction_powered_mean(rated.judge, human, np.arange(900), tuning=1.0)
    first, rest = rated.judge[::3], rated.judge.reshape(-1, 3)[:, 1:].mean(axis=1)
    estimates = human[::3] + rest - first  # one estimate per conversation; they are independent
    low, high = t.interval(0.95, 299, estimates.mean(), estimates.std(ddof=1) / np.sqrt(300))
    assert bounds(mixed.corrected) == pytest.approx((low, high))
    assert bounds(apart.corrected) != pytest.approx((low, high), rel=1e-3)


def test_repeats_of_a_conversation_are_no_news() -> None:
    rated = conversations(np.random.default_rng(5), 120, 30, replies=1)
    tripled = (np.repeat(column, 3) for column in rated)
    assert prediction_powered_mean(*tripled).corrected == pytest.approx(prediction_powered_mean(*rated).corrected)


def test_intervals_cover_people_s_mean_where_the_judge_s_own_do_not() -> None:
    generator = np.random.default_rng(8)
    hits = np.zeros(3)
    for _ in range(400):
        found = prediction_powered_mean(*conversations(generator, 80, 10))
        hits += [low <= 3.5 <= high for low, high in map(bounds, found[:3])]
    corrected, human, judge = hits / 400
    assert 0.92 <= corrected <= 0.98
    assert 0.92 <= human <= 0.98
    assert judge < 0.01


@given(st.integers(0, 2**32 - 1))
@examples(30)
def test_the_order_of_rows_and_the_names_of_conversations_change_nothing(seed: int) -> None:
    generator = np.random.default_rng(seed)
    rated = conversations(generator, 20, 6)
    order = generator.permutation(60)
    names = np.array([f"conversation {i}" for i in generator.permutation(20)])
    one = prediction_powered_mean(*rated)
    other = prediction_powered_mean(rated.judge[order], rated.human[order], names[rated.cluster[order]])
    assert other.corrected[:3] == pytest.approx(one.corrected[:3])
    assert other.human_only[:3] == pytest.approx(one.human_only[:3])
    assert (other.tuning, other.gain) == pytest.approx((one.tuning, one.gain))
    assert one.tuning is not None and 0 <= one.tuning <= 1


def test_a_subject_that_the_judge_did_not_score_is_kept() -> None:
    rated = conversations(np.random.default_rng(9), 100, 30)
    judge = rated.judge.copy()
    judge[[0, 5, 200]] = NAN
    found = prediction_powered_mean(judge, rated.human, rated.cluster)
    assert (found.n, found.labelled, found.unscored) == (300, 90, 3)
    assert found.human_only == prediction_powered_mean(*rated).human_only
    assert found.judge_only.value == pytest.approx(np.nanmean(judge))
    assert found.corrected.value == pytest.approx(prediction_powered_mean(*rated).corrected.value, abs=0.05)


def test_constant_scores_have_no_interval() -> None:
    human = np.where(np.arange(30) < 10, 4.1, NAN)
    found = prediction_powered_mean(np.full(30, 4.7), human, np.arange(30))
    for mean, value in ((found.corrected, 4.1), (found.judge_only, 4.7)):
        assert mean.value == pytest.approx(value)
        assert mean[1:] == (None, None, SAME)
    assert found.tuning == 0
    assert found.gain is None


@pytest.mark.parametrize(
    ("judge", "human", "cluster", "reason", "human_only", "judge_only"),
    [
        ([], [], [], "the judge scored nothing", None, None),
        ([NAN, NAN], [1, 2], [0, 1], "the judge scored nothing", None, None),
        ([1, 2], [NAN, NAN], [0, 1], "people rated nothing", None, 1.5),
        ([1, 2, 3], [1, 2, NAN], [0, 0, 1], "fewer than 2 labelled clusters", 1.5, 2.0),
    ],
)
def test_what_cannot_be_corrected_says_why(
    judge: list[float],
    human: list[float],
    cluster: list[int],
    reason: str,
    human_only: float | None,
    judge_only: float | None,
) -> None:
    found = prediction_powered_mean(judge, human, cluster)
    assert found.corrected == (None, None, None, reason)
    assert (found.human_only.value, found.judge_only.value) == (human_only, judge_only)
    assert (found.tuning, found.gain) == (None, None)


def test_two_labelled_clusters_tell_nothing_of_the_judge() -> None:
    found = prediction_powered_mean([1, 2, 3, 4], [1, 3, NAN, NAN], [0, 1, 2, 3])
    assert found.tuning == 0
    assert found.corrected[:3] == pytest.approx((2, *t.interval(0.95, 1, 2, 1)))


def test_columns_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="shapes differ"):
        prediction_powered_mean([1.0, 2.0], [1.0], [0, 1])
