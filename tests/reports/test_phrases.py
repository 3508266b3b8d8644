"""The sentences follow from the numbers by rule: many constellations, each with the sentence it must give."""

import re
from typing import Any

import msgspec
import pytest

from mindgauge.analysis import fitness
from mindgauge.analysis.reliability.card import Bound
from mindgauge.analysis.score import Score
from mindgauge.benchmarks.anchors import EntryResult
from mindgauge.benchmarks.help_or_harm.help_or_harm import MISSED, OVERCALLED
from mindgauge.benchmarks.metrics.metric_sentences import Comparators, least_recognised, lowest
from mindgauge.records.english import named, sentence, words
from mindgauge.records.rounding import decimal, interval, percent
from mindgauge.records.rubric import Criterion, Level, Scale
from mindgauge.reports import score_tables
from mindgauge.reports.language import memory
from mindgauge.reports.language.translator import Translator
from mindgauge.stats.proportion import clopper_pearson


def score(
    k: float,
    n: int,
    clusters: int = 0,
    missing: int = 0,
    worst: int | None = None,
    name: str = "missed_crisis_rate",
    **more: object,
) -> Score:
    clusters = clusters or n
    value, low, high, _ = clopper_pearson(k / n * clusters, clusters)
    worst_share = value if worst is None else worst / n
    made = Score("b", name, "c", "all", "m", "m", value, low, high, n, clusters, missing, worst_share, value)
    return msgspec.structs.replace(made, **more)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (score(3, 24), "Of 24 messages that show a crisis, the model treated 3 as no crisis (12 %; it could be as many as 32 %)."),
        (score(0, 24), "Of 24 messages that show a crisis, the model missed none (0 %; it could be as many as 14 %)."),
        (score(24, 24), "Of 24 messages that show a crisis, the model treated all as no crisis (100 %; at least 86 %)."),
        (score(23, 24), "Of 24 messages that show a crisis, the model treated 23 as no crisis (96 %; it could be nearly all)."),
        (score(0, 1), "The one message that shows a crisis was not treated as no crisis; one message shows next to nothing."),
        (score(1, 1), "The one message that shows a crisis was treated as no crisis; one message shows next to nothing."),
        (score(9, 72, 24), "In 9 of 72 answers to 24 messages that show a crisis, the model saw no crisis (12 %; it could be as many as 32 %)."),
        (score(0, 3, 1), "In 0 of 3 answers to 1 message that shows a crisis, the model saw no crisis (0 %; it could be as many as 98 %)."),
        (score(0, 24, missing=24, worst=24), "No answer on 24 messages that show a crisis could be used, so nothing can be said here."),
        (score(0, 1, missing=1, worst=1), "No answer on 1 message that shows a crisis could be used, so nothing can be said here."),
        (
            score(3, 24, missing=4, worst=7),
            ("Of 24 messages that show a crisis, the model treated 3 as no crisis (12 %; it could be as many as 32 %); "
            "4 answers could not be used, and if they had gone wrong too it would be 7 (29 %)."),
        ),
        (
            score(0, 24, missing=1, worst=1),
            ("Of 24 messages that show a crisis, the model missed none (0 %; it could be as many as 14 %); "
            "1 answer could not be used, and if it had gone wrong too it would be 1 (4 %)."),
        ),
        (score(5, 2046), "Of 2,046 messages that show a crisis, the model treated 5 as no crisis (<1 %; it could be as many as 1 %)."),
    ],
)  # fmt: skip
def test_missed_crises(given: Score, sentence: str) -> None:
    assert MISSED.sentence is not None
    assert MISSED.sentence(given, Comparators()) == sentence


def test_a_calm_message_taken_for_a_crisis_has_its_own_words() -> None:
    assert OVERCALLED.sentence is not None
    assert OVERCALLED.sentence(score(1, 8), Comparators()).startswith(
        "Of 8 messages without a crisis, the model treated 1 as a crisis (12 %;"
    )


@pytest.mark.parametrize(("missed", "calm", "concludes"), [(0, 8, True), (1, 8, False), (0, 7, False)])
def test_who_takes_every_message_for_a_crisis_gets_no_praise_for_missing_none(
    missed: int, calm: int, concludes: bool
) -> None:
    assert OVERCALLED.sentence is not None
    beside = Comparators({"missed_crisis_rate": score(missed, 24)})
    text = OVERCALLED.sentence(score(calm, 8, name="overcalled_crisis_rate"), beside)
    assert text.endswith("It takes every message for a crisis: that it misses none shows no skill.") == concludes


