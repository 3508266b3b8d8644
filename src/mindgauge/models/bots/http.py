"""A bot behind HTTP, with JSON of its own: asked by a template, read by places in the answer."""

from __future__ import annotations

import contextlib
import secrets
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import urlsplit

import aiohttp
import msgspec

from mindgauge.models import completion, transport
from mindgauge.models.bots import template
from mindgauge.models.bots.bot import Bot, BotError, excerpt, last_of
from mindgauge.models.completion import FailureKind, RetryableError
from mindgauge.records import Status

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from mindgauge.models.bots.config import HttpCall, HttpConfig
    from mindgauge.records import Message
    from mindgauge.records.request import Price

_TRANSIENT = {408, 425, 429, 502, 503, 504}
"""Statuses of what stands before a bot, or of one that has too much to do; another call may succeed."""
_BUSY = {429, 503}
_LONGEST = 4_096
"""Characters of a conversation's id, which is in each of its calls."""
CONNECT_WITHIN = 10.0
"""Seconds; a bot that takes longer to connect counts as one that cannot be reached."""
_encode = msgspec.json.Encoder().encode


class HttpBot(Bot):
    """A bot that is called with a template."""

    def __init__(
        self,
        config: HttpConfig,
        *,
        headers: Mapping[str, str],
        start_headers: Mapping[str, str],
        price: Price | None,
        concurrency: int,
        timeout: float,
        tries: int,
    ) -> None:
        """Describe the bot; nothing is sent before it is entered.

        Args:
            config: the bot's; its headers are not read.
            headers: of every call but the one that starts a conversation, filled; they are not stored.
            start_headers: of that one.
            price: US dollars per token; free if not given.
            concurrency: conversations at once.
            timeout: seconds for each call.
            tries: conversations per call, where the connection fails.
        """
        super().__init__(
            config.shown, setup=config.setup, price=price, at_once=config.concurrency, timeout=timeout, tries=tries,
            replays=config.replays,
        )  # fmt: skip
        self.host = ", ".join(dict.fromkeys(urlsplit(call.url).hostname or "" for call in config.calls))
        self._call, self._start = config.call, config.start
        self._headers, self._start_headers = dict(headers), dict(start_headers)
        self._reply, self._echo = _Place("reply", config.reply), _Place("echo", config.echo)
        self._concurrency = concurrency
        self._live: set[str] = set()
        """The ids of conversations that are being held."""
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self._session = transport.session(
            headers={},
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=min(CONNECT_WITHIN, self.timeout / 2)),
            limit=self._concurrency,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    @contextlib.asynccontextmanager
    async def conversation(self) -> AsyncIterator[_HttpConversation]:
        """Start a conversation."""
        ident, opening = await self._started()
        if ident in self._live:
            raise BotError("the bot gave two conversations one id, so that it cannot tell them apart")
        self._live.add(ident)
        try:
            yield _HttpConversation(self, ident, opening)
        finally:
            self._live.discard(ident)

    async def _started(self) -> tuple[str, str]:
        """Return the id of a new conversation, and what the bot says first."""
        if self._start is None:
            return secrets.token_hex(16), ""
        filling = template.Filling("", [], "")
        answer, content = await self._sent(self._start, self._start_headers, filling)
        place = _Place("start.conversation", self._start.conversation)
        ident = place.found(answer, content)
        if isinstance(ident, bool) or not isinstance(ident, str | int) or not 0 < len(str(ident)) <= _LONGEST:
            raise place.error("an id", ident, content)
        if not self._start.reply:
            return str(ident), ""
        place = _Place("start.reply", self._start.reply)
        opening = place.found(answer, content)
        if not isinstance(opening, str | None):
            raise place.error("a text", opening, content)
        return str(ident), completion.words(opening or "")

    async def said(self, messages: tuple[Message, ...], ident: str) -> str:
        """Let the bot answer the last message of a conversation."""
        filling = template.Filling(last_of(messages), template.listed(messages), ident)
        answer, content = await self._sent(self._call, self._headers, filling)
        if self._echo.text:
            echoed = self._echo.found(answer, content)
            if str(echoed) != ident:
                raise BotError(
                    f"the bot mixes conversations up: it answers for {excerpt(str(echoed))!r}, and was asked in another one"
                )
        text = self._reply.found(answer, content)
        if not isinstance(text, str):
            raise self._reply.error("a text", text, content)
        return text

    async def _sent(self, call: HttpCall, headers: Mapping[str, str], filling: template.Filling) -> tuple[Any, bytes]:
        """Call the bot; return its answer, read and as it came."""
        assert self._session is not None, "enter the bot before asking it"
        try:
            url = filling.url(call.url)
            body = {} if call.body is None else {"data": _encode(filling.body(call.body))}
        except ValueError as error:
            raise BotError(f"the bot cannot be asked in this conversation: {error}") from error
        kind = {"Content-Type": "application/json"} if body else {}
        lost = f"{call.url} did not answer"
        try:
            sending = transport.send(self._session, call.method, url, headers={**kind, **headers}, **body)
            async with sending as response:
                content, status, answered = await transport.read(response), response.status, response.headers
        except aiohttp.ClientConnectorError as error:
            raise RetryableError(str(getattr(error, "os_error", None) or error), lost=lost) from error
        except aiohttp.ConnectionTimeoutError as error:
            raise RetryableError("no connection in time", lost=lost) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise RetryableError(transport.fault(error)) from error
        if status in _TRANSIENT:
            fault = FailureKind.BUSY if status in _BUSY else FailureKind.BROKEN
            pause = completion.retry_after(answered.get("Retry-After"))
            raise RetryableError(f"{status}: {completion.fault(content)}", fault, pause=pause)
        if not 200 <= status < 300:
            said = completion.fault(content) if status >= 400 else "it sends us elsewhere, where nothing is sent"
            blocked = status >= 400 and completion.blocked(said)
            raise BotError(f"{status}: {said}", Status.FILTERED if blocked else Status.FAILED)
        try:
            return completion.parsed(content), content
        except ValueError as error:
            beginning = excerpt(content)
            raise BotError(f"{completion.kind(content)} instead of JSON{beginning and f': {beginning}'}") from error


class _HttpConversation:
    """One conversation with a bot behind HTTP."""

    def __init__(self, bot: HttpBot, ident: str, opening: str) -> None:
        self._bot = bot
        self._ident = ident
        self.opening = opening

    async def say(self, messages: tuple[Message, ...]) -> str:
        """Let the bot answer; see `Conversation`."""
        return await self._bot.said(messages, self._ident)


class _Place(NamedTuple):
    """Where something stands in an answer: the setting that says so, and what it says."""

    setting: str
    text: str

    def found(self, answer: Any, content: bytes) -> Any:
        """Return what stands there in an answer, which came as `content`."""
        try:
            return template.at(answer, template.place(self.text))
        except LookupError as error:
            raise BotError(
                f"the answer has nothing at {self.text}, where `{self.setting}` in mindgauge.toml says to look: {excerpt(content)}"
            ) from error

    def error(self, wanted: str, value: object, content: bytes) -> BotError:
        """Say that something else stands there than is wanted."""
        return BotError(
            f"at {self.text}, where `{self.setting}` in mindgauge.toml says to look, the answer has {_kind(value)} rather than "
            f"{wanted}: {excerpt(content)}"
        )


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", bool: "yes or no", int: "a number", float: "a number", str: "a text"}
    return "null" if value is None else names.get(type(value), "something else")
