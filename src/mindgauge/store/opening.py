"""How a run's database is opened: by one writer at a time, by any number of readers, and with failures said in one line."""

from __future__ import annotations

import contextlib
import functools
import os
import sqlite3
import struct
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from mindgauge.records.english import named, nearest
from mindgauge.records.errors import UsageError
from mindgauge.records.files import private
from mindgauge.store import locks
from mindgauge.store.failures import DAMAGING, as_damage, damaged, one_line, salvaged, sound
from mindgauge.store.rows import PARTS, SCHEMA, SCHEMA_VERSION, SchemaObject, usual_parts
from mindgauge.store.soundness import check, known

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    Words: TypeAlias = NDArray[np.uint32]

PAGE = 4096
"""Bytes of a page of every run."""
FRAME, _LOG_HEADER = PAGE + 24, 32
"""Bytes of a log's frame, which is a page with what says whose it is, and before a log's first frame."""
_AT_ONCE = 1000
"""Frames of a log that are summed up at once: some megabytes."""
_CACHE = 64_000
"""Pages at hand, in KiB."""
_DEFENSIVE = 1010
"""SQLITE_DBCONFIG_DEFENSIVE: the schema cannot be written as if it were a table."""
_ROWS = 1000
_NAMES_ANOTHER = bytes.fromhex("d9d505f920a163d7")
"""How a journal of several databases ends (https://sqlite.org/fileformat2.html, section 3.1)."""


class EmptyRunError(UsageError):
    """A run that was stopped before it was laid out: there is nothing to read yet."""


def absent(folder: Path) -> str:
    """Say that there is no run in a folder, and what there is."""
    if not folder.exists():
        beside = _runs_in(folder.parent)
        hint = f"; {nearest(folder.name, beside, f'runs beside it: {named(beside, limit=5)}')}" if beside else ""
        return f"{folder}: no run here: there is no such folder{hint}"
    if not folder.is_dir():
        return f"{folder}: no run here: a run is a folder, and this is a file"
    runs = _runs_in(folder)
    listing = f"; runs in it: {named(runs, limit=5)}" if runs else ""
    return f"{folder}: no run here (run.sqlite is missing){listing}"


def _runs_in(folder: Path) -> list[str]:
    return sorted(path.parent.name for path in folder.glob("*/run.sqlite"))


class _Cursor(sqlite3.Cursor):
    """Rows, or one line that says that the file is damaged."""

    connection: _Connection

    def execute(self, *arguments: Any) -> Self:
        try:  # as `sound`, which takes as long as the reading itself: there is a look-up for every call
            return super().execute(*arguments)
        except DAMAGING as error:
            self.close()  # else whoever holds the error keeps the file open
            raise as_damage(self.connection.path, error) from error

    def fetchone(self) -> Any:
        try:
            return super().fetchone()
        except DAMAGING as error:
            raise as_damage(self.connection.path, error) from error

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

    def execute(self, *arguments: Any) -> _Cursor:  # sqlite3's own makes a cursor of its own kind
        return self.cursor().execute(*arguments)


def connect(path: Path, *, write: bool) -> sqlite3.Connection:
    """Connect to a run's database, which may come from anybody; a writer lays out one that is still empty.

    Whoever made the file decides what SQL stands in its schema, and SQLite runs it: a view while something else is read,
    a trigger while something is written. So nothing is read or written before the schema is known to be ours, word for
    word, and nothing is believed before it is known to be as it was written. A reader of a folder that cannot be written
    reads it as it stands.

    Raises:
        UsageError: it is of another version, empty, damaged, or holds what Mindgauge did not make.
    """
    with one_line(path):
        if journal := names_another(path):
            raise damaged(path, f"{journal.name} names another file")
        _check_log(path, write=write)
        if write:
            private.refuse_link(path)
            if not path.exists() or not path.stat().st_size:
                private.write(path, _empty())  # in one step: an interrupt leaves no file without its tables
            # A notebook's engine works in a thread of its own.
            db = sqlite3.connect(path, check_same_thread=False, factory=_Connection)
        else:
            # Where nothing can be written or locked the file is read as it is, unless a killed writer's log belongs to it.
            unlocked = locks.missing(path.parent)
            readonly = (unlocked or not os.access(path.parent, os.W_OK)) and not _log_left(path)
            if unlocked and not readonly:
                raise UsageError(
                    f"{path.parent}: {locks.NONE}, and a log waits to be read; copy the folder to a disk with locks"
                )
            uri = f"{path.resolve().as_uri()}?mode=ro{'&immutable=1' if readonly else ''}"
            db = sqlite3.connect(uri, uri=True, check_same_thread=False, factory=_Connection)
        db.path = path
        try:
            _check(db, path)
            db.execute(f"PRAGMA cache_size = -{_CACHE}")
            check(db, path)
            if write:
                db.execute("PRAGMA journal_mode = WAL")
                # Keys are hashes, so every row dirties pages of its own; folding the log back seldom folds many at once.
                db.execute("PRAGMA wal_autocheckpoint = 10000")
                _tune(db, "main")
        except BaseException:
            db.close()
            raise
        return db


