"""How a run's database is opened: by one writer at a time, by any number of readers, and with failures said in one line."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import sqlite3
import time
from typing import TYPE_CHECKING, Any, Self

from mindgauge.errors import MindgaugeError, UsageError
from mindgauge.store.pages import latest
from mindgauge.store.schema import SCHEMA, SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_DAMAGED = {11, 26}
"""SQLite's codes for a page that makes no sense, and for a file that is no database."""
_CACHE = 64_000
"""Pages at hand, in KiB."""
_LOOKS = (0.0, 0.02, 0.1)
"""Seconds between tries to become the writer; who looks whether there is one holds the lock for an instant."""
_ROWS = 1000


class _Cursor(sqlite3.Cursor):
    """Rows, or one line that says that the file is damaged."""

    connection: _Connection

    def execute(self, *given: Any) -> Self:
        with sound(self.connection.path):
            return super().execute(*given)

    def fetchone(self) -> Any:
        with sound(self.connection.path):
            return super().fetchone()

    def fetchmany(self, size: int | None = _ROWS) -> list[Any]:
        with sound(self.connection.path):
            return super().fetchmany(size)

    def fetchall(self) -> list[Any]:
        with sound(self.connection.path):
            return super().fetchall()

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]  # sqlite3's returns itself
        while rows := self.fetchmany():
            yield from rows


class _Connection(sqlite3.Connection):
    path: Path

    def cursor(self, *_: Any) -> _Cursor:  # type: ignore[override]  # there is one kind of cursor
        return super().cursor(_Cursor)

    def execute(self, *given: Any) -> _Cursor:  # sqlite3's own makes a cursor of its own kind
        return self.cursor().execute(*given)


def lay_out(db: sqlite3.Connection, path: Path) -> None:
    """Lay out a database that is still empty, in one transaction: one that is killed here leaves it empty."""
    with one_line(path):
        empty = not db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        if empty and not db.execute("PRAGMA user_version").fetchone()[0]:
            db.executescript(f"BEGIN; {SCHEMA} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;")


def check_version(db: sqlite3.Connection, path: Path) -> None:
    """Refuse a database that another version laid out.

    Raises:
        UsageError: it is of another version, empty, or no database.
    """
    with sound(path):
        version = db.execute("PRAGMA user_version").fetchone()[0]
        empty = not version and not db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    if empty:
        raise UsageError(f"{path.parent}: no run here yet ({path.name} is empty); repeat the command that began it")
    if version != SCHEMA_VERSION:
        raise UsageError(
            f"{path}: written as version {version}, this Mindgauge reads {SCHEMA_VERSION}; read and continue it with the "
            "Mindgauge that wrote it (manifest.toml names it), or repeat its command with another --out"
        )


def connect(path: Path, *, write: bool) -> sqlite3.Connection:
    """Connect to a database; a reader of a folder that cannot be written reads it as it stands."""
    with one_line(path):
        if not write:
            # Where nothing can be written the file is read as it is, unless a killed writer's log belongs to it.
            readonly = not os.access(path.parent, os.W_OK) and not _log_left(path)
            uri = f"{path.resolve().as_uri()}?mode=ro{'&immutable=1' if readonly else ''}"
            db = sqlite3.connect(uri, uri=True, check_same_thread=False, factory=_Connection)
            db.path = path
            db.execute(f"PRAGMA cache_size = -{_CACHE}")
            return db
        # A notebook's engine works in a thread of its own.
        db = sqlite3.connect(path, check_same_thread=False, factory=_Connection)
        db.path = path
        db.execute(f"PRAGMA cache_size = -{_CACHE}")
        db.execute("PRAGMA journal_mode = WAL")
        # A killed process loses nothing that was committed; only a power cut may lose the last moments.
        db.execute("PRAGMA synchronous = NORMAL")
        # Keys are hashes, so every row dirties pages of its own; folding the log back seldom folds many at once.
        db.execute("PRAGMA wal_autocheckpoint = 10000")
        return db


def _log_left(path: Path) -> Path | None:
    log = path.with_name(f"{path.name}-wal")
    return log if log.is_file() and log.stat().st_size else None


def check_log(path: Path) -> None:
    """Refuse to write after a log that is damaged in the middle: SQLite would silently drop what was committed behind it.

    Raises:
        UsageError: it is.
    """
    log = _log_left(path)
    if log is not None and latest(log.read_bytes())[1]:
        raise damaged(path, "its log has commits behind a part that cannot be read")


def lock(folder: Path) -> int:
    """Become the only writer of a run; the kernel lets go when the process ends, however it ends."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # what people said is nobody else's to read
        handle = os.open(folder / "run.lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise UsageError(f"{folder}: cannot write a run here ({error.strerror})") from error
    for wait in _LOOKS:
        time.sleep(wait)
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
    else:
        holder = os.read(handle, 32).decode(errors="replace").strip()
        os.close(handle)
        raise UsageError(
            f"{folder}: another process ({holder or 'unknown'}) is writing this run; wait for it or choose another --out"
        )
    os.ftruncate(handle, 0)
    os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
    return handle


def writer(folder: Path) -> str | None:
    """Return the process that is writing a run now, by its id if that is known; None if nobody is."""
    try:
        handle = os.open(folder / "run.lock", os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return os.read(handle, 32).decode(errors="replace").strip() or "unknown"
    finally:
        os.close(handle)
    return None


@contextlib.contextmanager
def sound(path: Path) -> Iterator[None]:
    """Say in one line, as a `UsageError`, that a run's file is damaged, and what to do."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        if not _damaged(error):
            raise
        raise damaged(path, error) from error


def damaged(path: Path, error: object) -> UsageError:
    """Return what is said of a damaged file."""
    advice = f"save what can be read with `mindgauge salvage {path.parent} --out NEW`"
    return UsageError(f"{path}: damaged ({error}); {advice}")


def _damaged(error: Exception) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED


@contextlib.contextmanager
def one_line(path: Path) -> Iterator[None]:
    """Say in one line, as a `MindgaugeError`, that the disk is full or the database cannot be written."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        if _damaged(error):
            raise damaged(path, error) from error
        full = "full" in str(error) or getattr(error, "errno", None) == errno.ENOSPC
        advice = "free some space" if full else "see that the folder can be written"
        raise MindgaugeError(
            f"{path}: {error}; everything finished before is kept: {advice}, then run the same command again"
        ) from error
