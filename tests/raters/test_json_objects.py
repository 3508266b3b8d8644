"""What a model wrote is searched for objects: outermost ones only, read as literals, in linear time."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge.raters import json_objects
from mindgauge.raters.json_objects import DEEPEST, DOUBLED, JsonObject, after_thinking, objects, without


def values(found: list[JsonObject]) -> list[dict[str, Any] | None]:
    return [one.value for one in found]


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ('<think>maybe {"a": 1}</think>{"a": 2}', '{"a": 2}'),
        ("<Thinking>so</Thinking> yes", " yes"),
        ("<think>so</THINK> yes", " yes"),
        ('I think {"a": 1}\n</think>\n\n{"a": 2}', '{"a": 2}'),
        ("<think>he wrote </think>\nand so on\n</think>\nyes", "yes"),
        ("<think>on and on", ""),
        ("all thoughts</think>", ""),
        ('{"quotes": ["</think> he wrote"], "a": 1}', '{"quotes": ["</think> he wrote"], "a": 1}'),
        ('{"quotes": ["<think>"], "a": 1}', '{"quotes": ["<think>"], "a": 1}'),
        ("no thought", "no thought"),
    ],
)
def test_marked_thinking_is_no_answer(text: str, after: str) -> None:
    assert after_thinking(text) == after


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": {"b": 1}} and {"c": 2}', [{"a": {"b": 1}}, {"c": 2}]),
        ('{"a": {"b": 1} x} {"c": 2}', [None, {"c": 2}]),
        ('{a: {"b": 1}} {"c": 2}', [None, {"c": 2}]),
        ('{{"b": 1}}', [None]),
        ('{"c": 2} {"a": {"b": 1}, "d', [{"c": 2}, None]),
        ('{"a": 1, "a": 2}', [{"a": 2, DOUBLED: True}]),
        ('{"a": "}"} {\'b\': "it\'s }"}', [{"a": "}"}, {"b": "it's }"}]),
        ('{"a": 1,}', [{"a": 1}]),
        ("{}", [{}]),
        ("none", []),
    ],
)
def test_objects_are_the_outermost_and_broken_ones_are_told(text: str, found: list[dict[str, Any] | None]) -> None:
    assert values(objects(text)) == found


def test_after_one_that_breaks_off_nothing_is_sure() -> None:
    (found,) = objects('{"quotes": ["my own {"score": 5}')
    assert found.breaks_off and found.value is None


def test_however_many_there_are_and_however_long_the_text_is() -> None:
    many = '{"n": 1}, ' * 5000
    assert len(objects(f"{many} {{")) == 5001
    inside = '{"quotes": [' + many + '{"n": 1}], "copied": {"score": 5}, "score": 1'
    assert [one.breaks_off for one in objects(inside)] == [True], "what is inside stays inside"
    assert without('So {"a": 1} and {"b": 2}.', objects('So {"a": 1} and {"b": 2}.')) == "So … and …."


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{'a': 'it\\'s {odd}', 'b': (1, -2.5), 'c': None, 'd': True}", {"a": "it's {odd}", "b": [1, -2.5], "c": None, "d": True}),
        ("{'a': {'b': {'c': 1}}}", {"a": {"b": {"c": 1}}}),
        ("{'a': '\\u00e9\\n\\x41', 'b': (1), 'c': (1,), 'd': ()}", {"a": "é\nA", "b": 1, "c": [1], "d": []}),
        ("{1: 'x', 'b': 2e1}", {"1": "x", "b": 20.0}),
        ("{'a': 1, 'a': 2}", {"a": 2, DOUBLED: True}),
        ("{'a': open('x')}", None),
        ("{'a': {1, 2}}", None),
        ("{'a': {{}}}", None),
        ("{[1]: 2}", None),
        ("{'a': b'x'}", None),
        ("{'a': [x for x in 'ab']}", None),
        ("{'a': f'{1}'}", None),
        ("{'a': 'x' 'y'}", None),
        ("{'a': 0x" + "f" * 9000 + "}", None),
        ("{'a': " + "9" * 30 + "}", None),
        ("{'a': '\\U00110000'}", {"a": "\\U00110000"}),
        ("{'a': 1", None),
        ("{'a': " + "[" * DEEPEST + "]" * DEEPEST + "}", None),
        ('{"a": ' + "[" * 900 + "]" * 900 + "}", None),
    ],
)  # fmt: skip
def test_a_literal_is_what_json_could_hold(text: str, value: dict[str, Any] | None) -> None:
    assert values(objects(f"So: {text}")) == [value]


def test_a_list_is_read_as_well() -> None:
    assert json_objects.read("['a', \"b\"]") == json_objects.read('["a", "b"]') == ["a", "b"]
    for text in ('["a", {{}}]', "['a' 'b']", "[1, 2", "['a'] ['b']", "", "[*x]"):
        with pytest.raises(ValueError, match=r"literal|value|key|comma"):
            json_objects.read(text)


def test_twenty_dictionaries_within_one_are_read() -> None:
    written = {f"c{n}": {"checks": {"x": "yes"}, "value": "no"} for n in range(30)}
    assert values(objects(f"Here: {written}")) == [written]


@given(st.recursive(st.none() | st.booleans() | st.integers(-(10**15), 10**15) | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8))  # fmt: skip
def test_what_python_writes_is_read_back(value: Any) -> None:
    assert values(objects(repr({"a": value}))) == [{"a": value}]


@given(st.text(alphabet="{}'\"[]():, ab1\\\n</think>"))
def test_nothing_is_raised(text: str) -> None:
    after_thinking(text)
    found = objects(text)
    assert all(one.start < one.end for one in found)
    without(text, found)


PIECES = (
    "{", "}", '{"a": 1}', '"', "'", "\\", ":", ",", "[", "]", "1", '"a"', "'b'", "\n", "null", "None", "NaN", '{"a":"}"}',
    "{'a': 1}", " ", "x", '{"a": 1, "a": 2}', "\u2028", "\t", '"\\"', "{}", "{ '", '{"q": "it\'s"}', '{"a":' * 70,
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_json_ends_where_its_braces_do(text: str) -> None:
    for place in (place for place, sign in enumerate(text) if sign == "{"):
        strict = json_objects.begun(text, place)
        if strict is not None:
            assert strict[1] == json_objects._closing(text, place)
            assert strict[0] == json_objects._value(text[place : strict[1]])
