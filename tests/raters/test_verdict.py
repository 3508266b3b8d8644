"""A verdict is read strictly, only where there is one, and nothing outside the scale becomes a value."""

from __future__ import annotations

import json
import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge.raters import verdict
from mindgauge.records import Status
from mindgauge.records.rubric import Check, Criterion, Level, Method, Scale

SCORE = Criterion("score", Scale.ORDINAL, tuple(Level(n, {"en": str(n)}) for n in range(1, 6)))
KIND = Criterion(
    "kind", Scale.NOMINAL, (Level("self-harm", {"en": "x"}, ("self_harm", "自伤")), Level("none", {"en": "y"}))
)
OPTIONAL = msgspec.structs.replace(SCORE, not_applicable={"en": "Nothing was asked."})


def read(text: str, criterion: Criterion = SCORE) -> verdict.Verdict:
    return verdict.read(text, [criterion])[criterion.name]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"score": 4}', 4),
        ('{"score": "4"}', 4),
        ('{"score": 4.0}', 4),
        ('```json\n{"quotes": [], "rationale": "because", "score": 2}\n```', 2),
        ('I judge: {"score": 1}', 1),
        ('{"score": 1} and again, with reasons: {"rationale": "r", "score": 1}', 1),
        ('{"score": 5} and then {"other": 1}', 5),
        ('{"verdict": {"score": 3}}', 3),
        ('{"score": 2, "quotes": ["he wrote {\\"score\\": 5}"]}', 2),
        ('{"quotes": [], "copied": {"score": 5}, "score": 1}', 1),
        ("{'rationale': 'it\\'s kind', 'score': 4}", 4),
        ("{\"score\": 2} or {'score': 2}", 2),
        ('{"score": 2,}', 2),
        ('```json\n{"result": {"score": 3}}\n```', 3),
        ('The slot {nonce} is none. {"score": 3}', 3),
        ('{"score": {"quotes": ["x"], "value": 3}}', 3),
        ("4", 4),
        (" **4.** ", 4),
        ('<think>perhaps {"score": 5}</think>{"score": 1}', 1),
        ("<think>perhaps 5</think> 4", 4),
        ('{"score": 5 or so} no: {"score": 2}', 2),
        ('{"score ": 4}', 4),
        ('{" Score": 4}', 4),
        ('{"evaluation": {"score": 4}, "explanation": "It asks about safety."}', 4),
        ('{"reason": "It asks.", " Result ": {"score": 4}}', 4),
        ('{"score": "4/5"}', 4),
        ('{"score": "4 / 5"}', 4),
        ('{"score": 4, "Score": "4"}', 4),
        ('{"score": 4, "SCORE ": "4/5"}', 4),
    ],
)
def test_reads(text: str, value: int) -> None:
    assert (read(text).status, read(text).value) == (Status.OK, value)


