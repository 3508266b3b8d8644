"""Whether a judge favours its own: false accusations, power, and what cannot be told."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from mindgauge.stats.favour import FavourEstimate, FavourRatings, _test, favour
from tests.thinned import later

SYSTEMS = 3
GRID = [*product((-1.0, 0.0, 1.0), (-1.0, 0.0, 1.0), (0.4, 0.8, 1.2))]
"""How much better its kin write, how much milder the judge is, and its slope."""


def drawn(
    generator: np.random.Generator, conversations: int, *, gap: float = 0.0, severity: float = 0.0, slope: float = 1.0,
    persons: int = 2, fond: float = 0.0, others: int = 2, style: float = 0.0,
) -> FavourRatings:  # fmt: skip
    """Judge one reply of the judge's kin and two others in each conversation, on levels from 1 to 5.

    Args:
        generator: of chance.
        conversations: how many.
        gap: levels by which its kin write better.
        severity: levels by which the judge is milder.
        slope: of its verdicts on what a reply deserves.
        persons: who rate each reply.
        fond: levels that it gives its kin for nothing.
        others: judges of other families.
        style: levels that all judges, and no person, give the kin.
    """
    own, cluster = np.tile([True, False, False], conversations), np.repeat(np.arange(conversations), SYSTEMS)
    n = len(own)
    truth = 3 + gap * own + np.repeat(generator.normal(0, 0.5, conversations), SYSTEMS) + generator.normal(0, 0.7, n)
    people = _levels(truth[:, None] + generator.normal(0, 0.6, (n, persons)))
    shown = truth + style * own
    judge = _levels(3 + severity + slope * (shown - 3) + fond * own + generator.normal(0, 0.5, n))
    controls = [
        _levels(3 + (-1) ** k * 0.4 + (0.7 + 0.2 * k) * (shown - 3) + generator.normal(0, 0.5, n))
        for k in range(others)
    ]
    return FavourRatings(judge, people, np.stack(controls, axis=1) if controls else np.zeros((n, 0)), own, cluster)


def _levels(
    seen: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.asarray(np.clip(np.rint(seen), 1, 5))


def accused(found: FavourEstimate) -> bool:
    return found.p is not None and found.p <= 0.05


@pytest.mark.long
@pytest.mark.parametrize(
    ("persons", "grid"),
    [pytest.param(2, GRID[::4], id="2-every fourth"), *(later(persons, GRID) for persons in (1, 2, 3))],
)
def test_an_unbiased_judge_is_not_accused_whatever_its_severity_and_its_kin_s_quality(
    persons: int, grid: list[tuple[float, float, float]]
) -> None:
    """Over the grid at most 5 %, and nowhere more than chance makes of 5 %."""
    shares = []
    for gap, severity, slope in grid:
        generator = np.random.default_rng(0)
        study = {"gap": gap, "severity": severity, "slope": slope, "persons": persons}
        shares.append(np.mean([accused(favour(drawn(generator, 60, **study))) for _ in range(20)]))  # type: ignore[arg-type]
    assert np.mean(shares) <= 0.05
    assert max(shares) <= 0.15, "3 of 20"


@pytest.mark.parametrize(("gap", "severity"), [(0.0, 0.0), later(1.0, 0.0), later(-1.0, 0.0), (0.5, -1.0)])
def test_half_a_level_for_nothing_is_found(gap: float, severity: float) -> None:
    generator = np.random.default_rng(1)
    found = [favour(drawn(generator, 150, gap=gap, severity=severity, fond=0.5)) for _ in range(20)]
    assert sum(map(accused, found)) >= 18
    values = [of.beyond_people.value for of in found if of.beyond_people.value is not None]
    assert np.mean(values) == pytest.approx(0.45, abs=0.1)


def test_what_all_judges_see_in_the_kin_is_no_favour_of_one() -> None:
    generator = np.random.default_rng(2)
    found = [favour(drawn(generator, 150, style=0.6)) for _ in range(20)]
    assert sum((of.beyond_people.low or 0) > 0 for of in found) >= 18, "people do not see it"
    assert sum(map(accused, found)) <= 3


def test_with_one_person_the_truth_lies_between_two_slopes() -> None:
    """What a single person's error flattens is not known: better kin leave a wide interval, equal ones a narrow one."""
    generator = np.random.default_rng(3)
    better, equal = (favour(drawn(generator, 200, gap=gap, persons=1)).beyond_people for gap in (1.0, 0.0))
    assert better.low is not None and better.high is not None and equal.low is not None and equal.high is not None
    assert better.low < 0 < better.high
    assert better.high - better.low > 2 * (equal.high - equal.low)


def test_replies_that_an_other_judge_may_favour_itself_are_not_its_control() -> None:
    study = drawn(np.random.default_rng(4), 150, fond=0.6)
    blind = study._replace(others=np.full_like(study.others, np.nan))
    found = favour(blind)
    assert found.p is None and found.beyond_judges.undefined == "no judge of another family rated the same replies"
    assert found.beyond_people.low is not None and found.beyond_people.low > 0
    half = study.others.copy()
    half[1::SYSTEMS, 0] = np.nan
    assert accused(favour(study._replace(others=half)))


def test_what_cannot_be_told_says_why() -> None:
    few = favour(drawn(np.random.default_rng(5), 9))
    assert few.p is None and "in 9 conversations, at least 10 are needed" in few.beyond_people.undefined
    study = drawn(np.random.default_rng(6), 40)
    assert "verdicts are the same" in favour(study._replace(judge=np.full(120, 3.0))).beyond_people.undefined
    nobody = favour(study._replace(people=np.full_like(study.people, np.nan)))
    assert "in 0 conversations" in nobody.beyond_people.undefined
    missing = np.where(np.arange(120) % 7 == 0, np.nan, study.judge)
    assert favour(study._replace(judge=missing)).n == 102


def test_a_judge_that_does_not_follow_people_controls_nothing() -> None:
    generator = np.random.default_rng(8)
    study = drawn(generator, 100, fond=0.6)
    found = favour(study._replace(others=_levels(3 + generator.normal(0, 1, (300, 2)))))
    assert found.p is None and "surely follows people" in found.beyond_judges.undefined


@pytest.mark.parametrize("persons", [1, 2])
def test_where_all_people_say_the_same_there_is_nothing_to_calibrate(persons: int) -> None:
    study = drawn(np.random.default_rng(7), 40)
    same = study._replace(judge=np.where(study.own, 5.0, 3.0), people=np.full((120, persons), 3.0))
    found = favour(same).beyond_people
    assert found.value == pytest.approx(2)
    assert "every conversation tells the same" in found.undefined
    assert accused(favour(same._replace(others=np.tile([3.0, 3.0, 3.0, 4.0], 30)[:, None])))


def test_where_one_fit_never_moves_there_is_no_interval_and_the_reason_is_said() -> None:
    random = np.random.default_rng(0)
    moving = 0.3 + 0.01 * random.normal(size=21)
    interval, _ = _test([moving, np.full(21, 0.2)], 0.95)
    assert interval.low is None and interval.high is None and "no interval" in interval.undefined
