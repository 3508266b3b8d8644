"""What was drawn with known probabilities speaks for its frame: by formulas of the books, and by how often intervals hold."""

from __future__ import annotations

import numpy as np
import pytest

from mindgauge.stats import sampling
from mindgauge.stats.interval import Interval
from mindgauge.stats.proportion import clopper_pearson
from mindgauge.stats.sampling import DrawnSample, Weighted

Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


def mean(values: Floats, sample: DrawnSample) -> Weighted:
    return sampling.statistic(lambda weights: weights @ values / weights.sum(axis=1), sample)


def half(interval: Interval) -> float:
    assert interval.low is not None
    assert interval.high is not None
    return (interval.high - interval.low) / 2


def test_a_lot_is_the_same_for_the_same_seed_and_takes_all_of_a_small_stratum() -> None:
    first = sampling.draw([30, 400], [40, 50], 7)
    assert [list(lot) for lot in first] == [list(lot) for lot in sampling.draw([30, 400], [40, 50], 7)]
    assert list(first[0]) == list(range(30))
    assert len(set(first[1])) == 50
    assert max(first[1]) < 400
    assert list(first[1]) == list(sampling.draw([99, 400], [1, 50], 7)[1])  # its lot hangs on no other stratum
    assert list(first[1]) != list(sampling.draw([30, 400], [40, 50], 8)[1])


def test_single_replies_have_the_variance_of_a_stratified_and_of_a_two_phase_sample() -> None:
    """Cochran 1977, section 5.3; Särndal, Swensson and Wretman 1992, chapter 9. Both strata vary alike, so nothing is borrowed."""
    pattern = np.tile([0.0, 1.0, 2.0, 3.0], 10)
    values = np.concatenate([pattern, pattern + 5])
    size, drawn = np.repeat([80.0, 800.0], 40), np.repeat([0.5, 0.05], 40)
    sample = DrawnSample.of(drawn, np.repeat(["low", "rest"], 40), np.arange(80), size, 880)
    found = mean(values, sample)
    shares, square = np.array([80, 800]) / 880, pattern.var(ddof=1)
    expected = float(shares @ [1.5, 6.5])
    assert found.interval.value == pytest.approx(expected)
    own = float((shares**2 * square / 40).sum() + (shares * (np.array([1.5, 6.5]) - expected) ** 2).sum() / 880)
    of_these = float((shares**2 * (1 - np.array([0.5, 0.05])) * square / 40).sum())
    assert half(found.interval) / half(found.frame) == pytest.approx(np.sqrt(own / of_these), rel=1e-3)
    assert half(found.frame) == pytest.approx(2.02 * np.sqrt(of_these), rel=0.02)


def test_replies_of_other_systems_are_a_part_of_the_strata_that_does_not_count() -> None:
    """The mean over a domain: residuals are taken in the whole stratum, as 0 outside of the domain (Cochran, section 5A.14)."""
    generator = np.random.default_rng(3)
    values, inside = generator.normal(size=120), np.arange(120) % 3 == 0
    stratum, size = np.repeat(["low", "rest"], 60), np.repeat([60.0, 600.0], 60)
    whole = DrawnSample.of(np.repeat([1.0, 0.1], 60), stratum, np.arange(120), size, 660)
    found = mean(values[inside], whole.rows(inside))
    weight = np.repeat([1.0, 10.0], 60)
    total = weight[inside].sum()
    average = weight[inside] @ values[inside] / total
    adds = np.where(inside, weight * (values - average), 0.0) / total
    variance = sum(part.var(ddof=1) * 60 for part in (adds[:60], adds[60:]))
    assert found.interval.value == pytest.approx(average)
    freedom = total**2 / (weight[inside] ** 2).sum() - 2
    assert half(found.interval) == pytest.approx(2.06 * np.sqrt(variance), rel=0.06)
    assert 20 < freedom < 30


def test_what_was_drawn_whole_leaves_nothing_open_of_the_frame() -> None:
    values = np.arange(20.0)
    sample = DrawnSample.of(np.ones(20), np.repeat(["a", "b"], 10), np.arange(20), np.full(20, 10.0), 20)
    found = mean(values, sample)
    assert found.frame == Interval(9.5, 9.5, 9.5)
    assert half(found.interval) > 1


def test_conversations_that_cross_strata_make_it_less_sure() -> None:
    generator = np.random.default_rng(5)
    shared = np.repeat(generator.normal(size=30), 4) * 2
    values = shared + generator.normal(size=120) * 0.1
    stratum, size = np.tile(["low", "rest", "rest", "low"], 30), np.tile([60.0, 600.0, 600.0, 60.0], 30)
    probability = np.tile([1.0, 0.1, 0.1, 1.0], 30)
    by_reply = mean(values, DrawnSample.of(probability, stratum, np.arange(120), size))
    by_conversation = mean(values, DrawnSample.of(probability, stratum, np.repeat(np.arange(30), 4), size))
    assert half(by_conversation.interval) > 1.3 * half(by_reply.interval)


