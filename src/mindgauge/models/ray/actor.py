"""What runs on a node: a plain model, asked in batches; and an actor's place, what it was given and has not answered.

A message for each call would cost more than the call, so requests travel together, and so do their outcomes.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.models.settings import Settings
from mindgauge.models.spec import open_model, variables
from mindgauge.records import Exchange, errors
from mindgauge.records.errors import MindgaugeError, UsageError
from mindgauge.records.request import Request
from mindgauge.store.manifest import software

if TYPE_CHECKING:
    from concurrent.futures import Future

    from mindgauge.records.request import Model


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
