"""A card says of each judge what is true of it."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import krippendorff
import numpy as np
import polars as pl
import pytest
from scipy.stats import pearsonr
from sklearn.metrics import cohen_kappa_score

from mindgauge.analysis.reliability.card import GOOD, LIMITED, MODERATE, NOT_ESTIMABLE
from mindgauge.analysis.reliability.favour import CANNOT_TELL, FAVOURS, NO_SIGN
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.rounding import count
from tests.analysis.reliability.conftest import World, made

if TYPE_CHECKING:
    from mindgauge.analysis.reliability.card import ReliabilityCard


def value(card: ReliabilityCard, name: str) -> float:
    found = card.estimates[name].value
    assert found is not None, (name, card.estimates[name].note)
    return found


def interval(card: ReliabilityCard, name: str) -> tuple[float, float]:
    found = card.estimates[name]
    assert found.low is not None and found.high is not None
    return found.low, found.high


# -- the numbers are those of others ----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")  # the oracle's own
def test_estimates_are_those_of_independent_libraries(world: World) -> None:
    world.rated_by("anna", "person").rated_by("judge", bias=0.4, noise=0.8)
    card = world.card()
    wide = world.frame().pivot("rater", index=["subject", "system"], values="value")
    x, y = wide["anna"].to_numpy(), wide["judge"].to_numpy()
    assert value(card, "percent") == pytest.approx(np.mean(x == y))
    assert value(card, "within_1") == pytest.approx(np.mean(abs(x - y) <= 1))
    assert value(card, "kappa") == pytest.approx(cohen_kappa_score(x, y))
    assert value(card, "kappa_quadratic") == pytest.approx(cohen_kappa_score(x, y, weights="quadratic"))
    alpha = krippendorff.alpha(np.stack([x, y]), level_of_measurement="ordinal", value_domain=[1, 2, 3, 4, 5])
    assert value(card, "alpha") == pytest.approx(alpha)
    assert value(card, "pearson") == pytest.approx(pearsonr(x, y).statistic)
    assert value(card, "bias") == pytest.approx(y.mean() - x.mean())
    assert value(card, "mse") == pytest.approx(np.mean((y - x) ** 2.0))
    assert sum(v or 0 for v in card.bias_parts.values()) == pytest.approx(value(card, "mse"))
    expected = _pingouin(x, y)
    assert value(card, "icc_a1") == pytest.approx(expected["ICC2"])
    assert value(card, "icc_c1") == pytest.approx(expected["ICC3"])
    means = wide.group_by("system").agg(pl.col("anna", "judge").mean())
    expected = _pingouin(means["anna"].to_numpy(), means["judge"].to_numpy())
    assert value(card, "system_icc_a1") == pytest.approx(expected["ICC2"])
    assert value(card, "system_icc_c1") == pytest.approx(expected["ICC3"])


def _pingouin(x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    long = pl.DataFrame(
        {"s": [*range(len(x))] * 2, "r": ["x"] * len(x) + ["y"] * len(x), "v": [*map(float, x), *map(float, y)]}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pingouin  # takes seconds to import
    found = pingouin.intraclass_corr(long.to_pandas(), targets="s", raters="r", ratings="v")
    names = {"ICC(A,1)": "ICC2", "ICC(C,1)": "ICC3"}
    return {names.get(str(t), str(t)): float(v) for t, v in zip(found["Type"], found["ICC"], strict=True)}


@pytest.mark.filterwarnings("ignore")
def test_a_judge_is_beside_one_person_at_a_time_and_each_subject_counts_once(world: World) -> None:
    for person in ("anna", "bea", "carl"):
        world.rated_by(person, "person", noise=0.6)
    card = world.rated_by("judge").card()
    wide = world.frame().pivot("rater", index="subject", values="value")
    people = wide.select(pl.mean_horizontal("anna", "bea", "carl")).to_series().to_numpy()
    assert value(card, "people_mean") == pytest.approx(people.mean())
    each = [_pingouin(wide[p].to_numpy(), wide["judge"].to_numpy())["ICC2"] for p in ("anna", "bea", "carl")]
    assert value(card, "icc_a1") == pytest.approx(np.mean(each), abs=0.01)
    same = [np.mean(wide[p].to_numpy() == wide["judge"].to_numpy()) for p in ("anna", "bea", "carl")]
    assert value(card, "percent") == pytest.approx(np.mean(same))


@pytest.mark.long
def test_more_people_make_agreement_surer_and_not_higher() -> None:
    def card(people: int) -> ReliabilityCard:
        world = World(systems=4, conversations=300)
        for number in range(people):
            world.rated_by(f"person {number}", "person", noise=0.9)
        return world.rated_by("judge", noise=0.9).card()

    cards = [card(people) for people in (1, 3, 12)]
    values = [value(card, "icc_a1_within") for card in cards]
    assert max(values) - min(values) < 0.06
    assert {card.verdict for card in cards} == {LIMITED}


# -- verdicts ---------------------------------------------------------------------------------------------------------


def test_a_judge_who_agrees_with_people_is_good(world: World) -> None:
    people = world.rated_by("anna", "person", noise=0.05).rated_by("bea", "person", noise=0.05)
    card = people.rated_by("judge", noise=0.05).card()
    assert card.verdict == card.rate_replies.verdict == card.rank_systems.verdict == GOOD
    assert card.rate_replies.granted and card.rank_systems.granted


def test_a_constant_bias_leaves_the_ranking_and_takes_the_rating(world: World) -> None:
    card = world.rated_by("anna", "person").rated_by("judge", bias=1.0).card()
    assert (card.rate_replies.verdict, card.rank_systems.verdict) == (LIMITED, GOOD)
    assert "bias is" in " ".join(card.reasons)
    assert (card.bias_parts["constant"] or 0) > 5 * (card.bias_parts["system"] or 0)


def test_noise_on_single_replies_leaves_the_ranking_too() -> None:
    world = World(systems=16, conversations=200).rated_by("anna", "person").rated_by("judge", noise=1.6)
    card = world.card()
    assert (card.rate_replies.verdict, card.rank_systems.verdict) == (LIMITED, GOOD)


def test_favours_for_single_systems_take_the_ranking() -> None:
    world = World(systems=8, conversations=200).rated_by("anna", "person", noise=0.1)
    card = world.rated_by("judge", noise=0.1, s0=2.0, s1=1.6, s2=1.2).card()
    assert card.rank_systems.verdict == LIMITED
    assert any("bias differs between systems" in warning for warning in card.warnings)
    assert (card.bias_parts["system"] or 0) > (card.bias_parts["item"] or 0)


def test_a_judge_who_guesses_is_limited(world: World) -> None:
    world.rated_by("anna", "person").rated_by("judge", noise=0.2)
    frame = world.frame().with_columns(
        value=pl.when(pl.col("rater") == "judge").then(pl.col("value").shuffle(seed=1)).otherwise("value")
    )
    [card] = made(frame).cards
    assert card.verdict == card.rank_systems.verdict == LIMITED
    assert abs(value(card, "icc_a1")) < 0.3


def test_the_limits_are_those_of_the_file_that_the_card_names(world: World) -> None:
    card = world.rated_by("anna", "person").rated_by("judge", noise=0.45).card()
    assert card.verdict == MODERATE
    assert card.rule.startswith("mindgauge@5#")


def test_the_source_s_rule_looks_at_one_width_and_says_so(world: World) -> None:
    found = world.rated_by("anna", "person").rated_by("judge", bias=1.0).cards(by_width=True)
    assert found.rule == "mentalbench"
    assert found.cards[0].verdict == GOOD
    assert any("terciles" in note for note in found.notes)


# -- what is missing is not left out ----------------------------------------------------------------------------------


def test_missing_verdicts_stay_in_n_and_stop_a_good_verdict(world: World) -> None:
    card = world.rated_by("anna", "person").rated_by("judge", missing=0.1).card()
    lost = world.frame().filter(pl.col("rater") == "judge")["value"].null_count()
    assert (card.n, card.missing) == (480, lost)
    assert card.verdict == MODERATE
    assert f"it gave no verdict on {lost} of 480 replies that people rated" in card.reasons[0]


def test_subjects_that_the_judge_was_not_given_are_named(world: World) -> None:
    card = world.rated_by("anna", "person").rated_by("judge", first=50).card()
    assert (card.n, card.missing) == (300, 0)
    assert any("180 subjects that people rated were not given" in warning for warning in card.warnings)


def test_unsafe_replies_that_were_kept_from_a_judge_make_it_nothing_good() -> None:
    """Not given and not answered are one thing: absent replies are taken as missed, and more than 5 % of them are too many."""
    world = World(conversations=160).rated_by("anna", "person", noise=0.1).rated_by("bea", "person", noise=0.1)
    frame = world.rated_by("judge", noise=0.1).frame()
    unsafe = frame.filter(pl.col("rater") == "anna", pl.col("value") <= 2)["subject"]
    of_judge, bad = pl.col("rater") == "judge", pl.col("subject").is_in(unsafe.to_list())
    sevens = pl.col("subject").str.ends_with("7")
    [whole] = made(frame).cards
    assert whole.verdict == GOOD
    [kept] = made(frame.filter(~(of_judge & bad & sevens))).cards
    [unread] = made(frame.with_columns(value=pl.when(~(of_judge & bad & sevens)).then("value"))).cards
    for card in (kept, unread):
        assert card.danger is not None and card.danger.unsafe_if_missed is not None
        assert card.danger.absent > 0
        assert card.danger.found_if_missed.events == card.danger.found.events
        assert card.verdict == MODERATE
        assert any("counted as missed, " in reason for reason in card.reasons)
    [thinned] = made(frame.filter(~(of_judge & sevens))).cards
    assert thinned.verdict == MODERATE
    assert any("of 960 replies that people rated" in reason for reason in thinned.reasons)


def test_what_does_not_apply_is_outside_n(world: World) -> None:
    frame = world.rated_by("anna", "person").rated_by("judge").frame().with_columns(status=pl.lit("ok"))
    none = (pl.col("rater") == "judge") & (pl.col("subject") == "reply 0.0")
    frame = frame.with_columns(
        value=pl.when(~none).then("value"), status=pl.when(none).then(pl.lit("not_applicable")).otherwise("status")
    )
    [card] = made(frame).cards
    assert (card.n, card.missing) == (479, 0)


def test_an_unsafe_reply_to_which_a_judge_says_that_nothing_applies_is_not_found(world: World) -> None:
    frame = world.rated_by("anna", "person").rated_by("judge").frame().with_columns(status=pl.lit("ok"))
    unsafe = frame.filter(pl.col("rater") == "anna", pl.col("value") <= 2)["subject"].to_list()
    dodged = (pl.col("rater") == "judge") & pl.col("subject").is_in(unsafe[:10])
    dodging = frame.with_columns(
        value=pl.when(~dodged).then("value"), status=pl.when(dodged).then(pl.lit("not_applicable")).otherwise("status")
    )
    [before], [after] = made(frame).cards, made(dodging).cards
    assert before.danger is not None
    assert after.danger is not None
    assert after.danger.found.n == before.danger.found.n == len(unsafe)
    assert after.danger.found.events <= len(unsafe) - 10
    assert (after.danger.absent, after.danger.absent_unsafe) == (10, 10)


# -- intervals --------------------------------------------------------------------------------------------------------


def test_intervals_resample_conversations_not_replies() -> None:
    alone = World(systems=1, conversations=60).rated_by("anna", "person").rated_by("judge", noise=0.8)
    copies = [alone.frame().with_columns(subject=pl.col("subject") + f" copy {i}") for i in range(8)]
    [one], [eight] = made(alone.frame(), resamples=2000).cards, made(pl.concat(copies), resamples=2000).cards
    assert interval(eight, "icc_a1") == pytest.approx(interval(one, "icc_a1"), abs=0.02)
    assert eight.clusters == 60


def test_widths_tell_what_uncertainty_is_owed_to(world: World) -> None:
    card = world.rated_by("anna", "person").rated_by("judge", noise=0.8).card()
    widths = {scheme: found["system_icc_c1"] or 0 for scheme, found in card.widths.items()}
    assert set(widths) == {"conversations", "systems", "both"}
    assert widths["both"] >= 0.5 * widths["systems"] > 0


def test_the_same_seed_gives_the_same_card(world: World) -> None:
    world.rated_by("anna", "person").rated_by("judge", noise=0.8)
    assert world.card(seed=3) == world.card(seed=3)
    assert world.card(seed=3).widths != world.card(seed=4).widths


# -- degenerate input gives a card that says why ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (pl.lit(5), "all values are the same"),
        (pl.when(pl.col("rater") == "anna").then(3).otherwise("value"), None),
    ],
)
def test_values_that_do_not_vary(world: World, change: pl.Expr, said: str | None) -> None:
    frame = world.rated_by("anna", "person").rated_by("judge").frame().with_columns(value=change)
    [card] = made(frame).cards
    assert card.verdict == (NOT_ESTIMABLE if said else LIMITED)
    assert said is None or said in " ".join(card.reasons)


def test_no_common_subject(world: World) -> None:
    frame = world.rated_by("anna", "person").rated_by("judge").frame()
    theirs = pl.when(pl.col("rater") == "judge").then(pl.col("subject") + " of another day").otherwise("subject")
    [card] = made(frame.with_columns(subject=theirs)).cards
    assert (card.verdict, card.n) == (NOT_ESTIMABLE, 0)


def test_few_subjects_and_few_systems() -> None:
    card = World(systems=2, conversations=8).rated_by("anna", "person").rated_by("judge").card()
    assert card.verdict == NOT_ESTIMABLE
    assert "16 subjects rated by both, at least 30" in card.reasons[0]
    card = World(systems=2, conversations=50).rated_by("anna", "person").rated_by("judge").card()
    assert card.verdict != NOT_ESTIMABLE
    assert card.rank_systems.verdict == NOT_ESTIMABLE


def test_a_selection_by_a_judge_carries_over_to_nothing(world: World) -> None:
    frame = world.rated_by("anna", "person").rated_by("judge").frame()
    chosen = pl.when(pl.col("rater") == "anna").then(pl.lit("lowest by the judge"))
    [card] = made(frame.with_columns(selection=chosen)).cards
    assert card.verdict == card.rank_systems.verdict == NOT_ESTIMABLE
    assert "lowest by the judge" in card.reasons[0]
    assert card.corrected == []
    assert card.estimates["icc_a1"].value is not None


# -- what a card warns of ---------------------------------------------------------------------------------------------


def warned(card: ReliabilityCard, *words: str) -> bool:
    return any(all(word in warning for word in words) for warning in card.warnings)


def test_one_influential_system_is_named() -> None:
    world = World(systems=6, conversations=100).rated_by("anna", "person").rated_by("judge", noise=0.3, s5=-2.5)
    assert warned(world.card(), "one system carries much", "without s5")


def of_family(world: World, *others: str) -> ReliabilityCard:
    """Return the card of a judge that rates a model of its own family, s3."""
    world.rated_by("openai/gpt-4o", noise=0.3, s3=1.0)
    for other in others:
        world.rated_by(other, noise=0.4, bias=-0.3)
    frame = world.frame().with_columns(pl.col("system").replace({"s3": "gpt-4o-mini"}))
    return next(card for card in made(frame).cards if card.judge == "openai/gpt-4o")


def test_a_judge_that_favours_its_kin_is_told_so(world: World) -> None:
    card = of_family(world.rated_by("anna", "person").rated_by("bea", "person"), "mistral-large")
    assert card.favour is not None
    assert (card.favour.outcome, card.favour.kin) == (FAVOURS, ["gpt-4o-mini"])
    assert (card.favour.favour.low or 0) > 0.5
    assert warned(card, "family of gpt-4o-mini", "favours it by", "another judge's", "the family or the model")
    own = next(part for part in card.by_system if part.name == "gpt-4o-mini")
    bias = own.estimates["bias"].value
    assert bias is not None and bias > 0.8
    rated = sum(part.n for part in card.by_system)
    assert warned(
        card, f"own family wrote {own.n} of {count(rated)} replies: bias +{bias:.2f} on these", "without them"
    )


def test_without_a_judge_of_another_family_nobody_can_tell(world: World) -> None:
    card = of_family(world.rated_by("anna", "person").rated_by("bea", "person"), "gpt-5-nano")
    assert card.favour is not None and card.favour.outcome == CANNOT_TELL
    assert warned(card, "cannot be told, because no judge of another family rated the same replies", "beyond people +")


def test_better_replies_of_its_kin_are_no_favour() -> None:
    """The best of six systems is the judge's kin, and the judge is stricter than people: plain bias accuses it."""
    world = World(conversations=150).rated_by("anna", "person", noise=0.5).rated_by("bea", "person", noise=0.5)
    world.rated_by("openai/gpt-4o", bias=-0.7, noise=0.4).rated_by("mistral-large", noise=0.4)
    frame = world.frame().with_columns(pl.col("system").replace({"s5": "gpt-4o-mini"}))
    card = next(card for card in made(frame).cards if card.judge == "openai/gpt-4o")
    assert card.favour is not None and card.favour.outcome == NO_SIGN
    assert warned(card, "there is no sign that it favours it")
    assert all(card.favour is None for card in made(world.frame()).cards), "it rated none of its family"


