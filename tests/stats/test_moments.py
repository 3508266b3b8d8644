"""Published examples, numpy as oracle, and what must hold for every pair of raters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from mindgauge.stats import icc
from mindgauge.stats import moments as m

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Kernel = Callable[[Floats], Floats]

# Bland and Altman 1986, table 1: peak expiratory flow (l/min), first readings by the large and the mini meter.
LARGE = np.array([494, 395, 516, 434, 476, 557, 413, 442, 650, 433, 417, 656, 267, 478, 178, 423, 427], dtype=float)
MINI = np.array([512, 430, 520, 428, 500, 600, 364, 380, 658, 445, 432, 626, 260, 477, 259, 350, 451], dtype=float)
# Bland and Altman 1999, cardiac output, subjects 1 to 4: `reps` of the R package SimplyAgree.
CARDIAC_OUTPUT = """7.83 6.57|7.42 5.62|7.89 6.90|7.12 6.57|6.16 4.06|7.26 4.29|6.71 4.26|4.75 4.71|5.24 5.50
4.86 5.08|4.78 5.02|6.05 6.01|5.42 5.67|4.21 4.14|3.61 4.20|3.72 4.61|3.87 4.68|3.92 5.04"""
RADIONUCLIDE, IMPEDANCE = np.array([p.split() for p in CARDIAC_OUTPUT.replace("\n", "|").split("|")], dtype=float).T

LOCATION_FREE: list[Kernel] = [
    m.bias, m.mse, m.pearson, m.concordance, m.icc_consistency, m.icc_agreement
]  # fmt: skip
COEFFICIENTS: list[Kernel] = [m.pearson, m.concordance, m.icc_consistency, m.icc_agreement]
RATINGS = npst.arrays(np.float64, st.tuples(st.integers(3, 30), st.just(2)), elements=st.integers(1, 5).map(float))


def values(sums: Floats) -> dict[str, float]:
    """Return every statistic of one row of sums."""
    return {kernel.__name__: float(kernel(sums)[0]) for kernel in LOCATION_FREE}


def test_bland_altman_1986() -> None:
    sums = m.moments(MINI, LARGE)
    low, high = m.limits_of_agreement(sums, multiple=2)
    assert m.bias(sums)[0] == pytest.approx(-2.1, abs=0.05)
    assert (low[0], high[0]) == pytest.approx((-79.6, 75.4), abs=0.05)
    assert m.pearson(sums)[0] == pytest.approx(0.94, abs=0.005)


def test_cardiac_output_as_the_manual_of_simplyagree_prints_it() -> None:
    sums = m.moments(IMPEDANCE, RADIONUCLIDE)
    low, high = m.limits_of_agreement(sums, multiple=1.2815515655446004)
    assert m.concordance(sums)[0] == pytest.approx(0.4791, abs=0.00005)
    assert m.bias(sums)[0] == pytest.approx(0.4383, abs=0.00005)
    assert (low[0], high[0]) == pytest.approx((-1.1214, 1.9980), abs=0.00005)


@pytest.mark.parametrize(("x", "y"), [(MINI, LARGE), (RADIONUCLIDE, IMPEDANCE)], ids=["peak flow", "cardiac output"])
def test_numpy_agrees(x: Floats, y: Floats) -> None:
    sums = m.moments(x, y)
    assert m.mean_first(sums)[0] == pytest.approx(x.mean(), rel=1e-14)
    assert m.mean_second(sums)[0] == pytest.approx(y.mean(), rel=1e-14)
    assert m.mse(sums)[0] == pytest.approx(((y - x) ** 2).mean(), rel=1e-12)
    assert m.pearson(sums)[0] == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-12)


@given(RATINGS)
def test_two_raters_are_a_case_of_any_number_of_raters(pairs: Floats) -> None:
    """`icc`, which pingouin vouches for, gets the same from the analysis of variance."""
    times = np.random.default_rng(3).integers(0, 3, (20, len(pairs))).astype(float)
    sums, table = m.moments(pairs[:, 0], pairs[:, 1], times), icc.mean_squares(pairs, times)
    np.testing.assert_allclose(m.icc_consistency(sums), icc.consistency(table), atol=1e-9)
    np.testing.assert_allclose(m.icc_agreement(sums), icc.agreement(table), atol=1e-9)


@given(RATINGS)
def test_weights_are_repetitions(pairs: Floats) -> None:
    generator = np.random.default_rng(2)
    times = generator.integers(0, 3, (4, len(pairs)))
    weighted = m.moments(pairs[:, 0], pairs[:, 1], times.astype(float))
    for row, drawn in zip(weighted, times, strict=True):
        repeated = np.repeat(pairs, drawn, axis=0)
        again = m.moments(repeated[:, 0], repeated[:, 1])
        np.testing.assert_allclose(row, again[0], rtol=1e-14)
        assert values(row[None]) == pytest.approx(values(again), abs=1e-9, nan_ok=True)


@given(RATINGS)
def test_swapped_raters(pairs: Floats) -> None:
    there, back = m.moments(pairs[:, 0], pairs[:, 1]), m.moments(pairs[:, 1], pairs[:, 0])
    for kernel in (*COEFFICIENTS, m.mse):
        np.testing.assert_allclose(kernel(there), kernel(back), atol=1e-12)
    np.testing.assert_allclose(m.bias(there), -m.bias(back), atol=1e-14)
    np.testing.assert_allclose(m.limits_of_agreement(there)[0], -m.limits_of_agreement(back)[1], atol=1e-12)


@given(RATINGS, st.floats(0.01, 100))
def test_the_unit_of_the_scale_does_not_matter(pairs: Floats, unit: float) -> None:
    here, there = m.moments(*pairs.T), m.moments(*(unit * pairs).T)
    for kernel in COEFFICIENTS:
        np.testing.assert_allclose(kernel(there), kernel(here), atol=1e-9)
    np.testing.assert_allclose(m.mse(there), unit**2 * m.mse(here), atol=1e-9 * unit**2)


@given(RATINGS)
def test_order_of_the_coefficients(pairs: Floats) -> None:
    """|CCC| ≤ |C1| ≤ |r|: Lin's counts a constant difference and unequal spread, C1 the latter, r neither."""
    found = values(m.moments(*pairs.T))
    if not np.isnan(found["pearson"]):
        assert abs(found["concordance"]) <= abs(found["icc_consistency"]) + 1e-12
        assert abs(found["icc_consistency"]) <= abs(found["pearson"]) + 1e-12


