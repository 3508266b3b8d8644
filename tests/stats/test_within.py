"""Agreement pooled within groups, and of any number of raters as their pairs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge.stats import agreement, icc, moments
from mindgauge.stats.jackknife import effective

RANDOM = np.random.default_rng(3)


@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(3, 30))
def test_pairs_of_raters_pooled_are_the_two_way_icc(seed: int, raters: int, n: int) -> None:
    random = np.random.default_rng(seed)
    ratings = random.normal(0, 1, (n, 1)) + random.normal(0, 0.5, (1, raters)) + random.normal(0, 0.7, (n, raters))
    sums = np.stack([moments.moments(ratings[:, a], ratings[:, b])[0] for a, b in combinations(range(raters), 2)])
    expected = icc.icc(ratings)
    assert moments.icc_agreement_within(sums[None])[0] == pytest.approx(expected.agreement.value, abs=1e-9)
    assert moments.icc_consistency_within(sums[None])[0] == pytest.approx(expected.consistency.value, abs=1e-9)


def test_one_group_is_the_plain_coefficient() -> None:
    x, y = RANDOM.normal(size=(2, 40))
    sums = moments.moments(x, y)
    assert moments.icc_agreement_within(sums[None])[0] == pytest.approx(moments.icc_agreement(sums)[0])


def test_who_knows_only_the_group_agrees_within_none() -> None:
    group = np.repeat(np.arange(4), 50)
    people = group + RANDOM.normal(0, 0.5, 200)
    judge = group.astype(float) + RANDOM.normal(0, 1e-3, 200)
    sums = np.stack([moments.moments(people[group == g], judge[group == g])[0] for g in range(4)])
    assert moments.icc_agreement(sums.sum(axis=0)[None])[0] > 0.8
    assert abs(moments.icc_agreement_within(sums[None])[0]) < 0.1


def test_groups_of_one_count_for_nothing() -> None:
    x, y = RANDOM.normal(size=(2, 40))
    whole = moments.moments(x, y)
    single, empty = moments.moments(np.array([9.0]), np.array([-9.0])), np.zeros((1, 6))
    sums = np.concatenate([whole, single, empty])
    assert moments.icc_agreement_within(sums[None])[0] == pytest.approx(moments.icc_agreement(whole)[0])
    assert np.isnan(moments.icc_agreement_within(np.concatenate([single, empty])[None])[0])


def test_alpha_within_one_group_is_alpha_and_within_pure_groups_is_none() -> None:
    joint = RANDOM.integers(1, 20, (3, 3)).astype(float)
    coincidences = joint + joint.T
    plain = agreement.krippendorff_alpha(coincidences[None], np.arange(3.0))[0]
    assert agreement.krippendorff_alpha_within(coincidences[None, None])[0] == pytest.approx(plain)
    pure = np.stack([np.diag([40.0, 0, 0]), np.diag([0, 40.0, 0])])
    assert np.isnan(agreement.krippendorff_alpha_within(pure[None])[0])


def test_kish_s_number_of_clusters() -> None:
    assert effective(np.ones(10)) == pytest.approx(10)
    assert effective(np.array([1.0] * 9 + [41.0])) == pytest.approx(50**2 / (9 + 41**2))
    assert effective(np.array([1.0, 41.0]), np.array([9, 1])) == pytest.approx(50**2 / (9 + 41**2))
    assert effective(np.array([])) == 0
