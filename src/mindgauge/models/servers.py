"""One model on several servers: each call goes to a well server with the least work under way; a sick one rests.

A server that cannot be reached, refuses us, or leaves call after call unanswered is dropped, and its calls move to
the others at once; after a rest one call tries it again. A busy one is throttled, and the others are preferred.

What load balancers call passive health checks with ejection, and Nygard ("Release It!", 2007) a circuit breaker.
Times are seconds on a clock that only goes forward.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Self

import msgspec

from mindgauge.models.chat_endpoint import Throttle
from mindgauge.models.completion import FailureKind, RetryableError
from mindgauge.records import Exchange, Status
from mindgauge.records.errors import EndpointError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from mindgauge.models.chat_endpoint import ChatModel
    from mindgauge.records.request import Request


CONNECT_WITHIN = 10.0
"""Seconds; a server that takes longer to connect counts as one that cannot be reached."""


class Server:
    """One of several servers: how to ask it, and how it is doing."""

    def __init__(self, chat: ChatModel) -> None:
        self.chat = chat
        self.health = Health()
        self.problem: RetryableError | None = None
        """What was last wrong; None after an answer."""
        self.answered = False
        self.turn = 0
        """When it was last chosen, in calls."""
        self._refusals = 0

    @property
    def said(self) -> str:
        """What was last wrong, in words."""
        if self.problem is None or self.problem.fault is FailureKind.FATAL:
            return self.problem.lost if self.problem else ""
        return f"{self.problem.lost}: {self.problem}"

    def eager(self, moment: float) -> tuple[bool, int, int]:
        """Order servers: first one that is to be tried again, then by work under way, then in turn."""
        return not (self.health.sick and self.health.able(moment)), self.chat.throttle.under_way, self.turn

    async def ask(self, request: Request, attempt: int) -> Exchange:
        """Ask once, and again if it only has to be asked in other words; learn from it how the server is doing.

        Raises:
            RetryableError: it did not answer.
        """
        tried = self.health.begin(time.monotonic())
        try:
            exchange = await self._in_its_words(request, attempt)
        except RetryableError as problem:
            self._failed(problem, tried=tried)
            raise
        finally:
            self.health.end(tried=tried)
        if exchange.status is not Status.FAILED:
            self.health.answered()
            self.problem, self.answered, self._refusals = None, True, 0
        return exchange

    async def _in_its_words(self, request: Request, attempt: int) -> Exchange:
        while True:
            try:
                return await self.chat.attempt(request, attempt)
            except RetryableError as problem:
                if problem.fault is not FailureKind.UNSUPPORTED_PARAMETER:
                    raise

    def _failed(self, problem: RetryableError, *, tried: bool) -> None:
        moment, self.problem = time.monotonic(), problem
        if problem.fault is FailureKind.BUSY:
            self._refusals += moment >= self.health.busy_until
            self.health.busy(moment, self.chat.pause_after(problem, self._refusals))
        else:
            self.health.failed(moment, at_once=bool(problem.lost), tried=tried)


class Servers:
    """A model behind several OpenAI-compatible endpoints."""

    own_machine = False

    def __init__(self, chats: Sequence[ChatModel], *, concurrency: int) -> None:
        """Describe them; nothing is sent before they are entered.

        Args:
            chats: one model per server. The first gives the name, so that others may come and go.
            concurrency: the most calls under way at once, on all servers together.
        """
        first = chats[0]
        self.name = first.name
        self.host = ", ".join(dict.fromkeys(chat.host for chat in chats))
        self.price = first.price
        self.max_tokens = first.max_tokens
        self.context = first.context
        self.setup = first.setup
        self.at_once = first.at_once
        self.servers = [Server(chat) for chat in chats]
        self._tries = first.tries
        self._gate = Throttle(concurrency)
        self._waiting: list[asyncio.Future[None]] = []
        self._turns = 0
        self._open = AsyncExitStack()

    async def __aenter__(self) -> Self:
        for server in self.servers:
            await self._open.enter_async_context(server.chat)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    async def ask(self, request: Request) -> Exchange:
        """Answer one request; see `Model.ask`.

        A failure at a server that is sick does not count as a try while another may still answer. When all that may
        answer have failed, the call waits as it would for a single server, and they are asked again. No server is asked
        again that may still be at work on the call.
        """
        answers: dict[Server, Exchange | None] = {}
        late: RetryableError | None = None
        attempts = tries = overdue = 0
        while True:
            server, refused = await self._place(answers), None
            attempts += 1
            try:
                exchange = await server.ask(request, attempts)
            except RetryableError as error:
                problem = error
                if problem.fault is FailureKind.OVERDUE:
                    late, overdue = problem, overdue + 1
            else:
                if exchange.status is not Status.FAILED:
                    _suspect(answers)
                    return msgspec.structs.replace(exchange, overdue=overdue) if overdue else exchange
                problem, refused = RetryableError(exchange.error), exchange
            finally:
                self._leave()
            answers[server] = refused
            others = self._able(answers)
            tries += not (others and server.health.sick)
            if tries >= self._tries or not others:
                refused = next(filter(None, answers.values()), None)
                if refused is not None:
                    return msgspec.structs.replace(refused, overdue=overdue) if overdue else refused
            if tries >= self._tries or (not others and (late is not None or self._fatal())):
                failure = self._given_up(server, late or problem, tries, attempts)
                return msgspec.structs.replace(failure, overdue=overdue)
            if not others:
                await asyncio.sleep(server.chat.pause_after(problem, tries))
                answers.clear()

    async def _place(self, tried: Collection[Server]) -> Server:
        """Wait for a place, at a server that has not been asked yet if possible."""
        await self._gate.enter()
        try:
            while True:
                moment = time.monotonic()
                server = self._choice(tried, moment)
                if server is not None:
                    self._turns += 1
                    server.turn = self._turns
                    return server
                await self._change(moment)
        except BaseException:
            self._leave()
            raise

    def _choice(self, tried: Collection[Server], moment: float) -> Server | None:
        """Return the server to ask; None while those that should be asked have no place free."""
        fit = self._able(tried) or self._able(()) or self.servers
        calm = [server for server in fit if moment >= server.health.busy_until] or fit
        free = [server for server in calm if server.chat.throttle.free > 0]
        return min(free, key=lambda server: server.eager(moment), default=None)

    def _able(self, tried: Collection[Server]) -> list[Server]:
        """Return the servers that may be given a call and are not among those."""
        moment = time.monotonic()
        return [server for server in self.servers if server not in tried and server.health.able(moment)]

    async def _change(self, moment: float) -> None:
        """Wait until a call ends, or a server's pause does."""
        loop = asyncio.get_running_loop()
        change = loop.create_future()
        self._waiting.append(change)
        pauses = [end - moment for server in self.servers for end in server.health.pauses if end > moment]
        timer = loop.call_later(min(pauses), self._wake) if pauses else None
        try:
            await change
        finally:
            if timer is not None:
                timer.cancel()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for change in waiting:
            if not change.done():
                change.set_result(None)

    def _leave(self) -> None:
        self._gate.leave()
        self._wake()

    def _fatal(self) -> bool:
        """Whether every server refuses every call."""
        return all(
            s.problem is not None and s.problem.fault is FailureKind.FATAL and not s.answered for s in self.servers
        )

    def _given_up(self, server: Server, problem: RetryableError, tries: int, attempts: int) -> Exchange:
        """Say that a call failed.

        Raises:
            EndpointError: none of the servers has ever answered, and none looks as if it would.
        """
        if all(other.problem is not None and other.problem.lost and not other.answered for other in self.servers):
            problems = "; ".join(other.said for other in self.servers)
            raise EndpointError(
                f"{self.name}: none of {len(self.servers)} servers answered after {tries} tries: {problems}"
            )
        error = f"{server.chat.url}: {problem}"
        return Exchange(Status.FAILED, seconds=problem.seconds, attempts=attempts, error=error, at=time.time())


