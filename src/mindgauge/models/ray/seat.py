"""One actor's place: what it was given and has not answered, and how an actor gets there."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from typing import TYPE_CHECKING, Any

from mindgauge.models.ray.actor import Actor, ActorOutcome, encode, outcomes
from mindgauge.models.spec import variables
from mindgauge.records.errors import UsageError
from mindgauge.store.manifest import software

if TYPE_CHECKING:
    from concurrent.futures import Future

    from mindgauge.records import Exchange
    from mindgauge.records.request import Request

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
        (outcome,) = outcomes(await _said(self._actor.open.remote(spec, settings, _environment(spec))))
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


def _environment(spec: str) -> dict[str, str | None]:
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