def test_a_recall_with_few_messages_does_not_hide_one_that_says_more() -> None:
    recalls = [score(0, 2, name="recall", slice="label=risk_taking_behaviours"), score(5, 10, name="recall", slice="label=self-harm"),
               score(9, 10, name="recall", slice="label=no_crisis")]  # fmt: skip
    assert (
        least_recognised(recalls)
        == "It recognised self-harm (5 of 10) least; of rarer classes, risk taking behaviours (0 of 2)."
    )


@pytest.mark.parametrize(
    "recalls",
    [
        [],
        [score(5, 10, name="recall", slice="label=a")],
        [score(5, 10, name="recall", slice=f"label={x}") for x in "ab"],
    ],
)
def test_nothing_is_least_where_nothing_differs(recalls: list[Score]) -> None:
    assert least_recognised(recalls) == ""


@pytest.mark.parametrize(
    ("answers", "targets", "warns"),
    [
        ("aaaab", "abcde", True),
        ("aaaab", "aaaab", False),
        ("aabbc", "abcde", False),
        ("aaaa", "abcd", False),
        ("", "", False),
    ],
)
def test_a_model_that_always_says_the_same_is_found_out(answers: str, targets: str, warns: bool) -> None:
    assert bool(score_tables.always_the_same(list(answers), list(targets))) == warns


def mean(value: float | None, n: int, missing: int = 0, **more: object) -> Score:
    made = Score("b", "mean", "c", "all", "m", "judge", value, value, value, n, n, missing, 1.5, 4.5, subjects=n)
    return msgspec.structs.replace(made, **more)


FIVE = Criterion("warmth", Scale.ORDINAL, tuple(Level(value) for value in (1, 2, 3, 4, 5)), unsafe=(1, 2))


def counted(n: int, good: int, bad: int, lowest: int, **more: Any) -> score_tables.RaterTally:
    made = score_tables.RaterTally(n, n, n, (1, 1), good, bad, lowest, bad, (4, 5), (1, 2))
    return made._replace(**more)


@pytest.mark.parametrize(
    ("whole", "counts", "sentence"),
    [
        (mean(3.9, 28), counted(28, 20, 3, 1),
         "The judge judge rated 28 replies: 20 at 4 or 5, and 3 at 1 or 2 (11 %; it could be as many as 28 %), 1 of them at 1; the mean is 3.9 on the scale from 1 to 5."),
        (mean(4.0, 28), counted(28, 28, 0, 0), "The judge judge rated 28 replies: 28 at 4 or 5, and none at 1 or 2 (0 %; it could be as many as 12 %); the mean is 4.0 on the scale from 1 to 5."),
        (mean(1.0, 3), counted(3, 0, 3, 3), "The judge judge rated 3 replies: none at 4 or 5, and 3 at 1 or 2 (100 %), all of them at 1; the mean is 1.0 on the scale from 1 to 5."),
        (mean(2.0, 1), counted(1, 0, 1, 0), "The judge judge rated 1 reply: none at 4 or 5, and 1 at 1 or 2 (100 %), none of them at 1; the mean is 2.0 on the scale from 1 to 5."),
        (mean(4.0, 6, 3), counted(6, 2, 0, 0, conversations=2, valued=3, feared=3),
         ("The judge judge rated 3 of 6 replies in 2 conversations: 2 at 4 or 5, and none at 1 or 2 (0 %; it could be as many as 99 %); "
         "if every verdict that is missing were a 1, it would be 3 of 6 (50 %); "
         "the mean is 4.0 on the scale from 1 to 5 (1.5 to 4.5 if the missing verdicts were all the worst or the best).")),
        (mean(4.0, 18), counted(6, 2, 0, 0, times=(3, 3)),
         "The judge judge rated 6 replies, each 3 times, the middle verdict counting: 2 at 4 or 5, and none at 1 or 2 (0 %; it could be as many as 46 %); the mean is 4.0 on the scale from 1 to 5."),
        (mean(None, 6, 6), counted(6, 0, 0, 0, valued=0, feared=6), "The judge judge gave no usable verdict on its replies, so nothing can be said of them."),
    ],
)  # fmt: skip
def test_rated_replies(whole: Score, counts: score_tables.RaterTally, sentence: str) -> None:
    assert score_tables.rated("The judge judge", counts, whole, "", "1 to 5") == sentence


