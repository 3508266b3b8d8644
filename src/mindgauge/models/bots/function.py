"""A bot that is Python code: a function, or a class whose instances each hold one conversation.

Plain functions run in threads, and coroutine functions in an event loop of their own, which lives as long as the bot:
so neither holds up anybody else's calls, and what they keep open outlives the steps of a command.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import json
import secrets
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.models import completion
from mindgauge.models.bots import source, template
from mindgauge.models.bots.bot import Bot, BotError, last_of
from mindgauge.models.bots.template import CONVERSATION, MESSAGE, MESSAGES
from mindgauge.records import installed
from mindgauge.records.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from mindgauge.records import Exchange, Message
    from mindgauge.records.request import Price, Request, Setup

MOST_LOST = 256
"""Calls that never came back, whose threads still run; beyond them nothing more is begun."""
_form_asked = contextvars.ContextVar("form_asked", default=False)
"""Whether the question that is being answered asks for a form, which a dict fills in. A reply to a person is a text."""


class Function(Bot):
    """A Python function as a model: under test, or as a judge.

    It is called with what its signature names: `message` (the person's last message, a judge's whole prompt),
    `messages` (a list of `{"role": …, "content": …}`), `conversation` (an id). It returns a text; where
    a form is asked for, of judges and in closed questions, a dict will do.

    A class with `reply` (and `start`, whose text comes first, where it has one) is made anew for each conversation. One
    whose `reply` takes `message` is told a dialogue turn by turn, so that its own answers stand in it.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str = "",
        concurrency: int | None = None,
        timeout: float = 120.0,
        price: Price | None = None,
        setup: Setup | None = None,
    ) -> None:
        """Look at the function; it is not called yet.

        Args:
            function: a function, coroutine function, or class with `reply`.
            name: how it is called in tables; its own name if not given.
            concurrency: calls at once; as many as the command says if not given.
            timeout: seconds for each call.
            price: US dollars per token; free if not given.
            setup: all that changes its answers; found from its source if not given.

        Raises:
            UsageError: its signature names something that it cannot be given, or it has no name.
        """
        name = name or getattr(function, "__name__", type(function).__name__)
        if name == "<lambda>":
            raise UsageError("a lambda has no name to stand in tables; give it one: Function(…, name=…)")
        self._class = source.class_of(function, name)
        self._start: source.Call | None = None
        if self._class:
            self._reply = source.Call.of_method(function, "reply", name)
            if hasattr(function, "start"):
                self._start = source.Call.of_method(function, "start", f"{name}.start", (CONVERSATION,))
        else:
            self._reply = source.Call(function, name)
        super().__init__(
            name, setup=setup or source.of_object(function), price=price, at_once=concurrency, timeout=timeout,
            replays=self._class and MESSAGES not in self._reply.takes,
        )  # fmt: skip
        self._made = function
        self._folder = _folder(function)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lost = 0

    async def ask(self, request: Request) -> Exchange:
        """Hold one conversation, and take the last reply; see `Model.ask`."""
        asked = _form_asked.set(request.schema is not None)
        try:
            return await super().ask(request)
        finally:
            _form_asked.reset(asked)

    @contextlib.asynccontextmanager
    async def conversation(self) -> AsyncIterator[_FunctionConversation]:
        """Begin a conversation, with an instance of its own where it is a class."""
        ident = secrets.token_hex(16)
        if not self._class:
            yield _FunctionConversation(self, self._reply, ident, "")
            return
        instance, opening = await self.called(self._begin, conversation=ident)
        if inspect.isawaitable(opening):
            opening = self._value(await self._in_loop(opening))
        if not isinstance(opening, str | None):
            raise BotError(f"start() returned {type(opening).__name__}, not a text")
        yield _FunctionConversation(
            self, self._reply.on(instance.reply), ident, completion.words(str.__str__(opening or ""))
        )

    def _begin(self, conversation: str) -> tuple[Any, Any]:
        """Make an instance, and let it start: in one go, for each call takes a thread."""
        instance = self._made()
        return instance, None if self._start is None else self._start.on(instance.start)(conversation=conversation)

    async def called(self, function: Callable[..., Any], **told: Any) -> Any:
        """Call somebody's code, in a thread or in the bot's own loop.

        Raises:
            BotError: it raised something.
        """
        if isinstance(function, source.Call) and inspect.iscoroutinefunction(function.function):
            outcome = await self._in_loop(function(**told))
        else:
            outcome = await self._in_thread(lambda: function(**told))
            if outcome.error is None and inspect.isawaitable(outcome.value):
                outcome = await self._in_loop(outcome.value)
        return self._value(outcome)

    def _value(self, outcome: _Outcome) -> Any:
        if outcome.error is not None:
            raise BotError(installed.fault(outcome.error, self._folder)) from outcome.error
        return outcome.value

    async def _in_thread(self, call: Callable[[], Any]) -> _Outcome:
        """Run a call in a thread of its own: one that never ends then holds up neither others nor the command's end."""
        if self._lost >= MOST_LOST:
            raise BotError(f"{self._lost} earlier calls never came back and still run, so this one was not begun")
        loop, done = asyncio.get_running_loop(), asyncio.Event()
        outcomes: list[_Outcome] = []

        def target() -> None:
            try:
                outcomes.append(_Outcome(call()))
            except BaseException as error:  # noqa: BLE001 - a finding about the bot
                outcomes.append(_Outcome(error=error))
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(done.set)

        thread = threading.Thread(target=target, daemon=True, name=f"{self.name} call")
        thread.start()
        try:
            await done.wait()
        except BaseException:
            self._lost += 1
            threading.Thread(target=self._wait_for, args=(thread,), daemon=True).start()
            raise
        return outcomes[0]

    def _wait_for(self, thread: threading.Thread) -> None:
        thread.join()
        self._lost -= 1

    async def _in_loop(self, awaitable: Any) -> _Outcome:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=self._loop.run_forever, daemon=True, name=f"{self.name} loop").start()

        async def waited() -> _Outcome:
            try:
                return _Outcome(await awaitable)
            except asyncio.CancelledError as error:
                if (task := asyncio.current_task()) is not None and task.cancelling():
                    raise  # nobody waits any more
                return _Outcome(error=error)
            except BaseException as error:  # noqa: BLE001 - a finding about the bot
                return _Outcome(error=error)

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(waited(), self._loop))


