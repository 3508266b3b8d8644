from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from statsmodels.stats.multitest import multipletests

from mindgauge.stats.significance import holm

Floats = NDArray[np.float64]

NEUHAUS_1992 = np.array(
    [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0]
)  # fmt: skip
"""The 15 p-values of Benjamini and Hochberg 1995, section 3.2."""


def test_benjamini_and_hochberg_1995() -> None:
    assert (holm(NEUHAUS_1992) <= 0.05).sum() == 3


def test_four_tests_by_hand() -> None:
    p = np.array([0.01, 0.04, 0.03, 0.005])
    np.testing.assert_allclose(holm(p), [0.03, 0.06, 0.06, 0.02])


@pytest.mark.parametrize(("m", "digits"), [(1, 3), (30, 1), (200, 15)])
def test_equal_to_statsmodels(m: int, digits: int) -> None:
    p = np.random.default_rng(m).uniform(size=m).round(digits) ** 3  # a few small ones, and ties
    np.testing.assert_allclose(holm(p), multipletests(p, method="holm")[1], atol=1e-12)


@given(p=st.lists(st.floats(0, 1), min_size=1, max_size=40), seed=st.integers(0, 2**32 - 1))
def test_never_below_p_nor_dependent_on_the_order(p: list[float], seed: int) -> None:
    values = np.array(p)
    found = holm(values)
    order = np.random.default_rng(seed).permutation(len(values))
    assert ((values <= found) & (found <= 1)).all()
    np.testing.assert_array_equal(holm(values[order]), found[order])


def test_a_test_that_could_not_be_made_is_not_counted() -> None:
    some = np.array([0.01, np.nan, 0.04, 0.03, np.nan, 0.005])
    found = holm(some)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(some))
    np.testing.assert_allclose(found[~np.isnan(some)], holm(some[~np.isnan(some)]))
    assert np.isnan(holm(np.array([np.nan]))).all()
    assert len(holm(np.array([]))) == 0


@pytest.mark.parametrize("p", [[-0.1, 0.5], [0.5, 1.1], [np.inf]])
def test_what_is_no_probability_is_refused(p: list[float]) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm(np.array(p))