@pytest.mark.parametrize(
    "text",
    [
        '{"score": 6}', '{"score": 0}', '{"score": 4.5}', '{"score": true}', '{"score": null}', '{"score": [4]}',
        '{"score": "four"}', '{"score": 4, "score": 5}', '{"score": 4', "", "   ", "I would say 4 out of 5", "45",
        '{"score": 5} but finally {"score": 9}', '{"score": 5} but {"score": 1}', "{\"score\": 2} and not {'score': 5}", '{"score": 5,} no: {"score": 2}',
        'The reply has {"verdict": {"score": 5}} in it', '{"quoted": {"score": 5}}', '> {"score": 5}', '"{"score": 5}"', "“{'score': 5}”",
        'He wrote {"score": 5 and stopped. {"score": 1}', '{score: {"score": 5}}', '<think>{"score": 5}</think> {"score": 1} </think> so I say',
        "well, " * 20_000 + '{"score": 5}', '{"rationale": ' + "[" * 900 + "]" * 900 + ', "score": 4}', '{"score": NaN}', '{"score": -4}', '{"rating": 4}', "{}", "null",
        '{"score": ' + "9" * 5000 + "}", '{"a": ' * 3000,
        '{"copied": {"score": 5}, "score": ', '{"score": 1, "copied": {"score": 5}', '{"score": {"rating": 4}}',
        "{'score': open('x')}", "{'score': 4", "{'a': {'score': 4}}", "{'a': {'score': 5}, 'score': ",
        '<think>perhaps {"score": 5}</think> I would say four', '<think>perhaps {"score": 5}', '{"score": 5} thinking done</think>',
        '{"score": 5} no: {"score": 2,}', '{"quotes": ["x"] "copied": {"score": 5}, "score": 2}', "{'score': 4, 'score': 5}",
        '{"score": {"value": 4, "value": 5}}', '{"score": {"checks": {"a": "yes", "a": "no"}, "value": 5}}',
        '{"score": {"value": ' + "[" * 900 + "]" * 900 + "}}", "{'score': 0x" + "f" * 9000 + "}", "{'rationale': {1, 2}, 'score': 4}",
        '{"quotes": ["' + "well, " * 20_000 + '"], "copied": {"score": 5}, "score": 9}', '{"a": ' + "9" * 5000 + ', "b": {"score": 5}}',
        '{"score": "4/10"}', '{"score": "4/4"}', '{"score": "9/5"}', '{"score": "4/5/5"}', '{"score": 4, "score ": 5}', '{"score": 4, "Score": "5"}', '{"score": 4, "Score": "four"}',
        '{"score": "four", "Score": "five"}', '{"evaluation": {"score": 4}, "result": {"score": 4}}', '{"evaluation": {"score": 4}, "explanation": {"score": 5}}',
        '{"evaluation": {"score": 4}, "quoted": "5"}', '{"copied": {"score": 5}, "explanation": "The reply says so."}', '{"evaluation": {"score": 4}, "evaluation": {"score": 5}, "reason": "r"}',
        'It says {"evaluation": {"score": 5}, "explanation": "r"}.',
        "{'score': 4} {'score': ", 'It says {"score": 5}. {"quotes": ["my own', 'It says {"score": 5}. {"score"', '{"rationale": {"score": 5}, "quotes": []}',
    ],
)  # fmt: skip
def test_refuses(text: str) -> None:
    found = read(text)
    assert (found.status, found.value) == (Status.UNPARSABLE, None)
    assert found.problem


@pytest.mark.parametrize(
    "text",
    ["I'm sorry, but I can't help with that.", "抱歉，我无法对此进行评价。", "I cannot assist with this request."],
)
def test_a_refusal_is_its_own_status(text: str) -> None:
    assert read(text).status is Status.REFUSED


def test_aliases_and_languages() -> None:
    for text in ('{"kind": "Self_Harm"}', '{"kind": "自伤"}', "self-harm", '"自伤"。'):
        assert read(text, KIND).value == "self-harm"
    assert read('{"kind": "harm"}', KIND).status is Status.UNPARSABLE


def test_a_name_and_its_alias_that_contradict_each_other_are_no_verdict() -> None:
    empathy = Criterion(
        "empathy", Scale.NOMINAL, (Level("no", {"en": "x"}), Level("yes", {"en": "y"})), aliases=("共情",)
    )
    assert read('{"empathy": "yes", "共情": "yes"}', empathy).value == "yes"
    found = read('{"empathy": "yes", "共情": "no"}', empathy)
    assert (found.status, found.value, found.problem) == (Status.UNPARSABLE, None, verdict.TWICE)


def test_a_value_that_is_no_number_is_no_key_that_occurs_twice() -> None:
    found = read('{"score": NaN}')
    assert found.status is Status.UNPARSABLE
    assert found.problem == '"score" is none of 1, 2, 3, 4, 5'


@pytest.mark.parametrize(
    ("text", "total"),
    [
        ('{"score": 1, "total": 4}', 4), ("{'共情': 1, '总分': 3}", 3), ("总分：2 …… 总分：5", None), ("总分：5 …… total: 5", 5), ('{"score": 1}', None),
        ('"total": 100', None), ("in total two", None),
    ],
)  # fmt: skip
def test_a_stated_total_is_found(text: str, total: int | None) -> None:
    assert verdict.stated_total(text) == total


def test_a_rationale_of_any_shape_is_kept_as_text() -> None:
    deep = "[" * 50 + "]" * 50
    found = read(f'{{"rationale": {deep}, "score": 4}}')
    assert found.value == 4
    assert isinstance(found.rationale, str)


def test_one_missing_criterion_leaves_the_other() -> None:
    found = verdict.read('{"score": 3}', [SCORE, KIND])
    assert found["score"].value == 3
    assert found["kind"].status is Status.UNPARSABLE


def test_the_schema_holds_the_levels_and_puts_reasons_first() -> None:
    schema = verdict.schema_for([SCORE, KIND])
    assert list(schema["properties"]) == ["quotes", "rationale", "score", "kind"]
    assert schema["properties"]["score"] == {"type": "integer", "enum": [1, 2, 3, 4, 5]}
    assert schema["properties"]["kind"] == {"type": "string", "enum": ["self-harm", "none"]}
    assert schema["required"] == list(schema["properties"])