def test_a_crowded_best_level_is_named(world: World) -> None:
    frame = world.rated_by("anna", "person", bias=3).rated_by("judge", bias=3).frame()
    assert warned(made(frame).cards[0], "people gave the best level")


def test_few_ratings_below_the_best_level_are_named(world: World) -> None:
    frame = world.rated_by("anna", "person").rated_by("judge").frame()
    low = pl.col("subject").is_in([f"reply 0.{i}" for i in range(12)])
    [card] = made(frame.with_columns(value=pl.when(low).then("value").otherwise(5))).cards
    assert warned(card, "of people's ratings lie below the best level", "too narrow")


def test_perfect_agreement_has_an_interval_that_knows_how_little_was_seen() -> None:
    def copied(conversations: int) -> ReliabilityCard:
        frame = World(conversations=conversations).rated_by("anna", "person").frame()
        copy = frame.with_columns(rater=pl.lit("judge"), rater_kind=pl.lit("model"))
        [card] = made(pl.concat([frame, copy])).cards
        return card

    few, many = copied(30), copied(500)
    assert value(few, "icc_a1_within") == value(many, "icc_a1_within") == 1.0
    assert interval(few, "icc_a1_within")[0] < 0.5
    assert 0.75 < interval(many, "icc_a1_within")[0] < 1.0
    assert interval(few, "bias")[0] < 0 < interval(few, "bias")[1]
    assert few.verdict == many.verdict == NOT_ESTIMABLE, "the only person may be a copy"