def _suspect(answers: dict[Server, Exchange | None]) -> None:
    """Count it against servers that they would not do what another did."""
    for server, refused in answers.items():
        if refused is not None:
            server.health.failed(time.monotonic(), at_once=False, tried=False)


# How one of several servers is doing: well, busy, or sick; a sick one rests, and one call tries it again.


STRIKES = 3
"""Calls that a server leaves unanswered one after the other before it is sick; one where it cannot be reached or
refuses us."""
SHORTEST_REST, LONGEST_REST = 1.0, 60.0
"""Seconds that a sick server is left alone; twice as long after each call that tried it in vain."""


class Health:
    """The state of one server."""

    def __init__(self) -> None:
        self.sick = False
        self.rests_until = 0.0
        self.busy_until = 0.0
        self._tried = False
        self._strikes = 0
        self._rest = SHORTEST_REST

    @property
    def pauses(self) -> tuple[float, float]:
        """When its rest and its pause end."""
        return self.rests_until, self.busy_until

    def able(self, moment: float) -> bool:
        """Whether it may be given a call: it is well, or has rested and no other call is trying it."""
        return not self.sick or (moment >= self.rests_until and not self._tried)

    def begin(self, moment: float) -> bool:
        """Give it a call; returns whether this one tries whether it is well again."""
        tries = self.sick and self.able(moment)
        self._tried = self._tried or tries
        return tries

    def end(self, *, tried: bool) -> None:
        """Take note that a call is over, however it ended."""
        if tried:
            self._tried = False

    def answered(self) -> None:
        """Take note of an answer: it is well."""
        self.sick, self._strikes, self._rest = False, 0, SHORTEST_REST

    def busy(self, moment: float, pause: float) -> None:
        """Take note that it has too much to do, and would rather be asked after a pause."""
        self.sick, self._strikes = False, 0
        self.busy_until = max(self.busy_until, moment + pause)

    def failed(self, moment: float, *, at_once: bool, tried: bool) -> None:
        """Take note that a call brought no answer.

        Args:
            moment: the time.
            at_once: whether this one call is enough to call it sick.
            tried: whether the call tried whether it is well again.
        """
        self._strikes += 1
        if self.sick and not tried:
            return
        if self.sick:
            self._rest = min(LONGEST_REST, 2 * self._rest)
        if self.sick or at_once or self._strikes >= STRIKES:
            self.sick = True
            self.rests_until = moment + self._rest