def attach(db: sqlite3.Connection, path: Path, name: str) -> None:
    """Attach another database of ours, which is laid out or known to be sound afterwards, under a name.

    Raises:
        UsageError: as `connect` does.
    """
    connect(path, write=True).close()
    db.execute(f"ATTACH ? AS {name}", (str(path),))
    _tune(db, name)


def _tune(db: sqlite3.Connection, name: str) -> None:
    """Set how a database is written; what SQLite is told of one does not hold of another that is attached."""
    db.execute(f"PRAGMA {name}.cache_size = -{_CACHE}")
    # A killed process loses nothing that was committed; only a power cut may lose the last moments.
    db.execute(f"PRAGMA {name}.synchronous = NORMAL")
    # A log that begins anew keeps nothing of the old one, so that it ends with its last commit.
    db.execute(f"PRAGMA {name}.journal_size_limit = 0")


def _empty() -> bytes:
    """Return a database of this version without rows."""
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        db.executescript(f"PRAGMA page_size = {PAGE}; {SCHEMA} PRAGMA user_version = {SCHEMA_VERSION};")
        return db.serialize()


def read_schema(db: sqlite3.Connection) -> tuple[int, list[SchemaObject]]:
    """Return a database's version and how it is laid out; no SQL that stands in it is run."""
    if hasattr(db, "setconfig"):  # from Python 3.12 on
        db.setconfig(_DEFENSIVE, True)
    db.execute("PRAGMA trusted_schema = OFF")
    db.set_authorizer(_may)
    version = db.execute("PRAGMA user_version").fetchone()[0]
    parts = [SchemaObject(*row) for row in db.execute(PARTS)]
    db.set_authorizer(None)
    return version, parts


def _check(db: sqlite3.Connection, path: Path) -> None:
    """Refuse a database that another version or another program laid out, or that has no tables yet."""
    version, laid_out = read_schema(db)
    parts = {part._replace(root=0) for part in laid_out}
    if not version and not parts:
        raise EmptyRunError(f"{path.parent}: no run here yet ({path.name} is empty); repeat the command that began it")
    expected = {part._replace(root=0) for part in usual_parts()}
    if version != SCHEMA_VERSION:
        doubt = f" (it is laid out as version {SCHEMA_VERSION}, so it may be damaged: then {salvaged(path)})"
        raise UsageError(
            f"{path}: written as version {version}, this Mindgauge reads {SCHEMA_VERSION}; read and continue it with the "
            "Mindgauge that wrote it (manifest.toml names it), or repeat its command with another --out"
            f"{doubt if parts == expected else ''}"
        )
    if parts != expected:
        odd = min(parts - expected or expected - parts, key=lambda part: (str(part.name), str(part.kind)))
        name = f"{odd.kind} {str(odd.name)[:60]!r}"
        fault = f"its {name} is not what Mindgauge made" if odd in parts else f"its {name} is missing"
        raise damaged(path, f"{fault}, nothing was read")


def _may(action: int, first: str | None, *_: str | None) -> int:
    """Allow what tells how a database is laid out, and nothing else."""
    reads = action == sqlite3.SQLITE_READ and first in {"sqlite_master", "sqlite_schema"}
    asks = action == sqlite3.SQLITE_PRAGMA and first == "user_version"
    return sqlite3.SQLITE_OK if action == sqlite3.SQLITE_SELECT or reads or asks else sqlite3.SQLITE_DENY


def names_another(path: Path) -> Path | None:
    """Return a database's journal if that names another file: SQLite would remove that file once it rolled the journal back.

    Ours are written with a log, and a journal of one file alone is left only by a kill while a run is laid out.
    """
    journal = path.with_name(f"{path.name}-journal")
    return journal if journal.is_file() and journal.read_bytes()[-8:] == _NAMES_ANOTHER else None


