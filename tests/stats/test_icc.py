"""Published examples, pingouin as oracle, and what must hold for every table of ratings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from mindgauge.stats.icc import (
    Icc,
    MeanSquares,
    agreement,
    consistency,
    icc,
    mean_squares,
)
from mindgauge.stats.interval import Interval
from tests.thinned import examples, sampled

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Form = Callable[[MeanSquares], Floats]

# Shrout and Fleiss 1979, table 2: six targets, four judges.
SHROUT_FLEISS = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float)
NAMES = {
    "agreement": "ICC(A,1)",
    "consistency": "ICC(C,1)",
}
FORMS: list[Form] = [agreement, consistency]
TABLES = npst.arrays(
    np.float64, st.tuples(st.integers(2, 12), st.integers(2, 5)), elements=st.integers(1, 5).map(float)
)


def forms(found: Icc) -> dict[str, Interval]:
    """Return both coefficients by name."""
    return {name: getattr(found, name) for name in NAMES}


def oracle(ratings: Floats) -> pd.DataFrame:
    """Return pingouin's forms with its interval, nothing rounded."""
    import pingouin  # draws, too, and takes seconds to import

    n, k = ratings.shape
    subject, rater = np.indices((n, k)).reshape(2, -1)
    long = pd.DataFrame({"subject": subject, "rater": rater, "value": ratings.ravel()})
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(pingouin.options, "round.column.CI95", None)
        return pingouin.intraclass_corr(long, "subject", "rater", "value").set_index("Type")


pingouin_warns = pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame.dropna is deprecated")


def test_shrout_fleiss_1979() -> None:
    found = forms(icc(SHROUT_FLEISS))
    values = [round(found[name].value or 0, 2) for name in NAMES]
    assert values == [0.29, 0.71]
    table = mean_squares(SHROUT_FLEISS)
    squares = (table.rows, table.columns, table.residual)
    assert [float(square) for square in squares] == pytest.approx([11.24, 32.49, 1.02], abs=0.005)


def test_intervals_as_the_r_package_psych_prints_them() -> None:
    printed = {
        "agreement": (0.019, 0.76),
        "consistency": (0.342, 0.95),
    }
    for name, (low, high) in printed.items():
        one = forms(icc(SHROUT_FLEISS))[name]
        assert one.low == pytest.approx(low, abs=0.0006)
        assert one.high == pytest.approx(high, abs=0.006)


@pingouin_warns
@pytest.mark.parametrize("seed", sampled(range(12), 3))
def test_pingouin_agrees(seed: int) -> None:
    generator = np.random.default_rng(seed)
    n, k = generator.integers(3, 25), generator.integers(2, 6)
    spread, offset, noise = generator.uniform(0.3, 3), generator.uniform(0, 2), generator.uniform(0.2, 1)
    subjects, raters = generator.normal(0, spread, (n, 1)), generator.normal(0, offset, (1, k))
    ratings = subjects + raters + generator.normal(0, noise, (n, k))
    found, expected = forms(icc(ratings)), oracle(ratings)
    for name, row in ((name, expected.loc[type_]) for name, type_ in NAMES.items()):
        one = found[name]
        assert one.value == pytest.approx(row["ICC"], rel=1e-7, abs=1e-12)
        assert (found["agreement"].value or 0) >= 0, "below 0 the agreement intervals are ours, see the next test"
        assert (one.low, one.high) == pytest.approx(tuple(row["CI95"]), rel=1e-6, abs=1e-9)


def test_an_interval_holds_its_estimate_even_below_0() -> None:
    """Where pingouin's need not: raters who disagree on order and differ much in level leave it no degrees of freedom."""
    generator = np.random.default_rng(5)
    negative = 0
    for _ in range(300):
        ratings = generator.normal(size=(9, 2)) + np.array([0, generator.uniform(0, 3)])
        one = icc(ratings).agreement
        assert one.value is not None and one.low is not None and one.high is not None
        assert one.low <= one.value <= one.high
        negative += one.value < 0
    assert negative > 50


@given(TABLES)
def test_order_of_raters_and_of_subjects(ratings: Floats) -> None:
    generator = np.random.default_rng(1)
    shuffled = generator.permutation(generator.permutation(ratings, axis=0), axis=1)
    here, there = mean_squares(ratings), mean_squares(shuffled)
    for form in FORMS:
        np.testing.assert_allclose(form(there), form(here), atol=1e-9)


@given(TABLES, st.floats(0.01, 100), st.floats(-1e4, 1e4))
@example(np.array([[2.0, 1, 3, 3, 5], [4, 1, 1, 5, 1]]), 1.0, 254.0)  # a denominator of nothing but rounding
def test_unit_and_zero_of_the_scale(ratings: Floats, unit: float, zero: float) -> None:
    here, there = mean_squares(ratings), mean_squares(unit * ratings + zero)
    for form in FORMS:
        np.testing.assert_allclose(form(there), form(here), rtol=1e-4, atol=1e-4 if unit < 1 else 1e-6)


@given(TABLES, st.floats(0.5, 1e6))
def test_a_shift_of_one_rater_leaves_consistency(ratings: Floats, shift: float) -> None:
    shifted = ratings + np.eye(ratings.shape[1])[0] * shift
    here, there = mean_squares(ratings), mean_squares(shifted)
    np.testing.assert_allclose(consistency(there), consistency(here), atol=1e-6)


