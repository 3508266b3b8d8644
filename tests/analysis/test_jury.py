"""Juries: what each says, what becomes of a missing verdict, and what a panel is worth."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from mindgauge.analysis.frame import TIE
from mindgauge.analysis.jury.jury import Bench, JuryMethod, verdicts, weights
from mindgauge.analysis.jury.panels import CHOSEN
from mindgauge.analysis.reliability.scale import ValueScale
from mindgauge.commands.judges.panel import judges_panel as panel
from mindgauge.commands.reliability import reliability
from mindgauge.records.errors import DataError, UsageError
from mindgauge.reports import juries
from tests.analysis.reliability.conftest import World
from tests.thinned import examples, later

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.analysis.jury.jury import JuryCard, Panels
    from mindgauge.analysis.reliability.card import ReliabilityCard

FIVE = ValueScale((1.0, 2.0, 3.0, 4.0, 5.0))
_SCHEMA = {
    **dict.fromkeys(("subject", "rater", "rater_kind", "value", "status", "cluster"), pl.String),
    "run": pl.Int64,
    "number": pl.Float64,
}


def rows(*verdict: tuple[str, str, float | str | None], run: int = 0) -> pl.DataFrame:
    """Make ratings of (subject, rater, value), where a word is a status."""
    found = [
        {
            "subject": subject, "rater": rater, "rater_kind": "model", "cluster": subject, "run": run,
            "number": None if isinstance(value, str) else value, "value": None if isinstance(value, str) else str(value),
            "status": value if isinstance(value, str) else "ok",
        }
        for subject, rater, value in verdict
    ]  # fmt: skip
    return pl.DataFrame(found, _SCHEMA)


def one(
    how: JuryMethod, *values: float | str | None, quorum: int | None = None, scale: ValueScale = FIVE
) -> tuple[str, Any]:
    """Return the status and value of a jury on one reply; a member of None was not asked about it."""
    members = [f"j{i}" for i in range(len(values))]
    asked = [("r", m, v) for m, v in zip(members, values, strict=True) if v is not None]
    bench = Bench.of(rows(*asked, *(("other", m, 3.0) for m in members)), members, scale)
    row = verdicts(bench, how, quorum).filter(pl.col("subject") == "r").row(0, named=True)
    assert row["rater_kind"] == "panel"
    assert row["rater"] == f"jury/{how}"
    return row["status"], row["number"]


@examples(30)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=6))
def test_juries_say_what_numpy_says(values: list[int]) -> None:
    given_ = [float(v) for v in values]
    assert one(JuryMethod.MEAN, *given_) == ("ok", pytest.approx(np.mean(values)))
    assert one(JuryMethod.MINIMUM, *given_) == ("ok", min(values))
    assert one(JuryMethod.MEDIAN, *given_) == ("ok", sorted(values)[(len(values) - 1) // 2])
    most = sorted(np.unique(values, return_counts=True)[1])
    value = max(set(values), key=values.count)
    tie = len(most) > 1 and most[-1] == most[-2]
    assert one(JuryMethod.MAJORITY, *given_) == ((TIE, None) if tie else ("ok", value))


@pytest.mark.parametrize("how", list(JuryMethod)[:4])
def test_a_missing_verdict_of_a_member_is_never_dropped(how: JuryMethod) -> None:
    assert one(how, 4.0, "refused", 4.0) == ("refused", None)
    assert one(how, 4.0, "unparsable", "failed") == ("unparsable", None)
    assert one(how, 4.0, None, 4.0) == ("failed", None)
    assert one(how, 4.0, "not_applicable", 4.0) == (TIE, None)
    assert one(how, "not_applicable", "not_applicable") == ("not_applicable", None)
    assert one(how, "not_applicable", None) == (TIE, None)


def test_a_quorum_is_enough_if_it_is_asked_for() -> None:
    assert one(JuryMethod.MEAN, 4.0, "refused", 2.0, quorum=2) == ("ok", 3.0)
    assert one(JuryMethod.MEAN, 4.0, "refused", "failed", quorum=2) == ("refused", None)


@pytest.mark.parametrize("how", list(JuryMethod))
def test_a_jury_of_one_is_that_judge(how: JuryMethod) -> None:
    bench = Bench.of(
        rows(*((f"r{i}", "j0", float(i % 5 + 1)) for i in range(10)), ("r10", "j0", "filtered")), ["j0"], FIVE
    )
    alone = pl.DataFrame({"cluster": [f"r{i}" for i in range(11)], "rater": ["j0"] * 11, "weight": [1.0] * 11})
    found = verdicts(bench, how, weights=alone).sort("subject")
    own = bench.rows.sort("subject")
    assert found.select("subject", "run", "status", "number").equals(own.select("subject", "run", "status", "number"))


def test_a_jury_sits_as_often_as_the_member_asked_least() -> None:
    often = pl.concat([rows(("r", "a", 2.0), run=3), rows(("r", "a", 4.0), run=7), rows(("r", "b", 4.0))])
    bench = Bench.of(often, ["a", "b"], FIVE)
    assert bench.sittings == 1
    assert verdicts(bench, JuryMethod.MEAN)["number"].to_list() == [3.0]


def test_words_stay_words_and_classes_have_a_majority_only() -> None:
    words = ValueScale((0.0, 1.0, 2.0), ("none", "some", "full"))
    bench = Bench.of(rows(("r", "a", 1.0), ("r", "b", 2.0), ("r", "c", 2.0)), ["a", "b", "c"], words)
    assert verdicts(bench, JuryMethod.MAJORITY)["value"].to_list() == ["full"]
    assert verdicts(bench, JuryMethod.MINIMUM)["value"].to_list() == ["some"]
    with pytest.raises(ValueError, match="majority"):
        verdicts(bench._replace(scale=words._replace(ordered=False)), JuryMethod.MEAN)


def test_weights_are_from_other_conversations_and_leave_bias_out() -> None:
    """Three judges: exact but 2 too high, blurred, and one that errs in one conversation only."""
    generator = np.random.default_rng(0)
    names = [f"r{i}" for i in range(40)]
    truth = generator.uniform(1, 5, 40)
    people = pl.DataFrame({"subject": names, "number": truth})
    errors = {
        "exact": np.full(40, 2.0),
        "blurred": generator.normal(0, 1, 40),
        "once": np.where(np.arange(40) == 7, 5.0, 0),
    }
    judged = pl.concat(
        [
            pl.DataFrame({"subject": names, "cluster": names, "rater": [j] * 40, "number": truth + e})
            for j, e in errors.items()
        ]
    )
    found = weights(judged, people, list(errors), pl.Series([*names, "elsewhere"]))
    by = {(c, r): w for c, r, w in found.iter_rows()}
    assert found.group_by("cluster").agg(pl.col("weight").sum())["weight"].to_list() == pytest.approx([1.0] * 41)
    assert by["r0", "exact"] > 10 * by["r0", "blurred"]
    assert by["r7", "once"] == pytest.approx(by["r7", "exact"]), "its error is not seen where it would be used"
    assert by["r8", "once"] < by["r8", "exact"]
    others = {j: np.delete(e, 3) for j, e in errors.items()}
    usual = np.mean([e.var() for e in others.values()])
    raw = {j: 40 / (e.var() * 39 + usual) for j, e in others.items()}
    assert by["r3", "blurred"] == pytest.approx(raw["blurred"] / sum(raw.values()))


def of(world: World, **options: Any) -> Panels:
    return panel(world.frame(), resamples=200, **options)


def card(found: JuryCard, rater: str) -> ReliabilityCard:
    [card_] = [each for each in found.cards if each.judge == rater]
    return card_


def three(**more: Any) -> World:
    world = World().rated_by("H1", "person").rated_by("H2", "person")
    return world.rated_by("a", noise=0.6, **more).rated_by("b", noise=0.6).rated_by("c", noise=1.5)


@functools.cache
def usual() -> Panels:
    """Return the panel of three judges beside two people."""
    return of(three())


@pytest.mark.long
def test_members_have_the_figures_that_reliability_gives_them_and_juries_stand_beside() -> None:
    world = three()
    [found] = usual().panels
    assert found.members == ["a", "b", "c"]
    own = {each.judge: each for each in reliability(world.frame(), resamples=200).cards}
    for name in found.members:
        assert card(found, name).estimates == own[name].estimates
    assert card(found, "jury/mean").estimates["pearson"].value == pytest.approx(_pearson(world), abs=1e-9)
    names = [f"jury/{how}" for how in JuryMethod]
    assert [each.judge for each in found.cards] == ["a", "b", "c", *names, CHOSEN]
    mse = {each.judge: each.estimates["mse"].value or 0 for each in found.cards}
    assert mse["jury/weighted"] < mse["jury/mean"] < mse["c"]
    assert mse["jury/mean"] < min(mse["a"], mse["b"])
    table = usual().table
    assert set(table["rater"]) == {"a", "b", "c", *names, CHOSEN}
    assert table.filter("member")["rater"].to_list() == ["a", "b", "c"]


def _pearson(world: World) -> float:
    wide = world.frame().pivot("rater", index="subject", values="value")
    jury = wide.select(pl.mean_horizontal("a", "b", "c")).to_series()
    people = pl.concat([wide["H1"], wide["H2"]])
    return float(np.corrcoef(people, pl.concat([jury, jury]))[0, 1])


def test_a_missing_verdict_is_missing_in_every_jury_and_in_no_one_else() -> None:
    [found] = of(three(missing=0.1)).panels
    lost = card(found, "a").missing
    assert lost > 20
    assert card(found, "b").missing == 0
    assert found.incomplete == lost
    assert {card(found, f"jury/{how}").missing for how in ("mean", "median", "minimum", "weighted")} == {lost}
    [with_two] = of(three(missing=0.1), quorum=2, how=["mean"]).panels
    assert card(with_two, "jury/mean").missing == 0


@pytest.mark.long
@pytest.mark.parametrize("worlds", [2, later(6)])
def test_the_judge_chosen_on_other_conversations_does_not_profit_from_luck(worlds: int) -> None:
    """Eight judges of equal skill: the best on these subjects looks better than the one chosen elsewhere turns out."""
    flattered = []
    for seed in range(worlds):
        world = World(systems=2, conversations=12, seed=seed).rated_by("H1", "person")
        for i in range(8):
            world.rated_by(f"j{i}", noise=1.2)
        [found] = of(world, how=["mean"]).panels
        best, chosen = (card(found, name).estimates["icc_a1"].value or 0 for name in (found.best, CHOSEN))
        assert sum(found.chosen.values()) == 10
        flattered.append(best - chosen)
    assert np.mean(flattered) > 0.02
    assert min(flattered) >= 0


def test_independent_noise_is_never_called_a_worth() -> None:
    """Judges that say anything at random are as independent as can be, and follow nobody."""
    world = World().rated_by("H1", "person").rated_by("H2", "person")
    for name in "abc":
        world.rated_by(name, noise=60)
    [found] = of(world, how=["mean"]).panels
    assert found.independent.value == pytest.approx(3, abs=0.4)
    assert not found.errors.follows
    said = " ".join(juries.together(found))
    assert "are not shown to follow people" in said
    assert "independent" not in said + juries.finding({"safety": found})


def test_independence_and_gain_are_two_sentences() -> None:
    [found] = usual().panels
    assert found.errors.follows and found.errors.floored
    independence, gain = juries.together(found)
    assert f"err like {found.independent.value:.2f} independent judges" in independence
    assert "squared error is" in gain and "worth" not in independence + gain
    assert (found.errors.jury or 9) < (found.errors.average or 0) < (found.errors.constant or 0)


def test_copies_of_a_judge_err_like_one_and_gain_nothing() -> None:
    frame = three().frame()
    own = frame.filter(pl.col("rater") == "a")
    people = frame.filter(pl.col("rater_kind") == "person")
    copies = [own.with_columns(rater=pl.lit(name)) for name in "xyz"]
    [found] = panel(pl.concat([people, *copies]), how=["mean"], resamples=200).panels
    assert found.independent.value == pytest.approx(1)
    assert found.errors.gain.value == pytest.approx(0)
    assert "0 % smaller" not in " ".join(juries.together(found))


@pytest.mark.long
@pytest.mark.parametrize("people", [later(1), 2, later(3)])
def test_people_s_own_error_is_taken_off_where_it_is_known(people: int) -> None:
    """Three judges whose errors correlate .5, against people who err as much as they and of whom one is milder."""
    generator = np.random.default_rng(2)
    n, shared = 6000, generator.normal(0, 0.3, 6000)
    truth = generator.uniform(2, 4, n)
    said = {f"H{i}": ("person", truth + 0.4 * (i == 0) + generator.normal(0, 0.5, n)) for i in range(people)}
    said |= {f"j{i}": ("model", truth + shared + generator.normal(0, 0.3, n)) for i in range(3)}
    table = pl.concat([
        pl.DataFrame({
            "subject": [f"r{i}" for i in range(n)], "criterion": "q", "rater": name, "rater_kind": kind,
            "value": values, "cluster": [f"c{i // 2}" for i in range(n)],
        }) for name, (kind, values) in said.items()
    ])  # fmt: skip
    found = panel(table, how=["mean"], scale="-1:7", resamples=200)
    [one_] = found.panels
    said_ = " ".join(juries.together(one_))
    if people == 1:
        assert (one_.independent.value or 9) < 1.4, "one person's error stays in it"
        assert any("no subject was rated by two people" in note for note in found.notes)
        assert "independent judges or more" in said_
        assert "at least" in juries.finding({"q": one_})
    else:
        assert one_.independent.value == pytest.approx(1.5, rel=0.05)
        assert (one_.independent.low or 9) <= 1.5 <= (one_.independent.high or 0)
        assert not any("rated by two people" in note for note in found.notes)
        assert "or more" not in said_


def test_what_people_rated_and_no_judge_did_is_said() -> None:
    """People rated what was chosen for them; of a part of it nobody else has a verdict."""
    frame = three().frame().with_columns(selection=pl.when(pl.col("rater_kind") == "person").then(pl.lit("lowest")))
    subjects = frame["subject"].unique().sort().to_list()
    known = frame.filter((pl.col("rater_kind") == "person") | ~pl.col("subject").is_in(subjects[:7]))
    notes = panel(known, how=["mean"], resamples=200).notes
    assert f"safety: people rated {len(subjects)} subjects; no judge of the panel has a verdict on 7 of these, so figures beside people are of {len(subjects) - 7}" in notes  # fmt: skip
    assert any("safety: these subjects were chosen for people (lowest)" in note for note in notes)
    assert not any("has a verdict on" in note for note in usual().notes)


def test_judges_on_other_scales_are_named() -> None:
    frame = three().frame()
    other = pl.when(pl.col("rater") == "c").then(pl.col("value") * 20).otherwise(pl.col("value"))
    notes = panel(frame.with_columns(value=other), how=["mean"], resamples=200).notes
    said = [note for note in notes if "have no value in common" in note]
    assert "safety: a and c have no value in common (1:5 and 20:100); are they on the same scale?" in said
    assert len(said) == 4, "with each of the two people and the two other judges"
    assert not any("in common" in note for note in usual().notes)


def test_where_nobody_can_be_chosen_nobody_is() -> None:
    """Judges that refuse everything follow people nowhere."""
    [found] = of(World().rated_by("H1", "person").rated_by("a", missing=1.1).rated_by("b", missing=1.1)).panels
    assert (found.best, found.chosen) == ("", {})
    assert CHOSEN not in {each.judge for each in found.cards}


def test_rankings_without_one_judge() -> None:
    """A judge who lifts the worst system to the top changes the ranking; without it the order is the others'."""
    world = World(systems=4).rated_by("H1", "person").rated_by("a").rated_by("b").rated_by("friend", s0=4.0, noise=0.1)
    [found] = of(world, how=["mean"]).panels
    by = {each.judge: each for each in found.without}
    means = world.frame().group_by("rater", "system").agg(pl.col("value").mean()).pivot("rater", index="system", values="value").sort("system")  # fmt: skip
    every = means.select(pl.mean_horizontal("a", "b", "friend")).to_series()
    rest = means.select(pl.mean_horizontal("a", "b")).to_series()
    assert by["friend"].tau.value == pytest.approx(kendalltau(every, rest).statistic)
    assert by["friend"].first == "s3"
    assert found.means["jury/mean"]["s0"] == pytest.approx(every[0])
    assert (by["a"].same_first or 0) >= 0


