"""What runs on a node: a plain model, asked in batches, whose outcomes are taken in batches.

A message for each call would cost more than the call, so requests travel together, and so do their outcomes.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import msgspec

from mindgauge.models.settings import Settings
from mindgauge.models.spec import open_model
from mindgauge.records import Exchange, errors
from mindgauge.records.errors import MindgaugeError
from mindgauge.records.request import Request
from mindgauge.store.manifest import software

if TYPE_CHECKING:
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
