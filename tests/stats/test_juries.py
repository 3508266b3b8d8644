"""Like how many independent judges several err, and how near their mean comes: two numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge.stats.juries import JuryEstimate, JuryRatings, jury
from tests.thinned import examples, sampled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LARGE = 20_000


def rated(verdicts: Floats, people: Floats, cluster: NDArray[np.intp] | None = None) -> JuryRatings:
    """Put verdicts (n, k) beside what each person said, (n, p)."""
    gap = people - people.mean(axis=1, keepdims=True)
    squares = ((gap - gap.mean(axis=0)) ** 2).sum(axis=1) * (people.shape[1] > 1)
    raters = np.full(len(people), float(people.shape[1]))
    cluster = np.arange(len(people)) // 2 if cluster is None else cluster
    return JuryRatings(verdicts, people.mean(axis=1), raters, squares, people.shape[1], cluster)


def levels(seen: Floats) -> Floats:
    return np.asarray(np.clip(np.rint(seen), 1, 5))


def drawn(
    generator: np.random.Generator, n: int, *, persons: int = 2, kind: str = "independent", centre: float = 3.0,
    severity: tuple[float, float, float] = (0.0, 0.0, 0.0), slope: tuple[float, float, float] = (1.0, 1.0, 1.0),
) -> JuryRatings:  # fmt: skip
    """Let three judges and some persons rate on five levels what lies around a centre of the scale."""
    truth = generator.normal(0, 0.6, n // 2).repeat(2) + generator.normal(0, 0.8, n)
    said = levels(centre + truth[:, None] + generator.normal(0, 0.6, (n, persons)))
    error = generator.normal(0, 0.6, (n, 3))
    if kind == "copies":
        error[:] = error[:, :1]
    elif kind == "shared":
        error = np.sqrt(0.5) * (error + generator.normal(0, 0.6, (n, 1)))
    judges = centre + np.array(severity) + truth[:, None] * np.array(slope) + error
    if kind == "noise":
        judges = 3 + generator.normal(0, 1, (n, 3))
    return rated(levels(judges), said)


def value(found: JuryEstimate) -> float:
    assert found.independent.value is not None, found.independent.undefined
    return found.independent.value


def gains(found: JuryEstimate) -> tuple[float, float]:
    assert found.errors.skill.value is not None and found.errors.gain.value is not None
    return found.errors.skill.value, found.errors.gain.value


INDEPENDENT: list[tuple[dict[str, object], float]] = [
    ({}, 3),
    ({"kind": "noise"}, 3),
    ({"severity": (-1.0, 0.0, 1.0)}, 3),
    ({"slope": (0.4, 0.7, 1.2)}, 3),
    ({"centre": 4.2}, 3),
    ({"kind": "shared"}, 3 / (1 + 2 * 0.4)),
    ({"kind": "shared", "centre": 4.2}, 3 / (1 + 2 * 0.4)),
    ({"kind": "copies"}, 1),
    ({"kind": "copies", "slope": (0.8, 0.8, 0.8)}, 1),
]
"""What judges have in common, and like how many they err."""


@pytest.mark.parametrize(
    ("setting", "independent", "persons"),
    [
        pytest.param(*row, persons, marks=[] if persons == 2 + place % 2 and place % 3 == 0 else pytest.mark.long)
        for place, row in enumerate(INDEPENDENT)
        for persons in (2, 3)
    ],
)
def test_independence_is_given_people_s_value(setting: dict[str, object], independent: float, persons: int) -> None:
    """Errors that correlate .5 before they are rounded to levels correlate .4 after; severity and slope are no errors."""
    found = jury(drawn(np.random.default_rng(0), LARGE, persons=persons, **setting))  # type: ignore[arg-type]
    assert value(found) == pytest.approx(independent, rel=0.06)
    assert found.floored


def test_people_s_own_error_is_no_error_that_judges_share() -> None:
    """Against one person, three independent judges look alike; against two, or where some were rated by two, they do not."""
    generator = np.random.default_rng(1)
    one = jury(drawn(generator, LARGE, persons=1))
    assert value(one) < 1.8 and not one.floored
    study = drawn(generator, LARGE)
    alone = generator.random(LARGE) < 0.7
    people = np.where(alone, study.people + generator.choice([-1, 1], LARGE) * np.sqrt(study.squares / 2), study.people)
    some = study._replace(people=people, raters=np.where(alone, 1.0, 2.0), squares=np.where(alone, 0.0, study.squares))
    assert value(jury(some)) == pytest.approx(3, rel=0.08)


def test_judges_that_know_nothing_are_independent_and_worth_nothing() -> None:
    for seed in range(20):
        found = jury(drawn(np.random.default_rng(seed), 200, kind="noise"))
        assert value(found) > 2.3
        assert found.errors.skill.low is not None and found.errors.skill.low <= 0, "no better than a constant"
        assert found.errors.jury == pytest.approx(found.errors.constant, rel=0.1)
    assert gains(jury(drawn(np.random.default_rng(0), LARGE, kind="noise"))) == pytest.approx((0, 0), abs=0.005)


def test_the_gain_is_of_the_mean_over_the_judge_that_is_best_elsewhere() -> None:
    """Without levels everything is known: slopes are those of a regression on truth plus error."""
    generator = np.random.default_rng(2)
    truth, error = generator.normal(0, 1, LARGE), generator.normal(0, 1, (LARGE, 3)) * np.array([0.5, 0.7, 0.9])
    people = truth[:, None] + generator.normal(0, 0.6, (LARGE, 2))
    found = jury(rated(2 * truth[:, None] + 2 * error + 7, people)).errors

    def left(variance: float) -> float:
        return variance / (1 + variance)

    assert found.constant == pytest.approx(1, rel=0.03)
    assert found.best == pytest.approx(left(0.25), rel=0.04)
    assert found.average == pytest.approx(np.mean([left(v) for v in (0.25, 0.49, 0.81)]), rel=0.04)
    mean = left((0.25 + 0.49 + 0.81) / 9)
    assert found.jury == pytest.approx(mean, rel=0.05)
    assert found.gain.value == pytest.approx(1 - mean / left(0.25), abs=0.03)
    assert found.skill.value == pytest.approx(1 - mean, abs=0.01)
    copies = jury(drawn(generator, LARGE, kind="copies"))
    assert gains(copies)[1] == pytest.approx(0, abs=1e-9)


@pytest.mark.long
@pytest.mark.parametrize(
    "setting", sampled([{}, {"kind": "noise"}, {"kind": "shared"}, {"severity": (-1.0, 0.0, 1.0)}], 2)
)
def test_intervals_hold_the_truth(setting: dict[str, object]) -> None:
    large = jury(drawn(np.random.default_rng(3), 2 * LARGE, **setting))  # type: ignore[arg-type]
    true = (value(large), *gains(large))
    generator = np.random.default_rng(4)
    held = np.zeros((100, 3))
    for row in held:
        found = jury(drawn(generator, 100, **setting))  # type: ignore[arg-type]
        for i, interval in enumerate((found.independent, found.errors.skill, found.errors.gain)):
            row[i] = np.nan
            if interval.low is not None and interval.high is not None:
                row[i] = interval.low - 1e-3 <= true[i] <= interval.high + 1e-3
    assert (np.isnan(held).mean(axis=0) <= 0.1).all()
    assert (np.nanmean(held, axis=0) >= 0.89).all()


def test_no_jury_is_more_independent_than_it_has_members() -> None:
    """Two judges, one of whom errs up where the other errs down."""
    truth = np.tile([2.0, 3.0, 4.0], 20)
    error = np.tile([0.5, -0.5, 0.5, -0.5, 0.5], 12)
    people = truth[:, None] + np.random.default_rng(5).normal(0, 0.1, (60, 2))
    found = jury(rated(np.stack([truth + error, truth - error], axis=1), people))
    assert value(found) == 2
    assert found.independent.high in {2, None}


@given(st.integers(0, 2**32 - 1))
@examples(20)
def test_units_and_names_change_nothing(seed: int) -> None:
    generator = np.random.default_rng(seed)
    study = drawn(generator, 60)
    one = jury(study)
    moved = jury(study._replace(verdicts=3 * study.verdicts[:, [2, 0, 1]] - 8, cluster=study.cluster + 10))
    if one.independent.value is not None:
        assert moved.independent.value == pytest.approx(one.independent.value)
    assert moved.errors.jury == pytest.approx(one.errors.jury)
    larger = jury(study._replace(people=2 * study.people, squares=4 * study.squares))
    assert larger.errors.best == pytest.approx(4 * (one.errors.best or 0))


def test_what_cannot_be_told_says_why() -> None:
    one = jury(rated(np.ones((1, 2)), np.ones((1, 2))))
    assert "fewer than two conversations" in one.independent.undefined
    assert one.errors.jury is None
    truth = np.tile([1.0, 2.0, 3.0], 10)
    exact = jury(rated(np.stack([truth, truth], axis=1), truth[:, None]))
    assert exact.independent.value is None and "a member never errs" in exact.independent.undefined
    assert exact.errors.jury == pytest.approx(0, abs=1e-12)