def test_a_panel_without_people_is_a_panel() -> None:
    found = of(World().rated_by("a").rated_by("b").rated_by("refusal", "rule"))
    [one_] = found.panels
    assert one_.members == ["a", "b"]
    assert one_.cards == []
    assert one_.independent.value is one_.errors.jury is None
    assert "not known" in " ".join(juries.together(one_))
    assert one_.without
    assert set(one_.means) == {"a", "b", "jury/mean", "jury/median", "jury/majority", "jury/minimum"}
    assert any("no person rated" in note for note in found.notes)
    assert any("no weights" in note for note in found.notes)
    assert any("the worse of the two in the middle" in note for note in found.notes)
    assert msgspec.json.decode(msgspec.json.encode(found))["people"] == []


def test_classes_have_a_majority_and_no_correlation() -> None:
    frame = three().frame().with_columns(value=pl.col("value").replace_strict({1: "a", 2: "a", 3: "b", 4: "c", 5: "c"}))
    found = panel(frame, resamples=200)
    [one_] = found.panels
    assert [each.judge for each in one_.cards if each.judge.startswith("jury")] == ["jury/majority"]
    assert card(one_, "jury/majority").estimates["alpha"].value is not None
    assert one_.independent.note == "classes have no correlation"
    assert sum("classes have no" in note for note in found.notes) == 4


def test_what_is_no_panel_is_said(tmp_path: Path) -> None:
    alone = World().rated_by("H1", "person").rated_by("a")
    with pytest.raises(UsageError, match="a jury needs at least two judges; found a"):
        of(alone)
    with pytest.raises(UsageError, match="no rater 'z'; raters are"):
        of(three(), judges=["a", "z"])
    with pytest.raises(UsageError, match="did you mean median"):
        of(three(), how=["medain"])
    with pytest.raises(UsageError, match="the panel has 3 members"):
        of(three(), quorum=4)
    with pytest.raises(UsageError, match="no criterion 'x'; the criteria are safety"):
        of(three(), criteria=["x"])
    with pytest.raises(DataError, match="no criterion is rated by two judges"):
        of(World().rated_by("H1", "person").rated_by("a").rated_by("b", criterion="other"))
    with pytest.raises(UsageError):
        panel(tmp_path)