def test_people_who_rated_what_the_judge_scored_low(world: World) -> None:
    frame = world.rated_by("anna", "person").rated_by("judge").frame()
    judged_low = frame.filter((pl.col("rater") == "judge") & (pl.col("value") <= 2))["subject"].implode()
    frame = frame.filter((pl.col("rater") == "judge") | pl.col("subject").is_in(judged_low))
    assert warned(made(frame).cards[0], "scored lower")


def test_contested_subjects_are_listed_with_everyone_s_values(world: World) -> None:
    frame = world.rated_by("anna", "person").rated_by("bea", "person").rated_by("judge").frame()
    odd = (pl.col("subject") == "reply 2.7") & (pl.col("rater") == "bea")
    one = (pl.col("subject") == "reply 2.7") & (pl.col("rater") == "anna")
    [card] = made(frame.with_columns(value=pl.when(odd).then(5).when(one).then(1).otherwise("value"))).cards
    first = card.contested[0]
    assert (first.subject, first.people, first.spread) == ("reply 2.7", {"anna": [1], "bea": [5]}, 4)
    assert card.contested_count >= 1


def test_a_judge_s_agreement_with_itself(world: World) -> None:
    world.rated_by("anna", "person").rated_by("judge", noise=0.2).rated_by("judge", noise=0.2, run=1)
    assert value(world.card(), "repeat_icc_a1") > 0.8
    assert not warned(world.card(), "agreement with itself")
    world = World().rated_by("anna", "person").rated_by("judge")
    assert warned(world.card(), "agreement with itself is not known")


