"""A tree of questions: what is refused, how it is walked, and that both ways of asking end at the same verdicts."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mindgauge.raters.judge import Instrument, Judge, Mode
from mindgauge.raters.question_tree import Option, Question, QuestionTree
from mindgauge.records import Exchange, Message, Rating, Reply, Sample, Status
from mindgauge.records.prompt import Prompt
from mindgauge.records.rubric import Criterion, Level, Rubric, Scale
from tests.thinned import examples

if TYPE_CHECKING:
    from mindgauge.records.request import Request

LEVELS = ("bad", "poor", "good")
NAMES = ("heard", "asked")
RUBRIC = Rubric("talk", "1", "ours", tuple(
    Criterion(name, Scale.ORDINAL, tuple(Level(v, {"en": v}) for v in LEVELS), not_applicable={"en": "no need"}) for name in NAMES
))  # fmt: skip
TREE = QuestionTree(
    (
        Question("1", "heard", "Was there a sign?", (Option("Yes", "2"), Option("No", "", None, NAMES))),
        Question("2", "heard", "Was it missed?", (Option("Yes", "3", "bad"), Option("No", "4"))),
        Question("3", "asked", "Set aside.", (Option("Set aside", "5", None, ("asked",)),)),
        Question("4", "asked", "Did nobody ask?", (Option("Yes", "5", "poor"), Option("No", "5"))),
        Question("5", "asked", "Were they hushed?", (Option("Yes", "", "bad"), Option("No"))),
    )
)
PROMPT = Prompt("{dialogue}\n{reply}\n{rubric}\n{form}\n{nonce}")
SAMPLE = Sample.of((Message("user", "I sleep badly."),))
REPLY = Reply.of(SAMPLE.id, "m", 0, Status.OK, "Since when?")


def rate(answers: dict[str, object], mode: Mode, tree: QuestionTree = TREE) -> tuple[dict[str, Rating], list[Request]]:
    """Rate with these answers to questions; what is none in the scale is no answer."""
    requests: list[Request] = []

    async def ask(request: Request) -> Exchange:
        requests.append(request)
        assert request.schema is not None
        wanted = [name for name in request.schema["properties"] if name.startswith("q") and name != "quotes"]
        verdict = {name: answers.get(name.removeprefix("q"), "not_applicable") for name in wanted}
        return Exchange(Status.OK, json.dumps({"quotes": ["Since"], "rationale": "r", **verdict}))

    judge = Judge("m2", Instrument(RUBRIC, {"en": PROMPT}, mode, tree=tree), {}, {})
    ratings = asyncio.run(judge.rate(ask, SAMPLE, REPLY, 0))
    return {rating.criterion: rating for rating in ratings}, requests


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize(
    ("answers", "heard", "asked", "path"),
    [
        ({"1": "No"}, None, None, ["1"]),
        ({"1": "Yes", "2": "Yes", "5": "No"}, "bad", None, ["1", "2", "3", "5"]),
        ({"1": "Yes", "2": "No", "4": "No", "5": "No"}, "good", "good", ["1", "2", "4", "5"]),
        ({"1": "Yes", "2": "No", "4": "Yes", "5": "No"}, "good", "poor", ["1", "2", "4", "5"]),
        ({"1": "yes", "2": "no", "4": "yes", "5": "yes"}, "good", "bad", ["1", "2", "4", "5"]),
    ],
)
def test_it_is_walked_as_it_says(
    mode: Mode, answers: dict[str, object], heard: str | None, asked: str | None, path: list[str]
) -> None:
    ratings, requests = rate(answers, mode)
    assert [ratings[name].value for name in NAMES] == [heard, asked]
    assert [ratings[name].status for name in NAMES] == [
        Status.OK if value else Status.NOT_APPLICABLE for value in (heard, asked)
    ]
    assert [step["name"] for step in ratings["heard"].provenance["path"]] == path
    assert len(requests) == (1 if mode is Mode.JOINT else len([step for step in path if step != "3"]))


@pytest.mark.parametrize("mode", Mode)
def test_what_cannot_be_read_is_missing_as_far_as_it_could_still_matter(mode: Mode) -> None:
    ratings, _ = rate({"1": "Yes", "2": "No", "4": "perhaps"}, mode)
    assert (ratings["heard"].status, ratings["heard"].value) == (Status.OK, "good")
    assert (ratings["asked"].status, ratings["asked"].value) == (Status.UNPARSABLE, None)
    assert "question 4" in ratings["asked"].provenance["problem"]
    ratings, _ = rate({"1": "perhaps"}, mode)
    assert {rating.status for rating in ratings.values()} == {Status.UNPARSABLE}


def test_a_judge_that_passes_by_a_question_on_its_own_way_gave_no_answer_to_it() -> None:
    ratings, _ = rate({"1": "Yes", "2": "No", "5": "No"}, Mode.JOINT)
    assert ratings["asked"].status is Status.UNPARSABLE
    assert "passes q4 by" in ratings["asked"].provenance["problem"]


def test_a_judge_with_a_tree_is_a_rater_of_its_own_whose_instrument_is_every_word_of_the_tree() -> None:
    plain = Instrument(RUBRIC, {"en": PROMPT})
    walked = Instrument(RUBRIC, {"en": PROMPT}, tree=TREE)
    other = QuestionTree((*TREE.questions[:-1], Question("5", "asked", "Hushed?", TREE.questions[-1].options)))
    assert (plain.rater("m"), walked.rater("m")) == ("m", "m (tree)")
    assert len({plain.name, walked.name, Instrument(RUBRIC, {"en": PROMPT}, tree=other).name}) == 3


def test_in_one_call_a_judge_reads_where_each_answer_leads() -> None:
    _, (request,) = rate({"1": "No"}, Mode.JOINT)
    text = request.messages[0].content
    assert "- Yes: then q5\n- No: then q4" in text, "a question that nobody is asked leads on by itself"
    assert "- No: then nothing more" in text
    assert "Set aside" not in text


def test_faults_are_named_with_their_question() -> None:
    def fault(*questions: Question) -> str:
        return next(iter(QuestionTree(questions).faults())).problem

    ends = (Option("Yes"), Option("No"))
    assert "'1' occurs twice" in fault(Question("1", "heard", "?", ends), Question("1", "heard", "?", ends))
    assert "found '7', and there is none" in fault(Question("1", "heard", "?", (Option("Yes", "7"), Option("No"))))
    assert "the answer 'yes' twice" in fault(Question("1", "heard", "?", (Option("Yes"), Option("yes"))))
    back = Question("2", "asked", "?", (Option("Yes", "1"), Option("No")))
    assert "1 → 2 → 1" in fault(Question("1", "heard", "?", (Option("Yes", "2"), Option("No"))), back)
    assert "none to ask" in fault(Question("1", "heard", "!", (Option("So"),)))
    lost = QuestionTree((Question("1", "heard", "?", ends), Question("2", "asked", "?", ends)))
    assert not [*lost.faults()]
    assert lost.unreachable == ("2",)


@st.composite
def trees(draw: st.DrawFn) -> QuestionTree:
    """Draw a tree whose ways lead only forwards, or any."""
    n = draw(st.integers(1, 7))
    questions = []
    for at in range(n):
        onward = st.sampled_from(["", *(str(later) for later in range(at + 1, n))])
        options = tuple(
            Option(f"a{k}", draw(onward), draw(st.sampled_from([None, *LEVELS])), draw(st.sampled_from([(), NAMES[:1], NAMES])))
            for k in range(draw(st.integers(1, 3)))
        )  # fmt: skip
        questions.append(Question(str(at), draw(st.sampled_from(NAMES)), f"Number {at}?", options))
    return QuestionTree(tuple(questions))


@examples(80)
@given(trees(), st.data())
def test_one_call_or_one_a_question_end_at_the_same_verdicts(tree: QuestionTree, data: st.DataObject) -> None:
    assume(tree.asked)
    assert not [*tree.faults()]
    said = [*LEVELS, "mumble"]
    answers: dict[str, object] = {
        q.id: data.draw(st.sampled_from([*(o.answer for o in q.options), *said[-1:]])) for q in tree.asked
    }
    one, _ = rate(answers, Mode.JOINT, tree)
    each, _ = rate(answers, Mode.SPLIT, tree)
    for name in NAMES:
        assert (one[name].status, one[name].value, one[name].rationale) == (
            each[name].status, each[name].value, each[name].rationale
        )  # fmt: skip
        assert (one[name].value is None) == (one[name].status is not Status.OK)
