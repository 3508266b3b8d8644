from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, fisher_exact
from statsmodels.stats.proportion import proportion_confint

from mindgauge.stats.interval import Interval
from mindgauge.stats.proportion import clopper_pearson, demand, fewest, fisher_greater, wilson, zero_events_upper

if TYPE_CHECKING:
    from hypothesis.strategies import DataObject

COUNTS = st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
METHODS = pytest.mark.parametrize(("interval", "name"), [(clopper_pearson, "beta"), (wilson, "wilson")])
Method = Callable[[float, float], Interval]


@pytest.mark.parametrize(
    ("interval", "count", "n", "low", "high"),
    [
        (wilson, 81, 263, 0.2553, 0.3662),
        (wilson, 15, 148, 0.0624, 0.1605),
        (wilson, 0, 20, 0.0, 0.1611),
        (wilson, 1, 29, 0.0061, 0.1718),
        (clopper_pearson, 81, 263, 0.2527, 0.3676),
        (clopper_pearson, 15, 148, 0.0578, 0.1617),
        (clopper_pearson, 0, 20, 0.0, 0.1684),
        (clopper_pearson, 1, 29, 0.0009, 0.1776),
    ],
)
def test_newcombe_1998_table_1(interval: Method, count: int, n: int, low: float, high: float) -> None:
    found = interval(count, n)
    assert (found.value, found.low, found.high) == pytest.approx((count / n, low, high), abs=5e-5)


@METHODS
@given(case=COUNTS, level=st.sampled_from([0.8, 0.95, 0.99]))
def test_intervals_equal_statsmodels(
    interval: Callable[[float, float, float], Interval], name: str, case: tuple[int, int], level: float
) -> None:
    count, n = case
    low, high = proportion_confint(count, n, alpha=1 - level, method=name)
    found = interval(count, n, level)
    assert (found.value, found.low, found.high) == pytest.approx((count / n, low, high), abs=1e-12)


@METHODS
@given(case=COUNTS)
def test_what_does_not_happen_is_the_mirror_of_what_does(interval: Method, name: str, case: tuple[int, int]) -> None:
    count, n = case
    one, other = interval(count, n), interval(n - count, n)
    assert one.low is not None and one.high is not None
    assert (other.low, other.high) == pytest.approx((1 - one.high, 1 - one.low), abs=1e-12)


@pytest.mark.parametrize("n", [10, 30, 100, 1000])
def test_rule_of_three(n: int) -> None:
    found = zero_events_upper(n)
    exact = proportion_confint(0, n, alpha=0.1, method="beta")[1]  # two-sided at 90 % has 5 % above
    assert found[:2] == (0.0, 0.0)
    assert found.high == pytest.approx(exact, abs=1e-12)
    assert found.high == pytest.approx(3 / n, rel=0.15 if n < 30 else 0.06)


def test_zero_events_in_30_are_bounded_on_one_side_or_two() -> None:
    assert zero_events_upper(30).high == pytest.approx(0.0950, abs=5e-5)
    assert clopper_pearson(0, 30).high == pytest.approx(1 - 0.025 ** (1 / 30))


@pytest.mark.parametrize("found", [clopper_pearson(0, 0), wilson(0, 0), zero_events_upper(0)])
def test_nothing_observed_says_so(found: Interval) -> None:
    assert found == (None, None, None, "no observations")


@METHODS
@pytest.mark.parametrize(("count", "n"), [(3, 2), (-1, 2), (0, -1)])
def test_impossible_counts_are_refused(interval: Method, name: str, count: int, n: int) -> None:
    with pytest.raises(ValueError, match=f"{count} events in {n} observations"):
        interval(count, n)


@given(st.integers(1, 40), st.integers(1, 40), st.data())
def test_fisher_s_test_is_scipy_s(n: int, m: int, data: DataObject) -> None:
    events, others = data.draw(st.integers(0, n)), data.draw(st.integers(0, m))
    expected = fisher_exact([[events, n - events], [others, m - others]], alternative="greater").pvalue
    assert fisher_greater(events, n, others, m) == pytest.approx(expected, abs=1e-9)


def test_fisher_s_tea() -> None:
    assert fisher_greater(3, 4, 1, 4) == pytest.approx(17 / 70)


def test_how_many_events_a_study_needs() -> None:
    needed = demand(0.80, 0.98)
    assert (needed.n, needed.misses) == (34, 2)
    assert needed.passes == pytest.approx(binom.cdf(2, 34, 0.02))
    assert needed.passes_at_limit == pytest.approx(binom.cdf(2, 34, 0.20))
    assert needed.passes_at_limit < 0.025
    assert (clopper_pearson(32, 34).low or 0) >= 0.80 > (clopper_pearson(31, 34).low or 1)
    assert (binom.cdf(2, 36, 0.02), binom.cdf(2, 36, 0.20)) == pytest.approx((0.966, 0.016), abs=0.001)


@pytest.mark.parametrize(("limit", "n"), [(0.80, 17), (0.60, 8)])
def test_fewest_is_where_all_found_reaches_the_limit(limit: float, n: int) -> None:
    assert fewest(limit) == n
    assert (clopper_pearson(n, n).low or 0) >= limit > (clopper_pearson(n - 1, n - 1).low or 1)
