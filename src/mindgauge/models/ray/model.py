"""A model whose calls are made by actors: each is given its share, and what a lost one had goes to the others.

A message for each call would cost more than the call, so requests travel together, and so do their outcomes.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import re
import time
from collections import deque
from itertools import count
from textwrap import shorten
from typing import TYPE_CHECKING, Any, Self

import msgspec

from mindgauge.models.ray.cluster import in_lasting_thread
from mindgauge.models.settings import Settings
from mindgauge.models.spec import open_model, variables
from mindgauge.records import Exchange, Status, errors
from mindgauge.records.errors import EndpointError, MindgaugeError, UsageError
from mindgauge.records.request import Request
from mindgauge.store.manifest import software

if TYPE_CHECKING:
    from concurrent.futures import Future

    from mindgauge.models.ray.cluster import Cluster
    from mindgauge.records.request import Model

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


class ActorOutcome(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """What became of a call: an exchange, or an error that ends the command."""

    call: int
    exchange: Exchange | None = None
    kind: str = ""
    """The error's class in `mindgauge.records.errors`."""
    message: str = ""

    @classmethod
    def failing(cls, call: int, error: Exception) -> ActorOutcome:
        """Pack an error."""
        if isinstance(error, MindgaugeError):
            return cls(call, None, type(error).__name__, str(error))
        return cls(call, None, MindgaugeError.__name__, " ".join(f"{type(error).__name__}: {error}".split()))

    @property
    def error(self) -> MindgaugeError:
        """Unpack the error, of the same class as it was, where that is one of ours."""
        kind = getattr(errors, self.kind, MindgaugeError)
        return kind(self.message) if issubclass(kind, MindgaugeError) else MindgaugeError(self.message)


encode = msgspec.msgpack.Encoder().encode
requests = msgspec.msgpack.Decoder(list[tuple[int, Request]]).decode
outcomes = msgspec.msgpack.Decoder(list[ActorOutcome]).decode


class Actor:
    """Made on a node by Ray; every method runs in the actor's own event loop."""

    def __init__(self) -> None:
        self._model: Model | None = None
        self._under_way: set[asyncio.Task[None]] = set()
        self._done: list[ActorOutcome] = []
        self._some_done = asyncio.Event()

    async def where(self) -> tuple[str, str]:
        """Say on which node this is, and which Mindgauge is installed there."""
        import ray

        return ray.util.get_node_ip_address(), software()

    async def open(self, spec: str, settings: bytes, environment: dict[str, str | None]) -> bytes:
        """Open and enter the model; returns an outcome, with an error if that cannot be done.

        Args:
            spec: what `open_model` takes.
            settings: `Settings` as JSON.
            environment: environment variables that hold only while the model is opened; None for one that must not be set.
        """
        try:
            with _environment(environment):
                self._model = open_model(spec, msgspec.json.decode(settings, type=Settings))
            await self._model.__aenter__()
        except Exception as error:  # noqa: BLE001 - carried to the driver
            return encode([ActorOutcome.failing(0, error)])
        return encode([ActorOutcome(0)])

    async def put(self, batch: bytes) -> None:
        """Begin calls: numbered requests, msgpack."""
        for call, request in requests(batch):
            task = asyncio.create_task(self._make(call, request))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)

    async def take(self) -> bytes:
        """Wait until a call is done; return the outcomes of all that are, msgpack."""
        await self._some_done.wait()
        self._some_done.clear()
        outcomes, self._done = self._done, []
        return encode(outcomes)

    async def _make(self, call: int, request: Request) -> None:
        assert self._model is not None, "open the model before asking it"
        try:
            outcome = ActorOutcome(call, await self._model.ask(request))
        except Exception as error:  # noqa: BLE001 - carried to the driver
            outcome = ActorOutcome.failing(call, error)
        self._done.append(outcome)
        self._some_done.set()


