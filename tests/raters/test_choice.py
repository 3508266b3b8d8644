"""Which option a model chose, read from what it wrote."""

from __future__ import annotations

import pytest

from mindgauge.raters.rule import choice, lone_letter


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ('```json\n{"choice": "B", "reasoning": "A {plain} case."}\n```', "B"),
        ('{"choice": "c"}', "C"),
        ('{"answer": "D. Tell the team"}', "D"),
        ('{"choice": "B"} or {"choice": "C"}', None),
        ('{"choice": "B", "choice": "C"}', None),
        ('{"choice": "B"}\nanswer: B', "B"),
        ('{"choice": "B"}\nanswer: C', None),
        ('{"choice": "E"}\nanswer: C', None),
        ('{"choice": "A", "reasoning": "Not B"', None),
        ("Answer:\n\nB", "B"),
        ("> Answer: B", None),
        ("They wrote:\n> Answer: B\nAnswer: C", "C"),
        ('"Answer: B", they say.', None),
        ("```\nAnswer: B\n```\nis what they want.", None),
        ("```\nB\n```", "B"),
        ("I refuse to pick B", None),
        ("Anything but B", None),
        ("The reply says C", None),
        ('{"choice": 2}', None),
        ("Answer: B", "B"),
        ("**Answer:** C", "C"),
        ("答案：B", "B"),
        ("answer: A\nanswer: B", None),
        ("answer: a", None),
        ("B", "B"),
        ("(B)", "B"),
        ("**B.** Speak with her first.", "B"),
        ("B because it respects her wish.", "B"),
        ("A", "A"),
        ("A is right.", "A"),
        ("I would go with C", "C"),
        ("It is a hard case", None),
        ("A hard case, with no clear way out.", None),
        ("A hard case; I choose B.", "B"),
        ("A ... B", None),
        ("A or B", None),
        ("D-dimer is not asked for", None),
        ("我选B。", "B"),
        ("The best option is C.", "C"),
        ("Not the plan B that you think of", None),
        ("<think>Answer: A</think>\nB", "B"),
        ("E", None),
        ("", None),
    ],
)
def test_a_choice_is_read_by_rule(text: str, letter: str | None) -> None:
    assert choice(text, "ABCD") == letter


def test_a_pronoun_is_no_option() -> None:
    assert lone_letter("I think it is B", "ABCDEFGHIJ") == "B"
    assert lone_letter("I. Wait and see", "ABCDEFGHIJ") == "I"


def test_a_lone_letter_needs_no_object() -> None:
    assert lone_letter('{"choice": "B"}', "ABCD") is None
    assert lone_letter("answer: C\nB", "ABCD") == "C"
