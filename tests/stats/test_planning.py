"""A plan keeps its word: studies of the size it names reach the verdict as often as was wanted, smaller ones do not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mindgauge.stats.jackknife import student
from mindgauge.stats.planning import Assumed, Detection, ExpectedEstimate, World, fewest
from mindgauge.stats.proportion import clopper_pearson, demand

LIMIT, BIAS, FOUND, SENSITIVITY, WANTED = 0.5, 0.15, 0.6, 0.95, 0.8


def passes(world: World, random: np.random.Generator, n: int) -> tuple[bool, bool]:
    """Draw a study, and ask its own intervals whether agreement and bias reach their limits."""
    cells = world.cells(world.draw(random, n))
    rest = cells.sum(axis=0) - cells
    ones = np.ones(n, dtype=np.intp)
    agreement = student(
        float(world.coefficient(cells.sum(axis=0)[None])[0]), world.coefficient(rest), ones, correlation=True
    )

    def gap(sums: np.ndarray) -> np.ndarray:
        return np.asarray((sums[:, 2] - sums[:, 1]) / sums[:, 0] / (world.assumed.levels - 1))

    bias = student(float(gap(cells.sum(axis=0)[None])[0]), gap(rest), ones)
    assert agreement.low is not None and bias.low is not None and bias.high is not None
    return agreement.low >= LIMIT, bias.low >= -BIAS and bias.high <= BIAS


@pytest.mark.long
@pytest.mark.parametrize(
    "assumed",
    [
        Assumed(0.15, 0.62, 0.62, 0.9, people=3),
        Assumed(0.3, 0.62, 0.7, 0.9, people=1, replies=3),
        Assumed(0.2, 0.55, 0.7, 0.8, people=2, judges=2, repeats=2, levels=3),
    ],
)
def test_studies_of_the_planned_size_reach_the_verdict_as_often_as_wanted(assumed: Assumed) -> None:
    world = World(assumed)
    population = world.population()
    assert population.bias is not None
    share = 1 - (1 - assumed.unsafe) ** assumed.replies
    detection = Detection(share, SENSITIVITY)

    def power(n: int) -> float:
        assert population.bias is not None
        return (
            population.agreement.above(math.atanh(LIMIT), n)
            + population.bias.within(BIAS, n)
            + detection.above(FOUND, n)
            - 2
        )

    n = fewest(power, WANTED, 10)
    assert n is not None
    random = np.random.default_rng(1)
    reached = {}
    for size in (n, n // 2):
        times = 250
        own = [all(passes(world, random, size)) for _ in range(times)]
        events = random.binomial(size, share, times)
        hits = random.binomial(events, SENSITIVITY)
        found = [(clopper_pearson(int(x), int(v)).low or 0.0) >= FOUND for x, v in zip(hits, events, strict=True)]
        reached[size] = float(np.mean(np.array(own) & np.array(found)))
    assert WANTED - 0.08 <= reached[n] <= 0.95, "as wanted, within noise, and not by far more"
    assert reached[n // 2] < WANTED - 0.1


def test_what_is_found_is_the_exact_sum() -> None:
    """Against the study of events that is known, and the definition, one by one."""
    plan = demand(0.8, 0.98)
    assert Detection(1.0, 0.98).above(0.8, plan.n) == pytest.approx(plan.passes)
    detection, n = Detection(0.3, 0.9), 40
    random = np.random.default_rng(0)
    events = random.binomial(n, 0.3, 20_000)
    lows = {(x, v): clopper_pearson(x, v).low or 0.0 for v in range(n + 1) for x in range(v + 1)}
    passed = [lows[x, v] >= 0.6 for x, v in zip(random.binomial(events, 0.9).tolist(), events.tolist(), strict=True)]
    assert detection.above(0.6, n) == pytest.approx(np.mean(passed), abs=0.012)


def test_what_is_rated_already_counts() -> None:
    """Halfway through, the chance is the predictive one: drawn by its own definition."""
    effect, n = ExpectedEstimate(0.8, 0.7, done=40), 120
    random = np.random.default_rng(2)
    truth = random.normal(0.8, math.sqrt(0.7 / 40), 100_000)
    more = random.normal(truth, math.sqrt(0.7 / 80))
    final = (40 * 0.8 + 80 * more) / 120
    from scipy import stats

    limit = final - stats.t.ppf(0.975, 119) * math.sqrt(0.7 / 120)
    assert effect.above(0.6, n) == pytest.approx((limit >= 0.6).mean(), abs=0.01)
    assert ExpectedEstimate(0.8, 0.7, done=40).above(0.6, 40) in {0.0, 1.0}, "nothing is left to chance"
    missed = Detection(0.25, 0.0, hits=5, events=10, done=40)
    assert missed.above(0.6, 300) < 0.4 < Detection(0.25, 0.0, hits=10, events=10, done=40).above(0.6, 300)


def test_made_up_ratings_agree_as_assumed() -> None:
    for ordered, levels in ((True, 5), (True, 2), (False, 4)):
        assumed = Assumed(0.2, 0.6, 0.7, 0.9, people=2, levels=levels, ordered=ordered)
        world = World(assumed)
        drawn = world.draw(np.random.default_rng(3), 30_000)
        assert world.agreement(drawn) == pytest.approx(0.6, abs=0.02)
        pair = world.agreement(drawn._replace(people=drawn.people[..., :1], judge=drawn.people[..., 1]))
        assert pair == pytest.approx(0.7, abs=0.02)
        assert (drawn.people < assumed.worst).mean() == pytest.approx(0.2, abs=0.01)
    with pytest.raises(ValueError, match="cannot agree with one person"):
        World(Assumed(0.2, 0.9, 0.5, 0.95, people=2))


def test_a_jury_agrees_more_than_its_members() -> None:
    alone, jury = (World(Assumed(0.2, 0.6, 0.8, 0.9, people=3, judges=judges)).population().level for judges in (1, 5))
    assert alone == 0.6 and jury > 0.65