def test_a_shift_of_one_rater_lowers_agreement() -> None:
    alike = SHROUT_FLEISS - SHROUT_FLEISS.mean(axis=0)
    values = [agreement(mean_squares(alike + np.array([0, 0, 0, shift]))) for shift in (0.0, 1.0, 3.0, 9.0)]
    assert values == sorted(values, reverse=True)
    assert values[0] > 0.7
    assert values[-1] < 0.2


@given(TABLES)
def test_weights_are_repetitions(ratings: Floats) -> None:
    times = np.random.default_rng(2).integers(0, 3, (5, len(ratings)))
    weighted = mean_squares(ratings, times.astype(float))
    for at, drawn in enumerate(times):
        if drawn.sum() > 1:
            repeated = mean_squares(np.repeat(ratings, drawn, axis=0))
            for form in FORMS:
                np.testing.assert_allclose(form(weighted)[at], form(repeated), atol=1e-9)


def test_batches_broadcast() -> None:
    generator = np.random.default_rng(3)
    cells, varying = generator.normal(size=(4, 9, 2)), generator.normal(size=(50, 9, 2))
    times = generator.multinomial(9, np.full(9, 1 / 9), 50).astype(float)
    together = mean_squares(cells[:, None], times)
    both = mean_squares(varying, times)
    for form in FORMS:
        np.testing.assert_allclose(form(together), [form(mean_squares(cell, times)) for cell in cells], atol=1e-12)
        np.testing.assert_allclose(form(mean_squares(varying)), [form(mean_squares(x)) for x in varying], atol=1e-12)
        pairs = zip(varying, times, strict=True)
        np.testing.assert_allclose(form(both), [form(mean_squares(x, w[None]))[0] for x, w in pairs], atol=1e-12)


def test_a_subject_with_a_missing_rating_is_left_out() -> None:
    holes = np.vstack([SHROUT_FLEISS, [1, 2, 3, np.nan], [np.nan] * 4])
    assert icc(holes) == icc(SHROUT_FLEISS)


def test_perfect_and_no_agreement() -> None:
    generator = np.random.default_rng(0)
    same = np.repeat(generator.integers(1, 6, (50, 1)), 3, axis=1).astype(float)
    assert all((one.value, one.low, one.high) == (1, None, None) for one in forms(icc(same)).values())
    assert all("no interval" in one.undefined for one in forms(icc(same)).values())
    apart = icc(generator.integers(1, 6, (5000, 3)).astype(float))
    assert all(one.value == pytest.approx(0, abs=0.06) for one in forms(apart).values())
    assert apart.consistency.low is not None and apart.consistency.low < 0 < (apart.consistency.high or 0)


@pytest.mark.parametrize(
    ("ratings", "why"),
    [
        (np.zeros((0, 2)), "fewer than 2 subjects with all ratings"),
        (np.array([[1.0, 2]]), "fewer than 2 subjects with all ratings"),
        (np.array([[1.0, 2], [np.nan, 3]]), "fewer than 2 subjects with all ratings"),
        (np.array([[1.0], [2], [3]]), "fewer than 2 raters"),
        (np.full((5, 3), 0.1), "all ratings are equal"),
        (np.full((5, 3), 1e6 + 0.1), "all ratings are equal"),
    ],
)
def test_what_cannot_be_estimated_says_why(ratings: Floats, why: str) -> None:
    for one in forms(icc(ratings)).values():
        assert one == Interval(None, undefined=why)


def test_subjects_who_do_not_differ() -> None:
    found = icc(np.array([[1.0, 2], [1, 2], [1, 2]]))
    assert found.consistency == Interval(None, undefined="subjects do not differ")
    assert found.agreement == Interval(0, undefined="subjects do not differ, so there is no interval")


@given(TABLES)
@examples(200)
def test_never_nan(ratings: Floats) -> None:
    for one in forms(icc(ratings)).values():
        numbers = [number for number in one[:3] if number is not None]
        assert not np.isnan(numbers).any()
        assert (one.value is not None) or one.undefined
        assert one.value is None or one.value <= 1 + 1e-12


def test_a_resample_of_one_subject_is_nan() -> None:
    ratings = np.array([[0.1, 0.2], [0.7, 0.4], [0.3, 0.3]])
    found = mean_squares(ratings, np.array([[0.0, 3, 0], [0, 0, 0], [0, 1, 0]]))
    np.testing.assert_array_equal(consistency(found), np.full(3, np.nan))
    assert consistency(mean_squares(ratings, np.array([[0.0, 0, 3]])))[0] != 1


def test_exact_intervals_cover() -> None:
    """Nominal .95; normal subjects, normal errors, ICC(C,1) = .8 and ICC(A,1) = .727, 9 subjects and 3 raters."""
    generator = np.random.default_rng(11)
    repetitions, hits = 1500, np.zeros(2)
    for _ in range(repetitions):
        subjects, raters = generator.normal(0, 1, (9, 1)), generator.normal(0, np.sqrt(0.125), (1, 3))
        found = icc(subjects + raters + generator.normal(0, 0.5, (9, 3)))
        for at, (one, truth) in enumerate(((found.consistency, 0.8), (found.agreement, 1 / 1.375))):
            hits[at] += one.low is not None and one.high is not None and one.low <= truth <= one.high
    assert hits / repetitions == pytest.approx([0.95, 0.95], abs=0.02)
