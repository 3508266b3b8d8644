"""`reliability --plan`, before labelling begins and during."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import mindgauge
from mindgauge.analysis.reliability import plan, rule
from mindgauge.analysis.reliability.card import GOOD, MODERATE
from mindgauge.analysis.reliability.cards import CardOptions, cards
from mindgauge.analysis.reliability.ratings import read
from mindgauge.cli import app
from mindgauge.records.errors import UsageError
from mindgauge.stats import planning
from tests.analysis.reliability.conftest import World

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.stats.planning import RatedReplies


def said(*words: object) -> str:
    result = CliRunner().invoke(app, ["reliability", *map(str, words)])
    assert result.exit_code == 0, result.output
    return result.output


def rated(of: RatedReplies) -> pl.DataFrame:
    """Return made-up ratings as a table."""
    raters = ["judge", *(f"person {i}" for i in range(1, of.values.shape[1]))]
    known = pl.DataFrame({"subject": np.arange(len(of.values)), "cluster": of.cluster}).cast(pl.String)
    return pl.concat(
        known.with_columns(
            pl.Series("value", values + 1, dtype=pl.Int64), criterion=pl.lit("safety"), rater=pl.lit(rater),
            rater_kind=pl.lit("model" if rater == "judge" else "person"),
        )
        for rater, values in zip(raters, of.values.T, strict=True)
    )  # fmt: skip


@pytest.mark.parametrize(("agreement", "people", "replies", "verdict"), [(0.7, 3, 1, MODERATE), (0.9, 2, 3, GOOD)])
def test_studies_of_the_planned_size_reach_the_verdict_about_as_often_as_planned(
    agreement: float, people: int, replies: int, verdict: str
) -> None:
    """117 replies were planned for the first, with which the rule says moderate in one of twenty studies."""
    limits = rule.load(rule.MINDGAUGE)
    given = planning.Assumptions(unsafe=0.1, agreement=agreement, people=people, replies=replies)
    [row] = plan.before(given, limits, [verdict], 0.8)
    assert row.conversations is not None and row.replies is not None and row.replies > 234
    world = planning.World(given)
    random, passed, as_planned = np.random.default_rng(2), 0, 0
    for _ in range(14):
        of = world.draw(random, row.conversations)
        ratings = read([rated(of)], scale={"*": "1:5"}, unsafe=["safety<=2"])
        made = cards(ratings, CardOptions(limits, resamples=10, brief=True))
        passed += made.cards[0].verdict in {GOOD, verdict}
        [again] = plan.during(made, ratings, limits, [verdict], 0.99)
        as_planned += (again.conversations == row.conversations) == (made.cards[0].verdict in {GOOD, verdict})
    assert 7 <= passed < 14
    assert as_planned >= 13, "of what was rated, the plan says what the card says"


def test_before_labelling_one_sentence_says_what_each_verdict_takes() -> None:
    made = mindgauge.reliability_plan(assume={"unsafe": 0.1, "agreement": 0.7, "people": 3})
    moderate, good = made.rows
    assert moderate.replies is not None and moderate.unsafe == round(0.1 * moderate.replies)
    assert moderate.sentence == (
        f"to call the judge moderate with power 0.80: {moderate.replies} replies of {moderate.conversations} conversations, "
        f"{moderate.unsafe} of them unsafe, rated by 3 people; the judge shares 53 % of a person's unsafe calls, another person 53 %"
    )
    assert (moderate.power or 0) >= 0.8 and good.replies is not None and good.replies > 2 * moderate.replies
    assert good.with_people[1] is None, "with one person no judge is good"
    assert len(str(made).splitlines()) <= 10


def test_what_cannot_be_reached_is_said() -> None:
    alone = mindgauge.reliability_plan(verdict="good", assume={"people": 1}).rows[0]
    assert alone.replies is None and "it takes two people on the same replies" in alone.sentence
    apart = mindgauge.reliability_plan(verdict="good", assume={"agreement": 0.45, "unsafe": 0.3}).rows[0]
    assert (
        apart.replies is None and "people agree to 0.45 with each other, and are a measure from 0.50 on" in apart.reason
    )
    assert "jury" not in apart.sentence
    weak = mindgauge.reliability_plan(
        verdict="moderate", assume={"agreement": 0.55, "ceiling": 0.75, "unsafe": 0.3}
    ).rows[0]
    assert weak.replies is None and weak.jury == 3 and "a jury of 3 such judges" in weak.sentence


def test_rarer_unsafe_replies_take_more_and_more_people_never_more() -> None:
    rare, common = (
        mindgauge.reliability_plan(verdict="moderate", assume={"unsafe": share}).rows[0] for share in (0.03, 0.2)
    )
    assert rare.replies is not None and common.replies is not None and rare.replies > 2 * common.replies
    close = mindgauge.reliability_plan(verdict="moderate", assume={"agreement": 0.6, "unsafe": 0.4}).rows[0]
    numbers = [number for number in close.with_people.values() if number is not None]
    assert len(numbers) == 4 and numbers == sorted(numbers, reverse=True) and numbers[0] > numbers[-1]


def test_the_command_prints_a_table_and_sentences_and_json() -> None:
    words = ("--plan", "--verdict", "good", "--assume", "unsafe=0.2,agreement=0.9", "--assume", "people=2")
    printed = said(*words)
    assert "What a verdict takes, with power 0.80" in printed and "rated by 2 people" in printed
    [row] = json.loads(said(*words, "--json"))["rows"]
    assert row["people"] == 2 and row["with_people"]["5"] <= row["with_people"]["2"] and row["people_share"] > 0.8


@pytest.mark.long
def test_during_labelling_the_plan_rests_on_what_was_rated(tmp_path: Path) -> None:
    world = World(systems=1, conversations=60)
    for person in ("anna", "bea", "carl"):
        world.rated_by(person, "person", noise=0.3)
    path = tmp_path / "ratings.csv"
    world.rated_by("judge", noise=0.3).frame().write_csv(path)
    moderate, good = mindgauge.reliability_plan(path, scale="1:5").rows
    assert (moderate.criterion, moderate.judge, moderate.rated, moderate.people) == ("safety", "judge", 60, 3)
    assert moderate.replies is not None and (good.replies is None or good.replies >= moderate.replies)
    assert "(60 are rated already)" in moderate.sentence and "on safety" in moderate.sentence
    with pytest.raises(UsageError, match="the judges' ratings say it"):
        mindgauge.reliability_plan(path, scale="1:5", assume={"unsafe": 0.1})


@pytest.mark.long
def test_people_alone_say_what_a_judge_as_one_more_of_them_would_take() -> None:
    world = World(systems=1, conversations=60)
    for person in ("anna", "bea"):
        world.rated_by(person, "person", noise=0.4)
    rows = mindgauge.reliability_plan(world.frame(), scale="1:5", verdict="moderate").rows
    assert [row.criterion for row in rows] == ["safety"] and rows[0].people == 2 and rows[0].replies is not None


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--plan", "--verdict", "best"), "--verdict best: moderate or good"),
        (("--plan", "--power", "1.5"), "--power 1.5"),
        (("--plan", "--assume", "unsafe"), "write NAME=NUMBER"),
        (("--plan", "--assume", "unsafe=2"), "--assume unsafe=2: must lie between 0 and 1"),
        (("--plan", "--assume", "people=2.5"), "must be a whole number"),
        (("--plan", "--assume", "nothing=1"), "may be unsafe, agreement"),
        (("--plan", "--assume", "agreement=0.9,ceiling=0.4"), "cannot agree with one person"),
        (
            ("--plan", "--assume", "found=0.98"),
            "what a judge finds follows from agreement, ceiling and unsafe; leave it out",
        ),
        (("--verdict", "good"), "goes with --plan"),
        ((), "Missing argument"),
    ],
)
def test_what_cannot_be_planned_is_one_line(words: tuple[str, ...], reason: str) -> None:
    result = CliRunner().invoke(app, ["reliability", *words])
    assert result.exit_code != 0
    assert reason in (result.output + str(result.exception))


def test_a_judge_who_says_too_little_so_far_gets_a_reason() -> None:
    world = World(systems=1, conversations=40).rated_by("anna", "person", noise=0.0).rated_by("judge", noise=0.0)
    frame = world.frame().with_columns(value=pl.lit(4))
    [row, _] = mindgauge.reliability_plan(frame, scale="1:5").rows
    assert row.replies is None and "agreement" in row.reason
