"""How a run's database is opened: by one writer at a time, by any number of readers, and with failures said in one line."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import sqlite3
from typing import TYPE_CHECKING

from mindgauge.errors import MindgaugeError, UsageError
from mindgauge.store.schema import SCHEMA, SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def lay_out(db: sqlite3.Connection, path: Path) -> None:
    """Lay out a database that is still empty, in one transaction: one that is killed here leaves it empty."""
    with one_line(path):
        empty = not db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        if empty and not db.execute("PRAGMA user_version").fetchone()[0]:
            db.executescript(f"BEGIN; {SCHEMA} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;")


def check_version(db: sqlite3.Connection, path: Path) -> None:
    """Refuse a database that another version laid out.

    Raises:
        UsageError: it is of another version, or no database.
    """
    try:
        version = db.execute("PRAGMA user_version").fetchone()[0]
    except sqlite3.DatabaseError as error:
        raise UsageError(f"{path}: not a run database ({error})") from error
    if version != SCHEMA_VERSION:
        raise UsageError(
            f"{path}: written as version {version}, this Mindgauge reads {SCHEMA_VERSION}; use the Mindgauge that wrote it"
        )


def connect(path: Path, *, write: bool) -> sqlite3.Connection:
    """Connect to a database; a reader of a folder that cannot be written reads it as it stands."""
    with one_line(path):
        if not write:
            readonly = not os.access(path.parent, os.W_OK)
            uri = f"{path.resolve().as_uri()}?mode=ro{'&immutable=1' if readonly else ''}"
            return sqlite3.connect(uri, uri=True, check_same_thread=False)
        db = sqlite3.connect(path, check_same_thread=False)  # a notebook's engine works in a thread of its own
        db.execute("PRAGMA journal_mode = WAL")
        # A killed process loses nothing that was committed; only a power cut may lose the last moments.
        db.execute("PRAGMA synchronous = NORMAL")
        # Keys are hashes, so every row dirties pages of its own; folding the log back seldom folds many at once.
        db.execute("PRAGMA wal_autocheckpoint = 10000")
        return db


def lock(folder: Path) -> int:
    """Become the only writer of a run; the kernel lets go when the process ends, however it ends."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / "run.lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise UsageError(f"{folder}: cannot write a run here ({error.strerror})") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.read(handle, 32).decode(errors="replace").strip()
        os.close(handle)
        raise UsageError(
            f"{folder}: another process ({holder or 'unknown'}) is writing this run; wait for it or choose another --out"
        ) from error
    os.ftruncate(handle, 0)
    os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
    return handle


@contextlib.contextmanager
def one_line(path: Path) -> Iterator[None]:
    """Say in one line, as a `MindgaugeError`, that the disk is full or the database cannot be written."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        full = "full" in str(error) or getattr(error, "errno", None) == errno.ENOSPC
        advice = "free some space" if full else "see that the folder can be written"
        raise MindgaugeError(
            f"{path}: {error}; everything finished before is kept: {advice}, then run the same command again"
        ) from error
