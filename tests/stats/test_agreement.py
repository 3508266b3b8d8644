"""Published examples, other people's software, and properties tested once for all coefficients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from sklearn import metrics as sk
from statsmodels.stats import inter_rater

from mindgauge.stats.agreement import cohen_kappa, confusion, fleiss_kappa

if TYPE_CHECKING:
    from numpy.typing import NDArray

FLEISS_1971 = """0 0 0 6 0|0 3 0 0 3|0 1 4 0 1|0 0 0 0 6|0 3 0 3 0|2 0 4 0 0|0 0 4 0 2|2 0 3 1 0|2 0 0 4 0|0 0 0 0 6
1 0 0 5 0|1 1 0 4 0|0 3 3 0 0|1 0 0 5 0|0 2 0 3 1|0 0 5 0 1|3 0 0 1 2|5 1 0 0 0|0 2 0 4 0|1 0 2 0 3
0 0 0 0 6|0 1 0 5 0|0 2 0 1 3|2 0 0 4 0|1 0 0 4 1|0 5 0 1 0|4 0 0 0 2|0 2 0 4 0|1 0 5 0 0|0 0 0 0 6"""
PAIRS = st.integers(2, 4).flatmap(
    lambda labels: st.tuples(st.just(labels), npst.arrays(np.intp, (30, 2), elements=st.integers(0, labels - 1)))
)


def test_cohen_1968() -> None:
    proportions = np.array([[44, 5, 1], [7, 20, 3], [9, 5, 6]])
    first = np.repeat(np.repeat([0, 1, 2], 3), proportions.ravel())
    second = np.repeat(np.tile([0, 1, 2], 3), proportions.ravel())
    assert cohen_kappa(first, second, 3)[0] == pytest.approx(0.492, abs=0.0005)


def test_fleiss_1971() -> None:
    counts = np.array([[int(c) for c in row.split()] for row in FLEISS_1971.replace("\n", "|").split("|")], dtype=float)
    assert counts.shape == (30, 5)
    assert fleiss_kappa(counts)[0] == pytest.approx(0.430, abs=0.0005)
    assert fleiss_kappa(counts)[0] == pytest.approx(inter_rater.fleiss_kappa(counts), abs=1e-12)


@given(PAIRS)
def test_cohen_equals_scikit_learn(case: tuple[int, NDArray[np.intp]]) -> None:
    labels, pairs = case
    ours = cohen_kappa(pairs[:, 0], pairs[:, 1], labels)[0]
    if len(np.unique(pairs)) == 1:
        assert np.isnan(ours), "without any variation kappa is not defined"
    else:
        assert ours == pytest.approx(sk.cohen_kappa_score(pairs[:, 0], pairs[:, 1]), abs=1e-12)


@given(PAIRS)
def test_symmetry_order_and_relabelling(case: tuple[int, NDArray[np.intp]]) -> None:
    labels, pairs = case
    shuffled = np.random.default_rng(1).permutation(pairs)
    renamed = (pairs + 1) % labels
    value = cohen_kappa(pairs[:, 0], pairs[:, 1], labels)
    for other in (pairs[:, ::-1], shuffled, renamed):
        np.testing.assert_allclose(cohen_kappa(other[:, 0], other[:, 1], labels), value, atol=1e-12)


@given(PAIRS)
def test_weights_are_repetitions(case: tuple[int, NDArray[np.intp]]) -> None:
    labels, pairs = case
    times = np.random.default_rng(2).integers(0, 3, len(pairs))
    weighted = cohen_kappa(pairs[:, 0], pairs[:, 1], labels, times[None, :].astype(float))
    repeated = np.repeat(pairs, times, axis=0)
    np.testing.assert_allclose(weighted, cohen_kappa(repeated[:, 0], repeated[:, 1], labels), atol=1e-12)


def test_perfect_and_chance_agreement() -> None:
    generator = np.random.default_rng(0)
    a, b = generator.integers(0, 4, (2, 20_000))
    assert cohen_kappa(a, a, 4)[0] == 1
    assert cohen_kappa(a, b, 4)[0] == pytest.approx(0, abs=0.02)


def test_a_missing_label_stays_in_n_and_agrees_with_nothing() -> None:
    gold, given_ = np.array([0, 0, 1, 1]), np.array([0, -1, 1, 1])
    assert confusion(gold, given_, 2)[0].tolist() == [[1, 0, 1], [0, 2, 0]]
    assert cohen_kappa(gold, given_, 2)[0] == pytest.approx((0.75 - (0.5 * 0.25 + 0.5 * 0.5)) / (1 - 0.375))


def test_items_without_two_ratings_say_nothing() -> None:
    counts = np.array([[2.0, 0], [1, 1], [1, 0], [0, 0]])
    assert fleiss_kappa(counts)[0] == fleiss_kappa(counts[:2])[0]
    assert np.isnan(fleiss_kappa(counts[2:])[0])
