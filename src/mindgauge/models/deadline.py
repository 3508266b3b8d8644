"""One time limit for many calls, with one timer: each has as long as the others, so they end in the order in which they began."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any


class Deadline:
    """`with deadline:` raises TimeoutError in the task whose block is not left in time. A task has one block at a time."""

    def __init__(self, seconds: float) -> None:
        """Make it within the running loop; `seconds` is what each block has."""
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._ends: dict[asyncio.Task[Any] | None, float] = {}
        """When the block of each task ends, the first of them first."""
        self._late: set[asyncio.Task[Any] | None] = set()
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> None:
        end = self._ends[asyncio.current_task()] = self._loop.time() + self._seconds
        if self._timer is None:
            self._timer = self._loop.call_at(end, self._look)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        task = asyncio.current_task()
        if task not in self._late:
            del self._ends[task]
            return
        self._late.remove(task)
        assert task is not None
        if task.uncancel() == 0 and kind is asyncio.CancelledError:  # else somebody else cancels it, too
            raise TimeoutError from error

    def _look(self) -> None:
        """Cancel whoever is late, and look again when the next would be."""
        self._timer = None
        for task, end in [*self._ends.items()]:
            if end > self._loop.time():
                self._timer = self._loop.call_at(end, self._look)
                return
            del self._ends[task]
            self._late.add(task)
            assert task is not None
            task.cancel()
