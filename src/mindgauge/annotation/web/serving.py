"""Serving a page over HTTP until somebody stops it, with a line for each request and fault.

The server below us gives a connection as long as it likes for its first request, for the rest of one, and for reading an
answer, and takes as many as there are file descriptors; then nobody comes in any more. Here each has a time for each of
these, and where there are too many, the one that has kept us waiting longest makes room for the one that comes.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import resource
import socket
import sys
from typing import TYPE_CHECKING

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from mindgauge.annotation.web.guard import described, is_here
from mindgauge.records.errors import UsageError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator
    from types import FrameType

    from starlette.types import ASGIApp

_OURS = "mindgauge.annotation"
_OTHERS = logging.WARNING
"""From which level on other packages are heard."""
_POOLS = "sqlalchemy.pool"
"""It tells of each connection that a server has ended; of each request that fails for it, we do."""


class _Line(logging.Formatter):
    """One line for each record. Of other packages it says who complains, and of an error what kind it is and where.

    What they would say can hold a statement with its parameters, which are people's words and ids.
    """

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(message)s", "%H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        if not record.name.startswith(_OURS):
            error = record.exc_info[1] if record.exc_info else None
            message = f"{record.levelname.lower()} of {record.name}" + (f": {described(error)}" if error else "")
            record = logging.LogRecord(record.name, record.levelno, "", 0, message, None, None)
        return super().format(record)


@contextlib.contextmanager
def lines() -> Iterator[None]:
    """Write what is logged to standard error, and nowhere else."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Line())
    handler.addFilter(lambda record: not record.name.startswith(_POOLS))
    root, own = logging.getLogger(), logging.getLogger(_OURS)
    before = root.handlers[:], root.level, own.level
    root.handlers[:] = [handler]
    root.setLevel(_OTHERS)
    own.setLevel(logging.INFO)
    try:
        yield
    finally:
        root.handlers[:], level, own.level = before
        root.setLevel(level)


_TRUSTED = "127.0.0.1,::1"
"""Whose X-Forwarded-For and -Proto are believed where there is a proxy: it runs on this machine."""
_WAIT = 5
"""Seconds for which running requests may finish when the server stops."""


def listen(host: str, port: int) -> socket.socket:
    """Take an address, so that it is known before anything else happens whether it can be had.

    Raises:
        UsageError: it cannot.
    """
    if not 0 <= port < 2**16:  # the system would take it modulo that
        raise UsageError(f"--port {port}: a port is a number up to 65535")
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(address[:2], family=family, backlog=AT_ONCE)
    except socket.gaierror as error:
        raise UsageError(f"--host {host}: there is no such address") from error
    except OSError as error:
        reason = {
            errno.EADDRINUSE: f"port {port} is taken; stop what runs there, or choose another with --port",
            errno.EADDRNOTAVAIL: f"{host} is no address of this machine; leave --host out to serve it here alone",
            errno.EACCES: f"port {port} needs special rights; choose one above 1023 with --port",
        }.get(error.errno or 0, f"cannot listen there ({error.strerror})")
        raise UsageError(reason) from error


def serve(app: ASGIApp, listener: socket.socket, ready: Callable[[], None], *, proxied: bool = False) -> None:
    """Serve an application until Ctrl-C.

    Standard error gets one line per request: time, method, route, status, milliseconds; never a text, a name or an id.

    Args:
        app: what answers.
        listener: from `listen`.
        ready: called once requests are answered.
        proxied: whether a proxy on this machine stands in front, and is believed who calls.
    """
    Connection.limit = most()
    config = uvicorn.Config(
        app,
        http=Connection,
        backlog=AT_ONCE,
        log_config=None,
        access_log=False,
        proxy_headers=proxied,
        forwarded_allow_ips=_TRUSTED,
        server_header=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=_WAIT,
    )
    with listener, contextlib.ExitStack() as held, lines():
        _Server(config, ready).run([listener, *(held.enter_context(other) for other in _others(listener))])


def _others(listener: socket.socket) -> Iterator[socket.socket]:
    """Take the port on both loopback addresses: browsers ask `::1` first, where another user could answer in our name.

    Raises:
        UsageError: somebody listens there.
    """
    address, port, *_ = listener.getsockname()
    for here, every in (("127.0.0.1", "0.0.0.0"), ("::1", "::")) if is_here(address) else ():  # noqa: S104
        family = socket.AF_INET6 if ":" in here else socket.AF_INET
        try:
            if address not in {here, every}:
                yield socket.create_server((here, port), family=family, backlog=AT_ONCE)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise UsageError(f"port {port} is taken on {here}; choose another with --port") from error


class _Server(uvicorn.Server):
    """As uvicorn's, and says when it is up."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End in good order, which is no fault: uvicorn's own would raise the signal again."""
        del sig, frame
        self.force_exit, self.should_exit = self.should_exit, True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()


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
