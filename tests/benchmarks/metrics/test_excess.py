"""How much more often a model does something than people do, in reply to the same words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from mindgauge.benchmarks.metrics import Metric, RatingTable, estimate
from mindgauge.benchmarks.metrics.scores import excess_over_people, people_rate, yes_rate
from mindgauge.stats.interval import AGREED

if TYPE_CHECKING:
    from mindgauge.records import Value

LEVELS = ("yes", "no")
YES, NO, NONE = 0, 1, -1


def table(code: list[int], target: list[int], levels: tuple[Value, ...] = LEVELS) -> RatingTable:
    rows = np.arange(len(code))
    codes = np.array(code, dtype=np.intp)
    status = np.where(codes >= 0, "ok", "unparsable").astype(object)
    return RatingTable(levels, codes, np.array(target, dtype=np.intp), rows, rows, status)


def value(metric: Metric, found: RatingTable) -> float | None:
    return estimate(metric, found, resamples=50).value


def test_rates_and_their_difference_by_hand() -> None:
    found = table([YES, YES, YES, NO, NO], [YES, NO, NO, YES, NO])
    assert value(yes_rate, found) == pytest.approx(0.6)
    assert value(people_rate, found) == pytest.approx(0.4)
    assert value(excess_over_people, found) == pytest.approx(0.2)


@pytest.mark.parametrize(("code", "expected"), [(YES, 0.75), (NO, -0.25)])
def test_a_model_that_always_says_the_same(code: int, expected: float) -> None:
    assert value(excess_over_people, table([code] * 4, [YES, NO, NO, NO])) == pytest.approx(expected)


def test_a_model_that_does_as_people_do_has_no_excess() -> None:
    found = estimate(excess_over_people, table([YES, NO, NO], [YES, NO, NO]))
    other = 1 - 0.025 ** (1 / 3)
    assert (found.value, found.low, found.high) == pytest.approx((0, -other, other))
    assert found.note == AGREED, "three prompts without a difference say little of others"


def test_prompts_without_people_and_without_a_verdict() -> None:
    found = table([YES, YES, NONE, NO], [NO, NONE, YES, YES])
    excess = estimate(excess_over_people, found, resamples=50)
    assert (excess.value, excess.n, excess.missing) == (0, 3, 1), "of two replies: +1 and -1"
    assert [excess.worst, excess.best] == [pytest.approx(0), pytest.approx(-1 / 3)], "the missing one is yes, or no"
    people = estimate(people_rate, found)
    assert [people.value, people.n, people.missing] == [pytest.approx(2 / 3), 3, 1]


def test_it_is_paired_over_prompts() -> None:
    """What people do varies between prompts; a model one prompt apart from them always varies with it."""
    target = [YES, NO] * 20
    found = estimate(excess_over_people, table([YES, NO] * 19 + [YES, YES], target))
    assert found.value == pytest.approx(1 / 40)
    assert found.high is not None
    assert found.high < 0.1, "unpaired, the interval would be some 0.4 wide"


def test_it_is_computed_for_all_resamples_at_once() -> None:
    found = table([YES, YES, NO], [NO, YES, YES])
    weights = np.array([[1, 1, 1], [3, 0, 0], [0, 0, 2], [0, 0, 0]], dtype=float)
    assert excess_over_people.compute(found, weights) == pytest.approx([0, 1, -1, np.nan], nan_ok=True)


def test_other_scales_are_none_of_its_business() -> None:
    for metric in (excess_over_people, people_rate, yes_rate):
        assert value(metric, table([0, 1], [1, 1], ("NTA", "YTA"))) is None
    assert value(yes_rate, table([0, 1], [1, 1], ("no", "yes"))) is None, "yes is the best there"
