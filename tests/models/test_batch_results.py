"""Results of batches are read whatever a service sends."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge.models.batch.anthropic_batches import AnthropicBatches
from mindgauge.models.batch.files import Requests, Results, reader
from mindgauge.models.batch.openai_batches import OpenAIBatches
from mindgauge.models.chat_endpoint import ChatModel
from mindgauge.records import Message, Status
from mindgauge.records.request import Price, Request

if TYPE_CHECKING:
    from mindgauge.models.batch.service import BatchOutcome, Service

REQUEST = Request(
    (Message("system", "Be brief."), Message("user", "hello")), parameters={"seed": 1, "temperature": 0.2}
)
PRICE = Price(1.0, 2.0, 0.5)
KEY = b"k" * 16


def chat() -> ChatModel:
    return ChatModel("m", "http://127.0.0.1:9/v1", "m", key="k")


def outcome(service: Service, **line: Any) -> BatchOutcome:
    return service.outcome({"custom_id": KEY.hex(), **line}, REQUEST, PRICE, 2)


def test_a_message_is_read_with_its_tokens() -> None:
    usage = {"input_tokens": 2, "cache_creation_input_tokens": 3, "cache_read_input_tokens": 5, "output_tokens": 7}
    content = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    message = {"content": content, "stop_reason": "max_tokens", "model": "claude-x", "usage": usage}
    done = outcome(AnthropicBatches(chat()), result={"type": "succeeded", "message": message}).exchange
    assert done is not None
    assert (done.status, done.text, done.finish_reason, done.model_resolved) == (Status.OK, "ab", "length", "claude-x")
    assert (done.usage.prompt_tokens, done.usage.cached_tokens, done.usage.completion_tokens) == (10, 5, 7)
    assert (done.cost, done.attempts) == (5 * 1.0 + 5 * 0.5 + 7 * 2.0, 2)


@pytest.mark.parametrize(
    ("error", "read"),
    [
        ({"type": "overloaded_error", "message": "busy"}, "retry"),
        ({"type": "api_error", "message": "oops"}, "retry"),
        ({"type": "invalid_request_error", "message": "temperature: not supported"}, "retry"),
        ({"type": "authentication_error", "message": "invalid x-api-key"}, "fatal"),
        ({"type": "not_found_error", "message": "model: m"}, "fatal"),
        ({"type": "invalid_request_error", "message": "Output blocked by content filtering policy"}, Status.FILTERED),
        ({"type": "invalid_request_error", "message": "prompt is too long"}, Status.FAILED),
    ],
)
def test_an_error_of_a_message_is_what_it_is_for_a_live_call(error: dict[str, str], read: str | Status) -> None:
    got = outcome(AnthropicBatches(chat()), result={"type": "errored", "error": {"type": "error", "error": error}})
    if isinstance(read, Status):
        assert got.exchange is not None
        assert got.exchange.status is read
    else:
        assert error["message"] in getattr(got, read)


def test_a_message_request_has_what_the_protocol_has() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}}, "required": ["a"]}
    asked = Request(REQUEST.messages, parameters={**REQUEST.parameters, "max_tokens": 5}, schema=schema)
    written = json.loads(AnthropicBatches(chat()).request(KEY, asked))
    assert written["custom_id"] == KEY.hex()
    params = written["params"]
    assert params.pop("output_config")["format"]["schema"]["properties"] == {"a": {"type": "string"}}
    said = [{"role": "user", "content": "hello"}]
    assert params == {"model": "m", "max_tokens": 5, "temperature": 0.2, "system": "Be brief.", "messages": said}


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["succeeded", "errored", "\ud800"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "response",
                    "error",
                    "status_code",
                    "body",
                    "choices",
                    "message",
                    "content",
                    "usage",
                    "type",
                    "result",
                    "text",
                ]
            )
            | st.text(max_size=3),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@given(
    st.sampled_from([OpenAIBatches, AnthropicBatches]),
    st.fixed_dictionaries({"response": anything, "error": anything, "result": anything}),
)
def test_any_line_has_an_outcome(kind: type[OpenAIBatches | AnthropicBatches], line: dict[str, Any]) -> None:
    got = outcome(kind(chat()), **line)
    assert (got.exchange is not None) + bool(got.retry) + bool(got.fatal) == 1


@given(st.fixed_dictionaries({"status_code": st.just(200) | anything, "body": anything}), anything, anything)
def test_any_answer_in_a_line_has_an_outcome(response: dict[str, Any], content: Any, reason: Any) -> None:
    for message in ({"content": content, "stop_reason": reason}, content):
        got = outcome(AnthropicBatches(chat()), result={"type": "succeeded", "message": message})
        assert (got.exchange is not None) != bool(got.retry)
    got = outcome(OpenAIBatches(chat()), response=response)
    assert (got.exchange is not None) + bool(got.retry) + bool(got.fatal) == 1


@given(st.lists(st.integers(0, 3) | st.binary(max_size=20).map(lambda b: b.replace(b"\n", b"")), max_size=12))
def test_lines_find_their_calls(lines: list[int | bytes]) -> None:
    """Numbers are calls (3 is nobody's), bytes are noise."""
    keys = [bytes([n]) * 16 for n in range(4)]
    with tempfile.TemporaryDirectory() as folder:
        results = Results(Path(folder))
        file = results.file()
        for place, line in enumerate(lines):
            whole = (
                json.dumps({"custom_id": keys[line].hex(), "place": place}).encode() if isinstance(line, int) else line
            )
            file.write(whole + b"\n")
        results.index(set(keys[:3]))
        for number, key in enumerate(keys[:3]):
            got = results.take(key)
            assert (got["place"] if got else None) == (lines.index(number) if number in lines else None)
            assert results.take(key) is None
        assert results.oddities.doubled == sum(max(0, lines.count(n) - 1) for n in range(3))
        assert results.oddities.unknown == lines.count(3)
        results.close()


def test_a_success_counts_more_than_a_failure_and_too_long_a_line_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mindgauge.models.batch.files.LONGEST_LINE", 200)
    results = Results(tmp_path)
    for answer in (
        {"error": {"code": "x"}},
        {"response": {"status_code": 200}},
        {"error": {"code": "y"}, "pad": "z" * 300},
    ):
        results.file().write(json.dumps({"custom_id": KEY.hex(), **answer}).encode() + b"\n")
    results.index({KEY})
    assert results.oddities == (0, 1, 1), "the rest of a line that is too long is no line"
    assert (results.take(KEY) or {})["response"]
    results.close()


def test_requests_are_written_once_and_read_from_the_beginning(tmp_path: Path) -> None:
    requests = Requests(tmp_path, b"[", b",", b"]")
    for number in range(3):
        requests.add(bytes([number]), str(number).encode())
    file = requests.sealed()
    for _ in range(2):
        with reader(file) as again:
            assert json.loads(again.read()) == [0, 1, 2]
    assert not any(tmp_path.iterdir()), "the files have no name, so nothing stays behind"
    requests.close()
