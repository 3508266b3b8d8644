"""Several models side by side, stopped in good order, from a script or a notebook."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from mindgauge.errors import MindgaugeError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator

    from mindgauge.engine.session import Session
    from mindgauge.models.request import Model

T = TypeVar("T")
Step: TypeAlias = "Callable[[], Coroutine[Any, Any, None]]"
"""Work for one model."""


class Interrupted(MindgaugeError):  # noqa: N818 - it is no error
    """The user stopped the run."""

    exit_code = 130


@contextlib.contextmanager
def _stoppable(session: Session) -> Iterator[None]:
    """On the first Ctrl-C finish what is under way and keep it; the second stops at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()

    def stop() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        session.halt(Interrupted("stopped; everything finished is kept, run the same command to go on"))

    loop.add_signal_handler(signal.SIGINT, stop)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


async def in_lanes(session: Session, steps: Iterable[tuple[Model, Step]]) -> None:
    """Run steps of different models side by side, those of one model, or of this machine, one after another."""
    here = asyncio.Lock()
    lanes: dict[str, list[tuple[Model, Step]]] = {}
    for model, step in steps:
        lanes.setdefault(model.name, []).append((model, step))

    async def lane(its_steps: list[tuple[Model, Step]]) -> None:
        for _, in_a_row in groupby(its_steps, key=lambda one: id(one[0])):
            steps = [*in_a_row]
            model = steps[0][0]
            async with here if model.own_machine else contextlib.nullcontext(), session.holding(model):
                for _, step in steps:
                    await one(step)

    async def one(step: Step) -> None:
        if session.stop is not None:
            return
        try:
            await step()
        except MindgaugeError as error:
            # The other lanes see it and stop in good order; it is raised when all have.
            session.halt(error)

    with _stoppable(session):
        async with asyncio.TaskGroup() as group:
            for its_steps in lanes.values():
                group.create_task(lane(its_steps))
    session.store.flush()
    if session.stop is not None:
        raise session.stop


def run_async(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, also from a notebook, whose own loop is already running."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    result: list[T] = []
    failure: list[BaseException] = []

    def target() -> None:
        try:
            result.append(asyncio.run(coroutine))
        except BaseException as error:  # noqa: BLE001 - carried to the caller's thread
            failure.append(error)

    thread = threading.Thread(target=target)
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return result[0]