class _environment:  # noqa: N801 - a context manager
    """Environment variables for the length of a block."""

    def __init__(self, values: dict[str, str | None]) -> None:
        self._values = values

    def __enter__(self) -> None:
        self._before = {name: os.environ.get(name) for name in self._values}
        _put(self._values)

    def __exit__(self, *_: object) -> None:
        _put(self._before)


def _put(values: dict[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


# One actor's place: what it was given and has not answered, and how an actor gets there.


CPUS = 0.01
"""What an actor reserves: it waits for the network. Not 0, so that a head that takes no work (`--num-cpus 0`) gets none."""


class ActorCall:
    """A request on its way, and where its exchange is awaited."""

    __slots__ = ("answer", "losses", "request")

    def __init__(self, request: Request) -> None:
        self.request = request
        self.answer: asyncio.Future[Exchange] = asyncio.get_running_loop().create_future()
        self.losses = 0


class ActorHandle:
    """An actor, or the lack of one, and its calls by number."""

    def __init__(self) -> None:
        self.open = False
        """Whether its actor takes calls."""
        self.calls: dict[int, ActorCall] = {}
        self._actor: Any = None

    async def fill(self, spec: str, settings: bytes) -> None:
        """Start an actor and open the model there.

        Raises:
            MindgaugeError: the actor has no Mindgauge or another one, or cannot open the model.
        """
        import ray

        remote = ray.remote(num_cpus=CPUS, scheduling_strategy="SPREAD", max_restarts=0, max_task_retries=0)(Actor)
        self._actor = await asyncio.to_thread(remote.remote)
        try:
            node, installed = await _said(self._actor.where.remote())
        except ray.exceptions.ActorDiedError as error:
            if "failed to import" in str(error):
                raise _not_installed(str(error)) from error
            raise
        if installed != software():
            raise UsageError(
                f"the cluster's node {node} has {installed}, this process {software()}; install the same everywhere"
            )
        (outcome,) = outcomes(await _said(self._actor.open.remote(spec, settings, _seat_environment(spec))))
        if outcome.message:
            raise type(outcome.error)(f"on the cluster's node {node}: {outcome.message}")
        self.open = True

    def put(self, batch: list[tuple[int, Request]]) -> None:
        """Give the actor calls. What goes wrong with it shows in `take`."""
        with contextlib.suppress(Exception):
            self._actor.put.remote(encode(batch))

    async def take(self) -> list[ActorOutcome]:
        """Wait until a call or more are done; whatever Ray raises means that the actor is lost."""
        return outcomes(await _said(self._actor.take.remote()))

    async def clear(self) -> list[ActorCall]:
        """Be sure that the actor works no more; returns what it had, in the order in which it got it."""
        import ray

        actor, self._actor, self.open = self._actor, None, False
        lost, self.calls = [*self.calls.values()], {}
        if actor is not None:
            with contextlib.suppress(Exception):
                await asyncio.to_thread(ray.kill, actor)
        return lost


def _seat_environment(spec: str) -> dict[str, str | None]:
    """Return what a model reads from the environment: its keys, and its address if that stands there.

    It goes to the actor in a message, which Ray neither logs nor stores, and not with the actor's own description.
    """
    return {name: os.environ.get(name) for name in variables(spec)}


async def _said(reference: Any) -> Any:
    """Wait for what an actor's method returns, so that to stop waiting takes nothing from Ray: it fails when it then cannot tell us."""
    loop = asyncio.get_running_loop()
    answer = loop.create_future()

    def tell(result: Future[Any]) -> None:
        if answer.done():
            return
        if (error := result.exception()) is not None:
            answer.set_exception(error)
        else:
            answer.set_result(result.result())

    def told(result: Future[Any]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed, and nobody waits
            loop.call_soon_threadsafe(tell, result)

    reference.future().add_done_callback(told)
    return await answer


def _not_installed(message: str) -> UsageError:
    node = re.search(r"\bip=([\da-f.:]+)", message)
    return UsageError(
        f"Mindgauge cannot be imported on the cluster's node {node[1] if node else ''} ({message.strip().splitlines()[-1].strip()}); "
        f"install {software()} on every node"
    )
