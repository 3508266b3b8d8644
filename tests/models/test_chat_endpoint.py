"""Every way a server can misbehave ends in the right status, or in one clear line where no call can succeed."""

from __future__ import annotations

import asyncio
import gzip
import time
import tracemalloc
from typing import Any

import pytest
from aiohttp import web

from mindgauge.models.chat_endpoint import ChatModel
from mindgauge.models.completion import LONGEST_PAUSE, FailureKind, RetryableError
from mindgauge.records import Exchange, Message, Status
from mindgauge.records.errors import EndpointError
from mindgauge.records.request import Price, Request
from tests.stub import CUT, Stub, completion, says

HELLO = Request((Message("user", "hello"),))


def ask(stub: Stub, request: Request = HELLO, *, times: int = 1, **settings: Any) -> list[Exchange]:
    async def all_of_them() -> list[Exchange]:
        settings.setdefault("pause", 0.01)
        settings.setdefault("tries", 3)
        async with ChatModel("stub/m", stub.url, "m", **settings) as model:
            return list(await asyncio.gather(*(model.ask(request) for _ in range(times))))

    return asyncio.run(all_of_them())


def test_an_answer_carries_text_tokens_model_and_cost() -> None:
    with Stub(
        lambda body, n: says(
            "hi", usage={"prompt_tokens": 7, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 3}}
        )
    ) as stub:
        (done,) = ask(stub, price=Price(1.0, 10.0))
    assert (done.status, done.text, done.model_resolved) == (Status.OK, "hi", "stub-1")
    assert (done.usage.prompt_tokens, done.usage.completion_tokens, done.usage.cached_tokens) == (7, 2, 3)
    assert done.cost == 27.0


def raw(text: str, content_type: str = "application/json", status: int = 200) -> web.Response:
    return web.Response(text=text, content_type=content_type, status=status)


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (lambda: says("hi", finish_reason="content_filter"), Status.FILTERED),
        (lambda: says(None, finish_reason="content_filter"), Status.FILTERED),
        (lambda: says(None, refusal="I cannot help with that"), Status.REFUSED),
        (lambda: says(None, refusal={"reason": "policy"}), Status.REFUSED),
        (lambda: says(""), Status.UNPARSABLE),
        (lambda: says(None), Status.UNPARSABLE),
        (lambda: says("  \n "), Status.UNPARSABLE),
        (lambda: web.json_response({"choices": []}), Status.FAILED),
        (lambda: raw("oops", status=500), Status.FAILED),
        (lambda: raw('{"error": {"message": "slow down"}}', status=429), Status.FAILED),
        (lambda: raw('{"error": {"message": "no such parameter: foo"}}', status=400), Status.FAILED),
        (lambda: raw('{"error": {"message": "blocked", "code": "content_filter"}}', status=400), Status.FILTERED),
        (lambda: raw('{"error": {"message": "The response was filtered due to content management policy"}}', status=400), Status.FILTERED),
        (lambda: raw("null"), Status.FAILED),
        (lambda: raw('{"choices": [{"message": {"content": "ha'), Status.FAILED),
        (lambda: raw("<html><body>gateway</body></html>", "text/html"), Status.FAILED),
        (lambda: raw(""), Status.FAILED),
        (lambda: raw('{"choices": [{"message": {"content": 5}}]}'), Status.FAILED),
    ],
)  # fmt: skip
def test_one_bad_answer_ends_in_its_status_and_leaves_the_rest_unharmed(answer: Any, status: Status) -> None:
    def handler(body: dict[str, Any], n: int) -> web.StreamResponse:
        return answer() if "bad" in body["messages"][0]["content"] else says("fine")

    async def both(stub: Stub) -> tuple[Exchange, Exchange]:
        async with ChatModel("stub/m", stub.url, "m", tries=2, pause=0.01) as model:
            good = await model.ask(HELLO)
            return good, await model.ask(Request((Message("user", "bad"),)))

    with Stub(handler) as stub:
        good, bad = asyncio.run(both(stub))
    assert good.status is Status.OK
    assert bad.status is status
    if status is Status.FAILED:
        assert bad.error


def test_text_in_parts_is_joined() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, {"type": "image"}]
    with Stub(lambda body, n: web.json_response(completion(parts))) as stub:  # type: ignore[arg-type]
        assert ask(stub)[0].text == "ab"


def test_a_hanging_server_is_given_up_after_its_time() -> None:
    async def hang(body: dict[str, Any], n: int) -> web.StreamResponse:
        await asyncio.sleep(30)
        return says("late")

    with Stub(hang) as stub:
        began = time.perf_counter()
        (done,) = ask(stub, timeout=0.2, tries=2)
    assert done.status is Status.FAILED
    assert "0.2 s" in done.error
    assert time.perf_counter() - began < 5


def test_a_cut_connection_is_tried_again() -> None:
    with Stub(lambda body, n: CUT if n == 1 else says("second time")) as stub:
        (done,) = ask(stub)
    assert (done.status, done.text, done.attempts) == (Status.OK, "second time", 2)


def test_retry_after_is_honoured() -> None:
    def handler(body: dict[str, Any], n: int) -> web.StreamResponse:
        if n == 1:
            return web.Response(status=429, headers={"Retry-After": "0.5"}, text="{}")
        return says("now")

    with Stub(handler) as stub:
        began = time.perf_counter()
        (done,) = ask(stub)
    assert done.status is Status.OK
    assert time.perf_counter() - began >= 0.5


