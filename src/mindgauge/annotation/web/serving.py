"""Serving a page over HTTP until somebody stops it, with a line for each request and fault."""

from __future__ import annotations

import contextlib
import errno
import logging
import socket
import sys
from typing import TYPE_CHECKING

import uvicorn

from mindgauge.annotation.web import connections
from mindgauge.annotation.web.guard import described
from mindgauge.annotation.web.origin import is_here
from mindgauge.records.errors import UsageError

if TYPE_CHECKING:
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
        return socket.create_server(address[:2], family=family, backlog=connections.AT_ONCE)
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
    connections.Connection.limit = connections.most()
    config = uvicorn.Config(
        app,
        http=connections.Connection,
        backlog=connections.AT_ONCE,
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
                yield socket.create_server((here, port), family=family, backlog=connections.AT_ONCE)
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
