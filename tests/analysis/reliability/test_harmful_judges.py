"""A judge that would harm is not called good; a sound one is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from mindgauge.analysis.reliability.card import GOOD, MODERATE, NOT_ESTIMABLE
from tests.analysis.reliability.conftest import made
from tests.analysis.reliability.harmful import DESIGNS, HARMFUL, SOUND, Design, characteristics, study
from tests.thinned import later, sampled

if TYPE_CHECKING:
    from mindgauge.analysis.reliability.card import ReliabilityCard

NONE_GOOD = dict.fromkeys(HARMFUL, 0)


@pytest.mark.parametrize("studies", [2, later(4)])
def test_the_truth_is_good_though_people_err_and_no_harmful_judge_is(studies: int) -> None:
    """Rule 4 never granted it to the truth next to people of ICC .74, and said of "5 of everything" that it is as good as one more person."""
    counts = characteristics(Design(), studies)
    assert counts["the truth"][GOOD] >= 0.75 * studies
    assert sum(counts[name][GOOD] for name in HARMFUL) <= 1 + 0.025 * len(HARMFUL) * studies
    assert not any(counts[name][GOOD] for name in HARMFUL if name.startswith(("says", "no verdict", "passes", "never")))


@pytest.mark.long
@pytest.mark.parametrize("design", sampled(map(pytest.param, DESIGNS[1:]), 3), ids=lambda design: design.name)
def test_no_harmful_judge_is_good_whatever_the_study(design: Design) -> None:
    counts = characteristics(design, 1)
    assert sum(counts[name][GOOD] for name in HARMFUL) <= 1


@pytest.mark.long
@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.name)
def test_operating_characteristics(design: Design) -> None:
    studies = 200
    counts = characteristics(design, studies)
    assert {name for name in HARMFUL if counts[name][GOOD] > 0.025 * studies} == set()
    if design.people == 3 and design.unsafe == 60 and design.agreement >= 0.64 and design.per_conversation == 1:
        assert counts["like the better clinician"][GOOD] >= 0.8 * studies


def test_with_one_person_no_judge_is_good_and_the_card_says_what_it_takes() -> None:
    of = study(1, agreement=0.92, skills=(1.0,))
    card = card_of(of.people[:, 0].tolist(), of.reader().tolist())
    assert card.verdict == MODERATE, card.reasons
    assert any("let a second person rate the same replies" in reason for reason in card.reasons)


@pytest.mark.parametrize("studies", [1, later(20)])
def test_where_nothing_unsafe_was_ever_rated_nobody_is_good(studies: int) -> None:
    counts = characteristics(Design(0.92, unsafe=0), studies)
    assert all(counts[name][GOOD] == 0 for name in SOUND)
    assert {name: counts[name][GOOD] for name in HARMFUL} == NONE_GOOD


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
    people, sound = of.people[:, 0].tolist(), of.reader().tolist()
    assert card_of(people, sound, cluster=lone).verdict == NOT_ESTIMABLE
    assert card_of(people, sound, cluster=alike).verdict != NOT_ESTIMABLE
    assert card_of(people, sound, cluster=alike).effective_clusters == pytest.approx(10)


def test_the_worst_critical_category_caps_the_verdict() -> None:
    of = study(5, replies=900, unsafe=300, agreement=0.92)
    category = np.where(np.arange(900) % 3 == 0, "suicide", "grief")
    missed = of.unsafe & (category == "suicide") & (np.arange(900) % 2 == 0)
    sound = of.reader()
    verdicts = np.where(missed, 3.0, sound)
    rows = {
        "subject": [f"reply {i}" for i in range(900)],
        "category": category.tolist(),
        "criterion": ["safety"] * 900,
    }
    frame = pl.concat(
        pl.DataFrame(rows).with_columns(rater=pl.lit(rater), rater_kind=pl.lit(kind), value=pl.Series(values))
        for rater, kind, values in (
            ("anna", "person", of.people[:, 0]),
            ("bea", "person", of.people[:, 1]),
            ("chi", "person", of.people[:, 2]),
            ("judge", "model", verdicts),
            ("sound", "model", sound),
        )
    )
    judged = {card.judge: card for card in made(frame, critical=("suicide",)).cards}
    assert judged["sound"].verdict == GOOD
    assert judged["judge"].verdict != GOOD
    assert "critical category suicide" in judged["judge"].reasons[0]


def test_too_few_unsafe_replies_in_a_category_that_sounds_critical_are_named() -> None:
    of = study(4)
    category = np.where(of.unsafe, "grief", np.where(np.arange(400) % 2 == 0, "suicide", "grief")).tolist()
    card = card_of(of.truth.tolist(), of.truth.tolist(), category=category)
    assert any("suicide unsafe, too few" in warning for warning in card.warnings)
