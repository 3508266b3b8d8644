"""The connection to Ray: one for the process, made when it is first needed and kept until the process ends.

A local Ray takes seconds to start, and the steps of one command are several; so it is started once and stopped at exit.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import queue
import secrets
import shutil
import socket
import sys
import tempfile
import threading
import warnings
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from mindgauge.models import address as addresses
from mindgauge.records.errors import MindgaugeError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
WAIT = 20.0
"""Seconds that an address has to begin to listen."""
LEAST_CPUS = 4
"""Logical CPUs of a local Ray: with fewer its own services may leave no room for actors."""
OBJECT_STORE = 80 * 1024 * 1024
"""Bytes; the least that Ray takes. Batches are small and travel past it."""
CLIENT_ALIVE, HEAD_ALIVE = "/ray.rpc.RayletDriver/ClusterInfo", "/ray.rpc.NodeInfoGcsService/CheckAlive"
"""What is asked of the server behind `ray://`, and of a head, to see whether we may."""
ADMISSION = "set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH as on its nodes"
_QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.CRITICAL}


class Cluster(msgspec.Struct, frozen=True):
    """Which Ray: `address` as Ray writes it, empty for one started on this machine for this process."""

    address: str
    local_only: bool

    @classmethod
    def of(cls, engine: str, *, local_only: bool) -> Cluster:
        """Read `ray` or `ray://HOST:PORT`; the former follows RAY_ADDRESS, as Ray itself does.

        Raises:
            UsageError: it is no address, or `local_only` forbids it.
        """
        address = engine if engine != "ray" else os.environ.get("RAY_ADDRESS", "")
        if address == "local":
            address = ""
        if address not in {"", "auto"} and _host_and_port(address)[1] is None:
            raise UsageError(
                f"{address!r} is no address of a Ray cluster; write ray://HOST:PORT (Ray's own port is 10001)"
            )
        if local_only and address and not addresses.loopback(_host_and_port(address)[0]):
            source = "RAY_ADDRESS " if engine == "ray" else ""
            raise UsageError(
                f"--local-only: {source}{address} would send text there; only a cluster at a loopback address is allowed"
            )
        return cls(address, local_only)

    def connect(self) -> int:
        """Connect this process, if it is not connected yet; returns how many nodes can hold actors.

        Raises:
            UsageError: `local_only`, and a node is another machine; or Ray or Python has another version there.
            MindgaugeError: nothing answers there, or it refuses us.
        """
        # What happens to nodes Ray prints, between the lines of a command's own output; read when it is imported.
        os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")
        # Disconnected, Ray would start another Ray here with the next call.
        os.environ.setdefault("RAY_ENABLE_AUTO_CONNECT", "0")
        # Without its head Ray would end our process after a minute; we say ourselves what happened.
        os.environ.setdefault("RAY_gcs_rpc_server_reconnect_timeout_s", "600")
        import ray

        if not ray.is_initialized():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of Ray's own making
                if self.address:
                    self._join()
                else:
                    _start()
        nodes = [node for node in ray.nodes() if node["Alive"]]
        for node in nodes if self.local_only else ():
            if not _here(node["NodeManagerAddress"]):
                raise UsageError(
                    f"--local-only: the cluster at {self.address} has a node {node['NodeManagerAddress']}, another machine"
                )
        return sum(node["Resources"].get("CPU", 0) > 0 for node in nodes)

    def _join(self) -> None:
        import ray

        host, port = _host_and_port(self.address)
        if port is not None and os.environ.get("RAY_USE_TLS", "0") == "0":
            _reach(self.address, host, port)
        # The stream of the cluster's logs has a logger apart from Ray's others.
        logging.getLogger("ray.util.client.logsclient").addHandler(logging.NullHandler())
        for attempt in (1, 2):
            try:
                ray.init(self.address, **_QUIET)
            except Exception as error:
                # On a busy head the process that Ray starts there for each client may come too late, once.
                if attempt == 2 or not isinstance(error, ConnectionError):
                    raise self._problem(error) from error
                ray.shutdown()
            else:
                return

    def _problem(self, error: Exception) -> MindgaugeError:
        from ray.exceptions import AuthenticationError

        message = " ".join(str(error).split())
        if isinstance(error, AuthenticationError):
            return UsageError(f"the Ray cluster at {self.address} wants a token and there is none: {ADMISSION}")
        if "ersion mismatch" in message:
            return UsageError(
                f"Ray or Python differ here and at {self.address}; install the same everywhere ({message})"
            )
        return MindgaugeError(f"no connection to the Ray cluster at {self.address} ({message})")


def _host_and_port(address: str) -> tuple[str, int | None]:
    host, _, port = address.removeprefix("ray://").rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    valid = host and "/" not in host and port.isdecimal() and int(port) < 65536
    return host, int(port) if valid else None


def _reach(address: str, host: str, port: int) -> None:
    """Wait until a Ray cluster answers, and see whether it takes our token.

    Ray itself would wait longer, fill the terminal, and not say which of both it was.
    """
    import grpc

    with grpc.insecure_channel(f"[{host}]:{port}" if ":" in host else f"{host}:{port}") as channel:
        try:
            grpc.channel_ready_future(channel).result(WAIT)
        except grpc.FutureTimeoutError as error:
            raise MindgaugeError(
                f'no Ray cluster at {address}: waited {WAIT:g} s; start one there, or set engine = "ray" in mindgauge.toml without an address for a local one'
            ) from error
        token = _token()
        alive = channel.unary_unary(CLIENT_ALIVE if address.startswith("ray://") else HEAD_ALIVE)
        try:
            alive(b"", timeout=WAIT, metadata=[("authorization", f"Bearer {token}")] if token else None)
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.UNAUTHENTICATED:
                finding = "takes another token than ours" if token else "wants a token and there is none"
                raise UsageError(f"the Ray cluster at {address} {finding}: {ADMISSION}") from error


def _token() -> str:
    """Find the token where Ray looks for it, if Ray will."""
    if os.environ.get("RAY_AUTH_MODE", "").lower() != "token":
        return ""
    if token := os.environ.get("RAY_AUTH_TOKEN", ""):
        return token
    with contextlib.suppress(OSError):
        return Path(os.environ.get("RAY_AUTH_TOKEN_PATH") or Path.home() / ".ray" / "auth_token").read_text().strip()
    return ""


def _here(address: str) -> bool:
    """Whether an address is this machine's own: only then can a socket be bound to it."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as trial:
        try:
            trial.bind((address, 0))
        except OSError:
            return False
    return True


