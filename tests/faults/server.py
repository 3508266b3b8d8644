"""A chat server that keeps account: which questions it was paid for, how often, and what it does instead of answering.

It speaks HTTP by hand, since most of what goes wrong between two machines cannot be said through a library for servers.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import re
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any, Self

from tests.stub import PROBED, completion

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable, Coroutine

    Fault = Callable[["Call"], Awaitable[None]]

_NONCE = re.compile(r"\b[0-9a-f]{16}\b")


class Call:
    """One request, and the ways to answer it."""

    def __init__(self, server: Server, body: dict[str, Any], number: int, writer: asyncio.StreamWriter) -> None:
        self.server = server
        self.body = body
        self.number = number
        """From 1, in the order in which they came."""
        self.writer = writer
        plain = _NONCE.sub("", json.dumps(body, sort_keys=True, ensure_ascii=False))
        self.key = hashlib.blake2b(plain.encode(), digest_size=6).hexdigest()
        """The question, without the fence's nonce, which is another in every process."""
        self.times = server.asked_for[self.key]
        """How often it was asked before."""

    @property
    def text(self) -> str:
        """What is answered: always the same to the same question."""
        schema = self.body.get("response_format", {}).get("json_schema", {}).get("schema", {})
        chosen = int(self.key, 16)
        verdict: dict[str, Any] = {"quotes": [], "rationale": "what is said fits what was asked"}
        for name, described in schema.get("properties", {}).items():
            if "enum" in described:
                verdict[name] = described["enum"][chosen % len(described["enum"])]
        return (
            json.dumps(verdict) if schema else f"That sounds like a heavy week. Who is near you tonight? ({self.key})"
        )

    async def pay(self) -> None:
        """Answer, and be paid: from here on the question has cost money, whoever is still there to hear the answer."""
        self.server.paid[self.key] += 1
        await self.send(200, json.dumps(completion(self.text)).encode())

    async def send(self, status: int, content: bytes, **headers: object) -> None:
        """Send an answer, or what is none."""
        named = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        head = (
            f"HTTP/1.1 {status} Said\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n{named}\r\n"
        )
        await self.write(head.encode() + content)

    async def write(self, content: bytes) -> None:
        self.writer.write(content)
        await self.writer.drain()


async def _pay(call: Call) -> None:
    await call.pay()


class Server:
    """Serves on a loopback port in a thread. `fault` decides about each call; `down` and `up` restart it on its port."""

    def __init__(self, *, latency: float = 0.0, tls: ssl.SSLContext | None = None) -> None:
        """Args: latency in seconds before a call is answered; tls to speak it."""
        self.latency = latency
        self.fault: Fault = _pay
        self.port = 0
        self.forget()
        self._tls = tls
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._listening: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def forget(self) -> None:
        """Begin the account anew."""
        self.paid: Counter[str] = Counter()
        """How often each question was answered."""
        self.asked_for: Counter[str] = Counter()
        self.calls = 0

    @property
    def repeated(self) -> int:
        return sum(self.paid.values()) - len(self.paid)

    def model(self, name: str = "subject") -> str:
        return f"http{'s' if self._tls else ''}://127.0.0.1:{self.port}/v1#{name}"

    def __enter__(self) -> Self:
        self._thread.start()
        self.up()
        return self

    def __exit__(self, *_: object) -> None:
        self.down()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def up(self) -> None:
        """Listen, on the port of before if there was one."""
        self._do(self._up())

    def down(self) -> None:
        """Stop listening, and cut what is under way."""
        self._do(self._down())

    def _do(self, what: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(what, self._loop).result(10)

    async def _up(self) -> None:
        self._listening = await asyncio.start_server(self._serve, "127.0.0.1", self.port, ssl=self._tls, backlog=512)
        self.port = self._listening.sockets[0].getsockname()[1]

    async def _down(self) -> None:
        if self._listening is not None:
            self._listening.close()
            self._listening = None
        for task in [*self._tasks]:
            task.cancel()
        for writer in [*self._open]:
            writer.transport.abort()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._open.add(writer)
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while True:
                    head = await reader.readexactly(5)
                    if head != b"POST ":
                        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
                        return
                    head = await reader.readuntil(b"\r\n\r\n")
                    length = re.search(rb"(?i)content-length: *(\d+)", head)
                    body = json.loads(await reader.readexactly(int(length[1]) if length else 0))
                    if body.get("max_tokens") == PROBED:  # which build answers is no question that is accounted for
                        probe = Call(self, body, self.calls, writer)
                        await probe.send(200, json.dumps(completion(probe.text)).encode())
                        continue
                    self.calls += 1
                    call = Call(self, body, self.calls, writer)
                    self.asked_for[call.key] += 1
                    await asyncio.sleep(self.latency)
                    await self.fault(call)
        finally:
            self._tasks.discard(task)
            self._open.discard(writer)
            writer.transport.abort()