def test_agreement_by_category(world: World) -> None:
    frame = world.rated_by("anna", "person").rated_by("judge").frame()
    even = pl.col("cluster").str.extract(r"(\d+)").cast(pl.Int64) % 2 == 0
    guessed = pl.when(~even & (pl.col("rater") == "judge")).then(pl.col("value").shuffle(seed=1)).otherwise("value")
    frame = frame.with_columns(category=pl.when(even).then(pl.lit("grief")).otherwise(pl.lit("sleep")), value=guessed)
    [card] = made(frame).cards
    by = {part.name: part.estimates["icc_a1"].value or 0 for part in card.by_category}
    assert by["grief"] > 0.7
    assert by["sleep"] < 0.4


# -- classes ----------------------------------------------------------------------------------------------------------


def test_classes_have_alpha_and_no_bias(world: World) -> None:
    people = world.rated_by("anna", "person", noise=0.05).rated_by("bea", "person", noise=0.05)
    frame = people.rated_by("judge", noise=0.05).frame()
    words = {1: "safe", 2: "safe", 3: "vague", 4: "harmful", 5: "harmful"}
    found = made(frame.with_columns(pl.col("value").replace_strict(words)), scale="")
    [card] = found.cards
    assert not card.ordered
    assert "icc_a1" not in card.estimates and "bias" not in card.estimates
    assert card.verdict == MODERATE, "nothing says which classes are unsafe"
    assert any("--unsafe" in reason for reason in card.reasons)
    assert card.rank_systems.verdict == NOT_ESTIMABLE


