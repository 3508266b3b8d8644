"""Nodes of a Ray cluster on one machine, each a raylet with an address and processes of its own, so that one can be lost."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Self

RAY = (sys.executable, "-m", "ray.scripts.scripts")
TOKEN = "0123456789abcdef0123456789abcdef"


class Nodes:
    """A head and other nodes; Linux answers on all of 127.0.0.0/8, so each has an address of its own."""

    def __init__(self) -> None:
        self.environment = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN, "RAY_USAGE_STATS_ENABLED": "0"}
        self.port, self.client_port = _free(), _free()
        self._folder = Path(tempfile.mkdtemp(prefix="mg-nodes-", dir="/tmp"))
        self._nodes: list[subprocess.Popen[str]] = []

    @property
    def address(self) -> str:
        """What RAY_ADDRESS is on a node."""
        return f"127.0.0.2:{self.port}"

    @property
    def client(self) -> str:
        """What `engine` is elsewhere."""
        return f"ray://127.0.0.1:{self.client_port}"

    def __enter__(self) -> Self:
        self._start(
            "--head", "--port", self.port, "--ray-client-server-port", self.client_port,
            "--temp-dir", self._folder, "--include-dashboard", "false",
        )  # fmt: skip
        return self

    def __exit__(self, *_: object) -> None:
        for node in reversed(self._nodes):
            _kill(node)
        shutil.rmtree(self._folder, ignore_errors=True)

    def add(self, **environment: str) -> int:
        """Start another node; returns its number. What is in the environment can hide a package from it."""
        self._start("--address", self.address, **environment)
        return len(self._nodes) - 1

    def lose(self, number: int) -> None:
        """Kill all processes of a node at once, as when its power fails."""
        _kill(self._nodes[number])

    def _start(self, *words: object, **environment: str) -> None:
        ip = f"127.0.0.{len(self._nodes) + 2}"
        command = [
            *RAY,
            "start",
            "--block",
            "--num-cpus",
            4,
            "--node-ip-address",
            ip,
            "--object-store-memory",
            80_000_000,
        ]
        process = subprocess.Popen(
            [*map(str, [*command, *words])], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, **self.environment, **environment}, start_new_session=True,
        )  # fmt: skip
        self._nodes.append(process)
        assert process.stdout is not None
        said = []
        for line in process.stdout:
            said.append(line)
            if "--block" in line:
                return  # it says so when all has started
        raise AssertionError(f"the node did not start: {''.join(said)}")


def _kill(process: subprocess.Popen[str]) -> None:
    """Kill a process with all that it started, and what these started."""
    family = [process.pid, *descendants(process.pid)]
    for pid in family:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def descendants(pid: int) -> list[int]:
    """Return the processes that a process started, and those that these started."""
    children: dict[int, list[int]] = defaultdict(list)
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            children[int(stat.read_text().rpartition(")")[2].split()[1])].append(int(stat.parent.name))
    found, ahead = [], [pid]
    while ahead:
        here = children[ahead.pop()]
        found += here
        ahead += here
    return found


def wait_for_none(pids: list[int]) -> None:
    """Wait until processes have ended; those that do not are a fault."""
    until = time.monotonic() + 30
    while left := [pid for pid in pids if _runs(pid)]:
        assert time.monotonic() < until, left
        time.sleep(0.1)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port
