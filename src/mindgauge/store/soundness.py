"""Whether a run's file is as it was written: as a whole where nobody wrote since it was closed, else row by row.

Who closes a run after writing it leaves a checksum of the file beside it. Where that is not the file's, because the run
was killed, is being written, or was opened by another program, and where there is a log, SQLite checks how pages,
indexes and lists hang together, and each row's own checksum is computed. So the file's checksum saves time, and decides
nothing: one that is old, damaged or lost makes opening slower, and nothing else.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, TypeAlias
from zlib import crc32

from mindgauge.records.errors import MindgaugeError
from mindgauge.records.files import private
from mindgauge.store.failures import damaged
from mindgauge.store.rows import tables

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

_CHUNK = 2**22
"""Bytes that are summed up at once; several chunks side by side, since zlib and the kernel let other threads go on."""
_State: TypeAlias = "tuple[tuple[int, int, int] | None, ...]"
_sound_states: dict[Path, _State] = {}
"""The files that this process found sound, as they were then: a command opens a run several times."""


def check(db: sqlite3.Connection, path: Path) -> None:
    """See that a run's database, whose schema is known to be ours, is as it was written.

    Raises:
        UsageError: it is not; the message says what is wrong, and what to do.
    """
    state = _state(path)
    if _sound_states.get(path) == state:
        return
    if any(state[1:]) or not _as_closed(path):
        _check_all(db, path)
    _sound_states[path] = state


def known(path: Path) -> bool:
    """Say whether this process found a database sound as it is now."""
    return _sound_states.get(path) == _state(path)


def _check_all(db: sqlite3.Connection, path: Path) -> None:
    (verdict,) = db.execute("PRAGMA integrity_check(1)").fetchone()
    if verdict != "ok":
        raise damaged(path, str(verdict).splitlines()[-1])
    for table in tables().values():
        wrong, count = table.wrong(db)
        if wrong:
            raise damaged(path, f"{wrong} of {count} rows of {table.name} have changed since they were written")


def seal(path: Path) -> None:
    """Keep the checksum of a database that nobody has open for writing any more, unless others who read it keep its log."""
    with contextlib.suppress(OSError, MindgaugeError):  # a full disk, say: then the next who opens it takes longer
        state = _state(path)
        if not any(state[1:]):
            private.write(_beside(path), _sum(path))
            _sound_states[path] = state


def _as_closed(path: Path) -> bool:
    try:
        return _beside(path).read_bytes() == _sum(path).encode()
    except OSError:
        return False


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.checksum")


def _state(path: Path) -> _State:
    """Return what tells a file that was written since: of the database, and of its log and journal where they hold anything."""
    stamps: list[tuple[int, int, int] | None] = []
    for end in ("", "-wal", "-journal"):
        try:
            stat = path.with_name(path.name + end).stat()
        except FileNotFoundError:
            stamps.append(None)
        else:
            stamps.append((stat.st_ino, stat.st_size, stat.st_mtime_ns) if stat.st_size else None)
    return tuple(stamps)


def _sum(path: Path) -> str:
    """Sum up a file: the CRC-32 of its chunks' CRC-32s, and how long it is."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        places = range(0, size, _CHUNK)
        if len(places) == 1:
            sums = [crc32(file.read())]
        else:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(min(os.cpu_count() or 1, 8)) as pool:
                sums = [*pool.map(lambda place: crc32(os.pread(file.fileno(), _CHUNK, place)), places)]
    return f"{crc32(b''.join(part.to_bytes(4, 'big') for part in sums)):08x} {size}\n"