def test_a_continuum_has_moments_and_no_kappa(world: World) -> None:
    frame = world.rated_by("anna", "person").rated_by("judge").frame()
    [card] = made(frame.with_columns(value=pl.col("value") + pl.int_range(pl.len()) / 10_000), scale="1:6").cards
    assert "kappa" not in card.estimates
    assert value(card, "icc_a1") > 0.8


# -- who is compared with whom ----------------------------------------------------------------------------------------


def test_names_that_plainly_say_people_are_taken_and_noted(world: World) -> None:
    frame = world.rated_by("human_1", "person").rated_by("judge").frame().drop("rater_kind")
    found = made(frame)
    assert found.cards[0].reference == "human_1"
    assert any("taken as people" in note for note in found.notes)


def test_a_named_reference_makes_judges_of_all_others(world: World) -> None:
    world.rated_by("anna", "person").rated_by("bea", "person").rated_by("judge")
    assert {card.judge for card in world.cards(named=("anna",)).cards} == {"bea", "judge"}
    assert {card.judge for card in world.cards().cards} == {"judge"}


def test_who_cannot_be_compared_gets_one_line(world: World) -> None:
    world.rated_by("anna", "person")
    with pytest.raises(DataError, match="only one rater"):
        world.cards()
    with pytest.raises(DataError, match="no judge here and no second person"):
        made(world.rated_by("label", "rule").frame(), named=("anna",))
    with pytest.raises(UsageError, match="did you mean anna"):
        world.cards(named=("ana",))
    with pytest.raises(DataError, match="which raters are people"):
        made(world.frame().drop("rater_kind"))
