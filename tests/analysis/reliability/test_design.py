"""How many people and conversations it takes."""

from __future__ import annotations

import polars as pl
import pytest

from mindgauge.analysis.reliability.card import NumberNeeded
from mindgauge.cli.cards import _needed
from tests.analysis.reliability.conftest import World, made


def people(noise: float, **shape: int) -> World:
    world = World(**shape)
    for person in ("anna", "bea", "carl"):
        world.rated_by(person, "person", noise=noise)
    return world.rated_by("judge")


def test_noisy_people_need_more_of_each_other() -> None:
    [steady] = people(0.1).cards().designs
    [noisy] = people(1.5).cards().designs
    assert (steady.systems, steady.conversations, steady.raters, steady.left_out) == (6, 80, 3, 0)
    assert (noisy.components["residual"].value or 0) > (steady.components["residual"].value or 0)
    few, many = steady.conversations_needed, noisy.conversations_needed
    assert few.value is not None and many.value is not None and many.value > few.value
    assert few.low is not None and many.low is not None and many.low >= few.low
    assert (steady.dependability.value or 0) > 0.9


def test_conversations_that_not_all_rated_are_left_out_and_counted() -> None:
    world = people(0.5)
    frame = world.frame().filter(~((pl.col("rater") == "bea") & (pl.col("subject") == "reply 2.7")))
    [found] = made(frame).designs
    assert (found.conversations, found.left_out) == (79, 1)


def test_what_is_needed_is_a_range_and_never_a_bare_number() -> None:
    """Three people tell little of how people vary: the range of people needed is wide, whatever the conversations."""
    for seed in range(5):
        [found] = people(2.5, conversations=15, seed=seed).cards().designs
        needed = found.raters_needed
        assert needed.low is not None
        assert needed.high is None or needed.high >= 2 * needed.low


@pytest.mark.parametrize(
    ("needed", "said"),
    [
        (NumberNeeded(7, 3, 19), "7 [3, 19]"),
        (NumberNeeded(7, 3, None), "at least 3"),
        (NumberNeeded(None, 3, None), "at least 3"),
        (NumberNeeded(2, 1, None), "cannot tell"),
        (NumberNeeded(None, None, None), "no number does"),
    ],
)
def test_how_many_it_takes_in_words(needed: NumberNeeded, said: str) -> None:
    assert _needed(needed) == said


@pytest.mark.parametrize("kept", [("anna", "judge"), ("anna", "bea", "judge")])
def test_one_person_has_no_design_two_have(kept: tuple[str, ...]) -> None:
    frame = people(0.5).frame().filter(pl.col("rater").is_in(kept))
    assert len(made(frame).designs) == len(kept) - 2


ANNA, BEA, CARL = (pl.col("rater") == name for name in ("anna", "bea", "carl"))
EVEN = pl.col("cluster").str.extract(r"(\d+)").cast(pl.Int64) % 2 == 0


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        (
            (ANNA & EVEN) | (BEA & ~EVEN),
            "raters are nested in conversations: no conversation was rated by more than one",
        ),
        ((ANNA & (pl.col("system") < "s3")) | (BEA & (pl.col("system") >= "s3")), "raters are nested in systems"),
        ((ANNA & EVEN) | (BEA & EVEN) | (CARL & ~EVEN), "crossed in part only: in fewer than two conversations"),
    ],
)
def test_nested_and_partly_crossed_designs_say_that_they_are_not_covered(kept: pl.Expr, said: str) -> None:
    frame = people(0.5).frame().filter(kept | (pl.col("rater") == "judge"))
    found = made(frame)
    assert found.designs == []
    [note] = [note for note in found.notes if "how many people" in note]
    assert note.startswith("safety: ") and said in note and "does not cover" in note


def test_a_study_of_a_part_says_of_which() -> None:
    frame = people(0.5).frame().filter(~CARL | EVEN)
    found = made(frame)
    [study] = found.designs
    assert (study.conversations, study.left_out) == (40, 40)
    assert any("crossed in part only: the design study rests on 40 of 80 conversations" in note for note in found.notes)
    assert not any("design study" in note for note in people(0.5).cards().notes)


def test_several_replies_of_a_system_to_a_conversation_are_no_crossed_design() -> None:
    frame = people(0.5).frame().with_columns(cluster=pl.lit("one conversation"))
    found = made(frame)
    assert found.designs == []
    assert any("several replies of one system" in note and "not covered" in note for note in found.notes)
