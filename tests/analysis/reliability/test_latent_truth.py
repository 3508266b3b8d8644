"""Errors by the latent-truth model, on cards, among people, and in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from mindgauge.analysis.reliability.coefficients import latent_truth
from mindgauge.analysis.reliability.scale import Unsafe, ValueScale
from mindgauge.cli import cards as terminal
from tests.analysis.reliability.conftest import World, made

if TYPE_CHECKING:
    import pytest


def world(people: tuple[str, ...] = ("anna", "bea", "carl"), noise: float = 0.4) -> World:
    made_up = World(systems=4, conversations=80)
    for person in people:
        made_up.rated_by(person, "person", noise=0.6)
    return made_up.rated_by("judge", noise=noise)


def test_a_card_has_the_errors_of_the_judge_and_of_each_person_and_no_verdict_uses_them() -> None:
    found = world().cards()
    [card], [people] = found.cards, found.people
    assert card.latent_truth is not None and people.latent_truth is not None
    assert [rater.rater for rater in card.latent_truth.raters] == ["anna", "bea", "carl", "judge"]
    assert [rater.rater for rater in people.latent_truth.raters] == ["anna", "bea", "carl"]
    for rater in card.latent_truth.raters:
        assert rater.n == 320 and 0.6 < (rater.sensitivity.low or 0) < (rater.sensitivity.high or 0) <= 1
    people_low = card.latent_truth.raters[0].sensitivity.value or 0
    assert (card.latent_truth.raters[3].sensitivity.value or 0) > people_low - 0.1
    assert 0.1 < (card.latent_truth.prevalence.value or 0) < 0.5
    assert not any("latent" in text or "by definition" in text for text in [*card.reasons, *card.warnings])


def test_a_falling_scale_and_one_of_many_levels_give_the_same_errors() -> None:
    people = ("anna", "bea", "carl")
    own = world().frame().filter(pl.col("rater_kind") == "person")
    first = own.select("subject", "cluster", "rater", number=pl.col("value").cast(pl.Float64))
    levels = ValueScale((1.0, 2.0, 3.0, 4.0, 5.0))
    rising = latent_truth(first, people, levels._replace(unsafe=Unsafe(2.0)))
    turned = first.with_columns(number=6 - pl.col("number"))
    falling = latent_truth(turned, people, levels._replace(unsafe=Unsafe(4.0, falling=True)))
    many = ValueScale(tuple(float(value) for value in range(1, 11)), unsafe=Unsafe(4.0))
    assert latent_truth(first, [*people, "dora"], levels._replace(unsafe=Unsafe(2.0))) == rising  # she rated nothing
    wide = latent_truth(first.with_columns(number=2 * pl.col("number")), people, many)
    assert rising is not None and falling is not None and wide is not None
    assert rising == falling
    for one, other in zip(rising.raters, wide.raters, strict=True):
        assert abs((one.sensitivity.value or 0) - (other.sensitivity.value or 0)) < 0.1


def test_one_person_and_a_judge_s_selection_have_a_note_instead() -> None:
    [card] = world(("anna",)).cards().cards
    assert card.latent_truth is not None and card.latent_truth.raters == []
    assert "it takes three raters" in card.latent_truth.note
    [card] = made(world().frame().with_columns(selection=pl.lit("lowest by judge"))).cards
    assert card.latent_truth is not None and "lowest by judge" in card.latent_truth.note


def test_the_terminal_shows_the_table_and_says_that_it_decides_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.show(world().cards(), full=True)
    text = " ".join(capsys.readouterr().out.split())
    assert "What judge and people find where no rater is right by definition" in text
    assert "no verdict uses it" in text
