"""What cards allow, in words: many constellations, each with the sentence it must give."""

import msgspec
import pytest

from mindgauge.analysis.reliability.card import (
    BLIND_END,
    GOOD,
    LIMITED,
    MODERATE,
    NOT_ESTIMABLE,
    Bound,
    Danger,
    Licence,
    ReliabilityCard,
    Share,
)
from mindgauge.reports import cards, reliability_gate
from mindgauge.reports.content import System
from mindgauge.reports.reliability_gate import RunCard

REASON = "12 subjects rated by both, at least 30 are needed"
CARD = ReliabilityCard(
    judge="a", reference="p", criterion="safety", n=40, missing=0, level="item",
    estimates={"icc_a1_within": Bound(0.31, 0.2, 0.4), "bias": Bound(0.5, 0.4, 0.6)}, verdict=GOOD, warnings=[], reasons=[REASON],
    rate_replies=Licence(GOOD, []), rank_systems=Licence(GOOD, []), rule="r", scale=[1, 2, 3, 4, 5], ordered=True, falling=False, clusters=40,
    effective_clusters=40.0, danger=None,
    systems=["s"], widths={}, bias_parts={}, by_system=[], by_category=[], contested=[], contested_count=0, corrected=[],
)  # fmt: skip


def standing(judge: str, criterion: str, verdict: str, ranking: str = NOT_ESTIMABLE, **more: object) -> RunCard:
    changed = {
        "judge": judge, "criterion": criterion, "verdict": verdict, "rate_replies": Licence(verdict, [REASON]),
        "rank_systems": Licence(ranking, [REASON]), **more,
    }  # fmt: skip
    return RunCard("run", "b", criterion, msgspec.structs.replace(CARD, **changed))


@pytest.mark.parametrize(
    ("cards", "title"),
    [
        ([("a", "safety", GOOD)], "a may rate safety on its own"),
        ([("a", "safety", GOOD, LIMITED)], "a may rate safety on its own; it may not rank systems"),
        ([("a", "safety", MODERATE, GOOD)], "a may rate safety only with people beside it; it may rank systems"),
        ([("a", "safety", LIMITED)], "People must rate safety: a agrees too little with them"),
        ([("a", "safety", BLIND_END)], "There are too few unsafe replies to judge a, so people must rate safety, too"),
        ([("a", "safety", BLIND_END), ("b", "safety", MODERATE)], "No judge may rate single replies on its own"),
        ([("a", "safety", NOT_ESTIMABLE)], f"No verdict on a: {REASON}"),
        ([("a", "safety", NOT_ESTIMABLE), ("b", "safety", NOT_ESTIMABLE)], f"No verdict on these judges: {REASON}"),
        ([("a", "safety", LIMITED), ("b", "safety", MODERATE)], "No judge may rate single replies on its own"),
        ([("a", "safety", GOOD, GOOD), ("b", "safety", GOOD, GOOD)], "Every judge may rate single replies on its own; all may rank systems"),
        ([("a", "safety", GOOD, LIMITED), ("b", "safety", LIMITED, GOOD)], "Only a may rate single replies on its own; b may rank systems"),
        (
            [("a", "safety", LIMITED, LIMITED), ("a", "guidance", LIMITED, GOOD), ("b", "safety", LIMITED, LIMITED), ("b", "guidance", LIMITED, GOOD)],
            "No judge may rate single replies on its own; all may rank systems on guidance",
        ),
        ([("a", "safety", GOOD), ("a", "guidance", LIMITED)], "a may rate single replies on its own only on safety"),
        ([("a", "safety", LIMITED), ("a", "guidance", MODERATE)], "a may not rate single replies on its own"),
        (
            [("a", "safety", GOOD, GOOD), ("a", "guidance", LIMITED, GOOD), ("b", "safety", LIMITED, LIMITED), ("b", "guidance", GOOD, GOOD)],
            "Only a and b may rate single replies on their own, on some criteria; all may rank systems on some criteria",
        ),
    ],
)  # fmt: skip
def test_the_title_says_what_the_cards_allow(cards: list[tuple[str, ...]], title: str) -> None:
    assert reliability_gate.finding([(card[0], standing(*card)) for card in cards]) == title


def test_what_is_not_shown_is_said_with_its_reason() -> None:
    one = {"a": [standing("a", "safety", LIMITED)]}
    assert list(reliability_gate.not_shown(one, alone=True)) == [
        "Safety is not shown: the judge a agrees too little with people (ICC(A,1) within systems 0.31, 0.5 levels more lenient than people; limited: people must rate)."
    ]
    two = one | {"b": [standing("b", "safety", LIMITED, estimates={"icc_a1_within": Bound(0.4, 0.3, 0.5)})]}
    assert list(reliability_gate.not_shown(two, alone=False)) == [
        (
            "What the judges a and b say of safety is not shown: they agree too little with people "
            "(a: ICC(A,1) within systems 0.31, 0.5 levels more lenient than people; b: ICC(A,1) within systems 0.40; limited: people must rate)."
        )
    ]
    several = {
        "a": [
            standing("a", "safety", LIMITED),
            standing("a", "warmth", LIMITED, estimates={"icc_a1_within": Bound(-0.1)}),
        ]
    }
    assert list(reliability_gate.not_shown(several, alone=True)) == [
        "Safety and warmth are not shown: the judge a agrees too little with people (ICC(A,1) within systems −0.10 to 0.31; limited: people must rate)."
    ]


