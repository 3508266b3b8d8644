"""Paired shares: exact, and equal to the binomial test of the pairs that differ."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from mindgauge.stats.significance import mcnemar


def pairs(both: int, only_first: int, only_second: int, neither: int) -> tuple[list[bool], list[bool]]:
    first = [True] * both + [True] * only_first + [False] * only_second + [False] * neither
    second = [True] * both + [False] * only_first + [True] * only_second + [False] * neither
    return first, second


def test_a_table_by_hand() -> None:
    found = mcnemar(*pairs(3, 1, 6, 2))
    assert (found.only_first, found.only_second, found.n) == (1, 6, 12)
    assert found.p == pytest.approx(2 * (1 + 7) / 2**7)
    assert mcnemar(*pairs(3, 0, 5, 2)).p == pytest.approx(2 / 2**5)


def test_pairs_that_say_the_same_tell_nothing() -> None:
    assert mcnemar(*pairs(4, 0, 0, 3)) == (0, 0, 7, 1.0)
    assert mcnemar([], []) == (0, 0, 0, 1.0)
    assert mcnemar(*pairs(0, 2, 7, 0)).p == mcnemar(*pairs(50, 2, 7, 50)).p


@given(st.integers(0, 40), st.integers(0, 40))
def test_it_is_the_binomial_test_of_the_others(only_first: int, only_second: int) -> None:
    found = mcnemar(*pairs(1, only_first, only_second, 1))
    n = only_first + only_second
    expected = binomtest(only_first, n).pvalue if n else 1.0
    assert found.p == pytest.approx(expected)
    assert mcnemar(*pairs(1, only_second, only_first, 1)).p == found.p


def test_lists_of_two_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="one length"):
        mcnemar([True], np.array([True, False]))
