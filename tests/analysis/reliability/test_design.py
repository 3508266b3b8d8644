"""How many people and conversations it takes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from mindgauge.analysis.reliability.card import NumberNeeded
from mindgauge.cli.cards import _needed
from tests.analysis.reliability.conftest import World, made
from tests.thinned import later, sampled


def people(noise: float, **shape: int) -> World:
    world = World(**shape)
    for person in ("anna", "bea", "carl"):
        world.rated_by(person, "person", noise=noise)
    return world.rated_by("judge")


def test_noisy_people_need_more_of_each_other() -> None:
    [steady] = people(0.1).cards().designs
    [noisy] = people(1.5).cards().designs
    assert (steady.design, steady.systems, steady.conversations, steady.raters) == ("crossed", 6, 80, 3)
    assert (noisy.components["residual"].value or 0) > (steady.components["residual"].value or 0)
    few, many = steady.conversations_needed, noisy.conversations_needed
    assert few.value is not None and many.value is not None and many.value > few.value
    assert few.low is not None and many.low is not None and many.low >= few.low
    assert (steady.dependability.value or 0) > 0.9


def test_one_missing_rating_changes_the_method_and_hardly_a_number() -> None:
    """Mean squares of the crossed design and crossed effects of all but one rating agree; nothing is left out."""
    frame = people(0.5).frame()
    lost = (pl.col("rater") == "bea") & (pl.col("subject") == "reply 2.7")
    [crossed], [found] = made(frame).designs, made(frame.filter(~lost)).designs
    assert (found.design, found.ratings, found.conversations) == ("people's ratings are crossed in part", 1439, 80)
    assert found.dependability.value == pytest.approx(crossed.dependability.value, abs=0.01)
    assert found.generalizability.value == pytest.approx(crossed.generalizability.value, abs=0.01)
    for part in ("system", "residual"):
        assert found.components[part].value == pytest.approx(crossed.components[part].value, rel=0.1)
    assert found.raters_needed.value == crossed.raters_needed.value
    assert found.conversations_needed.value == crossed.conversations_needed.value


@pytest.mark.parametrize("seed", sampled(range(5), 3))
def test_what_is_needed_is_a_range_and_never_a_bare_number(seed: int) -> None:
    """Three people tell little of how people vary: the range of people needed is wide, whatever the conversations."""
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
        ((ANNA & EVEN) | (BEA & ~EVEN), "each conversation has one rater"),
        ((ANNA & (pl.col("system") < "s3")) | (BEA & (pl.col("system") >= "s3")), "each system has one rater"),
        ((ANNA & EVEN) | (BEA & EVEN) | (CARL & ~EVEN), "people's ratings are crossed in part"),
        (pl.col("cluster").str.extract(r"(\d+)").cast(pl.Int64) % 6 == pl.col("system").str.slice(1).cast(pl.Int64), "conversations are nested in systems"),
        later(~CARL | EVEN, "people's ratings are crossed in part"),
    ],
)  # fmt: skip
def test_nested_and_partly_crossed_designs_have_a_study_with_intervals(kept: pl.Expr, said: str) -> None:
    frame = people(0.5).frame().filter(kept | (pl.col("rater") == "judge"))
    found = made(frame)
    [study] = found.designs
    assert study.design == said
    for bound in (study.dependability, study.generalizability, *study.components.values()):
        assert bound.value is not None and bound.low is not None and bound.high is not None
        assert 0 <= bound.low < bound.high
    [note] = [note for note in found.notes if "design study" in note]
    assert note.startswith(f"safety: {said}: the design study rests on crossed effects of all ")
    assert study.ratings == len(frame.filter(pl.col("rater") != "judge"))


def test_where_each_reply_has_one_person_nobody_knows_how_many_more_would_do() -> None:
    found = made(people(0.5).frame().filter((ANNA & EVEN) | (BEA & ~EVEN) | (pl.col("rater") == "judge")))
    [study] = found.designs
    assert _needed(study.raters_needed) == "cannot tell" and study.conversations_needed.value is not None
    assert any("each reply has one person's rating" in note for note in found.notes)


def test_people_who_each_rate_one_system_cannot_be_told_from_it() -> None:
    own = pl.concat_str(
        pl.lit("s"), pl.col("rater").replace_strict({"anna": "0", "bea": "1", "carl": "2"}, default="9")
    )
    found = made(people(0.5).frame().filter((pl.col("system") == own) | (pl.col("rater") == "judge")))
    assert found.designs == []
    [note] = [note for note in found.notes if "how many people" in note]
    assert (
        note.startswith("safety: ")
        and "systems cannot be told from people" in note
        and "raters are nested in systems" in note
    )


def test_replies_of_a_system_to_one_conversation_have_a_study() -> None:
    place = pl.col("cluster").str.extract(r"(\d+)").cast(pl.Int64) // 4
    found = made(people(0.5).frame().with_columns(cluster=pl.concat_str(pl.lit("c"), place)))
    [study] = found.designs
    assert study.design == "replies are nested in conversations" and study.conversations == 20
    assert "reply" in study.components and study.conversations_needed.value is not None


@pytest.mark.long
def test_raters_of_one_conversation_each_are_counted_with_it() -> None:
    """Every conversation has three raters of its own: their severity averages out with more conversations."""
    random = np.random.default_rng(3)
    rows = [
        {"subject": f"r{s}.{c}", "criterion": "safety", "rater": f"p{c}.{p}", "rater_kind": "person", "system": f"s{s}",
         "cluster": f"c{c}", "value": int(np.clip(np.rint(3 + 0.4 * (s - 1.5) + mild + random.normal(0, 0.6)), 1, 5))}
        for c in range(40) for p in range(3) for mild in [random.normal(0, 0.8)] for s in range(4)
    ]  # fmt: skip
    [study] = made(pl.DataFrame(rows)).designs
    assert study.design == "raters are nested in conversations"
    assert (study.dependability.value or 0) > 0.8
    assert study.conversations_needed.value is not None and study.conversations_needed.value < 40