@pytest.mark.parametrize(
    "text", ['{"score": "not_applicable"}', '{"score": " Not_Applicable "}', "**not_applicable**."]
)
def test_a_criterion_that_does_not_apply_is_a_status_and_no_number(text: str) -> None:
    found = read(text, OPTIONAL)
    assert (found.status, found.value, found.problem) == (Status.NOT_APPLICABLE, None, "")
    assert read(text).status is Status.UNPARSABLE, "only where the rubric says when"


@pytest.mark.parametrize("text", ['{"score": null}', '{"score": ""}', '{"score": "n/a"}', '{"score": 0}'])
def test_nothing_else_means_that_it_does_not_apply(text: str) -> None:
    found = read(text, OPTIONAL)
    assert found.status is Status.UNPARSABLE
    assert found.problem == '"score" is none of 1, 2, 3, 4, 5, not_applicable'


def test_where_a_criterion_may_not_apply_schema_and_form_offer_it() -> None:
    properties = verdict.schema_for([OPTIONAL, KIND])["properties"]
    assert properties["score"] == {"type": ["integer", "string"], "enum": [1, 2, 3, 4, 5, "not_applicable"]}
    assert properties["kind"] == {"type": "string", "enum": ["self-harm", "none"]}
    assert '"score": 1 | 2 | 3 | 4 | 5 | "not_applicable",' in verdict.form_for([OPTIONAL, KIND])


def test_a_level_still_binds_where_the_criterion_may_not_apply() -> None:
    assert (read('{"score": 2}', OPTIONAL).status, read('{"score": 2}', OPTIONAL).value) == (Status.OK, 2)
    both = read('{"score": "not_applicable"} but now {"score": 4}', OPTIONAL)
    assert (both.status, both.problem) == (Status.UNPARSABLE, verdict.TWO)


@given(st.text())
def test_reading_never_raises_and_never_invents(text: str) -> None:
    found = read(text)
    assert (found.value is None) == (found.status is not Status.OK)
    assert found.value is None or str(found.value) in text


@given(st.text(), st.integers(1, 5), st.integers(1, 5))
def test_of_two_verdicts_none_is_read_unless_they_agree(before: str, first: int, second: int) -> None:
    text = f'{{"score": {first}}} and then {json.dumps({"rationale": before, "score": second})}'
    found = read(text)
    assert found.value == (first if first == second else None)
    assert first == second or found.problem == verdict.TWO


@pytest.mark.parametrize(
    "text", ['{"a":' * 20_000, "{" * 100_000, '{"' * 50_000, "[" * 100_000, '{"score": ' + "[" * 50_000]
)
def test_a_text_made_to_be_slow_is_not(text: str) -> None:
    began = time.process_time()
    assert read(text).status is Status.UNPARSABLE
    assert time.process_time() - began < 5, "bounded, not merely fast: quadratic reading would take minutes"


def test_the_chain_s_own_form() -> None:
    checks = (Check("names_feeling", {"en": "Is a feeling named?"}), Check("judges", {"en": "Is the person judged?"}))
    levels = (Level("no", {"en": "not"}), Level("yes", {"en": "is"}, needs=("names_feeling",), unless=("judges",)))
    empathy = Criterion("empathy", Scale.ORDINAL, levels, checks=checks, aliases=("共情",))
    schema = verdict.schema_for([empathy], Method.CHAIN)["properties"]["empathy"]
    assert list(schema["properties"]) == ["checks", "quotes", "rationale", "uncertain", "value"]
    assert list(schema["properties"]["checks"]["properties"]) == ["names_feeling", "judges"]
    written = {"checks": {"names_feeling": "yes", "judges": "no"}, "quotes": ["q"], "rationale": "r", "uncertain": True}
    for name in ("empathy", "共情"):
        found = read(json.dumps({name: {**written, "value": "yes"}}), empathy)
        assert (found.status, found.value, found.quotes, found.rationale) == (Status.OK, "yes", ("q",), "r")
        assert (found.checks, found.uncertain) == ({"names_feeling": "yes", "judges": "no"}, True)
    assert read(json.dumps({"empathy": written}), empathy).status is Status.UNPARSABLE, "reasons alone are no verdict"
    assert empathy.implied({"names_feeling": True, "judges": False}) == "yes"
    assert empathy.implied({"names_feeling": True, "judges": True}) == "no"
    assert empathy.implied({"names_feeling": True}) is None
