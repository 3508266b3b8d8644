"""The guard against selected labels: how rarely it accuses chance, and that it sees what was selected."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from mindgauge.stats import labelling

Scores = NDArray[np.float64]


def found(judge: Scores, labelled: NDArray[np.bool_]) -> list[labelling.LabellingGap]:
    """Ask of scores of shape (conversations, systems, replies)."""
    conversation, system, _ = np.indices(judge.shape)
    return labelling.gaps(
        judge.ravel(), labelled.ravel(), conversation.ravel(), system.ravel(), least=0.25, alpha=0.01
    )  # fmt: skip


def near_the_ceiling(generator: np.random.Generator, *shape: int) -> Scores:
    """Nearly all are 5, and what is not comes in the same conversations of all systems."""
    hard = generator.random((shape[0], 1, 1)) < 0.1
    return np.where(generator.random(shape) < np.where(hard, 0.4, 0.02), generator.integers(1, 5, shape), 5).astype(
        float
    )


@pytest.mark.parametrize(
    ("shape", "labels", "whole"),
    [((200, 1, 1), 190, True), ((200, 1, 1), 8, True), ((60, 4, 1), 20, True), ((60, 4, 1), 30, False), ((40, 1, 5), 12, True)],
)  # fmt: skip
def test_labels_of_chance_are_accused_in_one_of_a_hundred_studies(
    shape: tuple[int, int, int], labels: int, whole: bool
) -> None:
    """Student's t, as before, accuses up to a third of such studies."""
    generator = np.random.default_rng(0)
    alarms = 0
    for _ in range(120):
        judge = near_the_ceiling(generator, *shape)
        order = generator.permutation(shape[0])[:, None, None] if whole else generator.permuted(
            np.broadcast_to(np.arange(shape[0])[:, None, None], shape), axis=0
        )  # fmt: skip
        alarms += bool(found(judge, np.broadcast_to(order < labels, shape)))
    assert alarms <= 5, "more than 5 of 120 happen in less than 1 of 1,000 cases"


@pytest.mark.parametrize("labels", [5, 20])
def test_what_the_judge_scored_lowest_is_found_and_where(labels: int) -> None:
    judge = near_the_ceiling(np.random.default_rng(1), 200, 3, 1)
    labelled = np.random.default_rng(2).random(judge.shape) < 0.2
    assert found(judge, labelled) == []
    labelled[:, 1, 0] = False
    labelled[judge[:, 1, 0].argsort(kind="stable")[:labels], 1, 0] = True
    gaps = found(judge, labelled)
    one = next(gap for gap in gaps if gap.stratum == 1)
    assert one.size < -1 and one.p <= 0.01 and one.labelled < one.others and one.n == 200 - labels
    assert not any(gap.stratum in {0, 2} for gap in gaps)


def test_the_lowest_reply_of_each_conversation_is_no_choice_of_chance() -> None:
    judge = np.random.default_rng(3).integers(1, 6, (40, 1, 4)).astype(float)
    labelled = judge.argsort(axis=2).argsort(axis=2) == 0
    [gap] = found(judge, labelled)
    assert gap.stratum is None and gap.labelled < gap.others


def test_nothing_is_said_of_a_handful() -> None:
    """Of 1,000 replies people left out 40 that the judge scored lowest; of 100 they rated the 4 lowest, or left out the 9 lowest."""
    for n, labels, low in ((1000, 960, False), (100, 4, True), (100, 91, False)):
        judge = np.arange(n, dtype=float)
        labelled = judge < labels if low else judge >= n - labels
        assert found(judge[:, None, None], labelled[:, None, None]) == []
    judge = np.arange(100, dtype=float)[:, None, None]
    assert len(found(judge, judge >= 12)) == 1


def test_scores_that_do_not_vary_on_either_side() -> None:
    labelled = np.arange(60)[:, None, None] < 20
    assert found(np.ones((60, 1, 1)), labelled) == []
    [gap] = found(np.where(labelled, 1.0, 5.0), labelled)
    assert gap.size == -math.inf


def test_a_larger_share_of_a_system_that_scores_low_is_no_fault() -> None:
    generator = np.random.default_rng(4)
    judge = generator.normal(size=(100, 2, 1)) + np.array([0.0, 3.0])[:, None]
    labelled = generator.random(judge.shape) < np.array([0.6, 0.1])[:, None]
    assert found(judge, labelled) == []
    as_one = labelling.gaps(judge.ravel(), labelled.ravel(), np.repeat(np.arange(100), 2), np.zeros(200), least=0.25, alpha=0.01)  # fmt: skip
    assert [gap.stratum for gap in as_one] == [None]


def test_columns_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="stratum has shape"):
        labelling.gaps([1.0, 2.0], [True, False], [0, 1], [0], least=0.25, alpha=0.01)
