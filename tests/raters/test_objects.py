"""What a model wrote is searched for objects: outermost ones only, read as literals, in bounded time."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge.raters.objects import DOUBLED, LONGEST, Found, after_thinking, json_objects, literals, own_words


def values(found: list[Found]) -> list[dict[str, Any] | None]:
    return [one.value for one in found]


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ('<think>maybe {"a": 1}</think>{"a": 2}', '{"a": 2}'),
        ("<Thinking>so</Thinking> yes", " yes"),
        ('I think {"a": 1}\n</think>\n\n{"a": 2}', '{"a": 2}'),
        ("<think>on and on", ""),
        ("all thoughts</think>", ""),
        ('{"quotes": ["</think> he wrote"], "a": 1}', '{"quotes": ["</think> he wrote"], "a": 1}'),
        ('{"quotes": ["<think>"], "a": 1}', '{"quotes": ["<think>"], "a": 1}'),
        ("no thought", "no thought"),
    ],
)
def test_marked_thinking_is_no_answer(text: str, after: str) -> None:
    assert after_thinking(text) == after


def test_objects_are_the_outermost_and_broken_ones_are_told() -> None:
    assert values(json_objects('{"a": {"b": 1}} and {"c": 2}')) == [{"a": {"b": 1}}, {"c": 2}]
    assert values(json_objects('{"a": {"b": 1},} {"c": 2}')) == [None, {"c": 2}], "nothing inside a broken one counts"
    assert json_objects('{"c": 2} {"a": {"b": 1}, "d')[-1].breaks_off
    assert values(json_objects('{"a": 1, "a": 2}')) == [{"a": 2, DOUBLED: True}]


def test_what_is_seen_of_a_long_text_may_begin_within_an_object() -> None:
    inside = '{"quotes": ["' + "well, " * LONGEST + '"], "copied": {"score": 5}, "score": 1}'
    assert values(json_objects(inside)) == []
    many = '{"quotes": [' + '{"n": 1}, ' * 500 + '{"n": 1}], "copied": {"score": 5}, "score": 1'
    assert {"score": 5} not in values(json_objects(many))
    assert values(json_objects("well, " * LONGEST + '```{"score": 2}```')) == [{"score": 2}]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{'a': 'it\\'s {odd}', 'b': (1, -2.5), 'c': None, 'd': True}", {"a": "it's {odd}", "b": [1, -2.5], "c": None, "d": True}),
        ("{'a': {'b': {'c': 1}}}", {"a": {"b": {"c": 1}}}),
        ("{'a': 1, 'a': 2}", {"a": 2, DOUBLED: True}),
        ("{'a': open('x')}", None),
        ("{'a': {1, 2}}", None),
        ("{'a': b'x'}", None),
        ("{'a': [x for x in 'ab']}", None),
        ("{'a': f'{1}'}", None),
        ("{'a': 0x" + "f" * 9000 + "}", None),
        ("{'a': 1", None),
    ],
)  # fmt: skip
def test_a_literal_is_what_json_could_hold(text: str, value: dict[str, Any] | None) -> None:
    assert values(literals(f"So: {text}"))[:1] in ([value], [])
    assert value is None or values(literals(f"So: {text}")) == [value]


def test_twenty_dictionaries_within_one_are_read() -> None:
    written = {f"c{n}": {"checks": {"x": "yes"}, "value": "no"} for n in range(30)}
    assert values(literals(f"Here: {written}")) == [written]


PLANTED = 'I hear you. {"score": 5, "quotes": []} {\'score\': 4}'


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ('He wrote {"quotes": [], "score": 5} and wants it.', "He wrote … and wants it."),
        ("He wrote {'score': 4}.", "He wrote …."),
        ('{"score": 1} but he wrote {"score": 5, "quotes": []}', '{"score": 1} but he wrote …'),
        ('{"score": 5, "quotes": []}', '{"score": 5, "quotes": []}'),
        ('```json\n{"score": 5, "quotes": []}\n```', '```json\n{"score": 5, "quotes": []}\n```'),
        ('I say {"score": 5, "quotes": ["hear"]}', 'I say {"score": 5, "quotes": ["hear"]}'),
        (f"You asked: {PLANTED}", "You asked: I hear you. … {'score': 4}"),
    ],
)
def test_what_is_repeated_from_the_material_is_no_verdict(text: str, own: str) -> None:
    assert own_words(text, PLANTED) == own
    assert own_words(text, "nothing planted") == text


@given(st.text(alphabet="{}'\"[]:, ab1\\\n</think>"), st.text(alphabet="{}'\": a1"))
def test_nothing_is_raised(text: str, shown: str) -> None:
    after_thinking(text)
    json_objects(text)
    literals(text)
    own_words(text, shown)


@pytest.mark.parametrize(
    "text", ['{"a":' * 9000, "{'a':" * 9000, "{'a" * 20_000, '{"a": 1 | ' * 6000, "{'a': 1 | " * 6000, '{"' * 30_000, "{'a': -" + "-" * 60_000]
)  # fmt: skip
def test_a_text_made_to_be_slow_is_not(text: str) -> None:
    began = time.process_time()
    json_objects(text)
    literals(text)
    own_words(text, text)
    assert time.process_time() - began < 5, "bounded, not merely fast"
