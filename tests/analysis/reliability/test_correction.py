"""A judge's means, corrected by people: of all systems together, and where they cannot be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

from mindgauge.analysis.reliability.correction import COMPLETE
from tests.analysis.reliability.conftest import World, made
from tests.thinned import later

if TYPE_CHECKING:
    from mindgauge.analysis.reliability.card import CorrectedMean, ReliabilityCard


def labelled(frame: pl.DataFrame, rates: dict[str, float], seed: int = 0) -> pl.DataFrame:
    """Keep people's ratings of a random share of each system's replies."""
    people = frame.filter(pl.col("rater_kind") == "person")
    parts = [
        part.sample(fraction=rates[str(system)], shuffle=True, seed=seed)
        for (system,), part in people.group_by("system", maintain_order=True)
    ]
    return pl.concat([frame.filter(pl.col("rater_kind") != "person"), *parts])


def rated() -> World:
    """Three systems of different quality, and a judge that is mild with the worst and strict with the best."""
    world = World(systems=3, conversations=100).rated_by("anna", "person")
    return world.rated_by("judge", noise=0.4, s0=0.9, s2=-0.9)


def row(card: ReliabilityCard, system: str) -> CorrectedMean:
    [found] = [row for row in card.corrected if row.system == system]
    return found


@pytest.mark.parametrize("seeds", [10, later(40)])
def test_the_mean_of_all_systems_is_people_s_whatever_share_of_each_they_rated(seeds: int) -> None:
    frame = rated().frame()
    true = frame.filter(pl.col("rater") == "anna")["value"].mean()
    assert isinstance(true, float)
    held = []
    for seed in range(seeds):
        [card] = made(labelled(frame, {"s0": 0.9, "s1": 0.2, "s2": 0.07}, seed), resamples=10).cards
        bound = row(card, "").corrected
        if bound.low is not None and bound.high is not None:
            held.append(bound.low <= true <= bound.high)
    assert len(held) >= 0.9 * seeds, "a random part looks chosen now and then"
    assert sum(held) >= len(held) - seeds // 20


def test_where_people_rated_everything_nothing_is_corrected() -> None:
    [card] = rated().cards().cards
    assert [(r.system, r.corrected.value, r.corrected.note, r.gain) for r in card.corrected] == [
        (name, None, COMPLETE, None) for name in ("s0", "s1", "s2", "")
    ]
    assert row(card, "").people.value == pytest.approx(card.estimates["people_mean"].value)
    [card] = made(labelled(rated().frame(), {"s0": 1.0, "s1": 0.5, "s2": 0.5})).cards
    assert row(card, "s0").corrected.note == COMPLETE
    assert row(card, "s1").corrected.low is not None
    assert row(card, "").corrected.low is not None


@pytest.mark.parametrize(("share", "said"), [(0.0, "nothing of it"), (0.03, "3 conversations of it")])
def test_a_system_that_people_hardly_rated_leaves_no_mean_of_all(share: float, said: str) -> None:
    [card] = made(labelled(rated().frame(), {"s0": 0.5, "s1": share, "s2": 0.5})).cards
    assert row(card, "s0").corrected.low is not None
    assert row(card, "s1").corrected.value is None
    assert said in row(card, "s1").corrected.note
    assert row(card, "").corrected.value is None
    assert "of s1 people rated fewer than 5 conversations" in row(card, "").corrected.note


@pytest.mark.parametrize("low", [True, False])
def test_what_the_judge_scored_unlike_the_rest_corrects_nothing(low: bool) -> None:
    frame = rated().frame()
    by_judge = frame.filter(pl.col("rater") == "judge").select(
        "subject", place=pl.col("value").rank("random", seed=1).over("system")
    )
    kept = by_judge.filter(pl.col("place") <= 25 if low else pl.col("place") > 75)["subject"].implode()
    [card] = made(frame.filter((pl.col("rater") == "judge") | pl.col("subject").is_in(kept))).cards
    side = "lower" if low else "higher"
    for mean in card.corrected:
        assert mean.corrected.value is None
        assert f"people rated what this judge scored {side}" in mean.corrected.note
    [warning] = [warning for warning in card.warnings if "people rated subjects" in warning]
    assert f"that this judge scored {side}" in warning and "no mean is corrected" in warning


def test_one_system_of_which_the_low_were_chosen_spoils_its_own_mean_and_that_of_all() -> None:
    frame = labelled(rated().frame(), {"s0": 0.3, "s1": 1.0, "s2": 0.3})
    low = frame.filter((pl.col("rater") == "judge") & (pl.col("system") == "s1")).sort("value", "subject").head(15)
    kept = (pl.col("rater") == "judge") | (pl.col("system") != "s1") | pl.col("subject").is_in(low["subject"].implode())
    [card] = made(frame.filter(kept)).cards
    assert row(card, "s0").corrected.low is not None
    assert row(card, "s1").corrected.value is row(card, "").corrected.value is None
    assert "of s1" in row(card, "").corrected.note


def test_rating_more_of_one_system_is_warned_of_and_corrected_all_the_same() -> None:
    world = World(systems=3, conversations=100).rated_by("anna", "person").rated_by("judge")
    [card] = made(labelled(world.frame(), {"s0": 0.9, "s1": 0.2, "s2": 0.1})).cards
    assert any("people rated more of the systems that this judge scored lower" in said for said in card.warnings)
    assert row(card, "").corrected.low is not None


def test_a_verdict_that_the_judge_did_not_give_stays_in_n() -> None:
    """The judge is silent on what people put lowest: people's ratings of such replies still count."""
    frame = labelled(rated().frame(), {"s0": 0.5, "s1": 0.5, "s2": 0.5})
    all_people = rated().frame().filter((pl.col("rater") == "anna") & (pl.col("system") == "s0"))
    low = all_people.filter(pl.col("value") <= 2)["subject"].implode()
    silent = (pl.col("rater") == "judge") & pl.col("subject").is_in(low)
    [card] = made(frame.with_columns(value=pl.when(~silent).then("value"))).cards
    found = row(card, "s0")
    assert (found.judged, found.rated_by_people) == (100, 50)
    true = all_people["value"].mean()
    assert found.corrected.low is not None and found.corrected.high is not None
    assert isinstance(true, float) and found.corrected.low <= true <= found.corrected.high
