"""A bot that is a command: questions on its standard input, replies on its standard output, a line of JSON each.

Each place has a process of its own, which is asked one thing at a time: a bot that works off its lines one after the
other then is as parallel as `concurrency` says, and one that hangs or dies costs its own reply alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
from typing import TYPE_CHECKING

import msgspec

from mindgauge.models import completion
from mindgauge.models.bots import template
from mindgauge.models.bots.bot import Bot, BotError, excerpt, last_of
from mindgauge.records.errors import EndpointError, UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mindgauge.models.bots.config import CommandConfig
    from mindgauge.records import Message
    from mindgauge.records.request import Price

PROCESSES = 4
"""At once, if the configuration says nothing."""
LONGEST_LINE = 16 << 20
"""Bytes of an answer."""
ENDS_WITHIN = 1.0
"""Seconds that a process has to end after its input has, and again after it was told to."""
_KEPT = 4096
"""Bytes of what it wrote last to its standard error."""


class CommandBot(Bot):
    """A bot that is a command."""

    def __init__(self, config: CommandConfig, *, price: Price | None, timeout: float) -> None:
        """Describe the bot; nothing is started before it is asked.

        Raises:
            UsageError: its program is not here.
        """
        if not config.program:
            raise UsageError(f"{config.shown}: there is no program {config.command[0]!r} here")
        super().__init__(
            config.shown, setup=config.setup, price=price, at_once=config.concurrency or PROCESSES, timeout=timeout,
            replays=config.turns,
        )  # fmt: skip
        self._command = [config.program, *config.command[1:]]
        self._folder = config.folder or None
        self._idle: list[_Process] = []

    async def __aexit__(self, *_: object) -> None:
        idle, self._idle = self._idle, []
        await asyncio.gather(*(process.ended() for process in idle))

    @contextlib.asynccontextmanager
    async def conversation(self) -> AsyncIterator[_CommandConversation]:
        """Take a process for a conversation. One in which anything went wrong is not used again."""
        process = await self._process()
        try:
            yield _CommandConversation(process)
        except _SaidError:
            self._idle.append(process)
            raise
        except BaseException:
            await process.ended(at_once=True)
            raise
        else:
            self._idle.append(process)

    async def _process(self) -> _Process:
        while self._idle:
            process = self._idle.pop()
            if process.alive:
                return process
            await process.ended(at_once=True)
        return await _Process.started(self.name, self._command, self._folder)


class _SaidError(BotError):
    """The bot itself says that it has no reply; it is well otherwise."""


class _Process:
    """One process, asked one thing at a time."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._said = b""
        """What it wrote last to its standard error."""
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def started(cls, name: str, command: list[str], folder: str | None) -> _Process:
        """Start a process, in a group of its own, so that what it starts ends with it.

        Raises:
            EndpointError: it cannot be started.
        """
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *command, cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe, limit=LONGEST_LINE, start_new_session=True
            )
        except OSError as error:
            raise EndpointError(f"{name}: cannot start {command[0]} ({error.strerror})") from error
        return cls(process)

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return self._process.returncode is None

    async def answer(self, question: bytes) -> bytes:
        """Write a line and read one.

        Raises:
            BotError: it ended, or its line is too long.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(question + b"\n")
            await self._process.stdin.drain()
            line = await self._process.stdout.readline()
        except OSError:
            line = b""
        except ValueError as error:
            raise BotError(f"a line of more than {LONGEST_LINE >> 20} MiB") from error
        if not line.endswith(b"\n"):
            raise BotError(await self._end())
        return line

    async def _end(self) -> str:
        """Say how it ended, and what it wrote last."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), ENDS_WITHIN)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self._listening), ENDS_WITHIN)
        code = self._process.returncode
        how = "closed its output" if code is None else f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"  # fmt: skip
        return f"the command {how}{self.last_words}"

    @property
    def last_words(self) -> str:
        """The last line of its standard error, as the end of a sentence."""
        lines = self._said.decode(errors="replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), "")
        return f": {excerpt(last)}" if last else ""

    async def _listen(self) -> None:
        assert self._process.stderr is not None
        while part := await self._process.stderr.read(_KEPT):
            self._said = (self._said + part)[-_KEPT:]

    async def ended(self, *, at_once: bool = False) -> None:
        """End it, and whatever it started in its group: by closing its input, then by signals."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        for number in () if at_once else (None, signal.SIGTERM):
            if number is not None:
                self._signal(number)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), ENDS_WITHIN)
                break
        self._signal(signal.SIGKILL)
        await self._process.wait()
        self._listening.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._listening
        self._process._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001 - a process that left the group may hold its pipes

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


class _CommandConversation:
    """One conversation with a process."""

    opening = ""

    def __init__(self, process: _Process) -> None:
        self._process = process
        self._ident = secrets.token_hex(16)

    async def say(self, messages: tuple[Message, ...]) -> str:
        """Let the command answer; see `Conversation`."""
        ident = secrets.token_hex(8)
        question = {
            "id": ident, "message": last_of(messages), "messages": template.listed(messages), "conversation": self._ident,
        }  # fmt: skip
        line = await self._process.answer(msgspec.json.encode(question))
        try:
            answer = completion.parsed(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise BotError(f"its standard output has no line of JSON: {excerpt(line)}")
        if answer.get("id") != ident:
            raise BotError(
                f"the command mixes calls up: it answers for {excerpt(str(answer.get('id')))!r} and was asked {ident!r}"
            )
        if error := answer.get("error"):
            raise _SaidError(f"the command says: {excerpt(str(error))}")
        reply = answer.get("reply")
        if not isinstance(reply, str):
            raise BotError(f"its line has no text under `reply`: {excerpt(line)}")
        return reply
