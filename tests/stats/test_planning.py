"""A plan's made-up studies: they agree as assumed, and their sums give the bounds that cards compute."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from mindgauge.stats.jackknife import student
from mindgauge.stats.left_out import left_out
from mindgauge.stats.planning import STUDIES, Assumptions, World, agreement, continued, drawn, mean, tally


@pytest.mark.parametrize(
    "assumed",
    [
        Assumptions(0.2, 0.6, 0.7, 0.9, people=2),
        Assumptions(0.1, 0.65, 0.75, 0.9, people=3, replies=3),
        Assumptions(0.2, 0.6, 0.7, 0.9, people=2, classes=4),
    ],
)
def test_made_up_ratings_agree_as_assumed_and_their_means_are_exact(assumed: Assumptions) -> None:
    world = World(assumed)
    large = tally(world.draw(np.random.default_rng(3), 60_000))
    made, sums = world.population(), large.rows.sum(axis=0)[None]
    assert large.agreement(sums, "judge")[0] == pytest.approx(assumed.agreement, abs=0.01)
    assert large.agreement(sums, "people")[0] == pytest.approx(assumed.ceiling, abs=0.01)
    exact = made.rows.sum(axis=0)[None]
    assert made.agreement(exact, "judge")[0] == pytest.approx(assumed.agreement, abs=1e-3)
    called = made.of(exact, "unsafe")[0, 0] / len(made.rows)
    assert called == pytest.approx(assumed.unsafe * assumed.people * assumed.replies, rel=1e-4)
    for name in large.places:
        if name != "bias":  # none, by the model
            scale = large.rows[:, large.places[name]].std(axis=0) + 1e-3
            apart = (made.rows - large.rows.mean(axis=0))[:, made.places[name]].mean(axis=0) / scale
            assert np.abs(apart).max() < 0.03, name


def test_a_judge_like_one_more_person_shares_as_much_as_one() -> None:
    made = World(Assumptions(0.1, 0.7, 0.7, 0.95, people=3)).population()
    assert mean(made.of(made.rows.sum(axis=0)[None], "unsafe")).value[0] == pytest.approx(0.0, abs=1e-3)


def test_no_judge_agrees_with_people_far_more_than_they_do() -> None:
    with pytest.raises(ValueError, match=r"one that never errs reaches 0\.6"):
        World(Assumptions(0.2, 0.9, 0.5, 0.95, people=2))


def test_sums_of_a_study_give_the_bounds_that_cards_compute() -> None:
    world = World(Assumptions(0.2, 0.65, 0.7, 0.95, people=3, replies=2))
    of = world.draw(np.random.default_rng(4), 120)
    made = tally(of)
    sums = made.rows.sum(axis=0)[None]
    for end, calls in (("unsafe", of.unsafe), ("safe", 1 - of.unsafe)):
        known, own = left_out(calls[:, 0], calls[:, 1:], of.cluster, 0.001), mean(made.of(sums, end))
        assert own.value[0] == pytest.approx(known.difference.value)
        assert own.number[0] == pytest.approx(known.clusters)
        assert known.difference.high is not None and known.difference.low is not None
        half = (known.difference.high - known.difference.low) / 2
        t = float(special.stdtrit(known.clusters - 1, 0.95))
        assert t * own.error[0] == pytest.approx(half, rel=0.03)
    rest = agreement(made.of(sums - made.rows, "judge"), 0)
    bound = student(float(made.agreement(sums, "judge")[0]), rest, np.ones(120, dtype=np.intp), correlation=True)
    error = np.sqrt(made.of(sums, "influence")[0] / (120 * 119))
    assert bound.low is not None
    assert np.tanh(np.arctanh(made.agreement(sums, "judge")[0]) - 1.980 * error) == pytest.approx(bound.low, abs=0.01)


def test_a_jury_agrees_more_than_its_members() -> None:
    world = World(Assumptions(0.2, 0.6, 0.8, 0.9, people=3))
    alone, jury = (world.but(judges=judges).population() for judges in (1, 5))
    levels = [float(made.agreement(made.rows.sum(axis=0)[None], "judge")[0]) for made in (alone, jury)]
    assert levels[0] == pytest.approx(0.6, abs=1e-3) and levels[1] > 0.65


def test_larger_studies_spread_less_and_go_on_from_what_was_rated() -> None:
    world = World(Assumptions(0.2, 0.7, 0.7, 0.95, people=3))
    spread = [float(mean(sums[:, :5]).value.std()) for size, sums in drawn(world.population(), 100)]
    assert spread[0] > 2 * spread[5] > 6 * spread[-1], "100, 380 and 20,000 conversations"
    of = world.draw(np.random.default_rng(5), 80)
    seen, studies = continued(of)
    size, sums = next(studies)
    assert size == 80 and np.allclose(sums, seen.rows.sum(axis=0)) and len(sums) == STUDIES
    predicted = [float(mean(sums[:, :5]).value.std()) for _, sums in studies]
    assert predicted[-1] > 5 * spread[-1], "80 conversations do not say what 20,000 will"
