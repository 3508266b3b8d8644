"""As good as one more clinician? On cards, in the terminal and in the report's tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from mindgauge.analysis.reliability.one_more import AS_GOOD, CANNOT_TELL, NOT_SHOWN, sentence
from mindgauge.cli import cards as terminal
from tests.analysis.reliability.conftest import World, made

if TYPE_CHECKING:
    import pytest

    from mindgauge.analysis.reliability.card import OneMorePerson


def world(people: tuple[str, ...] = ("anna", "bea", "carl"), **judge: float) -> World:
    made_up = World(systems=2, conversations=80)
    for person in people:
        made_up.rated_by(person, "person", noise=0.6)
    return made_up.rated_by("judge", **({"noise": 0.6} | judge))  # type: ignore[arg-type]


def result(made_up: World, **options: object) -> OneMorePerson:
    one_more = made_up.card(**options).one_more
    assert one_more is not None
    return one_more


def test_one_more_person_is_as_good_and_a_noisy_or_shifted_judge_is_not_shown_to_be() -> None:
    person = result(world())
    assert person.outcome == AS_GOOD and person.counted == 3 and (person.winning or 0) >= 0.5
    assert person.epsilon == 0.2
    for worse in (result(world(noise=3.0)), result(world(bias=-2.0))):
        assert worse.outcome == NOT_SHOWN and worse.winning == 0.0
        assert (worse.advantage.high or 1) < (person.advantage.low or 0)


def test_two_people_cannot_tell_and_adjudicators_are_nobody_s_peers() -> None:
    two = result(world(("anna", "bea", "adjudicator")))
    assert two.outcome == CANNOT_TELL and "it takes 3 people" in two.reason and "here are 2" in two.reason
    assert two.winning is None and two.advantage.value is None


def test_who_rated_too_little_is_named_with_how_many_it_takes() -> None:
    frame = world().frame()
    late = (pl.col("rater") == "carl") & (pl.col("cluster").str.extract(r"(\d+)").cast(pl.Int64) >= 12)
    [card] = made(frame.filter(~late)).cards
    assert card.one_more is not None and card.one_more.outcome == CANNOT_TELL
    assert "carl 24 of the 30 subjects" in card.one_more.reason


def test_a_selection_by_the_judge_cannot_tell() -> None:
    frame = world().frame().with_columns(selection=pl.lit("lowest by judge"))
    [card] = made(frame).cards
    assert card.one_more is not None and card.one_more.outcome == CANNOT_TELL
    assert "lowest by judge" in card.one_more.reason


def test_missing_verdicts_lose_and_stay_in_n() -> None:
    silent = result(world(missing=0.5))
    assert silent.outcome == NOT_SHOWN
    assert all(person.n == 160 and 55 < person.missing < 105 for person in silent.persons)


def test_classes_are_tested_too() -> None:
    [card] = made(world().frame(), scale="", nominal=("safety",)).cards
    assert card.one_more is not None and card.one_more.outcome == AS_GOOD


def test_it_is_printed_beside_the_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    reliability = world().cards()
    terminal.show(reliability, full=True)
    printed = capsys.readouterr().out
    one_more = reliability.cards[0].one_more
    assert one_more is not None
    verdict = next(i for i, line in enumerate(printed.splitlines()) if line.startswith("judge, safety: "))
    assert sentence(one_more) in printed.splitlines()[verdict + 1]
    assert "As good as one more person?" in printed and "The judge in place of each person" in printed
    terminal.show(reliability, full=False)
    assert "As good as one more person?" not in capsys.readouterr().out
