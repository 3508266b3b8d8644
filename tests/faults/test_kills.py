"""A run is killed at random moments and gone on with, until it is done."""

from __future__ import annotations

import contextlib
import random
import signal
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from tests.faults.campaign import CONCURRENCY, Account, Work, account, command, finish, record, start
from tests.faults.server import Server

if TYPE_CHECKING:
    from pathlib import Path

SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


class Killed:
    """A run that is killed `times` times: in the middle of calls, of commits, and now and then before the first."""

    def __init__(self, out: Path, times: int, work: Work, seed: int = 0) -> None:
        self.kills = 0
        draw = random.Random(seed)
        with Server(latency=0.02) as server:
            arguments = command(server, out, work)
            while self.kills < times and self._kill(arguments, server, draw, work.questions // times):
                self.kills += 1
            finish(arguments)
            self.account = account(server, out, work)

    @staticmethod
    def _kill(arguments: list[str], server: Server, draw: random.Random, calls: int) -> bool:
        """Start the command and kill it; False if it was done before."""
        until = server.calls + draw.randint(1, calls)
        early = draw.uniform(0.0, 1.0) if draw.random() < 0.1 else 300.0
        with start(arguments) as process:
            began = time.monotonic()
            while server.calls < until and process.poll() is None and time.monotonic() - began < early:
                time.sleep(0.001)
            time.sleep(draw.uniform(0.0, 0.05))
            process.send_signal(draw.choice(SIGNALS))
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=10)
            process.kill()
        return process.returncode != 0


@pytest.mark.parametrize(("times", "work"), [(2, Work(30)), pytest.param(100, Work(112, 16), marks=pytest.mark.long)])
def test_a_kill_costs_what_was_in_flight_and_nothing_else(tmp_path: Path, times: int, work: Work) -> None:
    killed = Killed(tmp_path, times, work)
    assert killed.kills == times
    assert killed.account.sound, killed.account
    assert killed.account.repeated <= CONCURRENCY * killed.kills, killed.account
    if times == 100:
        record("A hundred kills", "SIGKILL, SIGTERM and SIGINT at random moments, the same command after each", killed.account,
               f"finished; at most {CONCURRENCY} calls a kill in flight")  # fmt: skip


DIALOGUES = Work(6, judged=False, benchmark="conversations/risk", turns=5)


@pytest.mark.long
@pytest.mark.parametrize(
    ("times", "work"),
    [(2, DIALOGUES), pytest.param(100, DIALOGUES._replace(limit=24, runs=4, turns=10), marks=pytest.mark.long)],
)
def test_a_kill_in_the_middle_of_dialogues_costs_what_was_in_flight(tmp_path: Path, times: int, work: Work) -> None:
    killed = Killed(tmp_path, times, work)
    assert killed.kills == times
    assert killed.account.sound, killed.account
    assert killed.account.repeated <= CONCURRENCY * killed.kills, killed.account
    if times == 100:
        record("A hundred kills of dialogues", "the same in dialogues of ten turns", killed.account,
               f"goes on in the middle of each dialogue; at most {CONCURRENCY} calls a kill in flight")  # fmt: skip


def test_an_account_sees_what_is_missing_or_wrong(tmp_path: Path) -> None:
    """The campaign's own scales: a run of less work lacks rows, and one of another server's words differs."""
    few, many = Work(3, judged=False), Work(4, judged=False)
    with Server() as server:
        finish(command(server, tmp_path, few))
        found = account(server, tmp_path, many)
    assert found == Account(3, 0, found.lost, found.doubled, 0)
    assert found.lost > 0
