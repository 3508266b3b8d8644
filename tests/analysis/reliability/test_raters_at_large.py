"""People as a sample of people: other clinicians, severities, many facets, and who diverges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
import polars as pl
import pytest

from mindgauge.cli import cards as terminal
from tests.analysis.reliability.conftest import World, made

if TYPE_CHECKING:
    from mindgauge.analysis.reliability.card import Bound, Reliability

NAMES = ("anna", "bea", "carl", "dora")


def known(bound: Bound) -> tuple[float, float, float]:
    assert bound.value is not None and bound.low is not None and bound.high is not None, bound.note
    assert bound.low <= bound.value <= bound.high
    return bound.value, bound.low, bound.high


def rated(people: int = 4, **severity: float) -> World:
    world = World(systems=3, conversations=60, seed=3)
    for name in NAMES[:people]:
        world.rated_by(name, "person", noise=0.5, bias=-severity.get(name, 0.0))
    return world


def test_every_number_about_other_people_has_an_interval_or_a_reason() -> None:
    result = rated(anna=0.8).rated_by("judge", bias=0.3).cards()
    [people], [card] = result.people, result.cards
    told = people.at_large
    assert told is not None and told.factors == {"subject": 180, "conversation": 60, "rater": 4}
    for bound in (
        *told.sds.values(),
        *told.shares.values(),
        told.single,
        told.mean_of,
        told.groups_apart,
        told.ratings_apart,
    ):
        known(bound)
    for bound in told.severity.values():
        known(bound)
    assert max(told.severity, key=lambda name: known(told.severity[name])[0]) == "anna"
    assert known(told.single)[0] == pytest.approx(people.estimates["icc_a1"].value, abs=0.05)
    assert card.at_large is not None and known(card.at_large.bias)[0] == pytest.approx(
        card.estimates["bias"].value, abs=0.05
    )


def test_partly_crossed_ratings_count_too() -> None:
    frame = rated(bea=1.0).frame()
    random = np.random.default_rng(1)
    order = pl.Series(random.random(len(frame)))
    part = frame.with_columns(order=order).sort("order").group_by("subject", maintain_order=True).head(2).drop("order")
    [people] = made(part).people
    told = people.at_large
    assert told is not None and told.n == 360
    value, low, high = known(told.severity["bea"])
    assert 0.4 < value < 1.0 and high - low < 4
    known(told.single)


def test_two_people_are_no_promise_about_other_pairs() -> None:
    two, four = (rated(people, anna=0.5).rated_by("judge").cards() for people in (2, 4))
    widths = []
    for result in (two, four):
        [card] = result.cards
        assert card.at_large is not None
        _, low, high = known(card.estimates["bias"])
        _, wide_low, wide_high = known(card.at_large.bias)
        _, other_low, other_high = known(card.at_large.another)
        assert other_low < wide_low < low < high < wide_high < other_high
        widths.append(other_high - other_low)
    assert widths[0] > 4 * widths[1]
    assert any("another pair of clinicians" in line for line in two.cards[0].warnings)


def test_one_person_is_no_sample() -> None:
    [card] = rated(1).rated_by("judge").cards().cards
    assert card.at_large is not None and card.at_large.bias.value is None
    assert card.at_large.bias.note == card.at_large.another.note == "one person is no sample of people"


def test_where_nobody_rated_twice_the_reason_is_said() -> None:
    frame = rated(2).frame()
    place = pl.int_range(pl.len()).over("rater")
    shared = frame.filter((place % 2 == 0) == (pl.col("rater") == "anna"))
    judged = pl.concat([shared, rated(0).rated_by("judge").frame()], how="vertical_relaxed")
    [card] = made(judged).cards
    assert (
        card.at_large is not None
        and card.at_large.bias.value is None
        and "values from two people" in card.at_large.bias.note
    )


def test_severities_in_logits_are_those_planted_over_criteria_of_one_scale() -> None:
    world = World(systems=3, conversations=60, seed=8)
    for criterion, ease in (("warmth", 0.7), ("safety", -0.7)):
        for name, severity in zip(NAMES[:3], (0.6, 0.0, -0.6), strict=True):
            world.rated_by(name, "person", noise=0.6, bias=ease - severity, criterion=criterion)
    [view] = world.cards().facets
    assert view.criteria == ["safety", "warmth"] and view.conversations == 60 and view.n == 1080
    severities = [known(view.severity[name])[0] for name in NAMES[:3]]
    assert severities[0] > 0.5 > -0.5 > severities[2] and sum(severities) == pytest.approx(0.0, abs=1e-6)
    assert known(view.difficulty["safety"])[1] > 0 > known(view.difficulty["warmth"])[2]


def test_where_the_highest_level_is_the_worst_the_severe_person_gives_high_ones() -> None:
    frame = rated(3, anna=0.9).frame().with_columns(value=6 - pl.col("value"))
    result = msgspec.json.encode(_with_rule(frame))
    told = msgspec.json.decode(result)
    [people], [view] = told["people"], told["facets"]
    assert people["at_large"]["severity"]["anna"]["value"] > 0 and view["severity"]["anna"]["value"] > 0
    assert people["persons"][0]["severity"]["value"] > 0


def _with_rule(frame: pl.DataFrame) -> Reliability:
    from mindgauge.commands.reliability import reliability

    return reliability(frame, scale="1:5", unsafe="safety>=4")


def opposed(conversations: int = 80) -> pl.DataFrame:
    """Three people on two categories; on `grief` dora turns the scale round."""
    random = np.random.default_rng(0)
    rows = []
    for place in range(conversations):
        level = 3 + 1.2 * random.normal()
        category = "grief" if place % 2 else "sleep"
        for name in ("anna", "bea", "dora"):
            own = 6 - level if name == "dora" and category == "grief" else level
            value = int(np.clip(np.rint(own + 0.4 * random.normal()), 1, 5))
            rows.append({"subject": f"r{place}", "criterion": "safety", "rater": name, "rater_kind": "person", "value": value, "category": category})  # fmt: skip
    return pl.DataFrame(rows)


def test_negative_agreement_is_named_where_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    result = made(opposed())
    [people] = result.people
    by_place = {(profile.rater, profile.category): profile for profile in people.profiles}
    assert by_place["dora", "grief"].negative == "below chance" and known(by_place["dora", "grief"].agreement)[2] < 0
    assert by_place["dora", "sleep"].negative == by_place["anna", "sleep"].negative == ""
    assert {place for place, profile in by_place.items() if profile.negative == "below chance"} == {("dora", "grief")}
    terminal.show(result, full=False)
    printed = capsys.readouterr().out
    assert "dora in grief" in printed and "below chance" in printed


def test_a_category_of_few_conversations_has_a_reason_in_place_of_numbers() -> None:
    [people] = made(opposed(16)).people
    profile = next(part for part in people.profiles if part.category == "grief")
    assert profile.agreement.value is None and "8 conversations" in profile.agreement.note and profile.negative == ""


def test_classes_have_profiles_and_no_severity() -> None:
    frame = opposed().with_columns(value=pl.when(pl.col("value") > 3).then(pl.lit("safe")).otherwise(pl.lit("unsafe")))
    [people] = made(frame, scale="", nominal=("safety",)).people
    assert people.at_large is None
    profile = next(part for part in people.profiles if (part.rater, part.category) == ("dora", "grief"))
    assert profile.severity.note == "classes have no order" and profile.negative == "below chance"


def test_the_terminal_prints_what_other_clinicians_would_say(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.show(rated(3, anna=0.6).rated_by("judge", bias=0.4).cards(), full=True)
    printed = capsys.readouterr().out
    for text in (
        "What other clinicians would say",
        "Who is stricter",
        "Severity and difficulty in logits",
        "beside another pair",
    ):
        assert text in printed, text
    assert "Who diverges, and where" in printed
    terminal.show(rated(3).cards(), full=False)
    assert "Who diverges" not in capsys.readouterr().out
