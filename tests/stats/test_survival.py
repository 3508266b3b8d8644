"""Survival curves and restricted means: published figures, hand-computed cases, and what must hold of all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge.stats.survival import (
    Waits,
    cluster_means,
    difference,
    kaplan_meier,
    mean_interval,
    restricted_mean,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis.strategies import SearchStrategy

MERCAPTOPURINE = [
    *((6, 1), (6, 1), (6, 1), (6, 0), (7, 1), (9, 0), (10, 1), (10, 0), (11, 0), (13, 1), (16, 1), (17, 0), (19, 0)),
    *((20, 0), (22, 1), (23, 1), (25, 0), (32, 0), (32, 0), (34, 0), (35, 0)),
]
"""Weeks of remission of the arm under 6-mercaptopurine, Freireich et al., Blood 21 (1963); 0 is censored."""
PLACEBO = [1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23]
"""And of its placebo arm, none censored."""


def waits(rows: Sequence[tuple[float, int]], cluster: Sequence[int] | None = None) -> Waits:
    time, event = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    return Waits(time, event.astype(bool), np.arange(len(rows)) if cluster is None else np.array(cluster))


ROWS: SearchStrategy[list[tuple[float, int]]] = st.lists(
    st.tuples(st.integers(0, 12).map(float), st.integers(0, 1)), min_size=1, max_size=40
)


def test_remission_of_leukaemia_in_freireich_1963() -> None:
    curve = kaplan_meier(waits(MERCAPTOPURINE))
    assert curve.times.tolist() == [6, 7, 10, 13, 16, 22, 23]
    assert curve.at_risk[0].tolist() == [21, 17, 15, 12, 11, 7, 6]
    assert curve.survival[0] == pytest.approx([0.857, 0.807, 0.753, 0.690, 0.627, 0.538, 0.448], abs=5e-4)
    assert (curve.at(5.9)[0], curve.at(22)[0], curve.at(22.9)[0]) == pytest.approx((1.0, 0.538, 0.538), abs=5e-4)


def test_placebo_of_freireich_1963_is_its_empirical_distribution() -> None:
    curve = kaplan_meier(waits([(time, 1) for time in PLACEBO]))
    assert curve.at(8)[0] == pytest.approx(8 / 21)
    assert curve.at(23)[0] == 0
    assert restricted_mean(waits([(time, 1) for time in PLACEBO]), 23)[0] == pytest.approx(182 / 21), "mean 8.67 weeks"


def test_a_mean_by_hand() -> None:
    # S is 1 to 1, 3/4 to 3 (a censoring at 2 leaves two at risk), 3/8 from 3 on.
    rows = waits([(1, 1), (2, 0), (3, 1), (5, 0)])
    assert restricted_mean(rows, 5)[0] == pytest.approx(1 + 2 * 0.75 + 2 * 0.375)
    assert restricted_mean(rows, 2.5)[0] == pytest.approx(1 + 1.5 * 0.75)
    assert restricted_mean(rows, 9)[0] == pytest.approx(1 + 2 * 0.75 + 6 * 0.375), "S stays where it was last"


def test_who_is_censored_at_an_event_is_at_risk_of_it() -> None:
    assert kaplan_meier(waits([(2, 1), (2, 0)])).at(2)[0] == pytest.approx(0.5)


@given(ROWS)
def test_without_censoring_it_is_one_minus_the_empirical_distribution(rows: list[tuple[float, int]]) -> None:
    times = np.array([time for time, _ in rows])
    curve = kaplan_meier(waits([(time, 1) for time in times.tolist()]))
    for at in range(-1, 14):
        assert curve.at(at)[0] == pytest.approx((times > at).mean())
    mean = restricted_mean(waits([(time, 1) for time in times.tolist()]), 7)[0]
    assert mean == pytest.approx(np.minimum(times, 7).mean())


@given(ROWS, st.floats(0.1, 20), st.floats(0.1, 20))
def test_curves_fall_and_means_grow_with_the_horizon(rows: list[tuple[float, int]], one: float, other: float) -> None:
    survival = kaplan_meier(waits(rows)).survival[0]
    assert (np.diff(survival) <= 1e-12).all()
    assert ((survival >= -1e-12) & (survival <= 1)).all()
    low, high = (restricted_mean(waits(rows), horizon)[0] for horizon in sorted((one, other)))
    assert 0 <= low <= high + 1e-12
    assert high <= max(one, other) + 1e-9


@given(ROWS, st.randoms(use_true_random=False), st.integers(2, 5))
def test_order_weight_and_unit_change_nothing(rows: list[tuple[float, int]], random: object, factor: int) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    mean = restricted_mean(waits(rows), 6)[0]
    assert restricted_mean(waits(shuffled), 6)[0] == pytest.approx(mean)
    assert restricted_mean(waits(rows), 6, np.full((1, len(rows)), factor))[0] == pytest.approx(mean)
    scaled = waits([(time * factor, event) for time, event in rows])
    assert restricted_mean(scaled, 6.0 * factor)[0] == pytest.approx(mean * factor)


@given(ROWS, st.data())
def test_a_weight_is_so_many_copies(rows: list[tuple[float, int]], data: st.DataObject) -> None:
    copies = data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)).filter(any))
    repeated = [row for row, times in zip(rows, copies, strict=True) for _ in range(times)]
    assert restricted_mean(waits(rows), 8, np.array([copies], dtype=float))[0] == pytest.approx(
        restricted_mean(waits(repeated), 8)[0]
    )


@given(ROWS)
def test_what_did_not_happen_never_shortens_the_wait(rows: list[tuple[float, int]]) -> None:
    fewer = [(time, event if place % 2 else 0) for place, (time, event) in enumerate(rows)]
    assert restricted_mean(waits(fewer), 8)[0] >= restricted_mean(waits(rows), 8)[0] - 1e-9


def test_nobody_has_no_mean() -> None:
    assert np.isnan(restricted_mean(waits([(1, 1)]), 3, np.zeros((1, 1)))[0])
    none = Waits(np.zeros(0), np.zeros(0, dtype=bool), np.zeros(0, dtype=np.intp))
    assert np.isnan(restricted_mean(none, 3)[0])
    assert mean_interval(none, 3).value is None


@pytest.mark.parametrize("horizon", [0, -1, np.nan, np.inf])
def test_a_horizon_is_above_zero(horizon: float) -> None:
    with pytest.raises(ValueError, match="a horizon is above 0"):
        restricted_mean(waits([(1, 1)]), horizon)


def test_a_time_below_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="a time is a finite number from 0 up"):
        kaplan_meier(waits([(-1, 1)]))


# Intervals


def test_the_interval_is_that_of_clusters_and_not_of_observations() -> None:
    rows = [(float(time), 1) for time in (0, 1, 2, 3, 4, 5, 6, 7)]
    alone = mean_interval(waits(rows), 8)
    repeated = mean_interval(
        waits([row for row in rows for _ in range(10)], [i for i in range(8) for _ in range(10)]), 8
    )
    assert repeated == pytest.approx(alone), "ten repeats of a persona are no ten personas"
    assert alone.low is not None and alone.high is not None
    assert 1 < alone.low < 3.5 < alone.high < 6


def test_where_all_wait_the_same_the_interval_is_exact_and_has_a_width() -> None:
    never = mean_interval(waits([(5, 0)] * 20), 5)
    assert (never.value, never.high) == (5.0, 5.0)
    assert never.low == pytest.approx(5 * 0.025 ** (1 / 20))


def test_the_two_arms_of_freireich_1963_differ() -> None:
    six, placebo = waits(MERCAPTOPURINE), waits([(time, 1) for time in PLACEBO])
    found = difference(six, placebo, 23)
    assert found.difference.value == pytest.approx(restricted_mean(six, 23)[0] - 182 / 21)
    assert found.difference.low is not None
    assert found.difference.low > 3
    assert found.p is not None
    assert found.p < 0.01
    assert found.clusters == 21


def test_what_makes_a_persona_slow_for_both_cancels() -> None:
    generator = np.random.default_rng(0)
    base = generator.integers(0, 8, 30).astype(float)
    later = waits([(time + 1 if i % 3 else time, 1) for i, time in enumerate(base.tolist())])
    paired = difference(later, waits([(time, 1) for time in base.tolist()]), 9).difference
    apart = difference(later, waits([(time, 1) for time in base.tolist()], [*range(30, 60)]), 9).difference
    assert paired.value == pytest.approx(apart.value) == pytest.approx(20 / 30)
    widths = [(interval.high or 0) - (interval.low or 0) for interval in (paired, apart)]
    assert widths[0] < widths[1] / 3
    assert (paired.low or 0) > 0 > (apart.low or 0)


def test_a_system_does_not_differ_from_itself_and_the_sign_turns_with_the_order() -> None:
    rows, others = waits(MERCAPTOPURINE), waits([(time, 1) for time in PLACEBO])
    same = difference(rows, rows, 20)
    assert (same.difference.value, same.p) == (0.0, 1.0)
    one, other = difference(rows, others, 20), difference(others, rows, 20)
    assert other.difference.value == pytest.approx(-(one.difference.value or 0))
    assert (other.difference.low, other.difference.high) == pytest.approx(
        (-(one.difference.high or 0), -(one.difference.low or 0)), abs=1e-9
    )


def test_few_clusters_are_swapped_in_every_way() -> None:
    slow, fast = waits([(4, 1), (4, 1), (3, 1)]), waits([(1, 1), (0, 1), (1, 1)])
    assert difference(slow, fast, 5).p == pytest.approx(2 / 8), "only none and all swapped are as far apart"


@given(ROWS, st.lists(st.integers(0, 3), min_size=40, max_size=40))
def test_what_clusters_say_has_the_restricted_mean_as_its_mean(
    rows: list[tuple[float, int]], clusters: list[int]
) -> None:
    observed = waits(rows, clusters[: len(rows)])
    numbers, means = cluster_means(observed, 5)
    assert numbers.tolist() == sorted(set(clusters[: len(rows)]))
    assert means.mean() == pytest.approx(restricted_mean(observed, 5)[0])


def test_a_cluster_says_its_own_mean_where_nothing_is_censored() -> None:
    times = [0, 2, 7, 1, 3, 3]
    observed = waits([(time, 1) for time in times], [4, 4, 9, 9, 6, 6])
    numbers, means = cluster_means(observed, 5)
    assert numbers.tolist() == [4, 6, 9]
    assert means == pytest.approx([1, 3, 3])


def test_one_cluster_says_the_mean_of_all() -> None:
    observed = waits([(1, 1), (2, 0), (4, 1)], [2, 2, 2])
    numbers, means = cluster_means(observed, 5)
    assert (numbers.tolist(), means.tolist()) == ([2], restricted_mean(observed, 5).tolist())
