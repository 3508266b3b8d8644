"""Logistic regression: against scikit-learn, against the conditions of a minimum, and where there is nothing to learn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mindgauge.stats import logistic
from tests.thinned import examples

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def _rows(seed: int, n: int = 120, d: int = 4) -> tuple[Floats, Floats, Floats]:
    generator = np.random.default_rng(seed)
    x = generator.normal(3.0, 2.0, (n, d))
    y = (x @ generator.normal(size=d) - 3 + generator.logistic(size=n) > 0).astype(float)
    return x, y, generator.integers(0, 3, (5, n)).astype(float)


@pytest.mark.parametrize("penalty", [1.0, 0.01, 30.0])
def test_it_is_scikit_learns(penalty: float) -> None:
    sklearn = pytest.importorskip("sklearn.linear_model")
    x, y, weights = _rows(0)
    found = logistic.fit(x, y, weights, penalty=penalty)
    for intercept, slopes, copies in zip(found.intercept, found.slopes, weights, strict=True):
        oracle = sklearn.LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=10_000).fit(x, y, sample_weight=copies)
        assert slopes == pytest.approx(oracle.coef_[0], abs=1e-5)
        assert intercept == pytest.approx(oracle.intercept_[0], abs=1e-4)
        assert found.log_odds(x).shape == (5, 120)


def test_a_penalty_by_spread_is_that_of_standardised_features() -> None:
    x, y, weights = _rows(1)
    centred = (x - x.mean(axis=0)) / x.std(axis=0)
    plain = logistic.fit(centred, y, weights)
    scaled = logistic.fit(x, y, weights, penalty=x.var(axis=0))
    assert scaled.log_odds(x) == pytest.approx(plain.log_odds(centred), abs=1e-6)


@examples(40)
@given(st.integers(0, 10_000), st.lists(st.sampled_from([-1, 0, 1]), min_size=4, max_size=4))
def test_signs_are_kept_and_nothing_is_left_to_gain(seed: int, signs: list[int]) -> None:
    """The conditions of Karush, Kuhn and Tucker: no slope on the wrong side, none at 0 that wants to its own side."""
    x, y, weights = _rows(seed, n=60)
    assume(((weights @ y > 0) & (weights @ (1 - y) > 0)).all())
    side = np.array(signs, dtype=float)
    found = logistic.fit(x, y, weights, signs=side)
    assert (side * found.slopes >= 0).all()
    gap = weights * (1 / (1 + np.exp(-found.log_odds(x))) - y)
    gradient = gap @ x + found.slopes
    outward = (found.slopes == 0) & (side * gradient > 0)
    assert np.abs(np.where(outward, 0.0, gradient)).max() < 1e-4
    assert np.abs(gap.sum(axis=1)).max() < 1e-4


def test_one_fit_does_not_depend_on_the_others() -> None:
    x, y, weights = _rows(2)
    together = logistic.fit(x, y, weights, signs=[1, -1, 0, 1])
    for i, copies in enumerate(weights):
        alone = logistic.fit(x, y, copies[None], signs=[1, -1, 0, 1])
        assert alone.slopes[0] == pytest.approx(together.slopes[i], abs=1e-7)


def test_classes_that_can_be_told_apart_without_error_have_a_minimum_too() -> None:
    x = np.arange(20.0)[:, None]
    found = logistic.fit(x, x[:, 0] > 9, np.ones((1, 20)))
    assert 0 < found.slopes[0, 0] < 10
    assert found.log_odds(np.array([[9.5]]))[0, 0] == pytest.approx(0, abs=1e-6)


def test_one_class_alone_teaches_nothing() -> None:
    x, y, _ = _rows(3)
    found = logistic.fit(x, np.ones_like(y), np.ones((1, len(y))))
    assert (found.slopes == 0).all()
    assert found.intercept[0] == pytest.approx(np.log(120.5 / 0.5))
    assert logistic.fit(x, y, np.zeros((1, len(y)))).intercept[0] == 0


@pytest.mark.parametrize(
    ("x", "weights", "why"),
    [([[np.nan]], [[1.0]], "finite"), ([[1.0]], [[-1.0]], "negative"), ([[1.0], [2.0]], [[1.0]], "do not fit")],
)
def test_what_cannot_be_fitted_is_refused(x: list[list[float]], weights: list[list[float]], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        logistic.fit(x, [1] * len(x), weights)
