"""A judge corrected over several systems of which people rated different shares."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge.stats import correction, stratified
from tests.thinned import examples

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

NAN = math.nan
QUALITY = np.array([-0.8, 0.0, 0.8])
RATES = (0.9, 0.2, 0.05)
"""The worst system is labelled most."""


class Study(NamedTuple):
    """Judge's and people's scores of systems' replies to the same conversations, flat; NaN where nobody labelled."""

    judge: Floats
    human: Floats
    conversation: NDArray[np.intp]
    system: NDArray[np.intp]


def drawn(generator: np.random.Generator, conversations: int, rates: tuple[float, ...] = RATES) -> Study:
    """Draw scores with a mean of 3; the judge is too mild with the worst system and too strict with the best."""
    shape = (len(rates), conversations)
    true = (
        3 + QUALITY[: len(rates), None] + generator.normal(0, 0.5, (1, conversations)) + generator.normal(0, 0.6, shape)
    )
    judge = true - 0.8 * QUALITY[: len(rates), None] + generator.normal(0, 0.4, shape)
    human = np.full(shape, NAN)
    for i, rate in enumerate(rates):
        labelled = generator.permutation(conversations)[: round(rate * conversations)]
        human[i, labelled] = true[i, labelled]
    system, conversation = np.indices(shape)
    return Study(judge.ravel(), human.ravel(), conversation.ravel(), system.ravel())


def test_intervals_hold_the_mean_of_all_whatever_share_of_each_system_people_rated() -> None:
    generator = np.random.default_rng(0)
    held = np.zeros((400, 2))
    for row in held:
        study = drawn(generator, 100)
        row[0] = _holds(stratified.prediction_powered_mean(*study), 3.0)
        row[1] = _holds(correction.prediction_powered_mean(*study[:3]), 3.0)
    assert held[:, 0].mean() >= 0.93
    assert held[:, 1].mean() < 0.5, "labelled replies of all systems together are no random part"


def _holds(found: correction.CorrectedIntervals, true: float) -> bool:
    low, high = found.corrected[1:3]
    return low is not None and high is not None and low <= true <= high


@pytest.mark.parametrize("tuning", [0.0, 0.5, 1.0])
def test_each_system_counts_by_its_share_of_what_was_judged(tuning: float) -> None:
    study = drawn(np.random.default_rng(1), 80)
    kept = (study.system != 1) | (study.conversation < 40)
    judge, human, conversation, system = (column[kept] for column in study)
    found = stratified.prediction_powered_mean(judge, human, conversation, system, tuning=tuning)
    by_system = []
    for i in range(3):
        here, labelled = system == i, (system == i) & np.isfinite(human)
        by_system.append(human[labelled].mean() + tuning * (judge[here].mean() - judge[labelled].mean()))
    assert found.corrected.value == pytest.approx(np.average(by_system, weights=[80, 40, 80]))
    assert found.judge_only.value == pytest.approx(judge.mean())


def test_of_one_system_it_is_the_corrected_mean_of_that_system() -> None:
    judge, human, conversation, system = drawn(np.random.default_rng(2), 300, (0.3,))
    one = stratified.prediction_powered_mean(judge, human, conversation, system)
    other = correction.prediction_powered_mean(judge, human, conversation)
    assert one.tuning is not None and other.tuning is not None
    assert one.tuning * 0.7 == pytest.approx(other.tuning, rel=0.05), "the paper's λ is this one times n_U / n"
    assert one.corrected[:3] == pytest.approx(other.corrected[:3], abs=0.01)
    assert one.gain == pytest.approx(other.gain, rel=0.05)


def test_a_conversation_that_several_systems_answered_is_one_cluster() -> None:
    """Replies that are the same in all systems tell no more than those of one."""
    generator = np.random.default_rng(3)
    score = generator.normal(size=60)
    human = np.where(np.arange(60) < 20, score, NAN)
    one = stratified.prediction_powered_mean(score, human, np.arange(60), np.zeros(60))
    conversation, system = np.tile(np.arange(60), 4), np.repeat(np.arange(4), 60)
    four = stratified.prediction_powered_mean(np.tile(score, 4), np.tile(human, 4), conversation, system)
    assert four.corrected[:3] == pytest.approx(one.corrected[:3])
    assert four.human_only[:3] == pytest.approx(one.human_only[:3])
    assert (four.clusters, four.labelled_clusters) == (60, 20)


def test_few_labels_that_carry_a_large_system_leave_few_degrees_of_freedom() -> None:
    generator = np.random.default_rng(4)
    widths = np.zeros((60, 2))
    for row in widths:
        for i, rates in enumerate(((0.3, 0.3, 0.3), (0.05, 0.8, 0.8))):
            found = stratified.prediction_powered_mean(*drawn(generator, 100, rates)).corrected
            assert found.low is not None and found.high is not None
            row[i] = found.high - found.low
    even, uneven = widths.mean(axis=0)
    assert uneven > 1.3 * even, "though people rated twice as many"


@given(st.integers(0, 2**32 - 1))
@examples(30)
def test_the_order_of_rows_and_all_names_change_nothing(seed: int) -> None:
    generator = np.random.default_rng(seed)
    study = drawn(generator, 40)
    order = generator.permutation(120)
    names = np.array([f"system {i}" for i in generator.permutation(3)])
    one = stratified.prediction_powered_mean(*study)
    other = stratified.prediction_powered_mean(
        study.judge[order], study.human[order], study.conversation[order], names[study.system[order]]
    )
    assert other.corrected[:3] == pytest.approx(one.corrected[:3])
    assert one.tuning is not None and 0 <= one.tuning <= 1


def test_where_people_rated_all_the_judge_moves_nothing() -> None:
    judge, human, conversation, system = drawn(np.random.default_rng(5), 50, (1.0, 1.0))
    found = stratified.prediction_powered_mean(judge, human, conversation, system)
    assert found.corrected.value == pytest.approx(human.mean())
    assert found.tuning == 0


@pytest.mark.parametrize(
    ("human", "reason"),
    [
        ([1, 2, NAN, NAN], "people rated nothing of one stratum"),
        ([1, 2, 3, NAN], "fewer than 2 labelled clusters in one stratum"),
    ],
)
def test_a_stratum_that_people_did_not_rate_leaves_no_mean_of_all(human: list[float], reason: str) -> None:
    found = stratified.prediction_powered_mean([1, 2, 3, 4], human, [0, 1, 0, 1], [0, 0, 1, 1])
    assert found.corrected == found.human_only == (None, None, None, reason)
    assert found.judge_only.value == 2.5


def test_a_stratum_that_the_judge_did_not_score_leaves_nothing() -> None:
    found = stratified.prediction_powered_mean([1, 2, NAN, NAN], [1, 2, 3, 4], [0, 1, 0, 1], [0, 0, 1, 1])
    assert found.judge_only == (None, None, None, "the judge scored nothing of one stratum")
    with pytest.raises(ValueError, match="stratum has shape"):
        stratified.prediction_powered_mean([1, 2], [1, 2], [0, 1], [0])
