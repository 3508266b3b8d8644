"""Models side by side: each at its own pace, those of this machine one after the other."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from itertools import groupby
from typing import TYPE_CHECKING

from mindgauge.records.errors import MindgaugeError
from mindgauge.runs.session import Interrupted, Session
from mindgauge.store.run import KEPT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mindgauge.runs.steps import CallStep


@contextlib.contextmanager
def _stoppable(session: Session) -> Iterator[None]:
    """On the first Ctrl-C finish what is under way and keep it; the second stops at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop, handler = asyncio.get_running_loop(), signal.getsignal(signal.SIGINT)

    def restore() -> None:
        if handler is not signal.SIG_IGN:
            loop.remove_signal_handler(signal.SIGINT)
            signal.signal(signal.SIGINT, handler)

    def stop() -> None:
        restore()
        session.halt(Interrupted(f"stopped; {KEPT}"))

    if handler is not signal.SIG_IGN:
        loop.add_signal_handler(signal.SIGINT, stop)  # which wakes the loop, whatever thread the signal comes to
    try:
        yield
    finally:
        restore()


async def run_per_model(session: Session, steps: Iterable[CallStep]) -> None:
    """Do steps of different models side by side, those of one model, or of this machine, one after another."""
    local_lock = asyncio.Lock()
    lanes: dict[str, list[CallStep]] = {}
    for step in steps:
        if not step.within:
            lanes.setdefault(step.model.name, []).append(step)
    with _stoppable(session):
        async with asyncio.TaskGroup() as group:
            for own_steps in lanes.values():
                group.create_task(_run_model(session, own_steps, local_lock))
    session.store.flush()
    if session.stop is not None:
        raise session.stop


async def _run_model(session: Session, steps: Iterable[CallStep], local_lock: asyncio.Lock) -> None:
    for _, in_a_row in groupby(steps, key=lambda step: id(step.model)):
        row = [*in_a_row]
        async with local_lock if row[0].model.own_machine else contextlib.nullcontext(), session.holding(row[0].model):
            for step in row:
                if session.stop is not None:
                    return
                try:
                    await step.work(session)
                except MindgaugeError as error:
                    # The other lanes see it and stop in good order; it is raised when all have.
                    session.halt(error)