@pytest.mark.parametrize(("events", "n"), [(81, 263), (0, 20), (20, 20), (3, 40)])
def test_with_equal_weights_a_share_has_the_exact_bounds(events: int, n: int) -> None:
    happened = np.arange(n) < events
    sample = DrawnSample.of(np.full(n, 0.2), np.zeros(n), np.arange(n))
    assert sampling.share(happened, sample)[:3] == pytest.approx(clopper_pearson(events, n)[:3])


def test_an_event_that_nobody_met_in_the_lot_may_still_be_there() -> None:
    """All 30 that were flagged are unsafe and were found; of the lot, each of which stands for 20, nothing is unsafe."""
    unsafe = np.arange(80) < 30
    sample = DrawnSample.of(np.where(unsafe, 1.0, 0.05), np.where(unsafe, "low", "rest"), np.arange(80))
    found = sampling.share(np.where(unsafe, 1.0, np.nan), sample)
    assert found.value == 1
    assert found.low is not None
    assert found.low < 30 / (30 + 1000 * 0.05)  # up to 5.8 % of the rest may be unsafe (exact, one side), all missed
    kish = clopper_pearson(30, 30).low
    assert kish is not None
    assert found.low < kish / 2


def test_a_judge_helps_as_far_as_it_is_right_whatever_was_drawn() -> None:
    generator = np.random.default_rng(11)
    truth = generator.normal(size=1000)
    judge = truth + generator.normal(size=1000) * 0.2 + 3  # biased by 3
    order = np.argsort(judge)
    chosen = np.sort(np.concatenate([order[:40], generator.choice(order[40:], 60, replace=False)]))
    low = np.isin(chosen, order[:40])
    sample = DrawnSample.of(np.where(low, 1.0, 60 / 960), low, chosen, np.where(low, 40.0, 960.0), 1000)
    human = np.full(1000, np.nan)
    human[chosen] = truth[chosen]
    found = sampling.prediction_powered_mean(judge, human, np.arange(1000), sample)
    assert found.corrected.value == pytest.approx(truth.mean(), abs=0.1)
    assert found.gain is not None
    assert found.gain > 5
    assert found.judge_only.value == pytest.approx(judge.mean())
    assert half(found.corrected) < half(found.human_only) / 2
    useless = sampling.prediction_powered_mean(generator.normal(size=1000), human, np.arange(1000), sample)
    assert useless.tuning is not None
    assert useless.tuning < 0.4
    assert half(useless.corrected) < 1.15 * half(useless.human_only)


def test_intervals_hold_where_flagged_replies_are_drawn_four_times_as_often() -> None:
    """`bench/drawn.py` has the figures of many designs; here one is enough to see a weight that is left out."""
    generator, held, plain = np.random.default_rng(2026), np.zeros(4), 0
    studies, conversations, each = 150, 150, 3
    for study in range(studies):
        cluster = np.repeat(np.arange(conversations), each)
        truth = generator.normal(size=conversations)[cluster] * 0.6 + generator.normal(size=len(cluster))
        judge = truth + generator.normal(size=len(cluster)) * 0.8
        order = np.argsort(-judge)
        flagged, rest = order[:90], order[90:]
        lots = sampling.draw([90, 360], [60, 60], study)  # 2/3 against 1/6
        chosen = np.concatenate([flagged[lots[0]], rest[lots[1]]])
        first = np.arange(120) < 60
        sample = DrawnSample.of(
            np.where(first, 60 / 90, 60 / 360), first, cluster[chosen], np.where(first, 90.0, 360.0), conversations
        )
        value, unsafe = truth[chosen], truth > 1.2
        found = mean(value, sample)
        share = sampling.share(unsafe[chosen], sample)
        human = np.full(len(truth), np.nan)
        human[chosen] = value
        rows = np.argsort(chosen)
        powered = sampling.prediction_powered_mean(judge, human, cluster, sample.rows(rows))
        aims = (
            (found.interval, 0.0), (found.frame, truth.mean()), (share, unsafe.mean()), (powered.corrected, 0.0),
        )  # fmt: skip
        held += [interval.low <= aim <= interval.high for interval, aim in aims]  # type: ignore[operator]
        error = value.std(ddof=1) / np.sqrt(len(value))
        plain += abs(value.mean() - truth.mean()) < 1.98 * error
    assert (held / studies >= 0.93).all(), held / studies
    assert plain / studies < 0.2


def test_probabilities_are_above_0_and_at_most_1() -> None:
    with pytest.raises(ValueError, match="probability"):
        DrawnSample.of([0.5, 0.0], ["a", "a"], [0, 1])
    with pytest.raises(ValueError, match="probability"):
        DrawnSample.of([0.5, 1.2], ["a", "a"], [0, 1])
