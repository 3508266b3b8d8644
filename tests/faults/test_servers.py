"""Servers that go away, are busy, are slow, or send what is no answer."""

from __future__ import annotations

import asyncio
import time
from itertools import cycle
from typing import TYPE_CHECKING

import pytest

from tests.configured import configured
from tests.faults.campaign import CONCURRENCY, Work, account, command, content, finish, record, start
from tests.faults.server import Call, Server

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

SHORT, LONG = Work(24), Work(112, 4)
both = pytest.mark.parametrize("work", [SHORT, pytest.param(LONG, marks=pytest.mark.long)])


@pytest.mark.long
@both
def test_a_server_that_is_restarted_is_asked_again(tmp_path: Path, work: Work) -> None:
    restarts = 1 if work == SHORT else 5
    with Server(latency=0.02) as server:
        arguments = command(server, tmp_path, work)
        with start(arguments) as process:
            for i in range(restarts):
                while server.calls < (i + 0.5) * work.questions / restarts:
                    assert process.poll() is None
                    time.sleep(0.001)
                server.down()
                time.sleep(2)
                server.up()
            said = process.communicate(timeout=300)[1]
        assert process.returncode == 0, said
        if any(rows[0][0] == "failed" for about, rows in content(tmp_path).items() if about[0] != "sample"):
            finish(arguments)  # its tries were used up while nobody listened
        found = account(server, tmp_path, work)
    assert found.sound, found
    assert found.repeated <= CONCURRENCY * restarts, found
    if work == LONG:
        record("Server restarts", f"gone for 2 s, {restarts} times in the middle of calls", found, "finished")


@pytest.mark.parametrize("work", [SHORT, pytest.param(Work(112, judged=False), marks=pytest.mark.long)])
def test_a_storm_of_429_is_waited_out(tmp_path: Path, work: Work) -> None:
    long = work != SHORT
    pauses = cycle(["0", "0.1", "-5", "soon", "nan", "Wed, 21 Oct 2015 07:28:00 GMT", ""])

    async def busy(call: Call) -> None:
        if call.times:
            await call.pay()
        else:
            pause = next(pauses)
            await call.send(429, b'{"error": {"message": "slow down"}}', **({"Retry_After": pause} if pause else {}))

    with Server() as server:
        server.fault = busy
        if long:
            server.fault = _storm(busy)
        finish(command(server, tmp_path, work))
        found = account(server, tmp_path, work)
    assert found.sound, found
    assert found.repeated == 0
    if long:
        what = "every question refused at first, with and without Retry-After, also absurd ones"
        record("A storm of 429", what, found, "finished")


def _storm(busy: Callable[[Call], Awaitable[None]]) -> Callable[[Call], Awaitable[None]]:
    """Ask for an absurd pause once only: each is waited for a minute."""
    absurd = iter([True])

    async def fault(call: Call) -> None:
        if call.number > 20 and next(absurd, False):
            await call.send(429, b"{}", Retry_After="9" * 400)
        else:
            await busy(call)

    return fault


# -- what is no answer -------------------------------------------------------------------------------------------------

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


async def _slow_drip(call: Call) -> None:
    await call.write(_HEAD + b"Content-Length: 1000\r\n\r\n")
    for _ in range(1000):
        await call.write(b" ")
        await asyncio.sleep(0.3)


async def _endless(call: Call) -> None:
    await call.write(_HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    while True:
        await call.write(b"100000\r\n" + b" " * 0x100000 + b"\r\n")


async def _huge(call: Call) -> None:
    await call.write(_HEAD + b"Content-Length: 40000000\r\n\r\n")
    for _ in range(40):
        await call.write(b" " * 1_000_000)


async def _cut(call: Call) -> None:
    await call.write(_HEAD + b'Content-Length: 500\r\n\r\n{"choices": [')
    raise ConnectionResetError


async def _silent(call: Call) -> None:
    await asyncio.sleep(60)


async def _no_http(call: Call) -> None:
    await call.write(b"220 mail.example.org ready\r\n\r\n")
    raise ConnectionResetError


async def _empty_body(call: Call) -> None:
    await call.send(200, b"")


async def _no_choice(call: Call) -> None:
    await call.send(200, b'{"choices": []}')


async def _half_json(call: Call) -> None:
    await call.send(200, b'{"choices": [{"message": {"content": "I am h')


async def _broken(call: Call) -> None:
    await call.send(500, b"<html>Internal Server Error</html>")


NO_ANSWERS = (_slow_drip, _endless, _huge, _cut, _silent, _no_http, _empty_body, _no_choice, _half_json, _broken)


@both
def test_what_is_no_answer_is_asked_again_and_never_kept_as_one(tmp_path: Path, work: Work) -> None:
    """First every second question gets no answer, however often it is asked; then the server has recovered."""

    async def ill(call: Call) -> None:
        chosen = int(call.key, 16)
        if chosen % 2:
            await NO_ANSWERS[chosen // 2 % len(NO_ANSWERS)](call)
        else:
            await call.pay()

    with Server() as server:
        arguments = command(server, tmp_path, work._replace(judged=False), *configured(tmp_path, timeout=1, tries=2))
        server.fault = ill
        finish(arguments)
        statuses = [rows[0] for about, rows in content(tmp_path).items() if about[0] == "reply"]
        failed = [text for status, text in statuses if status == "failed"]
        assert len(failed) == len(server.asked_for) - len(server.paid)
        assert not any(failed)
        assert {status for status, _ in statuses} == {"ok", "failed"}
        server.fault = Call.pay
        finish(arguments)
        found = account(server, tmp_path, work._replace(judged=False))
    assert found.sound, found
    assert found.repeated == 0
    if work == LONG:
        what = "half of all questions get a slow drip, an endless, huge, empty, half, cut or foreign answer, or none"
        record("What is no answer", what, found, "failed, none kept as an answer; finished by the same command")


@pytest.mark.long
def test_an_empty_text_is_an_outcome(tmp_path: Path) -> None:
    work = SHORT._replace(judged=False)

    async def speechless(call: Call) -> None:
        call.server.paid[call.key] += 1
        content = b'""' if int(call.key, 16) % 2 else b"null"
        await call.send(200, b'{"choices": [{"message": {"content": ' + content + b'}, "finish_reason": "stop"}]}')

    with Server() as server:
        server.fault = speechless
        arguments = command(server, tmp_path, work)
        finish(arguments)
        finish(arguments)
        statuses = [rows for about, rows in content(tmp_path).items() if about[0] == "reply"]
    assert statuses == [[("unparsable", "")]] * (work.limit * work.runs)
    assert server.repeated == 0
