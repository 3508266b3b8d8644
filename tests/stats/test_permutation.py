"""Groups that differ are told from groups that do not."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from mindgauge.stats.significance import spread_within_blocks


def test_identical_values_differ_in_nothing() -> None:
    assert spread_within_blocks(np.full((33, 5), 0.6), permutations=200) == (0.0, 1.0)
    blocks = np.repeat(np.arange(6.0)[:, None], 4, axis=1)
    assert spread_within_blocks(blocks, permutations=200) == (0.0, 1.0)


def test_the_p_value_is_that_of_all_permutations() -> None:
    values = np.array([[0.1, 0.5, 0.9], [0.4, 0.3, 0.8], [0.2, 0.6, 0.5]])
    observed = values.mean(axis=0).std()
    dealt = [np.array(rows).mean(axis=0).std() for rows in product(*(list(permutations(row)) for row in values))]
    exact = np.mean([sd >= observed - 1e-12 for sd in dealt])
    found = spread_within_blocks(values)
    assert found.value == pytest.approx(observed)
    assert found.p == pytest.approx(exact, abs=0.015)
    assert found == spread_within_blocks(values)


def test_blocks_do_not_count_as_differences() -> None:
    drawn = np.random.default_rng(1)
    noise = drawn.normal(size=(30, 4))
    level = 100 * drawn.normal(size=(30, 1))
    found, moved = spread_within_blocks(noise), spread_within_blocks(noise + level)
    assert moved.value == pytest.approx(found.value)
    assert moved.p == pytest.approx(found.p, abs=1e-3)
    shifted = spread_within_blocks(noise + np.array([0, 0, 0, 2]))
    assert shifted.p == pytest.approx(1 / 10_001)


def test_p_is_uniform_where_nothing_differs() -> None:
    drawn = np.random.default_rng(2)
    p = [spread_within_blocks(drawn.normal(size=(8, 3)), permutations=199).p for _ in range(300)]
    assert np.mean([one is not None and one <= 0.1 for one in p]) == pytest.approx(0.1, abs=0.05)


def test_missing_values_are_dealt_out_too() -> None:
    values = np.random.default_rng(3).normal(size=(20, 4))
    values[3, 1] = values[7, 2] = np.nan
    found = spread_within_blocks(values)
    assert found.p is not None
    assert 0 < found.p <= 1
    values[:, 1] = np.nan
    assert spread_within_blocks(values) == (None, None)
    assert spread_within_blocks(values[:, :1]) == (None, None)
    assert spread_within_blocks(np.full((3, 3), np.nan)) == (None, None)
