"""How many people and conversations it takes."""

from __future__ import annotations

import polars as pl
import pytest

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
    assert steady.conversations_needed is not None
    assert noisy.conversations_needed is not None
    assert noisy.conversations_needed > steady.conversations_needed
    assert (steady.dependability.value or 0) > 0.9


def test_conversations_that_not_all_rated_are_left_out_and_counted() -> None:
    world = people(0.5)
    frame = world.frame().filter(~((pl.col("rater") == "bea") & (pl.col("subject") == "reply 2.7")))
    [found] = made(frame).designs
    assert (found.conversations, found.left_out) == (79, 1)


@pytest.mark.parametrize("kept", [("anna", "judge"), ("anna", "bea", "judge")])
def test_one_person_has_no_design_two_have(kept: tuple[str, ...]) -> None:
    frame = people(0.5).frame().filter(pl.col("rater").is_in(kept))
    assert len(made(frame).designs) == len(kept) - 2


def test_several_replies_of_a_system_to_a_conversation_are_no_crossed_design() -> None:
    frame = people(0.5).frame().with_columns(cluster=pl.lit("one conversation"))
    assert made(frame).designs == []
