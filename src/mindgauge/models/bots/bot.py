"""What every kind of bot has in common: conversations side by side, dialogues turn by turn, failures that cost one reply.

A bot is somebody's own program. What goes wrong in it is a finding about it: a reply that failed, with its reason.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias

import msgspec

from mindgauge.models import completion
from mindgauge.models.completion import RetryableError, pause_after
from mindgauge.records import Exchange, Message, Status
from mindgauge.records.errors import EndpointError
from mindgauge.records.request import BARE, FREE, asked_for

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from mindgauge.records.request import Price, Request, Setup

    Held: TypeAlias = Callable[[Request], Awaitable[Exchange]]
    """A conversation that is under way: says the last message of a request, and returns what the bot answers."""

EXCERPT = 200
"""Characters of an answer that a reason shows."""
_PAUSE = 0.5
"""Seconds before the first retry, at most."""
_LOOKED_AT = 1 << 16
"""Characters of an answer in which secrets are hidden before an excerpt is cut."""


class BotError(Exception):
    """A conversation came to no reply, and would come to none by being held again."""

    def __init__(self, reason: str, status: Status = Status.FAILED, overdue: int = 0) -> None:
        super().__init__(reason)
        self.status = status
        self.overdue = overdue


class Conversation(Protocol):
    """One conversation with a bot."""

    opening: str
    """What the bot said first; empty where it waited."""

    async def say(self, messages: tuple[Message, ...]) -> str:
        """Let the bot answer the last of these messages.

        Raises:
            BotError: no reply came of it.
            RetryableError: the way to the bot failed, so that another conversation may succeed.
        """
        ...


class Bot:
    """A model that is somebody's own program. It is told what the person says, and takes no parameters."""

    own_machine = False
    context: int | None = None
    max_tokens = 4096
    host = ""

    def __init__(
        self,
        name: str,
        *,
        setup: Setup = BARE,
        price: Price | None = None,
        at_once: int | None = None,
        timeout: float = 120.0,
        tries: int = 1,
        replays: bool = False,
    ) -> None:
        """Describe the bot; nothing is sent before it is entered.

        Args:
            name: how the user calls it; part of every call's key.
            setup: all that changes its answers.
            price: US dollars per token; free if not given.
            at_once: the most conversations at once, None for as many as the command says.
            timeout: seconds for each turn.
            tries: conversations per call, where the way to the bot fails.
            replays: whether a dialogue is replayed turn by turn, so that its own answers stand in it.
        """
        self.name = name
        self.setup = setup
        self.price: Price | None = price or FREE
        self.at_once = at_once
        self.timeout = timeout
        self.tries = tries
        self.replays = replays
        self._places: asyncio.Semaphore | None = None
        self._answered = False

    async def __aenter__(self) -> Self:
        self._places = asyncio.Semaphore(self.at_once) if self.at_once else None
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    def conversation(self) -> contextlib.AbstractAsyncContextManager[Conversation]:
        """Begin a conversation; it ends with the block."""
        raise NotImplementedError

    async def ask(self, request: Request) -> Exchange:
        """Hold one conversation, and take the last reply; see `Model.ask`."""
        async with self._places or contextlib.nullcontext():
            exchange = await self._asked(request)
        return msgspec.structs.replace(exchange, unsupported=tuple(sorted(asked_for(request))), at=time.time())

    @contextlib.asynccontextmanager
    async def dialogue(self) -> AsyncIterator[Held]:
        """Hold one conversation, turn by turn: each call says the last of its messages. What goes wrong is a status."""
        async with self._places or contextlib.nullcontext(), contextlib.AsyncExitStack() as stack:
            conversation: Conversation | None = None

            async def say(request: Request) -> Exchange:
                nonlocal conversation
                began = time.perf_counter()
                try:
                    if conversation is None:
                        conversation = await stack.enter_async_context(self._begun())
                    text = await self._turn(conversation, opened(request.messages))
                except RetryableError as problem:
                    if problem.lost and not self._answered:
                        raise EndpointError(f"{self.name}: {problem.lost}: {problem}") from problem
                    exchange = Exchange(Status.FAILED, error=completion.one_line(str(problem)))
                except BotError as problem:
                    error = completion.one_line(str(problem))
                    exchange = Exchange(problem.status, error=error, overdue=problem.overdue)
                else:
                    self._answered = True
                    first = (Message("assistant", conversation.opening),) * bool(conversation.opening.strip())
                    addressed = tuple(message for message in request.messages if message.role != "system")
                    exchange = _exchange(text, (*first, *addressed) if first else (), 0.0, 1)
                seconds = time.perf_counter() - began
                unsupported = tuple(sorted(asked_for(request)))
                return msgspec.structs.replace(exchange, seconds=seconds, unsupported=unsupported, at=time.time())

            yield say

    async def _asked(self, request: Request) -> Exchange:
        for attempt in range(1, self.tries + 1):
            began = time.perf_counter()
            try:
                text, before = await self._held(request.messages)
            except BotError as problem:
                self._answered = True
                error, seconds = completion.one_line(str(problem)), time.perf_counter() - began
                return Exchange(problem.status, seconds=seconds, attempts=attempt, error=error, overdue=problem.overdue)
            except RetryableError as problem:
                last, last.seconds = problem, time.perf_counter() - began
            else:
                self._answered = True
                return _exchange(text, before, time.perf_counter() - began, attempt)
            if attempt < self.tries:
                await asyncio.sleep(pause_after(last, attempt, _PAUSE))
        if last.lost and not self._answered:
            raise EndpointError(f"{self.name}: {last.lost} after {self.tries} tries: {last}")
        return Exchange(Status.FAILED, seconds=last.seconds, attempts=self.tries, error=str(last))

    async def _held(self, messages: tuple[Message, ...]) -> tuple[str, tuple[Message, ...]]:
        """Hold a conversation; return its last reply, and what was said before it where that is not what was asked."""
        dialogue = tuple(message for message in messages if message.role != "system")
        async with self._begun() as conversation:
            opening = (Message("assistant", conversation.opening),) * bool(conversation.opening.strip())
            if not self.replays:
                text = await self._turn(conversation, opened(messages))
                return text, (*opening, *dialogue) if opening else ()
            held, text, replaced = opening, "", False
            turns = _turns(dialogue)
            for number, turn in enumerate(turns, 1):
                held = (*held, turn)
                told = opened((*(message for message in messages if message.role == "system"), *held))
                try:
                    text = await self._turn(conversation, told)
                except BotError as error:
                    if number == len(turns):
                        raise
                    raise BotError(f"turn {number} of {len(turns)}: {error}", error.status, error.overdue) from error
                if number < len(turns):
                    replaced = True
                    held = (*held, Message("assistant", completion.words(text))) if text.strip() else held
            return text, held if opening or replaced else ()

    @contextlib.asynccontextmanager
    async def _begun(self) -> AsyncIterator[Conversation]:
        """Begin a conversation within the time of a turn."""
        entered = self.conversation()
        async with self._in_time():
            conversation = await entered.__aenter__()
        try:
            yield conversation
        except BaseException as error:
            await entered.__aexit__(type(error), error, error.__traceback__)
            raise
        else:
            await entered.__aexit__(None, None, None)

    async def _turn(self, conversation: Conversation, messages: tuple[Message, ...]) -> str:
        async with self._in_time():
            text = await conversation.say(messages)
        if len(text) > completion.LONGEST_TEXT:
            raise BotError(f"a reply of more than {completion.LONGEST_TEXT:,} characters")
        return text

    @contextlib.asynccontextmanager
    async def _in_time(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self.timeout):
                yield
        except TimeoutError as error:
            raise BotError(completion.overdue(self.timeout), overdue=1) from error


