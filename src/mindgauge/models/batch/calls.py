"""Calls that somebody waits for, and the pool in which they wait for a batch to be full."""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections import deque
from typing import TYPE_CHECKING

import msgspec

from mindgauge.models.batch.files import Requests
from mindgauge.records import Exchange, Status
from mindgauge.records.errors import UsageError
from mindgauge.records.request import Price
from mindgauge.store.failures import one_line

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.models.batch.service import Service
    from mindgauge.models.settings import Settings
    from mindgauge.records.request import Request

CALLS = 10_000
"""Calls in one batch, at most; `MINDGAUGE_BATCH_CALLS` overrides it."""
BYTES = 100_000_000
"""Bytes of one batch, at most."""
PAUSE = 1.0
"""Seconds before a batch is first looked at, and without a new call before a batch that is not full is sent;
`MINDGAUGE_BATCH_PAUSE` overrides it."""
LONGEST = 60.0
"""How many times as long later pauses grow, at most."""


class BatchConfig(msgspec.Struct, frozen=True):
    """On what terms a model's calls are carried."""

    name: str
    host: str
    price: Price | None
    tries: int
    wait: float | None
    """Minutes; until everything is done if not given."""
    calls: int
    pause: float

    @classmethod
    def of(cls, name: str, host: str, price: Price | None, settings: Settings) -> BatchConfig:
        """Return a command's terms.

        Raises:
            UsageError: the environment holds something that is no number.
        """
        calls, pause = int(_given("MINDGAUGE_BATCH_CALLS", CALLS)), _given("MINDGAUGE_BATCH_PAUSE", PAUSE)
        return cls(name, host, price, settings.tries, settings.wait, max(1, calls), pause)


class BatchCall:
    """A call that somebody waits for."""

    __slots__ = ("attempt", "batch", "done", "key", "request")

    def __init__(self, key: bytes, request: Request) -> None:
        self.key = key
        self.request = request
        self.batch = ""
        """Our id of the batch that it is in."""
        self.attempt = 0
        """How often it was submitted."""
        self.done: asyncio.Future[Exchange] = asyncio.get_running_loop().create_future()

    def fail(self, problem: str) -> None:
        """Answer that no answer came."""
        self.done.set_result(Exchange(Status.FAILED, attempts=self.attempt, error=problem, at=time.time()))


class Pool:
    """Calls that wait to be sent: batches that are full, and one that is filling."""

    def __init__(self, folder: Path, service: Service, terms: BatchConfig) -> None:
        self.most = terms.calls
        self.changed = asyncio.Event()
        """Set when the worker has something to do, or something to wait for."""
        self._folder = folder
        self._service = service
        self._quiet = min(PAUSE, 3 * terms.pause)
        self._filling: Requests | None = None
        self._full: deque[Requests] = deque()
        self._touched = 0.0
        self._not_before = 0.0

    def __bool__(self) -> bool:
        return self._filling is not None or bool(self._full)

    def put(self, call: BatchCall) -> None:
        """Put a call into the next batch."""
        line = self._service.request(call.key, call.request)
        if self._filling is not None and self._filling.size + len(line) > BYTES:
            self._seal(self._filling)
        with one_line(self._folder):
            if self._filling is None:
                service = self._service
                self._filling = Requests(self._folder, service.opening, service.between, service.closing)
                self.changed.set()
            self._filling.add(call.key, line)
        call.batch = ""
        call.attempt += 1
        self._touched = time.monotonic()
        if len(self._filling.keys) >= self.most:
            self._seal(self._filling)

    def put_smaller(self, calls: list[BatchCall], pause: float) -> None:
        """Put calls that did not fit into smaller batches, to be sent some seconds later."""
        self.most = max(1, len(calls) // 2)
        self._not_before = time.monotonic() + pause
        for call in calls:
            call.attempt -= 1
            self.put(call)

    def take(self) -> Requests | None:
        """Return a batch that is to be sent now: a full one, or what is there when nothing new has come for a moment."""
        moment = time.monotonic()
        if self._filling is not None and moment >= self._touched + self._quiet:
            self._seal(self._filling)
        return self._full.popleft() if self._full and moment >= self._not_before else None

    def due(self) -> float:
        """Return when to look for a batch again, on the monotonic clock."""
        quiet = self._touched + self._quiet if self._filling is not None else math.inf
        return min(quiet, self._not_before if self._full else math.inf)

    def close(self) -> None:
        """Let go of what was not sent."""
        for requests in (*self._full, *([self._filling] if self._filling else ())):
            requests.close()

    def _seal(self, filling: Requests) -> None:
        self._full.append(filling)
        self._filling = None
        self.changed.set()


def _given(name: str, usual: float) -> float:
    """Read a number above 0 from the environment."""
    setting = os.environ.get(name)
    try:
        number = float(setting) if setting else usual
    except ValueError:
        number = 0.0
    if not 0 < number < math.inf:
        raise UsageError(f"{name} must be a number above 0, not {setting!r}")
    return number
