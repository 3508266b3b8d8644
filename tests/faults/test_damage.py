"""A run's file is damaged: that is found and named, what can be read is saved, and only the rest is paid for again."""

from __future__ import annotations

import random
import shutil
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.faults.campaign import (
    PROGRAM,
    Account,
    Work,
    account,
    command,
    finish,
    made,
    one_line,
    record,
    start,
    verb,
)
from tests.faults.server import Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

WORK = Work(112, 2)
PAGE = 4096
READERS = ("score", "report", "export", "run")
TIMES = 3


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as running:
        yield running


@pytest.fixture(scope="module")
def whole(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("whole") / "run"
    made(server, run, WORK)
    with closing(sqlite3.connect(run / "run.sqlite")) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return run


def _header(file: bytearray, draw: random.Random) -> None:
    file[:100] = draw.randbytes(100)


def _first_page(file: bytearray, draw: random.Random) -> None:
    file[:PAGE] = draw.randbytes(PAGE)


def _cut(file: bytearray, draw: random.Random) -> None:
    del file[draw.randrange(len(file) // 4, len(file)) :]


def _pages(file: bytearray, draw: random.Random) -> None:
    for at in draw.sample(range(PAGE, len(file), PAGE), 5):
        file[at : at + PAGE] = draw.randbytes(PAGE)


def _zeros(file: bytearray, draw: random.Random) -> None:
    at = draw.randrange(PAGE, len(file) - 4 * PAGE)
    file[at : at + 4 * PAGE] = bytes(4 * PAGE)


def _places(file: bytearray, draw: random.Random) -> None:
    for at in draw.sample(range(PAGE, len(file), PAGE), 8):
        file[at : at + 16] = draw.randbytes(16)


NAMES: dict[Callable[[bytearray, random.Random], None], str] = {
    _header: "the header overwritten",
    _first_page: "the first page overwritten",
    _cut: "the file cut",
    _pages: "five pages overwritten",
    _zeros: "four pages emptied",
    _places: "eight page headers overwritten",
}
KINDS = [*NAMES]


def _damaged(whole: Path, run: Path, kind: Callable[[bytearray, random.Random], None], seed: int) -> bytes:
    shutil.copytree(whole, run)
    file = bytearray((run / "run.sqlite").read_bytes())
    kind(file, random.Random(seed))
    (run / "run.sqlite").write_bytes(file)
    return bytes(file)


def _reading(run: Path, reader: str, server: Server) -> list[str]:
    words = [reader, run, *(["--to", "csv", "--out", run.parent / "csv"] if reader == "export" else [])]
    return command(server, run, WORK) if reader == "run" else [*PROGRAM, *map(str, words)]


def _told(run: Path, arguments: list[str]) -> bool:
    """Read a damaged run; say whether the damage was met. If so, one line names the file and what to do."""
    with start(arguments) as process:
        said = process.communicate(timeout=300)[1]
    if process.returncode == 0:
        return False
    assert process.returncode == 2, said
    line = one_line(said)
    assert f"{run / 'run.sqlite'}: damaged" in line
    assert f"mindgauge status {run} --salvage NEW" in line
    return True


def _calls(run: Path) -> tuple[int, int]:
    """Return how many calls and how many replies stand in a run."""
    with closing(sqlite3.connect(run / "run.sqlite")) as db:
        return tuple(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("calls", "replies"))


def _salvaged(run: Path, new: Path, server: Server) -> Account:
    """Salvage a run and go on; what is paid again is at most what was lost."""
    verb("salvage", run, "--out", new)
    calls, replies = _calls(new)
    lost = WORK.questions - calls + WORK.limit * WORK.runs - replies
    server.forget()
    finish(command(server, new, WORK))
    found = account(server, new, WORK)
    assert found.paid <= lost, (found, lost)
    return found


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "reader"), [(_first_page, "score"), pytest.param(_pages, "run", marks=pytest.mark.long)]
)
def test_a_damaged_run_is_named_and_salvaged(
    tmp_path: Path, server: Server, whole: Path, kind: Callable[[bytearray, random.Random], None], reader: str
) -> None:
    run = tmp_path / "run"
    file = _damaged(whole, run, kind, 1)
    assert _told(run, _reading(run, reader, server))
    found = _salvaged(run, tmp_path / "new", server)
    assert found.sound, found
    assert (run / "run.sqlite").read_bytes() == file


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_is_damaged_anyhow_is_salvaged(
    tmp_path: Path, server: Server, whole: Path, kind: Callable[[bytearray, random.Random], None]
) -> None:
    accounts, met, readers = [], 0, READERS[KINDS.index(kind) % 2 :]
    for seed in range(TIMES):
        run = tmp_path / f"run{seed}"
        file = _damaged(whole, run, kind, seed)
        met += _told(run, _reading(run, readers[seed], server))
        (run / "run.sqlite").write_bytes(file)  # `run` may have gone on, where it did not read what is damaged
        accounts.append(_salvaged(run, tmp_path / f"new{seed}", server))
        assert accounts[-1].sound, (seed, accounts[-1])
    record(
        f"Damage: {NAMES[kind]}", f"{TIMES} runs; read by {', '.join(readers[:TIMES])}", Account(*map(sum, zip(*accounts, strict=True))),
        f"met by {met} of {TIMES}: one line, exit 2; salvaged, then finished",
    )  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 6))])
def test_what_stands_in_a_damaged_log_is_salvaged(tmp_path: Path, seed: int) -> None:
    """A killed run is still in its log. SQLite reads a log up to its first damaged frame; salvage reads those behind it."""
    run, work, draw = tmp_path / "run", Work(24), random.Random(seed)
    with Server(latency=0.05) as server:
        arguments = command(server, run, work)
        with start(arguments) as process:
            while server.calls < 40:
                assert process.poll() is None
                time.sleep(0.002)
            process.kill()
        log = bytearray((run / "run.sqlite-wal").read_bytes())
        at = draw.randrange(len(log) // 4)
        log[at : at + 64] = draw.randbytes(64)
        (run / "run.sqlite-wal").write_bytes(log)
        assert _told(run, arguments)
        verb("salvage", run, "--out", tmp_path / "new")
        with closing(sqlite3.connect(tmp_path / "new" / "run.sqlite")) as db:
            calls = db.execute("SELECT count(*) FROM calls").fetchone()[0]
        paid = sum(server.paid.values())
        assert calls > paid / 2
        finish(command(server, tmp_path / "new", work))
        found = account(server, tmp_path / "new", work)
    assert found.sound, found
    if seed:
        record(
            "Damage: the log",
            "64 bytes of a killed run's log overwritten",
            found,
            "one line, exit 2; salvaged, then finished",
        )
