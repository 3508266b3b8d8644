"""A stub of an OpenAI-compatible chat server: one process, no framework, so that it is never what a client waits for.

Run it by hand for trials:

    python bench/stub.py --port 8123
    mindgauge run help_or_harm/response --model http://127.0.0.1:8123/50ms/v1#stub

The latency stands in the address (`/50ms/v1/chat/completions`, 0 where there is none), so that one server serves every
figure of `engine.py`. `GET /count` says how many completions were asked for so far.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import re
import subprocess
import sys
import urllib.request
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterator

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_LATENCY = re.compile(rb"/(\d+)ms/")
_TEXTS = [
    f"That sounds like a heavy week, and it makes sense that you are tired of carrying it alone. (answer {i:02}) "
    "You do not have to sort all of it out tonight. Is there one person whom you could tell a small part of this? "
    "If it becomes too much, a helpline in your country can listen at any hour, and I am here meanwhile."
    for i in range(16)
]


def _http(content: bytes) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    return head.encode() + content


def _completion(text: str) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {
        "prompt_tokens": 80,
        "completion_tokens": 60,
        "total_tokens": 140,
        "prompt_tokens_details": {"cached_tokens": 0},
    }
    return _http(json.dumps({
        "id": "chatcmpl-stub", "object": "chat.completion", "created": 1700000000, "model": "stub-1",
        "system_fingerprint": "fp_stub", "choices": [choice], "usage": usage,
    }).encode())  # fmt: skip


class _Server(asyncio.Protocol):
    """One connection. Requests on it come one after another, as HTTP/1.1 clients send them."""

    answers = itertools.cycle([_completion(text) for text in _TEXTS])
    numbers = itertools.count()
    count = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.loop = asyncio.get_running_loop()
        self.received = b""

    def data_received(self, data: bytes) -> None:
        self.received += data
        head, end, body = self.received.partition(b"\r\n\r\n")
        if not end:
            return
        length = _LENGTH.search(head)
        if len(body) < (int(length[1]) if length else 0):
            return
        self.received = b""
        line = head[: head.index(b"\r\n")]
        if line.startswith(b"GET /count"):
            self.transport.write(_http(str(_Server.count).encode()))
            return
        _Server.count += 1
        latency = _LATENCY.search(line)
        self.loop.call_later(int(latency[1]) / 1000 if latency else 0.0, self._answer)

    def _answer(self) -> None:
        if not self.transport.is_closing():
            # Each has an id of its own, as long as the other: a bot may call a conversation by it.
            self.transport.write(next(self.answers).replace(b"chatcmpl-stub", b"c%012d" % next(self.numbers)))


class Stub:
    """The server in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        assert process.stdout is not None
        self.address = process.stdout.readline().strip()

    def url(self, latency: int) -> str:
        """Return the base address whose answers take `latency` milliseconds."""
        return f"{self.address}/{latency}ms/v1"

    def count(self) -> int:
        """Return how many completions were asked for so far."""
        with urllib.request.urlopen(f"{self.address}/count") as answer:
            return int(answer.read())

    @classmethod
    @contextlib.contextmanager
    def started(cls) -> Iterator[Self]:
        """Serve on a free port until the block ends."""
        with subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, text=True) as process:
            try:
                yield cls(process)
            finally:
                process.terminate()


async def serve(port: int) -> None:
    """Listen on loopback, say where, and serve until the process ends."""
    server = await asyncio.get_running_loop().create_server(_Server, "127.0.0.1", port, backlog=1024)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(parser.parse_args().port))
