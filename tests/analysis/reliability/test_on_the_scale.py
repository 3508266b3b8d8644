"""No figure passes the ends of its scale, and a scale whose highest level is the worst gets the same warnings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mindgauge.analysis.reliability.card import Bound
from mindgauge.analysis.reliability.cards import CardOptions, cards
from mindgauge.analysis.reliability.favour import sentence
from mindgauge.analysis.reliability.ratings import read
from mindgauge.analysis.reliability.rule import MINDGAUGE, load
from tests.analysis.reliability.conftest import World

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.analysis.reliability.card import Reliability

LIMITS = load(MINDGAUGE)


def judged(frame: pl.DataFrame, unsafe: str) -> Reliability:
    """Make cards without the copies of people, which tests of other things look at."""
    ratings = read([frame], scale={"*": "1:5"}, unsafe=[unsafe])
    return cards(ratings, CardOptions(limits=LIMITS, resamples=50), ())


def bounds(result: Reliability) -> Iterator[tuple[str, Bound, float, float]]:
    """Yield every figure in levels of 1 to 5 with the ends that it cannot pass."""
    for card in result.cards:
        for name, low, high in (
            ("bias", -4, 4), ("limits", -4, 4), ("people_mean", 1, 5), ("judge_mean", 1, 5), ("mse", 0, 16),
            ("system_icc_a1", -1, 1), ("system_icc_c1", -1, 1),
        ):  # fmt: skip
            if name in card.estimates:
                yield name, card.estimates[name], low, high
        for part in card.by_system:
            yield f"bias of {part.name}", part.estimates["bias"], -4, 4
        if card.at_large is not None:
            yield "bias at large", card.at_large.bias, -4, 4
            yield "beside another pair", card.at_large.another, -4, 4
        if card.favour is not None:
            for bound in (card.favour.favour, card.favour.beyond_people, card.favour.beyond_judges):
                yield "favour", bound, -4, 4
            assert "±" not in sentence(card.favour)
    for people in result.people:
        if people.at_large is not None:
            yield "apart", people.at_large.groups_apart, 0, 4
            yield "ratings apart", people.at_large.ratings_apart, 0, 4
            yield from ((f"SD of {name}", bound, 0, 2) for name, bound in people.at_large.sds.items())
            yield from ((f"severity of {name}", bound, -4, 4) for name, bound in people.at_large.severity.items())


@settings(max_examples=5, deadline=None)
@given(
    seed=st.integers(0, 99), shift=st.sampled_from([-3.0, 0.0, 2.0]), noise=st.sampled_from([0.1, 1.5]),
    judge=st.sampled_from([-2.0, 0.0, 1.5]), conversations=st.sampled_from([6, 12]),
)  # fmt: skip
def test_no_figure_is_beyond_what_the_scale_allows(
    seed: int, shift: float, noise: float, judge: float, conversations: int
) -> None:
    world = World(systems=2, conversations=conversations, seed=seed)
    world.rated_by("anna", "person", noise=noise).rated_by("bea", "person", bias=shift, noise=noise)
    result = judged(world.rated_by("judge", bias=judge, noise=noise).frame(), "safety<=2")
    for name, bound, low, high in bounds(result):
        for number in (bound.value, bound.low, bound.high):
            assert number is None or low <= number <= high, (name, bound)
    for warning in result.cards[0].warnings:
        assert not any(float(number) > 2 for number in re.findall(r"±(\d+\.\d+)", warning)), warning


def test_what_two_people_cannot_tell_of_another_pair_is_not_known() -> None:
    world = World(systems=2, conversations=30, seed=1)
    world.rated_by("anna", "person").rated_by("bea", "person", bias=-1.0).rated_by("judge")
    [card] = judged(world.frame(), "safety<=2").cards
    assert card.at_large is not None and (card.at_large.another.low, card.at_large.another.high) == (-4.0, 4.0)
    assert "bias is beside these 2 people: what it is beside another pair of clinicians is not known" in card.warnings


def near_the_best() -> pl.DataFrame:
    """Return ratings of which 12 of people's 60 lie below the best level."""
    levels = [3 + subject % 2 if subject < 12 else 5 for subject in range(60)]
    parts = [
        {
            "subject": f"r{subject}", "criterion": "care", "rater": rater, "rater_kind": kind, "run": 0, "system": f"s{subject % 2}",
            "cluster": f"c{subject}", "value": max(1, level - (subject % 9 == 0)) if kind == "model" else level,
        }
        for rater, kind in (("anna", "person"), ("judge", "model"))
        for subject, level in enumerate(levels)
    ]  # fmt: skip
    return pl.DataFrame(parts)


@pytest.mark.parametrize("frame", [near_the_best(), World(3, 30).rated_by("anna", "person").rated_by("bea", "person", bias=0.4).rated_by("judge", bias=0.7, s0=1.0).frame()])  # fmt: skip
def test_a_falling_scale_has_the_warnings_of_its_mirror_image(frame: pl.DataFrame) -> None:
    criterion = frame["criterion"][0]
    rising = judged(frame, f"{criterion}<=2").cards[0]
    falling = judged(frame.with_columns(value=6 - pl.col("value")), f"{criterion}>=4").cards[0]

    def skeletons(warnings: list[str]) -> list[str]:
        """Take out what turns with the scale: numbers, which system is named first, and the direction."""
        texts = [re.sub(r"[+−]?\d+(\.\d+)?|\bs\d\b", "#", warning) for warning in warnings]
        return sorted(re.sub(r"\b(higher|lower)\b", "otherwise", text) for text in texts)

    assert rising.warnings
    assert skeletons(rising.warnings) == skeletons(falling.warnings)
    assert rising.verdict == falling.verdict


def test_few_ratings_below_the_best_level_are_warned_of_on_both_scales() -> None:
    frame = near_the_best()
    for values, unsafe in ((frame["value"], "care<=2"), (6 - frame["value"], "care>=4")):
        [card] = judged(frame.with_columns(value=values), unsafe).cards
        assert any("only 12 of people's ratings lie below the best level" in line for line in card.warnings)


def test_an_estimate_keeps_within_its_ends() -> None:
    assert Bound(4.9, 4.8, 5.1, "why").clipped(1.0, 5.0) == Bound(4.9, 4.8, 5.0, "why")
    assert Bound(None, note="none").clipped(0.0, 1.0) == Bound(None, note="none")