def test_a_bad_share_could_be_no_less_than_what_is_missing_and_known_to_be_bad() -> None:
    """12 of 40 replies have no verdict: were they bad, 14 of 40 would be, and the bound lies above that."""
    said = score_tables.rated(
        "The judge a", counted(40, 20, 2, 0, valued=28, feared=14), mean(3.0, 40, 12), "", "1 to 5"
    )
    most = re.search(r"as many as (\d+) %", said)
    assert most is not None
    assert int(most[1]) == round(100 * (clopper_pearson(14, 40).high or 0))
    assert "it would be 14 of 40 (35 %)" in said


def test_where_more_is_worse_the_scale_says_so() -> None:
    counts = counted(4, 1, 1, 1, best=(0,), worst=(4, 3, 2))
    said = score_tables.rated("The person Anna", counts, mean(1.0, 4), "", "4 (worst) to 0 (best)")
    assert said.startswith("The person Anna rated 4 replies: 1 at 0, and 1 at 2 to 4 (25 %;")
    assert said.endswith("the mean is 1.0 on the scale from 4 (worst) to 0 (best).")


def test_a_judge_of_which_nobody_can_tell_how_far_to_trust_it_is_called_that() -> None:
    assert (
        score_tables.rater_phrase("a/b", person=False, doubtful=True)
        == "The judge a/b (how far this judge can be trusted is not estimable)"
    )
    assert score_tables.rater_phrase("Anna", person=True) == "The person Anna"


LOW, HIGH = mean(2.0, 8, slice="category=self-harm"), mean(4.0, 8, slice="category=no_crisis")


@pytest.mark.parametrize(
    ("raters", "judges", "by"),
    [
        ("a", "a", ""),
        ("ab", "ab", " by both judges"),
        ("abc", "abc", " by all 3 judges"),
        ("ab", "abc", " by a and b"),  # the third did not rate, or what it says is not shown
        ("Pab", "ab", " by P and both judges"),
        ("Pa", "a", " by P and a"),
        ("P", "a", " by P"),
        ("P", "", " by P"),
    ],
)
def test_who_rated_a_category_lowest_is_counted_in_judges(raters: str, judges: str, by: str) -> None:
    means = {rater: [LOW, HIGH] for rater in raters}
    assert score_tables.lowest_categories(means, list(judges)) == [
        f"Rated worst{by} were replies to self-harm (mean 2.0, n 8)."
    ]


def test_judges_that_do_not_agree_on_the_lowest_category_are_told_apart() -> None:
    means = {"a": [LOW, HIGH], "b": [LOW, msgspec.structs.replace(HIGH, value=1.0)]}
    assert len(score_tables.lowest_categories(means, ["a", "b"])) == 2


def test_the_worst_category_of_a_measure_of_which_less_is_better_is_the_highest() -> None:
    scores = [msgspec.structs.replace(s, better="lower") for s in (LOW, HIGH)]
    assert lowest(scores)[0] == [scores[1]]


def test_many_criteria_are_one_sentence() -> None:
    criteria = {name: msgspec.structs.replace(FIVE, name=name) for name in ("guidance", "safety", "warmth")}
    means = [
        mean(2.1, 40, criterion="guidance"),
        mean(4.0, 40, 3, criterion="safety"),
        mean(None, 40, 40, criterion="warmth"),
    ]
    said = "The judge judge rated 40 replies on 2 criteria: means go from 2.1 (guidance) to 4.0 (safety); 43 verdicts could not be used."
    assert score_tables.profile("The judge judge", means, criteria, "") == said
    assert score_tables.profile("Anna", means[:1], criteria, "") == "Anna rated 40 replies on guidance: mean 2.1."
    assert score_tables.profile("Bea", means[2:], criteria, "").startswith("Bea gave no usable verdict on its replies")


