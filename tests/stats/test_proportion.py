from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact
from statsmodels.stats.proportion import proportion_confint

from mindgauge.stats.proportion import clopper_pearson, fewest, fisher_greater, part_of, stratified

if TYPE_CHECKING:
    from hypothesis.strategies import DataObject

COUNTS = st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize(
    ("count", "n", "low", "high"),
    [(81, 263, 0.2527, 0.3676), (15, 148, 0.0578, 0.1617), (0, 20, 0.0, 0.1684), (1, 29, 0.0009, 0.1776)],
)
def test_newcombe_1998_table_1(count: int, n: int, low: float, high: float) -> None:
    found = clopper_pearson(count, n)
    assert (found.value, found.low, found.high) == pytest.approx((count / n, low, high), abs=5e-5)


@given(case=COUNTS, level=st.sampled_from([0.8, 0.95, 0.99]))
def test_intervals_equal_statsmodels(case: tuple[int, int], level: float) -> None:
    count, n = case
    low, high = proportion_confint(count, n, alpha=1 - level, method="beta")
    found = clopper_pearson(count, n, level)
    assert (found.value, found.low, found.high) == pytest.approx((count / n, low, high), abs=1e-12)


@given(case=COUNTS)
def test_what_does_not_happen_is_the_mirror_of_what_does(case: tuple[int, int]) -> None:
    count, n = case
    one, other = clopper_pearson(count, n), clopper_pearson(n - count, n)
    assert one.low is not None and one.high is not None
    assert (other.low, other.high) == pytest.approx((1 - one.high, 1 - one.low), abs=1e-12)


def test_nothing_observed_says_so() -> None:
    assert clopper_pearson(0, 0) == (None, None, None, "no observations")


@pytest.mark.parametrize(("count", "n"), [(3, 2), (-1, 2), (0, -1)])
def test_impossible_counts_are_refused(count: int, n: int) -> None:
    with pytest.raises(ValueError, match=f"{count} events in {n} observations"):
        clopper_pearson(count, n)


@given(st.integers(1, 40), st.integers(1, 40), st.data())
def test_fisher_s_test_is_scipy_s(n: int, m: int, data: DataObject) -> None:
    events, others = data.draw(st.integers(0, n)), data.draw(st.integers(0, m))
    expected = fisher_exact([[events, n - events], [others, m - others]], alternative="greater").pvalue
    assert fisher_greater(events, n, others, m) == pytest.approx(expected, abs=1e-9)


def test_fisher_s_tea() -> None:
    assert fisher_greater(3, 4, 1, 4) == pytest.approx(17 / 70)


@pytest.mark.parametrize(("limit", "n"), [(0.80, 17), (0.60, 8)])
def test_fewest_is_where_all_found_reaches_the_limit(limit: float, n: int) -> None:
    assert fewest(limit) == n
    assert (clopper_pearson(n, n).low or 0) >= limit > (clopper_pearson(n - 1, n - 1).low or 1)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 30), st.integers(0, 200)), min_size=1, max_size=6))
def test_strata_add_up_to_a_share_within_its_bounds(strata: list[tuple[int, int, int]]) -> None:
    counts, n, sizes = np.array([(min(x, m), m, m + more) for x, m, more in strata], dtype=float).T
    weight = sizes / sizes.sum()
    every = stratified(counts / n, n, weight)
    these = stratified(counts / n, n, weight, 1 - n / sizes)
    assert every.low is not None
    assert every.high is not None
    assert these.low is not None
    assert these.high is not None
    value = float(weight @ (counts / n))
    assert 0 <= every.low <= these.low <= value + 1e-12
    assert value - 1e-12 <= these.high <= every.high <= 1
    if len(strata) == 1:
        exact = clopper_pearson(counts[0], n[0])
        assert (every.low, every.high) == pytest.approx(exact[1:3])


def test_a_part_of_two_sums_has_the_bounds_of_both() -> None:
    sure, none = clopper_pearson(10, 10), clopper_pearson(0, 10)
    found = part_of(sure, none)
    assert found.value == 1
    assert found.high == 1
    assert found.low == pytest.approx(1 / (1 + (none.high or 0)), abs=0.02)
    first, second = clopper_pearson(30, 100), clopper_pearson(10, 100)
    part, mirror = part_of(first, second), part_of(second, first)
    assert part.value == pytest.approx(0.75)
    assert (part.low, part.high) == pytest.approx((1 - (mirror.high or 0), 1 - (mirror.low or 0)), abs=2e-4)