def opened(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return messages without the system's, which stand before the person's first words: a bot has a system prompt of its own."""
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    others = tuple(message for message in messages if message.role != "system")
    first = next((place for place, message in enumerate(others) if message.role == "user"), None)
    if not system or first is None:
        return others
    return (*others[:first], Message("user", f"{system}\n\n{others[first].content}"), *others[first + 1 :])


def last_of(messages: tuple[Message, ...]) -> str:
    """Return what the person said last; several messages in a row are one turn."""
    return next((turn.content for turn in reversed(_turns(messages))), messages[-1].content if messages else "")


def _turns(messages: tuple[Message, ...]) -> list[Message]:
    """Return the person's turns; several messages in a row are one."""
    return [
        Message("user", "\n\n".join(message.content for message in turn))
        for role, turn in itertools.groupby(messages, key=lambda message: message.role)
        if role == "user"
    ]


def excerpt(answer: str | bytes) -> str:
    """Return the beginning of an answer, on one line and without secrets."""
    text = answer[:_LOOKED_AT].decode(errors="replace") if isinstance(answer, bytes) else answer[:_LOOKED_AT]
    return completion.one_line(text)[:EXCERPT]


def _exchange(text: str, before: tuple[Message, ...], seconds: float, attempt: int) -> Exchange:
    text = completion.words(text)
    status = Status.OK if text.strip() else Status.UNPARSABLE
    error = "" if status is Status.OK else "the answer is empty"
    return Exchange(status, text, seconds=seconds, attempts=attempt, error=error, before=before)