def test_criteria_of_several_scales_are_compared_by_their_way_from_worst_to_best() -> None:
    harm = Criterion("harm", Scale.ORDINAL, tuple(Level(value) for value in (4, 3, 2, 1, 0)), unsafe=(4, 3))
    means = [mean(1.0, 9, criterion="harm"), mean(2.0, 9, criterion="warmth")]
    said = score_tables.profile("J", means, {"harm": harm, "warmth": FIVE}, "")
    assert said == "J rated 9 replies on 2 criteria: means go from 2.0 (warmth, 1 to 5) to 1.0 (harm, 4 to 0)."


@pytest.mark.parametrize(
    ("scores", "title", "sentence"),
    [
        ([mean(0.25, 30, 2, name="leak_rate", criterion="disclosure", unit="share", better="lower", low=0.1, high=0.4)], "",
         "Its leak rate, as rated by the judge a, is 25 % on disclosure (10 to 40 %), over 30 replies in 30 conversations; lower is better; 2 verdicts could not be used."),
        ([mean(0.25, 30, name="iciness", criterion="warmth", unit="share")], "the share of icy replies", "The share of icy replies, as rated by the judge a, is 25 % on warmth (25 to 25 %), over 30 replies in 30 conversations."),
        ([mean(0.25, 30, name="low", criterion="warmth", unit="share")], "the share of {} at 2 or below", "The share of warmth at 2 or below, as rated by the judge a, is 25 % (25 to 25 %), over 30 replies in 30 conversations."),
        ([mean(0.25, 30, name="low", criterion="warmth", unit="share"), mean(0.5, 30, name="low", criterion="care", unit="share")], "the share of {} at 2 or below",
         "Its low, as rated by the judge a, is 25 % on warmth (25 to 25 %) and 50 % on care (50 to 50 %), over 30 replies in 30 conversations."),
        ([mean(None, 12, name="gap", criterion="quality")], "", "Its gap, as rated by the judge a, cannot be worked out on quality, from 12 replies in 12 conversations."),
    ],
)  # fmt: skip
def test_a_measure_without_a_sentence_of_its_own_has_its_value_said(
    scores: list[Score], title: str, sentence: str
) -> None:
    assert score_tables.headline_sentence("the judge a", scores, title) == sentence


@pytest.mark.parametrize(("clusters", "start"), [(1, "One conversation"), (29, "Only 29"), (30, ""), (1000, "")])
def test_few_conversations_are_said_to_be_few(clusters: int, start: str) -> None:
    assert score_tables.small(clusters).startswith(start)
    assert bool(score_tables.small(clusters)) == bool(start)


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (0.001, "<1 %"), (0.005, "<1 %"), (0.126, "13 %"), (0.999, ">99 %"), (1, "100 %"), (None, "–")],
)
def test_a_share_that_is_not_zero_never_reads_zero(share: float | None, text: str) -> None:
    assert percent(share) == text


def test_a_clause_becomes_a_sentence_with_true_minus_signs() -> None:
    assert sentence("bias is -0.15 [-0.26, -0.04], by gpt-4") == "Bias is −0.15 [−0.26, −0.04], by gpt-4."


def test_numbers_and_names() -> None:
    assert interval(0.1, 0.25, "share") == "10 to 25 %"
    assert interval(None, 1.0) == "no interval"
    assert decimal(-0.125) == "−0.12"
    assert named(["a"]) == "a"
    assert named(["a", "b", "c", "d"]) == "a, b, c and d"
    assert named(list("abcde")) == "a, b, c and 2 more"
    assert words("category=risk_taking_behaviours") == "risk taking behaviours"
    assert words("language=zh") == "language: Chinese"


@pytest.mark.parametrize(
    ("times", "clause"),
    [
        (10, "it gave all 10 test replies the level 1, though they stand at 5 different levels"),
        (9, "it gave 9 of 10 test replies the level 1, though they stand at 5 different levels"),
    ],
)
def test_a_judge_of_one_level_is_not_read_as_one_of_a_range_of_levels(times: int, clause: str) -> None:
    test = fitness.Test(n=10, levels=5, missing=10 - times, commonest="1", times=times, kappa=Bound(0.0))
    assert fitness.entry_result(test) == (EntryResult.FAILED, clause)
    said = Translator(memory.read("zh"), []).sentences(clause)
    assert [sentence.known for sentence in said] == [True]
