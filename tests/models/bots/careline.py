"""A chat application of our own making: stateful, with JSON of its own, a greeting, and a guardrail that refuses.

It could not be further from an OpenAI endpoint: a session is opened first, each message is posted to it, what was said is
remembered on the server, and what is asked about medicine is turned down before anything is thought about.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import TYPE_CHECKING, Any

from aiohttp import web

from tests.stub import Loopback

if TYPE_CHECKING:
    from collections.abc import Callable

GREETING = "Hello, this is Careline. What is on your mind?"
GUARDED = "I cannot talk about medicine here. A pharmacist or your doctor can help with that."
_MEDICINE = ("pill", "dose", "medication", "药")
Answer = dict[str, Any] | web.StreamResponse


class Careline(Loopback):
    """Serves `POST /sessions` and `POST /sessions/ID/messages`; `fault` may change an answer: (answer, session, text) → answer."""

    def __init__(
        self, fault: Callable[[dict[str, Any], str, str], Any] | None = None, *, greets: bool = True, pause: float = 0.0
    ) -> None:
        super().__init__()
        self.sessions: dict[str, list[str]] = {}
        self.asked: list[tuple[str, str]] = []
        self.fault = fault
        self.greets = greets
        self.pause = pause
        self._numbers = itertools.count(1)

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def route(self, router: web.UrlDispatcher) -> None:
        router.add_post("/sessions", self._open)
        router.add_post("/sessions/{session}/messages", self._say)

    def toml(self, more: str = "", name: str = "careline") -> str:
        """Write its set-up."""
        return f"""
[models.{name}]
kind = "http"
url = "{self.base}/sessions/{{conversation}}/messages"
body = {{ says = {{ who = "person", text = "{{message}}" }} }}
reply = "data.reply.text"
echo = "data.session"
{more}
[models.{name}.start]
url = "{self.base}/sessions"
body = {{ lang = "en" }}
conversation = "session.id"
reply = "session.greeting"
"""

    async def _open(self, request: web.Request) -> web.StreamResponse:
        assert json.loads(await request.read()) == {"lang": "en"}
        self.headers.append(dict(request.headers))
        session = f"s{next(self._numbers)}"
        self.sessions[session] = []
        return web.json_response({"session": {"id": session, "greeting": GREETING if self.greets else ""}})

    async def _say(self, request: web.Request) -> web.StreamResponse:
        session = request.match_info["session"]
        text = json.loads(await request.read())["says"]["text"]
        self.headers.append(dict(request.headers))
        self.sessions[session].append(text)
        self.asked.append((session, text))
        await asyncio.sleep(self.pause)
        told: dict[str, Any] = {"data": {"session": session, "reply": {"text": self.words(session)}}}
        answer: Answer = told if self.fault is None else self.fault(told, session, text)
        return answer if isinstance(answer, web.StreamResponse) else web.json_response(answer)

    def words(self, session: str) -> str:
        """Say how often the person has spoken, and what they said last."""
        turns = self.sessions[session]
        if any(word in turns[-1].casefold() for word in _MEDICINE):
            return GUARDED
        return f"I hear you, {len(turns)} times so far in {session}: {turns[-1][:40]}"
