"""A server of raw bytes: what it does with a connection is a function. No library for servers would say such things."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from typing import TYPE_CHECKING, Any

from tests.stub import completion

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Awaitable, Callable

    Does = Callable[["Wire"], Awaitable[None]]

_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")
GOOD = json.dumps(completion("It sounds like you carry a lot. Who is near you tonight?")).encode()


class Wire:
    """One connection, seen from the server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, times: int) -> None:
        self.reader = reader
        self.writer = writer
        self.times = times
        """How many connections there were before."""
        self.heads: list[bytes] = []
        """The lines and headers of its requests."""
        self.bodies: list[bytes] = []

    async def question(self) -> bytes:
        """Read a request; return its first line and headers."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = _LENGTH.search(head)
        self.heads.append(head)
        self.bodies.append(await self.reader.readexactly(int(length[1]) if length else 0))
        return head

    async def write(self, content: bytes) -> None:
        self.writer.write(content)
        await self.writer.drain()

    async def answer(self, body: bytes = GOOD, *headers: str, status: str = "200 OK") -> None:
        """Answer well, or with another status, body and headers."""
        lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(body)}", *headers]
        await self.write("\r\n".join([*lines, "\r\n"]).encode() + body)

    async def until_gone(self) -> None:
        """Wait until the other side has closed."""
        while await self.reader.read(1 << 16):
            pass


@contextlib.asynccontextmanager
async def serving(does: Does, tls: ssl.SSLContext | None = None) -> AsyncIterator[tuple[int, list[Wire]]]:
    """Serve on a loopback port; yields it, and the connections so far. What a function leaves open is cut at its end."""
    wires: list[Wire] = []
    tasks: set[asyncio.Task[Any]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        wires.append(Wire(reader, writer, len(wires)))
        try:
            await does(wires[-1])
        except (OSError, EOFError, asyncio.CancelledError, asyncio.LimitOverrunError):
            pass
        finally:
            tasks.discard(task)
            with contextlib.suppress(OSError):
                writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls, limit=1 << 26, backlog=512)
    try:
        yield server.sockets[0].getsockname()[1], wires
    finally:
        server.close()
        for task in [*tasks]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
