"""Connections that wait, for a page that this machine serves.

The server below us gives a connection as long as it likes for its first request, for the rest of one, and for reading an
answer, and takes as many as there are file descriptors; then nobody comes in any more. Here each has a time for each of
these, and where there are too many, the one that has kept us waiting longest makes room for the one that comes.
"""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

ASK = 30.0
"""Seconds for a whole request, from the connection's beginning or the answer before."""
LISTEN = 120.0
"""Seconds for an answer, from the whole request until the last byte of it is taken: longer than a database may need."""
MOST = 512
"""Connections at once."""
AT_ONCE = 100
"""Connections that are taken in before one is let go: if descriptors ran out meanwhile, asyncio would only look for more."""
_CONNECTIONS_OTHERS = 2 * AT_ONCE + 200
"""File descriptors that are kept for those, the database and the rest."""


def most() -> int:
    """Return how many connections there may be, so that descriptors are left; this process may have more, if it can."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST + _CONNECTIONS_OTHERS
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return min(MOST, max(soft - _CONNECTIONS_OTHERS, soft // 2))
    return MOST


class Connection(H11Protocol):
    """One connection; it waits for a request, or somebody waits for its answer."""

    limit = MOST
    _timer: asyncio.TimerHandle | None = None
    since: float | None = None
    """When it began to wait for a request; None while one is answered."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take it in, and let another go if they are too many."""
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > self.limit:
            waiting = [
                connection
                for connection in self.connections
                if isinstance(connection, Connection) and connection.since is not None
            ]
            min(waiting, key=lambda connection: connection.since or 0.0, default=self).end()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, and see whether a request is whole now."""
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request, which may be here already."""
        self._wait()
        super().on_response_complete()
        self._look()

    def _look(self) -> None:
        answered = self.cycle is None or self.cycle.response_complete
        if self.since is not None and not answered and not self.cycle.more_body:
            self.since = None
            self._within(LISTEN)

    def _wait(self) -> None:
        self.since = self.loop.time()
        self._within(ASK)

    def _within(self, seconds: float) -> None:
        self._stop()
        self._timer = self.loop.call_later(seconds, self.end)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def end(self) -> None:
        """Let go of it at once."""
        self.since = None
        self._stop()
        self.transport.abort()
