"""People among themselves: the figures of independent packages, with missing ratings, with and without a judge."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import krippendorff
import numpy as np
import polars as pl
import pytest

from mindgauge.records.errors import UsageError
from mindgauge.stats import agreement
from tests.analysis.reliability.conftest import World, made

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mindgauge.analysis.reliability.card import People

NAMES = ("anna", "bea", "carl", "dora")


def rated(*, missing: float = 0.0, **severity: float) -> World:
    world = World(systems=3, conversations=40, seed=5)
    for name in NAMES:
        world.rated_by(name, "person", noise=0.6, bias=-severity.get(name, 0.0), missing=missing)
    return world


def alone(world: World) -> People:
    made_ = world.cards()
    assert made_.cards == []
    [people] = made_.people
    return people


def wide(world: World) -> NDArray[np.float64]:
    values = world.frame().pivot("rater", index="subject", values="value").select(NAMES)
    return values.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def value(people: People, name: str) -> float:
    estimate = people.estimates[name]
    assert estimate.value is not None and estimate.low is not None and estimate.high is not None
    assert estimate.low < estimate.value < estimate.high
    return estimate.value


@pytest.mark.filterwarnings("ignore")  # the oracle's own
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_alpha_is_krippendorff_s_also_with_missing_ratings(missing: float) -> None:
    world = rated(missing=missing)
    expected = krippendorff.alpha(wide(world).T, level_of_measurement="ordinal", value_domain=[1, 2, 3, 4, 5])
    assert value(alone(world), "krippendorff_alpha") == pytest.approx(expected)
    card = world.rated_by("judge").card()
    assert card.estimates["ceiling_alpha"].value == pytest.approx(expected), "also beside a judge"


@pytest.mark.filterwarnings("ignore")
def test_icc_is_that_of_single_persons() -> None:
    world = rated(carl=0.8)
    ratings = wide(world)
    long = pl.DataFrame(
        [(i, name, ratings[i, j]) for i in range(len(ratings)) for j, name in enumerate(NAMES)],
        schema=["subject", "rater", "value"],
        orient="row",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pingouin  # takes seconds to import
    table = pingouin.intraclass_corr(long.to_pandas(), targets="subject", raters="rater", ratings="value")
    expected = dict(zip(table["Type"], map(float, table["ICC"]), strict=True))
    people = alone(world)
    assert value(people, "icc_a1") == pytest.approx(expected["ICC(A,1)"])
    assert value(people, "icc_c1") == pytest.approx(expected["ICC(C,1)"])
    rest = {person.rater: person.beside_rest.value or 0 for person in people.persons}
    assert min(rest[name] for name in ("anna", "bea", "dora")) > value(people, "icc_a1"), "the others' mean is steadier"


def test_fleiss_and_gwet_are_those_of_others() -> None:
    from statsmodels.stats.inter_rater import fleiss_kappa

    world = rated()
    counts = np.stack([(wide(world) == level).sum(axis=1) for level in range(1, 6)], axis=1)
    people = alone(world)
    assert value(people, "fleiss_kappa") == pytest.approx(fleiss_kappa(counts))
    expected = agreement.gwet_ac(agreement.pairs(counts.astype(float)), "quadratic", np.arange(1.0, 6.0))
    assert value(people, "gwet_ac") == pytest.approx(expected[0])
    ratings = wide(world)
    same = np.mean([np.mean(ratings[:, a] == ratings[:, b]) for a in range(4) for b in range(4) if a != b])
    assert value(people, "same_level") == pytest.approx(same)


def test_gwet_counts_what_one_person_rated_alone_as_its_author_does() -> None:
    """Such a subject says how often values are given, wherever it stands: in a conversation with others, or alone."""
    world = World(systems=1, conversations=80, seed=3)
    for name in NAMES:
        world.rated_by(name, "person", noise=0.6, missing=0.6)
    counts = np.stack([(wide(world) == level).sum(axis=1) for level in range(1, 6)], axis=1).astype(float)
    assert (counts.sum(axis=1) == 1).sum() > 10
    expected = agreement.gwet_ac(
        agreement.pairs(counts), "quadratic", np.arange(1.0, 6.0), agreement.shares(counts[counts.sum(axis=1) > 0])
    )
    assert value(alone(world), "gwet_ac") == pytest.approx(expected[0])


def test_what_one_person_rated_alone_moves_no_interval_but_gwet_s() -> None:
    world = World(systems=1, conversations=20, seed=3)
    for name in NAMES[:2]:
        world.rated_by(name, "person", noise=0.6)
    lone = pl.DataFrame([
        {"subject": f"lone {n}", "criterion": "safety", "rater": NAMES[0], "rater_kind": "person", "run": 0,
         "value": 1 + n % 5, "system": "s0", "cluster": f"lone {n}"} for n in range(200)
    ])  # fmt: skip
    paired, wider = alone(world).estimates, made(pl.concat([world.frame(), lone])).people[0].estimates
    assert wider["gwet_ac"] != paired["gwet_ac"]
    for name in paired.keys() - {"gwet_ac"}:
        assert wider[name].value == pytest.approx(paired[name].value)
        assert (wider[name].low, wider[name].high) == pytest.approx((paired[name].low, paired[name].high))


def test_who_is_stricter_is_said_with_an_interval() -> None:
    people = alone(rated(bea=0.7))
    severity = {person.rater: person.severity for person in people.persons}
    assert severity["bea"].low is not None and severity["bea"].low > 0.3
    assert all((severity[name].value or 0) < 0 for name in ("anna", "carl", "dora"))
    assert {person.n for person in people.persons} == {120}


def test_an_adjudicator_is_no_independent_person() -> None:
    world = rated()
    frame = world.frame()
    copied = frame.filter(pl.col("rater") == "anna").with_columns(rater=pl.lit("adjudicator"))
    people, with_copy = alone(world), made(pl.concat([frame, copied])).people[0]
    assert (with_copy.raters, with_copy.independent) == (5, 4)
    assert with_copy.estimates["icc_a1"] == people.estimates["icc_a1"]


def with_adjudicator(conversations: int = 200) -> pl.DataFrame:
    """Two people, a judge, and `dana`, who has whichever of the two is nearer to the judge."""
    world = World(systems=3, conversations=conversations, seed=8)
    world.rated_by("anna", "person", noise=0.6).rated_by("bea", "person", noise=0.6).rated_by("judge", noise=0.5)
    frame = world.frame()
    wide = frame.pivot("rater", index="subject", values="value")
    nearer = (pl.col("anna") - pl.col("judge")).abs() <= (pl.col("bea") - pl.col("judge")).abs()
    decided = wide.select("subject", value=pl.when(nearer).then("anna").otherwise("bea"))
    dana = frame.filter(pl.col("rater") == "anna").drop("value").join(decided, on="subject", maintain_order="left")
    return pl.concat([frame, dana.with_columns(rater=pl.lit("dana")).select(frame.columns)])


def test_an_adjudicator_who_is_called_otherwise_is_left_out_and_both_figures_are_given() -> None:
    frame = with_adjudicator()
    without = made(frame.filter(pl.col("rater") != "dana"))
    result = made(frame)
    [people], [alone_] = result.people, without.people
    assert (people.raters, people.independent) == (3, 2)
    assert people.estimates == alone_.estimates
    higher, lower = people.with_dependent["krippendorff_alpha"].value, people.estimates["krippendorff_alpha"].value
    assert higher is not None and lower is not None and higher > lower + 0.05, "an adjudicator raises agreement"
    [entry] = people.dependent
    assert (entry.rater, entry.how) == ("dana", "adjudicator")
    assert (entry.agreed, entry.sided) == (entry.unanimous, entry.split) and entry.unanimous + entry.split == 600
    [note] = [note for note in result.notes if note.startswith("dana ")]
    assert f"agrees on {entry.unanimous} of {entry.unanimous} subjects" in note and "both figures" in note
    [card], [before] = result.cards, without.cards
    assert card.reference == "anna, bea"
    assert card.agreement == before.agreement and before.with_dependent is None
    assert card.with_dependent is not None and card.with_dependent.value != card.agreement.value
    assert card.estimates["ceiling_alpha"] == before.estimates["ceiling_alpha"]
    [warning] = [line for line in card.warnings if "not independent" in line]
    assert warning.startswith(
        "dana is not independent of the others and left out: beside everybody, agreement on single replies is "
    )


def test_an_adjudicator_said_by_hand_is_left_out() -> None:
    world = rated().rated_by("judge")
    by_hand, without = world.cards(adjudicators=("dora",)), made(world.frame().filter(pl.col("rater") != "dora"))
    assert by_hand.people[0].estimates == without.people[0].estimates
    assert by_hand.people[0].dependent[0].how == "by hand"
    assert by_hand.cards[0].reference == "anna, bea, carl"
    assert by_hand.cards[0].estimates["icc_a1"] == without.cards[0].estimates["icc_a1"]
    with pytest.raises(UsageError, match="--adjudicator 'doar': no such rater; did you mean dora"):
        world.cards(adjudicators=("doar",))


def test_a_named_reference_stays_one() -> None:
    frame = with_adjudicator(80)
    result = made(frame, named=("anna", "dana"), adjudicators=("dana",))
    assert result.cards[0].reference == "anna, dana"
    assert result.people == []
    assert any("fewer than two people are independent" in note for note in result.notes)


def test_a_lone_consensus_is_what_judges_are_compared_with() -> None:
    world = World(seed=2).rated_by("consensus", "person").rated_by("judge")
    assert world.card().reference == "consensus"


def test_nothing_unsafe_that_two_people_saw_is_said() -> None:
    world = World(systems=2, conversations=60, seed=4)
    frame = world.rated_by("anna", "person").rated_by("bea", "person").frame().with_columns(pl.col("value").clip(3, 5))

    def harm(rater: str, *rows: int) -> pl.Expr:
        return (pl.col("rater") == rater) & pl.col("subject").is_in([f"reply 0.{row}" for row in rows])

    apart = frame.with_columns(value=pl.when(harm("anna", 1, 2) | harm("bea", 3)).then(1).otherwise("value"))
    notes = [note for note in made(apart).notes if "not one was called unsafe by two" in note]
    assert len(notes) == 1
    assert (
        "of 120 subjects that two people or more rated, not one was called unsafe by two of them (anna 2, bea 1)"
        in notes[0]
    )
    joint = frame.with_columns(value=pl.when(harm("anna", 1, 2) | harm("bea", 2)).then(1).otherwise("value"))
    assert not [note for note in made(joint).notes if "not one was called" in note]


def test_repeats_under_names_of_their_own_and_repeats_alone_are_said() -> None:
    world = World(systems=2, conversations=20, seed=1).rated_by("anna", "person")
    world.rated_by("gpt run 1").rated_by("gpt run 2")
    assert any(
        "gpt run 1 and gpt run 2 are by their names repeats of one judge" in note for note in world.cards().notes
    )
    one = World(systems=4, conversations=1, seed=1).rated_by("anna", "person")
    for run in range(5):
        one.rated_by("judge", run=run)
    assert any("about the judge's own noise, not about other conversations" in note for note in one.cards().notes)


def test_people_who_share_no_subject_have_no_agreement() -> None:
    frame = World().rated_by("anna", "person").rated_by("bea", "person").frame()
    apart = pl.when(pl.col("rater") == "bea").then(pl.col("subject") + " of another day").otherwise("subject")
    [people] = made(frame.with_columns(subject=apart)).people
    assert people.n == 0
    assert people.estimates["icc_a1"].note == "no subject has values from two people"


def test_people_who_never_differ_in_what_they_say_are_present_all_the_same() -> None:
    """No variation is not absence: two people who say 4 of everything rated every subject."""
    frame = World().rated_by("anna", "person").rated_by("bea", "person").rated_by("judge").frame()
    frame = frame.with_columns(value=pl.when(pl.col("rater") == "judge").then("value").otherwise(4))
    made_ = made(frame)
    assert made_.people[0].n == 480
    assert "no subject has values from two people" not in str(made_)
    assert made_.people[0].estimates["icc_a1"].value is None
    assert "all values are the same" in made_.people[0].estimates["icc_a1"].note


def test_classes_have_no_severity() -> None:
    world = rated()
    words = {1: "harm", 2: "harm", 3: "vague", 4: "fine", 5: "fine"}
    [people] = made(world.frame().with_columns(pl.col("value").replace_strict(words)), scale="").people
    assert set(people.estimates) == {"krippendorff_alpha", "fleiss_kappa", "gwet_ac", "same_level"}
    assert {person.severity.note for person in people.persons} == {"classes have no order"}


@pytest.mark.filterwarnings("ignore")
def test_a_crowd_with_hundreds_of_pairs_is_one_pool() -> None:
    random = np.random.default_rng(1)
    truth = random.normal(3, 1, 60)
    rows = [
        {"subject": f"r{i}", "criterion": "c", "rater": f"worker {r}", "rater_kind": "person",
         "value": int(np.clip(np.rint(truth[i] + random.normal(0, 0.5)), 1, 5))}
        for r in range(60) for i in random.choice(60, 12, replace=False)
    ]  # fmt: skip
    frame = pl.DataFrame(rows)
    [people] = made(frame).people
    assert people.raters == 60
    matrix = frame.pivot("subject", index="rater", values="value").drop("rater").cast(pl.Float64).to_numpy()
    expected = krippendorff.alpha(matrix, level_of_measurement="interval")
    assert value(people, "icc_a1") == pytest.approx(expected, abs=0.02)
