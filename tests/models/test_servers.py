"""One model on several servers: whatever happens to some of them, every call is answered, and answered once."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

import mindgauge
from mindgauge.analysis.score import Scores
from mindgauge.models.servers import LONGEST_REST, SHORTEST_REST, STRIKES, Health
from mindgauge.models.settings import Settings
from mindgauge.models.spec import open_model
from mindgauge.records import Exchange, Message, Status
from mindgauge.records.errors import EndpointError
from mindgauge.records.request import Request
from tests.conftest import obliging
from tests.stub import CUT, Stub, says

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from mindgauge.models.servers import Server, Servers

ROOT = Path(__file__).parents[2]
CALLS, AT_ONCE = 60, 8


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mindgauge.models.completion.LONGEST_PAUSE", 0.02)


def questions(count: int = CALLS) -> list[Request]:
    return [Request((Message("user", f"question {i}"),), parameters={"seed": 1}) for i in range(count)]


def echo(body: dict[str, Any], _count: int) -> web.StreamResponse:
    return says(f"to {body['messages'][0]['content']}")


async def slowly(body: dict[str, Any], count: int) -> web.StreamResponse:
    await asyncio.sleep(0.05)
    return echo(body, count)


def opened(urls: Sequence[str], **settings: Any) -> Servers:
    return open_model(",".join(urls) + "#m", Settings(**{"concurrency": AT_ONCE, **settings}))  # type: ignore[return-value]


async def ask_all(model: Servers, requests: Sequence[Request]) -> list[Exchange]:
    """Ask as the engine does: so many workers, each with one call at a time."""
    left, done = list(enumerate(requests)), dict[int, Exchange]()

    async def worker() -> None:
        while left:
            i, request = left.pop(0)
            done[i] = await model.ask(request)

    await asyncio.gather(*(worker() for _ in range(AT_ONCE)))
    return [done[i] for i in range(len(requests))]


def answers(urls: Sequence[str], requests: Sequence[Request], **settings: Any) -> list[Exchange]:
    async def scenario() -> list[Exchange]:
        async with opened(urls, **settings) as model:
            return await ask_all(model, requests)

    return asyncio.run(scenario())


def asked(stub: Stub) -> list[str]:
    return [body["messages"][0]["content"] for body in stub.bodies]


def assert_all_answered(done: Sequence[Exchange], requests: Sequence[Request]) -> None:
    assert [one.text for one in done] == [f"to {request.messages[0].content}" for request in requests]


def well(server: Server) -> bool:
    return not server.health.sick


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


# -- choice -----------------------------------------------------------------------------------------------------------


def test_all_servers_work_and_each_call_is_made_once() -> None:
    with Stub(echo) as a, Stub(echo) as b, Stub(echo) as c:
        done = answers([a.url, b.url, c.url], questions())
        assert_all_answered(done, questions())
        assert set(Counter(asked(a) + asked(b) + asked(c)).values()) == {1}
        assert min(a.calls, b.calls, c.calls) > 0


def test_where_all_have_as_much_to_do_they_take_turns() -> None:
    async def one_by_one(urls: list[str]) -> None:
        async with opened(urls) as model:
            for request in questions(9):
                await model.ask(request)

    with Stub(echo) as a, Stub(echo) as b, Stub(echo) as c:
        asyncio.run(one_by_one([a.url, b.url, c.url]))
        assert (a.calls, b.calls, c.calls) == (3, 3, 3)


def test_a_slow_server_gets_fewer_calls() -> None:
    with Stub(slowly) as slow, Stub(echo) as fast:
        assert_all_answered(answers([slow.url, fast.url], questions()), questions())
        assert 0 < slow.calls < fast.calls / 2


def test_concurrency_is_that_of_all_servers_together() -> None:
    both = Counter[str]()

    def counted(body: dict[str, Any], count: int) -> Awaitable[web.StreamResponse]:
        async def answer() -> web.StreamResponse:
            both["now"] += 1
            both["most"] = max(both["most"], both["now"])
            await asyncio.sleep(0.01)
            both["now"] -= 1
            return echo(body, count)

        return answer()

    async def scenario(urls: list[str]) -> list[Exchange]:
        async with opened(urls, concurrency=3) as model:
            return list(await asyncio.gather(*map(model.ask, questions(20))))

    with Stub(counted) as a, Stub(counted) as b:
        assert_all_answered(asyncio.run(scenario([a.url, b.url])), questions(20))
    assert both["most"] <= 3


# -- sick servers -----------------------------------------------------------------------------------------------------


async def drip(_body: dict[str, Any], _count: int) -> web.StreamResponse:
    await asyncio.sleep(30)
    return says("late")


def raw(text: str, status: int = 200, content_type: str = "application/json") -> Any:
    return lambda _body, _count: web.Response(text=text, status=status, content_type=content_type)


@pytest.mark.parametrize(
    "sick",
    [
        raw("oops", 500),
        raw("<html>sign in</html>", content_type="text/html"),
        raw('{"error": {"message": "no model m"}}', 404),
        raw('{"error": {"message": "bad key"}}', 401),
        raw('{"error": {"message": "there is no model m"}}', 400),
        raw("moved", 302),
        raw('{"choices": []}'),
        raw(""),
        lambda _body, _count: CUT,
        drip,
    ],
    ids=["500", "html", "404", "401", "400", "302", "no choice", "empty", "cut", "hangs"],
)
def test_a_sick_server_is_dropped_and_its_calls_are_answered_by_the_other(sick: Any) -> None:
    with Stub(sick) as bad, Stub(echo) as good:
        done = answers([bad.url, good.url], questions(), timeout=1.0, tries=3)
        assert_all_answered(done, questions())
        assert sorted(asked(good)) == sorted(request.messages[0].content for request in questions())
        assert bad.calls <= STRIKES + AT_ONCE, "it is left alone while it rests"


@pytest.mark.parametrize("address", ["http://nowhere.invalid:1/v1", "http://127.0.0.1:{free}/v1", "https://127.0.0.1:{plain}/v1"])  # fmt: skip
def test_a_server_that_cannot_be_reached_costs_no_try(address: str) -> None:
    with Stub(echo) as plain, Stub(echo) as good:
        bad = address.format(free=free_port(), plain=plain.port)
        assert_all_answered(answers([bad, good.url], questions(), tries=1), questions())
        assert set(Counter(asked(good)).values()) == {1}
        assert plain.calls == 0


def test_a_killed_server_is_taken_back_when_it_is_there_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mindgauge.models.servers.SHORTEST_REST", 0.05)

    def started(port: int) -> subprocess.Popen[str]:
        command = [sys.executable, str(ROOT / "bench" / "stub.py"), "--port", str(port)]
        server = processes.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        processes.callback(server.kill)
        assert server.stdout is not None
        assert server.stdout.readline()
        return server

    async def scenario(port: int, other: str) -> list[Exchange]:
        server = started(port)
        async with opened([f"http://127.0.0.1:{port}/20ms/v1", other]) as model:
            first = model.servers[0]
            done = await ask_all(model, questions(20))
            under_way = [asyncio.create_task(model.ask(request)) for request in questions(AT_ONCE)]
            await asyncio.sleep(0.01)
            assert first.chat.throttle.under_way > 0
            server.kill()
            done += await asyncio.gather(*under_way)
            done += await ask_all(model, questions(20))
            assert not well(first)
            await asyncio.to_thread(started, port)
            while not well(first):
                done += await ask_all(model, questions(5))
                await asyncio.sleep(0.02)
            return done

    with ExitStack() as processes, Stub(slowly) as good:
        done = asyncio.run(scenario(free_port(), good.url))
    assert {one.status for one in done} == {Status.OK}


def test_while_all_are_sick_calls_wait_and_one_that_recovers_answers_them() -> None:
    def recovering(body: dict[str, Any], count: int) -> web.StreamResponse:
        return raw("oops", 500)(body, count) if count <= 12 else echo(body, count)

    with Stub(recovering) as a, Stub(raw("oops", 500)) as b:
        done = answers([a.url, b.url], questions(), tries=12)
    assert_all_answered(done, questions())


def test_when_none_recovers_a_call_fails_after_its_tries() -> None:
    with Stub(raw("oops", 500)) as a, Stub(raw("oops", 502)) as b:
        (done,) = answers([a.url, b.url], questions(1), tries=3)
        assert done.status is Status.FAILED
        assert "oops" in done.error
        assert 3 <= a.calls + b.calls == done.attempts <= 6


def test_servers_of_which_none_ever_answers_are_one_clear_line() -> None:
    with Stub(raw('{"error": {"message": "bad key"}}', 401)) as a, Stub(raw("<html>", content_type="text/html")) as b:
        dead = f"http://127.0.0.1:{free_port()}/v1"
        with pytest.raises(EndpointError, match="none of 3 servers answered after 2 tries") as caught:
            answers([a.url, b.url, dead], questions(1), tries=2)
        said = str(caught.value)
    assert "\n" not in said
    assert f"127.0.0.1:{a.port} refuses us (401: bad key)" in said
    assert f"{b.url}/chat/completions does not speak the chat protocol: HTML" in said
    assert f"{dead}/chat/completions did not answer:" in said


def test_where_all_refuse_the_key_nobody_is_asked_again() -> None:
    with Stub(raw("no", 401)) as a, Stub(raw("no", 403)) as b:
        with pytest.raises(EndpointError, match="refuses us"):
            answers([a.url, b.url], questions(1))
        assert a.calls + b.calls == 2


# -- busy servers, and what servers do not take --------------------------------------------------------------------------


def test_a_storm_of_429_at_one_server_sends_the_calls_to_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mindgauge.models.completion.LONGEST_PAUSE", 60.0)

    def busy(_body: dict[str, Any], _count: int) -> web.StreamResponse:
        return web.Response(status=429, headers={"Retry-After": "50"}, text="{}")

    async def scenario(urls: list[str]) -> list[Exchange]:
        async with opened(urls) as model:
            done = await ask_all(model, questions())
            assert well(model.servers[0])
            assert model.servers[0].chat.throttle.limit < AT_ONCE
            return done

    with Stub(busy) as a, Stub(echo) as b:
        assert_all_answered(asyncio.run(scenario([a.url, b.url])), questions())
        assert a.calls <= AT_ONCE
        assert b.calls == CALLS


def test_a_storm_at_all_servers_passes() -> None:
    def busy(body: dict[str, Any], count: int) -> web.StreamResponse:
        return web.Response(status=503, text="{}") if count <= 10 else echo(body, count)

    with Stub(busy) as a, Stub(busy) as b:
        assert_all_answered(answers([a.url, b.url], questions(), tries=20), questions())


def test_each_server_is_asked_without_what_it_does_not_take() -> None:
    def without(*names: str) -> Callable[[dict[str, Any], int], web.StreamResponse]:
        def answer(body: dict[str, Any], count: int) -> web.StreamResponse:
            refused = next((name for name in names if name in body), None)
            return raw(f"Unsupported parameter: {refused}", 400)(body, count) if refused else echo(body, count)

        return answer

    with Stub(without("seed")) as a, Stub(without("max_tokens", "seed")) as b, Stub(echo) as c:
        done = answers([a.url, b.url, c.url], questions(), tries=1)
        assert_all_answered(done, questions())
        assert "max_tokens" in a.bodies[-1]
        assert "max_completion_tokens" in b.bodies[-1]
        assert "seed" in c.bodies[-1]


def test_a_call_that_all_servers_refuse_is_asked_once_of_each() -> None:
    with Stub(raw("the context is too long", 400)) as a, Stub(raw("the context is too long", 400)) as b:
        (done,) = answers([a.url, b.url], questions(1))
        assert (a.calls, b.calls) == (1, 1)
    assert done.status is Status.FAILED
    assert "too long" in done.error


# -- the whole --------------------------------------------------------------------------------------------------------


def test_servers_may_come_and_go_between_two_commands_without_paying_again(tmp_path: Path) -> None:
    with Stub(obliging) as a, Stub(obliging) as b:
        alone, both = f"{a.url}#m", f"{a.url},{b.url}#m"
        first = mindgauge.run(
            "help_or_harm/response", model=both, judge=both, own_family=True, out=tmp_path / "run", limit=14
        )
        calls = a.calls + b.calls
        assert b.calls > 0
        second = mindgauge.run(
            "help_or_harm/response", model=alone, judge=alone, own_family=True, out=tmp_path / "run", limit=14
        )
        assert a.calls + b.calls == calls
    assert isinstance(first, Scores)
    assert isinstance(second, Scores)
    assert [m.value for m in first.metrics] == [m.value for m in second.metrics]


def test_a_sick_server_rests_longer_each_time_and_is_tried_by_one_call() -> None:
    health, now = Health(), time.monotonic()
    health.failed(now, at_once=True, tried=False)
    rest = SHORTEST_REST
    for _ in range(8):
        assert not health.able(now)
        now += rest
        assert health.begin(now)
        assert not health.able(now), "one call tries it"
        health.failed(now, at_once=False, tried=True)
        health.end(tried=True)
        rest = min(LONGEST_REST, 2 * rest)
    assert rest == LONGEST_REST
    health.answered()
    assert health.able(now)
    for _ in range(STRIKES - 1):
        health.failed(now, at_once=False, tried=False)
        assert health.able(now)
    health.failed(now, at_once=False, tried=False)
    assert not health.able(now)
    assert health.able(now + SHORTEST_REST)
