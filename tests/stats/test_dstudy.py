"""D-studies of any design: closed forms of balanced ones, which parts can be told apart, and coverage."""

from __future__ import annotations

import numpy as np
import pytest

from mindgauge.stats import crossed, generalizability
from mindgauge.stats.dstudy import NestedStudy, _weights, study, told_apart


def test_weights_of_crossed_and_nested_designs_are_the_textbook_s() -> None:
    system, conversation, rater = (part.ravel() for part in np.indices((3, 5, 4)))
    assert _weights(system, rater) == pytest.approx((1 / 4, 0))  # the same raters rate all: no part of δ
    assert _weights(system, system * 4 + rater) == pytest.approx((1 / 4, 1 / 4))
    assert _weights(system, np.arange(60)) == pytest.approx((1 / 20, 1 / 20))
    assert _weights(system, conversation * 4 + rater) == pytest.approx((1 / 20, 0))
    uneven = np.array([0, 0, 0, 1])
    assert _weights(uneven, np.array([0, 0, 1, 1])) == pytest.approx(((5 / 9 + 1) / 2, (5 / 9 + 1) / 2 - 1 / 3))


def test_what_cannot_be_told_apart_is_left_out() -> None:
    system, conversation, rater = (part.ravel() for part in np.indices((4, 6, 3)))
    cells = {"system": system, "conversation": conversation, "rater": rater, "cell": system * 6 + conversation}
    assert told_apart(cells) == list(cells)
    assert told_apart(cells | {"rating": np.arange(72), "again": rater + 10}) == list(cells)
    own = {"system": system, "rater": system}
    assert told_apart(own) == ["system"]


def balanced(random: np.random.Generator, systems: int = 8, conversations: int = 12, raters: int = 4) -> np.ndarray:
    shape = (systems, conversations, raters)
    parts = (
        ((systems, 1, 1), 0.7),
        ((1, conversations, 1), 0.4),
        ((1, 1, raters), 0.3),
        ((systems, conversations, 1), 0.5),
    )
    return sum((sd * random.normal(size=size) for size, sd in parts), 0.6 * random.normal(size=shape))


def studied(x: np.ndarray, kept: np.ndarray | None = None) -> NestedStudy:
    rows = np.flatnonzero(np.ones(x.size, dtype=bool) if kept is None else kept.ravel())
    system, conversation, rater = (part.ravel()[rows] for part in np.indices(x.shape))
    factors = {
        "system": system, "conversation": conversation, "rater": rater, "cell": system * x.shape[1] + conversation,
        "system_rater": system * x.shape[2] + rater, "conversation_rater": conversation * x.shape[2] + rater,
    }  # fmt: skip
    return study(
        x.ravel()[rows], factors, measured=["system"], groups=system, by_rater={"rater", "system_rater", "conversation_rater", "residual"},
        by_conversation={"conversation", "cell", "conversation_rater", "residual"}, raters=x.shape[2], conversations=x.shape[1],
    )  # fmt: skip


@pytest.mark.long
def test_a_crossed_design_gives_what_mean_squares_give() -> None:
    """Where no component is cut to 0, REML of a balanced design is expected mean squares."""
    random = np.random.default_rng(0)
    compared = 0
    for _ in range(12):
        x = balanced(random)
        squares = generalizability.study(x, resamples=50)
        if min(value for value in squares.components if value is not None) <= 0.001:
            continue
        compared += 1
        result = studied(x)
        assert result.dependability.value == pytest.approx(squares.dependability.value, abs=1e-3)
        assert result.generalizability.value == pytest.approx(squares.generalizability.value, abs=1e-3)
        assert squares.needs is not None and result.conversations.value == squares.needs.conversations.value
        assert result.raters.value == squares.needs.raters.value
    assert compared


@pytest.mark.long
def test_intervals_of_an_unbalanced_design_hold_the_truth() -> None:
    random = np.random.default_rng(1)
    truth = 0.49 / (0.49 + 0.16 / 8 + 0.09 / 3 + 0.25 / 8 + 0.36 / 24)
    held = []
    for _ in range(12):
        result = studied(balanced(random, 6, 8, 3), random.random((6, 8, 3)) < 0.9)
        low, high = result.dependability.low, result.dependability.high
        assert low is not None and high is not None
        held.append(low - 0.02 <= truth <= high)
    assert np.mean(held) >= 0.75


def test_nothing_is_said_without_error() -> None:
    with pytest.raises(ValueError, match="all values are the same"):
        crossed.fit(crossed.Design(np.ones(8), {"rater": np.arange(8) % 2}))
