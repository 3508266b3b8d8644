"""The wall clock jumps by hours and years, at every look."""

from __future__ import annotations

import email.utils
import time
from pathlib import Path

import pytest

from mindgauge.store import Store
from tests.compiled import library
from tests.faults.campaign import BENCHMARK, Work, account, command, finish, record
from tests.faults.server import Call, Server

JUMPS = Path(__file__).with_name("jumping_clock.c")


@pytest.fixture(scope="module")
def jumping_clock(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A library that stands before the system's when a program asks what time it is."""
    return library(JUMPS, tmp_path_factory.mktemp("clock"))


@pytest.mark.long
@pytest.mark.parametrize("work", [Work(24), pytest.param(Work(112, 4), marks=pytest.mark.long)])
def test_a_clock_that_jumps_costs_nothing(tmp_path: Path, jumping_clock: str, work: Work) -> None:
    async def busy_at_first(call: Call) -> None:
        if call.times or call.number % 5:
            await call.pay()
        else:  # a date, which only a right clock turns into a pause; the long form waits for a wrong one
            pause = email.utils.formatdate(time.time() + 1, usegmt=True) if call.number == 5 and work.runs > 1 else "0"
            await call.send(429, b"{}", Retry_After=pause)

    with Server() as server:
        server.fault = busy_at_first
        finish(command(server, tmp_path, work), LD_PRELOAD=jumping_clock)
        found = account(server, tmp_path, work)
    with Store(tmp_path) as store:
        ends = [at for (at,) in store.select("SELECT at FROM calls")]
        assert max(ends) - min(ends) > 365 * 86400  # it did jump
        assert all(0 <= reply.seconds < 60 for reply in store.replies(BENCHMARK))
    assert found.sound, found
    assert found.repeated == 0
    if work.runs > 1:
        record("Clock jumps", "the clock leaps by hours and years, to and fro, at every look", found, "finished")