def test_caveats_name_each_verdict_and_put_judges_with_one_reason_together() -> None:
    cards = {
        "a": [standing("a", "safety", MODERATE), standing("a", "warmth", GOOD)],
        "b": [standing("b", "safety", NOT_ESTIMABLE)],
        "c": [standing("c", "safety", NOT_ESTIMABLE), standing("c", "warmth", LIMITED)],
    }
    evidence = "ICC(A,1) within systems 0.31, 0.5 levels more lenient than people"
    assert list(reliability_gate.caveats(cards)) == [
        f"The judge a agrees with people well enough to rate warmth on its own ({evidence}).",
        f"On safety, people must check the judge a before its scores are relied on: it agrees with them only in part ({evidence}; {MODERATE}).",
        f"How far the judges b and c can be trusted on safety is not estimable: {REASON}.",
    ]


def at_the_end(found: Share, passed: Share) -> Danger:
    nothing = Share(None)
    return Danger(
        levels=[1, 2], is_assumed=False, found=found, found_any=found, ceiling=nothing, lowest=None, lowest_unsafe=None,
        passed=passed, critical={}, by_category={},
    )  # fmt: skip


MISSES = at_the_end(Share(2 / 20, 0.01, 0.32, 2, 20, 20.0), Share(18 / 60, 0.19, 0.431, 18, 60, 60.0))
FINDS = at_the_end(Share(1.0, 0.83, 1.0, 20, 20, 20.0), Share(0.0, 0.0, 0.088, 0, 40, 40.0))
AGREES = {"icc_a1_within": Bound(0.9, 0.85, 0.95)}


def test_who_agrees_and_misses_what_is_unsafe_is_said_to_miss_it() -> None:
    missing = Licence(LIMITED, [REASON], ["unsafe"])
    blind = standing("a", "safety", LIMITED, danger=MISSES, estimates=AGREES, rate_replies=missing)
    assert (
        reliability_gate.finding([("a", blind)])
        == "People must rate safety: a misses too much of what they call unsafe"
    )
    assert list(reliability_gate.not_shown({"a": [blind]}, alone=False)) == [
        (
            "What the judge a says of safety is not shown: it misses too much of what people call unsafe (ICC(A,1) within systems 0.90; "
            "it finds 2 of 20 replies that people call unsafe; of 100 replies that it passes, up to 44 are unsafe; limited: people must rate)."
        )
    ]
    both = standing(
        "a", "safety", LIMITED, danger=MISSES, rate_replies=Licence(LIMITED, [REASON], ["unsafe", "agreement"])
    )
    [sentence] = reliability_gate.not_shown({"a": [both]}, alone=False)
    assert "it agrees too little with people and misses too much of what they call unsafe" in sentence


def test_judges_with_other_faults_have_sentences_of_their_own() -> None:
    cards = {
        "a": [standing("a", "safety", LIMITED, danger=MISSES, rate_replies=Licence(LIMITED, [REASON], ["unsafe"]))],
        "b": [standing("b", "safety", LIMITED, danger=FINDS)],
    }
    first, second = reliability_gate.not_shown(cards, alone=True)
    assert first.startswith("Safety is not shown: the judge a misses too much")
    assert second.startswith("Safety is not shown: the judge b agrees too little with people (ICC")
    assert (
        "it finds all of 20 replies that people call unsafe; of 100 replies that it passes, up to 9 are unsafe"
        in second
    )


def test_a_judge_whose_unsafe_end_is_unknown_does_not_say_that_replies_are_safe() -> None:
    few = at_the_end(Share(1.0, 0.29, 1.0, 3, 3, 3.0), Share(0.0, 0.0, 0.1, 0, 37, 37.0))
    [sentence] = reliability_gate.caveats({"a": [standing("a", "safety", BLIND_END, danger=few)]})
    assert sentence.startswith(
        "On safety, people called too few replies unsafe to show how many of those the judge a finds, so its scores do not show that replies are safe"
    )
    several = [standing("a", name, MODERATE, danger=end) for name, end in (("safety", MISSES), ("warmth", FINDS))]
    [sentence] = reliability_gate.caveats({"a": several})
    assert "; of what people call unsafe it finds 10 % to 100 %; " in sentence


def test_on_a_scale_whose_highest_level_is_the_worst_more_is_more_severe() -> None:
    [sentence] = reliability_gate.not_shown({"a": [standing("a", "toxicity", LIMITED, falling=True)]}, alone=True)
    assert "0.5 levels more severe than people" in sentence


def test_a_picture_shows_what_is_kinder_to_the_same_side_on_every_scale() -> None:
    rising, falling = (standing("a", "toxicity", LIMITED, falling=falls) for falls in (False, True))
    axis = cards._axis([rising.card])
    drawn = [cards._row(System("a", "a", 0, 0), one, axis, ranked=False).bias for one in (rising, falling)]
    assert [(b.low, b.value, b.high) for b in drawn] == [(0.4, 0.5, 0.6), (-0.6, -0.5, -0.4)]
