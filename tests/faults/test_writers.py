"""Two processes at one run, and a run of another version."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING

from tests.faults.campaign import Work, account, command, finish, made, one_line, record, start, verb
from tests.faults.server import Call, Server

if TYPE_CHECKING:
    from pathlib import Path


def test_a_second_writer_is_sent_away_and_a_reader_is_not(tmp_path: Path) -> None:
    work = Work(24)
    others_came = threading.Event()

    async def waits(call: Call) -> None:
        if call.number > 8:
            await asyncio.to_thread(others_came.wait)
        await call.pay()

    with Server() as server:
        server.fault = waits
        arguments = command(server, tmp_path, work)
        with start(arguments) as first:
            while server.calls < 9:
                assert first.poll() is None
                time.sleep(0.01)
            said = one_line(finish(arguments, code=2))
            assert f"another process ({first.pid}) is writing this run" in said
            verb("score", tmp_path)
            assert first.poll() is None
            others_came.set()
            assert first.wait(300) == 0, first.communicate()
        found = account(server, tmp_path, work)
    assert found.sound and not found.repeated, found
    record(
        "Two writers",
        "the same command twice at once, and a reader beside it",
        found,
        "one line, exit 2 for the second; the first finished",
    )


def test_another_version_is_refused_with_what_to_do(tmp_path: Path) -> None:
    run, work = tmp_path / "run", Work(4)
    with Server() as server:
        made(server, run, work)
        with closing(sqlite3.connect(run / "run.sqlite")) as db:
            version = db.execute("PRAGMA user_version").fetchone()[0]
            db.execute("PRAGMA user_version = 99")
        said = one_line(finish(command(server, run, work), code=2))
        assert "run.sqlite: written as version 99" in said
        assert "Mindgauge that wrote it" in said
        with closing(sqlite3.connect(run / "run.sqlite")) as db:
            db.execute(f"PRAGMA user_version = {version}")
        found = account(server, run, work)
    assert found.sound and not found.repeated, found
    record("An unknown version", "a run marked as version 99", found, "one line, exit 2; the run is left as it is")
