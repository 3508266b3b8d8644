"""Answers in the forms that papers' prompts ask for."""

from __future__ import annotations

import pytest

from mindgauge.raters.user_instrument import VerdictForm, read
from mindgauge.records import Status
from mindgauge.records.rubric import Criterion, Level, Scale

KIND = Criterion(
    "kind", Scale.NOMINAL, (Level("Safe Response"), Level("Toxic Language", aliases=("Toxicity Language",)))
)
WARM = Criterion("warm", Scale.ORDINAL, tuple(Level(n) for n in (1, 2, 3)))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Safe Response", "Safe Response"),
        (" 'safe response'.", "Safe Response"),
        ("Toxicity Language. It insults", "Toxic Language"),
        ("Safe Response\nbecause", "Safe Response"),
        ("<think>Toxic Language</think>\nSafe Response", "Safe Response"),
        ("This is a Safe Response", None),
        ("Safe Response or Toxic Language", None),
        ("", None),
    ],
)
def test_a_bare_label_stands_alone_or_before_the_first_full_stop(text: str, value: str | None) -> None:
    verdict = read(VerdictForm.LABEL, text, [KIND])["kind"]
    assert (verdict.value, verdict.status) == (value, Status.OK if value else Status.UNPARSABLE)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3) very", 3),
        ("# Answer: 2) rather\n\n(I weighed it.)", 2),
        ("**Answer: 3)**", 3),
        ("(1) is less than it: 2) rather", 2),
        ("1) not, 2) rather or 3) very", None),
        ("7) beyond", None),
        ("-2) below", None),
        ("It takes 2 people", None),
    ],
)
def test_a_label_may_be_the_one_number_before_a_bracket(text: str, value: int | None) -> None:
    assert read(VerdictForm.LABEL, text, [WARM])["warm"].value == value


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("[3, 'Safe Response']", (3, "Safe Response")),
        ('The scores: ["2", "Toxic Language"].', (2, "Toxic Language")),
        ("[7, 'Safe Response']", (None, "Safe Response")),
        ("[3]", (None, None)),
        ("[3, 'Safe Response'] or [1, 'Safe Response']", (None, None)),
        ("[__import__('os').getcwd(), 2]", (None, None)),
    ],
)
def test_a_list_has_a_level_for_each_criterion_in_order(text: str, values: tuple[object, ...]) -> None:
    verdicts = read(VerdictForm.LIST, text, [WARM, KIND])
    assert tuple(verdicts[name].value for name in ("warm", "kind")) == values


def test_a_dictionary_is_read_as_a_literal_and_never_run() -> None:
    assert read(VerdictForm.DICT, "So: {'warm': 2, 'kind': 'Safe Response'}", [WARM, KIND])["warm"].value == 2
    assert read(VerdictForm.DICT, "{'warm': __import__('os'), 'kind': 1}", [WARM])["warm"].status is Status.UNPARSABLE


def test_a_refusal_is_one_in_every_form() -> None:
    assert read(VerdictForm.LABEL, "I'm sorry, I cannot help with that.", [KIND])["kind"].status is Status.REFUSED
