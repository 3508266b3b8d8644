"""A chat server for tests: each request is answered by a function, which may also misbehave."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import TYPE_CHECKING, Any, Self

from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Handler = Callable[[dict[str, Any], int], Awaitable[web.StreamResponse] | web.StreamResponse]


def completion(text: str | None, **more: Any) -> dict[str, Any]:
    """Write a chat completion; `more` goes into its message, `finish_reason` and `usage` beside it."""
    reason = more.pop("finish_reason", "stop")
    usage = more.pop("usage", {"prompt_tokens": 10, "completion_tokens": 5})
    message = {"role": "assistant", "content": text, **more}
    return {"model": "stub-1", "choices": [{"message": message, "finish_reason": reason}], "usage": usage}


def says(text: str | None, **more: Any) -> web.Response:
    return web.json_response(completion(text, **more))


def words(body: dict[str, Any]) -> str:
    """Return all text of a request."""
    return "\n".join(message["content"] for message in body["messages"])


PROBED = 1
"""Tokens of the answer to a probe (`runs/probe.py`)."""
CUT = web.Response(text="never sent: the connection is cut in the middle of an answer")


class Loopback:
    """Serves what `route` adds, on a loopback port in a thread of its own; `headers` keeps those of each request."""

    def __init__(self) -> None:
        self.headers: list[dict[str, str]] = []
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self.port = 0

    def route(self, router: web.UrlDispatcher) -> None:
        raise NotImplementedError

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def model(self) -> str:
        return f"{self.url}#stub"

    @property
    def judge(self) -> str:
        """Another model at the same server: one that judges itself is refused."""
        return f"{self.url}#judge"

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        app = web.Application(client_max_size=1 << 28)
        self.route(app.router)
        runner = web.AppRunner(app, shutdown_timeout=0.1)

        async def start() -> None:
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            self.port = runner.addresses[0][1]
            self._ready.set()

        self._loop.run_until_complete(start())
        self._loop.run_forever()
        self._loop.run_until_complete(runner.cleanup())
        pending = asyncio.all_tasks(self._loop)  # answers that nobody waits for any more
        for task in pending:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
        self._loop.close()


class Stub(Loopback):
    """Serves `handler(body, count)`; `bodies` keeps what was asked."""

    def __init__(self, handler: Handler) -> None:
        super().__init__()
        self.handler = handler
        self.bodies: list[dict[str, Any]] = []
        self.most_at_once = 0
        self._now = 0

    @property
    def probes(self) -> int:
        """How often it was asked for one token, to see which build answers."""
        return sum(PROBED in (body.get("max_tokens"), body.get("max_completion_tokens")) for body in self.bodies)

    @property
    def calls(self) -> int:
        return len(self.bodies) - self.probes

    def route(self, router: web.UrlDispatcher) -> None:
        router.add_post("/v1/chat/completions", self._answer)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        self.bodies.append(body)
        self.headers.append(dict(request.headers))
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        try:
            answer = self.handler(body, len(self.bodies))
            if answer is CUT:
                assert request.transport is not None
                request.transport.write(b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"choices": [')
                request.transport.close()
                return web.Response()
            return answer if isinstance(answer, web.StreamResponse) else await answer
        finally:
            self._now -= 1
