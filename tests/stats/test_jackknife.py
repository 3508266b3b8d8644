"""Student's interval from the jackknife: the published example, the t interval of a mean, and where there is none."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t, ttest_1samp

from mindgauge.stats.interval import AGREED
from mindgauge.stats.jackknife import UNMOVED, student

SLEEP = np.array([1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4])
ONE_EACH = np.ones(10, dtype=np.intp)


def without_one(values: np.ndarray) -> np.ndarray:
    return np.asarray((values.sum() - values) / (len(values) - 1))


def test_students_own_patients() -> None:
    found = student(SLEEP.mean(), without_one(SLEEP), ONE_EACH)
    assert found == pytest.approx((1.58, 0.70, 2.46, ""), abs=0.005)


@given(st.lists(st.floats(-100, 100), min_size=3, max_size=40))
def test_a_mean_has_student_s_interval(numbers: list[float]) -> None:
    values = np.array(numbers)
    found = student(float(values.mean()), without_one(values), np.ones(len(values), dtype=np.intp))
    half = t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values))
    if found.low is None:
        assert half < 1e-6
        assert found.undefined == UNMOVED
        return
    assert found.low == pytest.approx(values.mean() - half, abs=1e-6)
    assert found.high == pytest.approx(values.mean() + half, abs=1e-6)


def test_scipy_agrees() -> None:
    expected = ttest_1samp(SLEEP, 0).confidence_interval(0.9)
    found = student(SLEEP.mean(), without_one(SLEEP), ONE_EACH, level=0.9)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_kinds_count_as_often_as_they_come() -> None:
    left_out, counts = np.array([0.50, 0.55, 0.61]), np.array([3, 1, 2])
    assert student(0.54, left_out, counts) == student(0.54, np.repeat(left_out, counts), np.ones(6, dtype=np.intp))


def test_a_correlation_keeps_its_bounds() -> None:
    found = student(0.97, np.array([0.9, 0.99, 0.95, 0.98]), np.ones(4, dtype=np.intp), correlation=True)
    assert found.low is not None and found.high is not None
    assert -1 < found.low < 0.97 < found.high < 1


@pytest.mark.parametrize("value", [1.0, 3.0, 5.0])
def test_a_mean_of_equal_conversations_has_an_exact_interval(value: float) -> None:
    values = np.full(10, value)
    found = student(value, without_one(values), ONE_EACH, ends=(1.0, 5.0))
    other = 1 - 0.025 ** (1 / 10)
    assert found == pytest.approx((value, value - other * (value - 1), value + other * (5 - value), AGREED))
    assert student(value, without_one(values), ONE_EACH) == (value, None, None, UNMOVED)


def test_no_bound_of_a_mean_lies_off_its_scale() -> None:
    values = np.array([1.0, 1, 1, 1, 1, 1, 1, 1, 1, 5])
    found = student(1.4, without_one(values), ONE_EACH, ends=(1.0, 5.0))
    assert found.low == 1.0


@pytest.mark.parametrize(
    ("value", "left_out", "said"),
    [
        (math.nan, [0.1, 0.2], "not defined"),
        (0.5, [0.5], "fewer than two"),
        (0.5, [0.5, math.nan], "a single conversation"),
        (1.0, [1.0, 1.0], "agreement is perfect"),
        (0.9, [1.0, 0.85], "agreement is perfect"),
    ],
)
def test_where_there_is_none_it_says_why(value: float, left_out: list[float], said: str) -> None:
    found = student(value, np.array(left_out), np.ones(len(left_out), dtype=np.intp), correlation=True)
    assert said in found.undefined
    assert found.low is None
    assert (found.value is None) == math.isnan(value)
