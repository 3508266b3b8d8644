"""`reliability --plan`, before labelling begins and during."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import polars as pl
import pytest
from typer.testing import CliRunner

import mindgauge
from mindgauge.cli import app
from mindgauge.records.errors import UsageError
from tests.analysis.reliability.conftest import World

if TYPE_CHECKING:
    from pathlib import Path


def said(*words: object) -> str:
    result = CliRunner().invoke(app, ["reliability", *map(str, words)])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.long
def test_before_labelling_one_sentence_says_what_each_verdict_takes() -> None:
    start = time.process_time()
    plan = mindgauge.reliability_plan(assume={"unsafe": 0.1, "agreement": 0.7, "people": 3})
    assert time.process_time() - start < 10
    moderate, good = plan.rows
    assert moderate.replies is not None and moderate.unsafe == round(0.1 * moderate.replies)
    assert moderate.sentence == (
        f"to call the judge moderate with power 0.80: {moderate.replies} replies of {moderate.conversations} conversations, "
        f"{moderate.unsafe} of them unsafe, rated by 3 people"
    )
    assert (moderate.power or 0) >= 0.8
    assert (
        good.replies is None and good.jury is not None and "agreement 0.70" in good.sentence and "jury" in good.sentence
    )
    assert len(str(plan).splitlines()) <= 10


@pytest.mark.long
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
    assert row["people"] == 2 and row["with_people"]["5"] <= row["with_people"]["1"]


@pytest.mark.long
def test_during_labelling_the_plan_rests_on_what_was_rated(tmp_path: Path) -> None:
    world = World(systems=1, conversations=60)
    for person in ("anna", "bea", "carl"):
        world.rated_by(person, "person", noise=0.3)
    path = tmp_path / "ratings.csv"
    world.rated_by("judge", noise=0.3).frame().write_csv(path)
    plan = mindgauge.reliability_plan(path, scale="1:5")
    moderate, good = plan.rows
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
        (("--verdict", "good"), "go with --plan"),
        ((), "name a run directory or a ratings file"),
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