def test_a_shift_leaves_consistency_and_lowers_agreement() -> None:
    sums, shifted = m.moments(LARGE, MINI), m.moments(LARGE, MINI + 100)
    np.testing.assert_allclose(m.icc_consistency(shifted), m.icc_consistency(sums), rtol=1e-10)
    np.testing.assert_allclose(m.pearson(shifted), m.pearson(sums), rtol=1e-10)
    assert m.icc_agreement(shifted)[0] < m.icc_agreement(sums)[0] - 0.1
    assert m.concordance(shifted)[0] < m.concordance(sums)[0] - 0.1


def test_an_origin_keeps_the_digits_of_values_far_from_0() -> None:
    sums, far = m.moments(LARGE, MINI), m.moments(LARGE / 100 + 1e6, MINI / 100 + 1e6, origin=1e6)
    for kernel in COEFFICIENTS:
        np.testing.assert_allclose(kernel(far), kernel(sums), rtol=1e-8)
    np.testing.assert_allclose(m.mean_second(far, origin=1e6), 1e6 + MINI.mean() / 100, rtol=1e-15)


def test_perfect_and_no_agreement() -> None:
    generator = np.random.default_rng(0)
    x, y = generator.integers(1, 6, (2, 20_000)).astype(float)
    for kernel in COEFFICIENTS:
        assert kernel(m.moments(x, x))[0] == pytest.approx(1, abs=1e-12)
        assert kernel(m.moments(x, y))[0] == pytest.approx(0, abs=0.02)
    assert m.mse(m.moments(x, x))[0] == 0


def test_what_is_not_defined_is_nan() -> None:
    nothing = m.moments(LARGE, MINI, np.zeros((1, 17)))
    assert all(np.isnan(value) for value in values(nothing).values())
    assert np.isnan([m.mean_first(nothing), m.mean_second(nothing), *m.limits_of_agreement(nothing)]).all()
    one = values(m.moments(np.array([2.0]), np.array([3.0])))
    assert (one["bias"], one["mse"]) == (1, 1)
    assert np.isnan([one["pearson"], one["icc_consistency"], one["icc_agreement"]]).all()
    same = values(m.moments(np.full(3, 0.1), np.full(3, 0.1)))
    assert np.isnan([same[kernel.__name__] for kernel in COEFFICIENTS]).all()


def test_one_rater_who_never_varies() -> None:
    found = values(m.moments(np.array([1.0, 2, 3, 4]), np.full(4, 0.7)))
    assert np.isnan(found["pearson"])
    assert (found["concordance"], found["icc_consistency"], found["icc_agreement"]) == (0, 0, 0)
