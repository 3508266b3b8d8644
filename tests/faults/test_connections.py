"""Visitors who open connections and do not ask, ask without end, or do not listen: nobody else waits for them."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
import threading
import time
from typing import TYPE_CHECKING

import httpx2
import pytest

from mindgauge.annotation.page.serve import create_app
from mindgauge.annotation.web import serving
from tests.annotation.conftest import begin
from tests.annotation.page.test_serve import served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HELD = 1_100
URL = "http://label.example.org"
BEGINNINGS = {
    "nothing": b"",
    "a line": b"GET /standing HTTP/1.1\r\n",
    "a header": b"GET /standing HTTP/1.1\r\nHost: label.example.org\r\nX: ",
    "a body": b"POST /join HTTP/1.1\r\nHost: label.example.org\r\nContent-Length: 900000\r\n\r\ntoken=",
}
"""Of a request that never ends."""


@pytest.fixture
def descriptors() -> Iterator[None]:
    """Let this process hold as many connections as the attacker did."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = HELD + 500
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"this process may open {hard} files only")
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def ask(url: str) -> tuple[int, float]:
    began = time.perf_counter()
    with httpx2.Client(base_url=url, timeout=30) as client:
        return client.get("/static/page.css").status_code, time.perf_counter() - began


@pytest.mark.long
@pytest.mark.usefixtures("descriptors")
@pytest.mark.parametrize(
    "said",
    [
        pytest.param(said, id=name, marks=[] if name == "nothing" else pytest.mark.long)
        for name, said in BEGINNINGS.items()
    ],
)
def test_many_half_open_connections_keep_nobody_out(tmp_path: Path, said: bytes) -> None:
    with served(tmp_path / "project", URL) as running, contextlib.ExitStack() as held:
        port = int(running.url.rpartition(":")[2])
        resource.prlimit(running.process.pid, resource.RLIMIT_NOFILE, (1024, 1024))  # as many systems have it
        for _ in range(HELD):
            one = held.enter_context(socket.create_connection(("127.0.0.1", port), 30))
            one.sendall(said)
        found = [ask(running.url) for _ in range(5)]
        assert {status for status, _ in found} == {200}
        assert max(seconds for _, seconds in found) < 5
        assert running.stop()[0] == 0


@pytest.fixture
def hasty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Serve a page in this process, with times that can be waited for; return its port."""
    monkeypatch.setattr(serving, "ASK", 1.0)
    monkeypatch.setattr(serving, "LISTEN", 2.0)
    monkeypatch.setattr(serving, "most", lambda: 8)
    started = threading.Event()
    servers: list[serving._Server] = []
    run = serving._Server.run

    def noted(self: serving._Server, sockets: list[socket.socket] | None = None) -> None:
        servers.append(self)
        run(self, sockets)

    monkeypatch.setattr(serving._Server, "run", noted)
    with begin(tmp_path / "project", url=URL) as a:
        taken = serving.listen("127.0.0.1", 0)
        port = taken.getsockname()[1]
        thread = threading.Thread(target=serving.serve, args=(create_app(a, port=port), taken, started.set))
        thread.start()
        assert started.wait(30)
        yield port
        servers[0].should_exit = True
        thread.join()


def heard(one: socket.socket) -> bool:
    """Read one whole answer, and say whether it is the picture that was asked for."""
    said = b""
    while b"</svg>" not in said and (more := one.recv(1 << 16)):
        said += more
    return b" 200 " in said and b"</svg>" in said


def ends(one: socket.socket, within: float) -> float:
    """Wait until the other side has let go, and return the seconds."""
    began = time.perf_counter()
    one.settimeout(within)
    with contextlib.suppress(ConnectionError):
        while one.recv(1 << 16):
            pass
    return time.perf_counter() - began


@pytest.mark.parametrize("said", BEGINNINGS.values(), ids=BEGINNINGS)
def test_a_request_has_its_time_however_its_bytes_trickle_in(hasty: int, said: bytes) -> None:
    with socket.create_connection(("127.0.0.1", hasty)) as one:
        one.sendall(said)
        stop = time.perf_counter() + 1.5
        with contextlib.suppress(OSError):
            while time.perf_counter() < stop and said:
                one.sendall(b"x")
                time.sleep(0.1)
        assert ends(one, 5) < 1.5


def test_a_second_request_on_a_connection_has_its_time_too(hasty: int) -> None:
    whole = b"GET /static/icon.svg HTTP/1.1\r\nHost: label.example.org\r\n\r\n"
    with socket.create_connection(("127.0.0.1", hasty)) as one:
        for _ in range(8):  # who asks and listens goes on for longer than one request may take
            one.sendall(whole)
            assert heard(one)
            time.sleep(0.2)
        one.sendall(whole + whole[:20])
        assert heard(one)
        assert ends(one, 5) < 2


@pytest.mark.long
def test_who_asks_on_and_does_not_listen_is_let_go(hasty: int) -> None:
    """What is sent and not read would fill the memory otherwise."""
    whole = b"GET /static/page.js HTTP/1.1\r\nHost: label.example.org\r\n\r\n"

    async def deaf() -> float:
        reader, writer = await asyncio.open_connection("127.0.0.1", hasty, limit=1)
        reader._transport.pause_reading()  # type: ignore[attr-defined]
        began = time.perf_counter()
        with contextlib.suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(20):
                while True:
                    writer.write(whole * 50)
                    await writer.drain()
        writer.transport.abort()
        return time.perf_counter() - began

    assert asyncio.run(deaf()) < 15


def test_of_too_many_the_one_that_kept_waiting_longest_makes_room(hasty: int) -> None:
    whole = b"GET /static/icon.svg HTTP/1.1\r\nHost: label.example.org\r\n\r\n"
    with contextlib.ExitStack() as held:
        silent = [held.enter_context(socket.create_connection(("127.0.0.1", hasty))) for _ in range(8)]
        time.sleep(0.1)
        with socket.create_connection(("127.0.0.1", hasty)) as other:
            other.sendall(whole)
            assert heard(other)
            assert ends(silent[0], 0.5) < 0.5
            silent[-1].sendall(whole)
            assert heard(silent[-1])
