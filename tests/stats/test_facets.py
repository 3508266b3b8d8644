"""Many facets: planted severities and difficulties come back, slopes are right, and what has no bound is said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import optimize, special

from mindgauge.stats import facets as module
from mindgauge.stats.facets import facets

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEVERITY, DIFFICULTY = np.array([-1.0, -0.2, 0.3, 0.9]), np.array([-0.5, 0.0, 0.5])
THRESHOLDS = np.array([-1.2, -0.3, 0.4, 1.1])


def drawn(
    subjects: int, seed: int, missing: float = 0.4
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Draw ratings from Linacre's model; some subjects are rated by some raters only."""
    random = np.random.default_rng(seed)
    subject, rater, criterion = (index.ravel() for index in np.indices((subjects, 4, 3)))
    level = 1.3 * random.normal(size=subjects)[subject] - SEVERITY[rater] - DIFFICULTY[criterion]
    steps = np.concatenate([np.zeros((len(level), 1)), np.cumsum(level[:, None] - THRESHOLDS, axis=1)], axis=1)
    chances = special.softmax(steps, axis=1).cumsum(axis=1)
    values = (random.random(len(level))[:, None] > chances).sum(axis=1)
    kept = random.random(len(level)) > missing
    return subject[kept], rater[kept], criterion[kept], values[kept].astype(float), subject[kept]


def test_planted_severities_and_difficulties_come_back() -> None:
    told = facets(*drawn(400, 1))
    assert [interval.value for interval in told.severity] == pytest.approx(SEVERITY, abs=0.2)
    assert [interval.value for interval in told.difficulty] == pytest.approx(DIFFICULTY, abs=0.2)
    assert told.thresholds == pytest.approx(THRESHOLDS, abs=0.25) and told.spread == pytest.approx(1.3, abs=0.2)
    assert told.subjects == 400 and told.clusters == 400


def test_intervals_hold_what_was_planted() -> None:
    held = []
    for seed in range(25):
        told = facets(*drawn(60, seed))
        for interval, truth in zip((*told.severity, *told.difficulty), (*SEVERITY, *DIFFICULTY), strict=True):
            assert interval.low is not None and interval.high is not None
            held.append(interval.low <= truth <= interval.high)
    assert np.mean(held) > 0.88


def test_slopes_and_scores_are_those_of_the_likelihood() -> None:
    table = module._tabled(*drawn(50, 2)[:4])
    point = np.random.default_rng(0).normal(0, 0.3, 3 + 2 + 4 + 1)
    difference = optimize.check_grad(lambda p: module._loss(table, p)[0], lambda p: module._loss(table, p)[1], point)
    assert difference < 1e-3
    assert (table.times @ module._scores(table, point)) == pytest.approx(-module._loss(table, point)[1], abs=1e-8)


def test_subjects_that_were_rated_alike_are_counted_and_not_computed_again() -> None:
    subject, rater, criterion, values, _ = drawn(50, 2)
    count = subject.max() + 1
    once = module._tabled(subject, rater, criterion, values)
    thrice = module._tabled(
        np.concatenate([subject + count * copy for copy in range(3)]),
        *(np.tile(part, 3) for part in (rater, criterion, values)),
    )
    point = np.random.default_rng(0).normal(0, 0.3, 3 + 2 + 4 + 1)
    assert thrice.level_counts.shape == once.level_counts.shape and thrice.times.tolist() == (3 * once.times).tolist()
    assert module._loss(thrice, point)[0] == pytest.approx(3 * module._loss(once, point)[0])
    assert module._loss(thrice, point)[1] == pytest.approx(3 * module._loss(once, point)[1])


def test_the_likelihood_is_that_of_every_rating_under_every_level() -> None:
    subject, rater, criterion, values, _ = drawn(6, 3)
    table = module._tabled(subject, rater, criterion, values)
    point = np.random.default_rng(1).normal(0, 0.3, table.raters + table.criteria - 2 + table.levels)
    severity, difficulty, thresholds, spread = module._parts(table, point)
    _, x = np.unique(values, return_inverse=True)
    nodes = np.linspace(-6, 6, 2001)
    weight = np.exp(-0.5 * nodes**2) / np.exp(-0.5 * nodes**2).sum()
    total = 0.0
    for name in np.unique(subject):
        chance = weight.copy()
        for r, c, level in zip(*(part[subject == name] for part in (rater, criterion, x)), strict=True):
            steps = np.cumsum(spread * nodes - severity[r] - difficulty[c] - thresholds[:, None], axis=0)
            logits = np.vstack([np.zeros(len(nodes)), steps])
            chance *= special.softmax(logits, axis=0)[level]
        total += np.log(chance.sum())
    assert -module._loss(table, point)[0] == pytest.approx(total, abs=1e-4)


def test_a_rater_at_one_end_has_no_severity_and_the_reason_is_said() -> None:
    subject, rater, criterion, values, cluster = drawn(80, 4)
    told = facets(subject, rater, criterion, np.where(rater == 2, values.max(), values), cluster)
    assert told.severity[2].value is None and "highest" in told.severity[2].undefined
    assert all(told.severity[i].value is not None for i in (0, 1, 3))


def test_few_conversations_have_no_numbers() -> None:
    subject, rater, criterion, values, _ = drawn(80, 5)
    told = facets(subject, rater, criterion, values, subject % 6)
    assert told.severity == [] and "6 conversations" in told.undefined