class _Outcome(NamedTuple):
    """What came of a call: a value, or what was raised."""

    value: Any = None
    error: BaseException | None = None


class _FunctionConversation:
    """One conversation with a function, or an instance."""

    def __init__(self, bot: Function, reply: Callable[..., Any], ident: str, opening: str) -> None:
        self._bot = bot
        self._reply = reply
        self._ident = ident
        self.opening = opening

    async def say(self, messages: tuple[Message, ...]) -> str:
        """Let the function answer; see `Conversation`."""
        told = {MESSAGE: last_of(messages), MESSAGES: template.listed(messages), CONVERSATION: self._ident}
        text = await self._bot.called(self._reply, **told)
        if isinstance(text, dict) and _form_asked.get():
            try:
                return json.dumps(text, ensure_ascii=False)
            except (TypeError, ValueError) as error:
                raise BotError(f"it returned a dict that is no JSON: {error}") from error
        if not isinstance(text, str):
            raise BotError(f"it returned {type(text).__name__}, not a text")
        return str.__str__(text)  # of a kind of its own, as of numpy, which no database takes


def _folder(function: Callable[..., Any]) -> Path | None:
    """Return where a function's file lies."""
    try:
        file = inspect.getsourcefile(inspect.unwrap(function))
    except TypeError:
        file = None
    return Path(file).parent if file else None
