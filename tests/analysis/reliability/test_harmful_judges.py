"""A judge that would harm is not called good; a sound one is."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from mindgauge.analysis.reliability.card import BLIND_END, GOOD, NOT_ESTIMABLE
from tests.analysis.reliability.conftest import made
from tests.analysis.reliability.harmful import DESIGNS, JUDGES, Design, characteristics, study
from tests.thinned import later, sampled

if TYPE_CHECKING:
    from mindgauge.analysis.reliability.card import ReliabilityCard

MAIN, *OTHERS = DESIGNS
HARMFUL = [name for name in JUDGES if name != "sound"]


@pytest.mark.long
@pytest.mark.parametrize("studies", [2, later(4)])
def test_a_sound_judge_is_good_and_no_harmful_one_is(studies: int) -> None:
    counts = characteristics(MAIN, studies)
    assert counts["sound"][GOOD] >= 0.75 * studies
    assert {name: counts[name][GOOD] for name in HARMFUL} == dict.fromkeys(HARMFUL, 0)


@pytest.mark.long
@pytest.mark.parametrize("design", sampled(map(pytest.param, OTHERS), 3), ids=lambda design: design.name)
def test_no_harmful_judge_is_good_whatever_the_study(design: Design) -> None:
    counts = characteristics(design, 1)
    assert {name: counts[name][GOOD] for name in HARMFUL} == dict.fromkeys(HARMFUL, 0)


@pytest.mark.long
@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.name)
def test_operating_characteristics(design: Design) -> None:
    studies = 200
    counts = characteristics(design, studies)
    assert {name for name in HARMFUL if counts[name][GOOD] > 0.025 * studies} == set()
    if design == MAIN:
        assert counts["sound"][GOOD] >= 0.9 * studies


@pytest.mark.parametrize("studies", [1, later(20)])
def test_where_nothing_unsafe_was_ever_rated_nobody_is_good(studies: int) -> None:
    counts = characteristics(Design("none", unsafe=0), studies)
    assert counts["sound"] == Counter({BLIND_END: studies})
    assert {name: counts[name][GOOD] for name in HARMFUL} == dict.fromkeys(HARMFUL, 0)


def card_of(people: list[float], judge: list[float | None], **columns: list[str]) -> ReliabilityCard:
    subjects = [f"reply {i}" for i in range(len(people))]
    raters = {"anna": ("person", people), "judge": ("model", judge)}
    frame = pl.concat(
        pl.DataFrame({"subject": subjects, "value": values, **columns}, strict=False).with_columns(
            rater=pl.lit(rater), rater_kind=pl.lit(kind), criterion=pl.lit("safety")
        )
        for rater, (kind, values) in raters.items()
    )
    [card] = made(frame).cards
    return card


def test_thirty_of_thirty_agreed_is_not_good() -> None:
    values = [1.0] * 18 + [3.0] * 6 + [5.0] * 6
    card = card_of(values, list(values))
    assert card.estimates["icc_a1_within"].value == 1.0
    assert card.verdict != GOOD


def test_ten_conversations_are_ten_only_if_they_hold_alike() -> None:
    """Nine conversations of one reply and one of 91 are no ten conversations."""
    of = study(1, replies=100, unsafe=30)
    lone = [f"c{i}" if i < 9 else "the long one" for i in range(100)]
    alike = [f"c{i % 10}" for i in range(100)]
    people, sound = of.people.tolist(), of.sound.tolist()
    assert card_of(people, sound, cluster=lone).verdict == NOT_ESTIMABLE
    assert card_of(people, sound, cluster=alike).verdict != NOT_ESTIMABLE
    assert card_of(people, sound, cluster=alike).effective_clusters == pytest.approx(10)


def test_the_worst_critical_category_caps_the_verdict() -> None:
    of = study(3, replies=600, unsafe=200)
    category = np.where(np.arange(600) % 3 == 0, "suicide", "grief")
    missed = of.unsafe & (category == "suicide") & (np.arange(600) % 2 == 0)
    verdicts = np.where(missed, 3.0, of.sound)
    rows = {
        "subject": [f"reply {i}" for i in range(600)],
        "category": category.tolist(),
        "criterion": ["safety"] * 600,
    }
    frame = pl.concat(
        pl.DataFrame(rows).with_columns(rater=pl.lit(rater), rater_kind=pl.lit(kind), value=pl.Series(values))
        for rater, kind, values in (
            ("anna", "person", of.people),
            ("judge", "model", verdicts),
            ("sound", "model", of.sound),
        )
    )
    judged = {card.judge: card for card in made(frame, critical=("suicide",)).cards}
    assert judged["sound"].verdict == GOOD
    assert judged["judge"].verdict != GOOD
    assert "critical category suicide" in judged["judge"].reasons[0]


def test_a_critical_category_of_which_nothing_is_known_is_moderate_at_most() -> None:
    of = study(4)
    category = np.where(of.unsafe, "grief", np.where(np.arange(400) % 2 == 0, "suicide", "grief")).tolist()
    people, sound = of.people.tolist(), of.sound.tolist()
    card = card_of(people, sound, category=category)
    assert card.verdict == GOOD
    assert any("suicide unsafe, too few" in warning for warning in card.warnings)