def test_concurrency_is_halved_by_429_and_grows_back() -> None:
    async def scenario(stub: Stub) -> tuple[float, float]:
        async with ChatModel("stub/m", stub.url, "m", concurrency=16, pause=0.001, tries=8) as model:
            await asyncio.gather(*(model.ask(HELLO) for _ in range(16)))
            low = model.throttle.limit
            for _ in range(40):
                await asyncio.gather(*(model.ask(HELLO) for _ in range(8)))
            return low, model.throttle.limit

    def handler(body: dict[str, Any], n: int) -> web.StreamResponse:
        return web.Response(status=429, text="{}") if n <= 16 else says("ok")

    with Stub(handler) as stub:
        low, later = asyncio.run(scenario(stub))
    assert 8 <= low < 12, "one burst of refusals cuts once"
    assert later > low + 4


def test_no_more_than_the_limit_at_once() -> None:
    async def slow(body: dict[str, Any], n: int) -> web.StreamResponse:
        await asyncio.sleep(0.02)
        return says("ok")

    with Stub(slow) as stub:
        ask(stub, times=20, concurrency=3)
        assert stub.most_at_once == 3


@pytest.mark.parametrize(
    ("answer", "says_what"),
    [
        (lambda: raw('{"error": {"message": "bad key"}}', status=401), "refuses the key in STUB_KEY"),
        (lambda: raw("Not Found", "text/plain", 404), "no chat endpoint or has no model 'm'"),
        (lambda: raw("<html>login</html>", "text/html"), "does not speak the chat protocol after 2 tries: HTML"),
        (lambda: raw('{"hello": 1}'), "does not speak the chat protocol after 2 tries"),
        (
            lambda: web.Response(status=302, headers={"Location": "http://127.0.0.1:1/"}),
            "no chat endpoint.*302: it sends calls on to http://127.0.0.1:1/",
        ),
    ],
)
def test_what_no_call_can_repair_is_one_clear_line(answer: Any, says_what: str) -> None:
    with Stub(lambda body, n: answer()) as stub, pytest.raises(EndpointError, match=says_what) as caught:
        ask(stub, tries=2, key="secret-canary", key_name="STUB_KEY")
    assert "secret-canary" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_nothing_listening_is_said_with_the_number_of_tries() -> None:
    async def scenario() -> None:
        async with ChatModel("stub/m", "http://127.0.0.1:9/v1", "m", tries=2, pause=0.01) as model:
            await model.ask(HELLO)

    with pytest.raises(EndpointError, match="did not answer after 2 tries"):
        asyncio.run(scenario())


def test_a_server_without_schemas_or_token_limits_is_asked_without_them() -> None:
    def handler(body: dict[str, Any], n: int) -> web.StreamResponse:
        for name in ("response_format", "max_tokens", "seed"):
            if name in body:
                return raw(f'{{"error": {{"message": "Unsupported parameter: {name}"}}}}', status=400)
        return says("ok")

    request = Request((Message("user", "hi"),), parameters={"seed": 1}, schema={"type": "object"})
    with Stub(handler) as stub:
        (done,) = ask(stub, request, tries=5)
        assert done.status is Status.OK
        assert "max_completion_tokens" in stub.bodies[-1]


def test_the_schema_goes_along_without_lengths_that_strict_servers_refuse() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 5}}}
    with Stub(lambda body, n: says("{}")) as stub:
        ask(stub, Request((Message("user", "hi"),), schema=schema))
        sent = stub.bodies[0]["response_format"]
    assert sent["type"] == "json_schema"
    assert sent["json_schema"]["strict"] is True
    assert "maxLength" not in str(sent)
    assert "maxLength" in str(schema), "the caller's schema is left alone"


def test_the_key_travels_in_the_header_only() -> None:
    with Stub(lambda body, n: says("ok")) as stub:
        ask(stub, key="sk-canary", key_name="K")
    assert stub.headers[0]["Authorization"] == "Bearer sk-canary"
    assert "sk-canary" not in str(stub.bodies)


def test_an_endless_answer_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mindgauge.models.transport.LARGEST_ANSWER", 1000)

    with Stub(lambda body, n: raw('{"x": "' + "a" * 5000 + '"}')) as stub:
        (done,) = ask(stub, tries=1)
    assert done.status is Status.FAILED
    assert "more than" in done.error


def test_a_small_answer_that_unpacks_to_a_huge_one_is_cut_off_in_little_memory() -> None:
    bomb = gzip.compress(b'{"choices": [{"message": {"content": "' + b"a" * 130_000_000 + b'"}}]}', 1)

    def handler(body: dict[str, Any], n: int) -> web.StreamResponse:
        return web.Response(body=bomb, headers={"Content-Encoding": "gzip"}, content_type="application/json")

    with Stub(handler) as stub:
        tracemalloc.start()
        (done,) = ask(stub, tries=1)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert done.status is Status.FAILED
    assert "more than 16 MiB" in done.error
    assert most < 100_000_000
    assert stub.headers[0]["Accept-Encoding"] == "identity"


def test_an_error_of_several_lines_is_kept_as_one() -> None:
    def handler(body: dict[str, Any], n: int) -> web.StreamResponse:
        return web.Response(body=b"no gzip", headers={"Content-Encoding": "gzip"}, content_type="application/json")

    with Stub(handler) as stub:
        (done,) = ask(stub, tries=1)
    assert done.status is Status.FAILED
    assert "cannot be unpacked" in done.error
    assert "\n" not in done.error


@pytest.mark.parametrize("refusals", [1, 64, 1_023, 1_024, 100_000])
def test_a_pause_has_an_end_however_often_a_server_refuses(refusals: int) -> None:
    for wish in (None, 1e9, float("inf")):
        problem = RetryableError("429", FailureKind.BUSY, pause=wish)
        assert 0 <= ChatModel("m", "http://127.0.0.1:9/v1", "m").pause_after(problem, refusals) <= 2 * LONGEST_PAUSE
