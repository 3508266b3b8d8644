"""Servers take liberties with completions: what can be read is read, and nothing is made up."""

from __future__ import annotations

import json
import time
from email.utils import formatdate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge.models import completion
from mindgauge.models.completion import UnreadableError, read, retry_after
from mindgauge.records import Usage


def answer(**more: Any) -> bytes:
    message = {"role": "assistant", "content": more.pop("content", "hi")}
    return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], **more}).encode()


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (answer(), "hi"),
        (b"\xef\xbb\xbf" + answer(), "hi"),
        (answer().decode().encode("utf-16"), "hi"),
        (answer(content="a\ud800b\x00"), "a\ufffdb\ufffd"),
        (answer(content=[{"type": "text", "text": "a"}, "b", None, 5, {"text": {"value": "c"}}]), "abc"),
        (answer(model=7, system_fingerprint={"a": 1}, usage=[1]), "hi"),
        (b'{"choices": [{"message": null, "finish_reason": 3}]}', ""),
    ],
)
def test_an_answer_is_read_whatever_stands_beside_it(content: bytes, text: str) -> None:
    found = read(content)
    assert found.text == text
    assert found.model == found.fingerprint == ""
    assert found.usage == Usage()


@pytest.mark.parametrize(
    ("content", "why", "foreign"),
    [
        (b'{"choices": [null]}', "an answer without a choice", False),
        (b'{"choices": []}', "an answer without a choice", False),
        (b'{"error": {"message": "the upstream is\\n busy", "code": 502}}', "the upstream is busy 502", False),
        (b'{"choices": null}', "half or unexpected JSON", True),
        (b'{"choices": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "half or unexpected JSON", False),
        (answer()[:-1] + b', "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "half or unexpected JSON", False),
        (answer()[:-9], "half or unexpected JSON", False),
        (answer(content=1), "half or unexpected JSON", False),
        (answer(content={"a": 1}), "half or unexpected JSON", False),
        (b"caf\xe9", "plain text", True),
        (b"", "an empty body", True),
    ],
)
def test_what_is_no_answer_says_so(content: bytes, why: str, foreign: bool) -> None:
    with pytest.raises(UnreadableError, match=why) as caught:
        read(content)
    assert caught.value.foreign is foreign
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 1000}}, Usage(10, 5, 10)),
        ({"prompt_tokens": -10, "completion_tokens": -5, "prompt_tokens_details": {"cached_tokens": -1}}, Usage()),
        ({"prompt_tokens": "12", "completion_tokens": "5"}, Usage(12, 5)),
        ({"prompt_tokens": "12", "completion_tokens": "many"}, Usage()),
        ({"prompt_tokens": 12.0, "completion_tokens": 5.0}, Usage(12, 5)),
        ({"prompt_tokens": 12, "completion_tokens": 5.5}, Usage()),
        ({"prompt_tokens": True, "completion_tokens": True}, Usage()),
        ({"prompt_tokens": 12, "completion_tokens": 0}, Usage()),
        ({"prompt_tokens": 12, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": -3}}, Usage(12, 5)),
        ({"prompt_tokens": 10**25, "completion_tokens": 2**63}, Usage()),
        ({"prompt_tokens": float("nan"), "completion_tokens": None, "prompt_tokens_details": 3}, Usage()),
        (None, Usage()),
        ("all of them", Usage()),
    ],
)  # fmt: skip
def test_tokens_are_counts_or_nothing(usage: object, expected: Usage) -> None:
    assert read(answer(usage=usage)).usage == expected


@given(st.binary(max_size=300) | st.text(max_size=300).map(str.encode))
def test_no_bytes_end_in_anything_else(content: bytes) -> None:
    completion.fault(content)
    try:
        read(content)
    except UnreadableError as error:
        assert str(error)  # noqa: PT017 - it need not be raised


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_an_error_is_one_line_of_any_shape(error: object) -> None:
    said = completion.fault(json.dumps({"error": error}).encode())
    assert "\n" not in said
    assert len(said) <= 300


def test_of_several_choices_the_first_is_read_wherever_it_stands() -> None:
    choices = [{"index": n, "message": {"role": "assistant", "content": f"Choice {n}."}} for n in (1, 0)]
    assert read(json.dumps({"choices": choices}).encode()).text == "Choice 0."
    unnumbered = [{"message": choice["message"]} for choice in choices]
    assert read(json.dumps({"choices": unnumbered}).encode()).text == "Choice 1."


def test_retry_after_reads_seconds_dates_and_nonsense() -> None:
    assert retry_after("3") == 3
    assert retry_after("-3") == 0
    assert retry_after(formatdate(time.time() + 100, usegmt=True)) == pytest.approx(100, abs=2)
    assert retry_after(formatdate(time.time() + 100)) == pytest.approx(100, abs=2), "-0000 names no zone"
    for nonsense in (
        "soon",
        "inf",
        "nan",
        None,
        "",
        "0 0 0",
        "Mon, 00 Jan 0000",
        "Wed, 21 Oct 99999999999999999999 07:28:00 GMT",
        "ÿ",
    ):
        assert retry_after(nonsense) is None


@given(st.text(max_size=60))
def test_no_header_ends_in_anything_else(header: str) -> None:
    wait = retry_after(header)
    assert wait is None or wait >= 0