def _log_left(path: Path) -> Path | None:
    log = path.with_name(f"{path.name}-wal")
    return log if log.is_file() and log.stat().st_size else None


def _check_log(path: Path, *, write: bool) -> None:
    """Refuse a log that is damaged: SQLite would silently drop what was committed behind it.

    A log that grows while it is read makes no sense to us, so it is left to the process that writes it.
    """
    log = _log_left(path)
    if log is None or known(path) or not (write or locks.writer(path.parent) is None):
        return
    if latest(log.read_bytes())[1] and (write or locks.writer(path.parent) is None):
        raise damaged(path, "its log has a commit that cannot be read")


# A log as SQLite writes it beside a database (https://sqlite.org/fileformat2.html, section 4).


def latest(log: bytes) -> tuple[dict[int, int], bool]:
    """Return where in a write-ahead log each page stands last, as of its last commit (section 4.1).

    A frame's checksum goes on from that of the frame before, so each can be told sound even behind one that is not.
    SQLite itself stops there, and takes what follows for never written. Whether a commit is among that is returned, too:
    either one that is sound, or the frame that cannot be read is one, and with it the log ends. A kill leaves no such
    frame there: it is written in two steps, of which the first leaves the file shorter.
    """
    places: dict[int, int] = {}
    waiting: dict[int, int] = {}
    if len(log) < _LOG_HEADER:
        return places, False
    order = "<" if log[3:4] == b"\x82" else ">"
    broken, hidden = checksum(log[:24], order, (0, 0)) != struct.unpack_from(">II", log, 24), False
    salts = log[_LOG_HEADER + 8 : _LOG_HEADER + 16] if broken else log[16:24]
    for place, follows in zip(range(_LOG_HEADER, len(log), FRAME), _follow(log, order), strict=False):
        number, committed = struct.unpack_from(">II", log, place)
        of_this = log[place + 8 : place + 16] == salts
        if of_this and follows:
            waiting[number] = place + FRAME - PAGE
            if committed:
                places.update(waiting)
                waiting, hidden = {}, broken
        else:  # damaged, or from before the log began anew
            last = place + FRAME == len(log)
            hidden |= not broken and bool(committed) and (last if of_this else follows)
            broken = True
    return places, hidden


def _follow(log: bytes, order: str) -> Iterator[bool]:
    """Say of each whole frame of a log whether its checksum goes on from the one that stands before it."""
    import numpy as np

    count = (len(log) - _LOG_HEADER) // FRAME
    weights, onward = _weights(2 + PAGE // 4)
    before = np.array([struct.unpack_from(">II", log, 24)], np.uint32)
    for first in range(0, count, _AT_ONCE):
        frames = min(_AT_ONCE, count - first)
        begin = _LOG_HEADER + first * FRAME
        content = log[begin : begin + frames * FRAME]
        stated = np.frombuffer(content, ">u4").reshape(frames, -1)[:, 4:6].astype(np.uint32)
        words = np.frombuffer(content, f"{order}u4").reshape(frames, -1).astype(np.uint32)
        before = np.concatenate([before, stated])
        sums = words[:, :2] @ weights[:2] + words[:, 6:] @ weights[2:] + before[:-1] @ onward
        yield from (sums == stated).all(axis=1).tolist()
        before = before[-1:]


@functools.cache
def _weights(count: int) -> tuple[Words, Words]:
    """Return how `count` words, and the checksum before them, enter a checksum: a sum of their multiples, modulo 2³².

    Shapes (count, 2) and (2, 2). A pair of words takes (s, t) to (s + t + x, s + 2t + x + y), see `checksum`.
    """
    import numpy as np

    weights = np.zeros((count, 2), np.uint32)
    onward = np.eye(2, dtype=np.uint32)
    step, pair = np.array([[1, 1], [1, 2]], np.uint32), np.array([[1, 1], [0, 1]], np.uint32)
    for place in range(count - 2, -1, -2):
        weights[place : place + 2] = pair @ onward
        onward = step @ onward
    return weights, onward


def checksum(content: bytes, order: str, before: tuple[int, int]) -> tuple[int, int]:
    """Sum up content as a log does (section 4.2), going on from what was `before`."""
    first, second = before
    words = iter(struct.unpack(f"{order}{len(content) // 4}I", content))
    for word, other in zip(words, words, strict=True):
        first = (first + word + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return first, second
