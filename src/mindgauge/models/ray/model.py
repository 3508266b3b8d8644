"""A model whose calls are made by actors: each is given its share, and what a lost one had goes to the others."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from itertools import count
from textwrap import shorten
from typing import TYPE_CHECKING, Self

import msgspec

from mindgauge.models.ray.actor import ActorCall, ActorHandle
from mindgauge.models.ray.cluster import in_lasting_thread
from mindgauge.records import Exchange, Status
from mindgauge.records.errors import EndpointError, MindgaugeError

if TYPE_CHECKING:
    from mindgauge.models.ray.actor import ActorOutcome
    from mindgauge.models.ray.cluster import Cluster
    from mindgauge.models.settings import Settings
    from mindgauge.records.request import Model, Request

START_WITHIN = 60.0
"""Seconds that the first actor has to start, and a new one once the last is lost."""
PAUSE = 1.0
"""Seconds between the loss of an actor and the start of another in its place."""


class RayModel:
    """A plain model, asked by actors. A seat is an actor's place; each has a keeper, a task that fills it again and again."""

    def __init__(self, plain: Model, spec: str, settings: Settings, cluster: Cluster) -> None:
        self.name = plain.name
        self.host = plain.host
        self.price = plain.price
        self.max_tokens = plain.max_tokens
        self.context = plain.context
        self.own_machine = plain.own_machine
        self.setup = plain.setup
        self.at_once = plain.at_once
        self._spec = spec
        self._settings = settings
        self._cluster = cluster
        self._numbers = count()
        self._waiting: deque[ActorCall] = deque()
        self._dealing: asyncio.Handle | None = None
        self._seats: list[ActorHandle] = []
        self._share = 0
        self._keepers: list[asyncio.Task[None]] = []
        self._giving_up: asyncio.TimerHandle | None = None
        self._broken: MindgaugeError | None = None
        self._reason = ""
        self._answered = False
        self._left = False

    # -- calls --------------------------------------------------------------------------------------------------------

    async def ask(self, request: Request) -> Exchange:
        """Have one request answered by an actor; see `Model.ask`."""
        if self._broken is not None:
            raise self._broken
        call = ActorCall(msgspec.structs.replace(request, sample=None))
        self._waiting.append(call)
        self._deal_soon()
        return await call.answer

    def _deal_soon(self) -> None:
        """Deal when the event loop has run through: whoever asks in the same turn travels in the same batch."""
        if self._dealing is None:
            self._dealing = asyncio.get_running_loop().call_soon(self._deal)

    def _deal(self) -> None:
        self._dealing = None
        batches: dict[ActorHandle, list[tuple[int, Request]]] = {}
        while self._waiting:
            free = [seat for seat in self._seats if seat.open and len(seat.calls) < self._share]
            if not free:
                break
            call = self._waiting.popleft()
            if call.answer.done():
                continue
            seat = min(free, key=lambda seat: len(seat.calls))
            number = next(self._numbers)
            seat.calls[number] = call
            batches.setdefault(seat, []).append((number, call.request))
        for seat, batch in batches.items():
            seat.put(batch)

    def _settle(self, seat: ActorHandle, outcome: ActorOutcome) -> None:
        call = seat.calls.pop(outcome.call, None)
        if call is None or call.answer.done():
            return
        if outcome.exchange is not None:
            self._answered = self._answered or outcome.exchange.status is not Status.FAILED
            call.answer.set_result(outcome.exchange)
        elif self._answered and outcome.kind == EndpointError.__name__:
            # A new actor has seen no answer yet, but this model has: as in one process, the call failed, not the model.
            failed = Exchange(Status.FAILED, attempts=self._settings.tries, error=outcome.message, at=time.time())
            call.answer.set_result(failed)
        else:
            call.answer.set_exception(outcome.error)

    # -- actors -------------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        self._left, self._broken = False, None
        nodes = await asyncio.wrap_future(in_lasting_thread(self._cluster.connect))
        seats = self._settings.actors or (nodes if self.own_machine else max(nodes, 2)) or 1
        self._share = math.ceil(self._settings.concurrency / seats)
        self._seats = [ActorHandle() for _ in range(seats)]
        loop = asyncio.get_running_loop()
        first: list[asyncio.Future[None]] = [loop.create_future() for _ in self._seats]
        self._keepers = [asyncio.create_task(self._keep(*pair)) for pair in zip(self._seats, first, strict=True)]
        try:
            await self._some_open(first)
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def _some_open(self, first: list[asyncio.Future[None]]) -> None:
        """Wait for all seats, or as long as may be for some."""
        await asyncio.wait(first, timeout=START_WITHIN, return_when=asyncio.FIRST_EXCEPTION)
        problems = [error for seat in first if seat.done() and (error := seat.exception()) is not None]
        if problems:
            raise problems[0]
        if not any(seat.open for seat in self._seats):
            because = f" ({self._reason})" if self._reason else ""
            raise MindgaugeError(
                f"no Ray actor started within {START_WITHIN:g} s: has a node of the cluster CPUs free?{because}"
            )

    async def __aexit__(self, *_: object) -> None:
        self._left = True
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        await asyncio.gather(*map(self._empty, self._seats))
        self._seats, self._keepers = [], []

    async def _keep(self, seat: ActorHandle, first: asyncio.Future[None]) -> None:
        """Keep an actor in a seat until the model is left."""
        import ray

        while True:
            try:
                await seat.fill(self._spec, self._its_settings())
                self._opened(first)
                while True:
                    for outcome in await seat.take():
                        self._settle(seat, outcome)
                    self._deal()
            except MindgaugeError as error:
                # It will be no better in a minute: at the start it ends the command, later others may still work.
                self._reason = str(error)
                if not first.done():
                    first.set_exception(error)
                    first.exception()  # seen, also if nobody waits for it any more
            except Exception as error:  # noqa: BLE001 - whatever Ray raises means that the actor is lost
                self._reason = shorten(f"{type(error).__name__}: {error}", 200)
            await self._empty(seat)
            if not ray.is_initialized():
                self._break("the connection to the Ray cluster is lost")
                return
            await asyncio.sleep(PAUSE)

    def _opened(self, first: asyncio.Future[None]) -> None:
        if not first.done():
            first.set_result(None)
        if self._giving_up is not None:
            self._giving_up.cancel()
            self._giving_up = None
        self._deal_soon()

    async def _empty(self, seat: ActorHandle) -> None:
        """Be sure that a seat's actor works no more, and put what it had before everything else that waits."""
        for call in reversed(await seat.clear()):
            call.losses += 1
            if call.losses < self._settings.tries:
                self._waiting.appendleft(call)
            elif not call.answer.done():
                error = f"{call.losses} Ray actors died while they made this call; the last: {self._reason}"
                call.answer.set_result(Exchange(Status.FAILED, attempts=call.losses, error=error, at=time.time()))
        self._deal_soon()
        if self._left and self._giving_up is not None:
            self._giving_up.cancel()
        elif self._giving_up is None and not any(other.open for other in self._seats):
            self._giving_up = asyncio.get_running_loop().call_later(
                START_WITHIN,
                self._break,
                f"all Ray actors are lost and none could be started again within {START_WITHIN:g} s",
            )

    def _break(self, cause: str) -> None:
        """End all calls, and those to come: no actor will make them."""
        because = f" ({self._reason})" if self._reason else ""
        self._broken = MindgaugeError(
            f"{self.name}: {cause}; everything finished is kept, run the same command to go on{because}"
        )
        for call in self._waiting:
            if not call.answer.done():
                call.answer.set_exception(self._broken)
        self._waiting.clear()

    def _its_settings(self) -> bytes:
        """Return what an actor opens the model with: its share of the calls, and the price that is known here."""
        settings = msgspec.structs.replace(
            self._settings, engine="", actors=None, concurrency=self._share, price=self._settings.price or self.price
        )
        return msgspec.json.encode(settings)