def _start() -> None:
    """Start Ray on loopback, in a folder of its own, for as long as the process lives."""
    import ray

    # Ray makes its sockets there, and their paths may have no more than 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="mindgauge-ray-", dir="/tmp"))
    # Else it would write a token into the home directory and leave it there.
    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

    def stop() -> None:
        with contextlib.suppress(Exception):
            ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(stop)
    try:
        ray.init(
            "local",
            num_cpus=max(LEAST_CPUS, os.cpu_count() or 1),
            include_dashboard=False,
            object_store_memory=OBJECT_STORE,
            _temp_dir=str(folder),
            # Ray takes 127.0.0.1 for "find out my address", and what it finds changes with the network.
            _node_ip_address="127.0.0.2" if sys.platform == "linux" else None,
            **_QUIET,
        )
    except Exception as error:
        stop()
        raise MindgaugeError(f"Ray does not start on this machine: {' '.join(str(error).split())}") from error


# -- a thread that lives as long as the process -----------------------------------------------------------------------
# What Ray starts dies with the thread that started it, and the event loop's threads end before the command does.

_work: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = queue.SimpleQueue()
_thread: threading.Thread | None = None


def in_lasting_thread(function: Callable[[], T]) -> Future[T]:
    """Call a function there."""
    global _thread  # noqa: PLW0603 - one for the process
    if _thread is None:
        _thread = threading.Thread(target=_serve, name="ray", daemon=True)
        _thread.start()
    future: Future[T] = Future()
    _work.put((future, function))
    return future


def _serve() -> None:
    while True:
        future, function = _work.get()
        try:
            future.set_result(function())
        except BaseException as error:  # noqa: BLE001 - carried to the caller's thread
            future.set_exception(error)
