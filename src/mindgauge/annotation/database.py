"""The database of a project: SQLite in its folder, or a PostgreSQL server by URL; and its faults in one line."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from mindgauge.errors import MindgaugeError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Engine

_MEMBERS = 16
"""Writers that share a transaction at most: the first of them waits for all."""
WAIT = 15.0
"""Seconds to wait for another writer before giving up."""
_STRANGE = """
SELECT type, name FROM sqlite_schema AS part
WHERE type NOT IN ('table', 'index') OR sql LIKE 'CREATE VIRTUAL%'
    OR (type = 'table' AND EXISTS (SELECT 1 FROM pragma_table_xinfo(part.name) WHERE hidden))
    OR (type = 'index' AND EXISTS (SELECT 1 FROM pragma_index_xinfo(part.name) WHERE cid = -2)) LIMIT 1"""
"""What in a file could run SQL of whoever made it."""


class DatabaseError(MindgaugeError):
    """The database is locked, gone or full; what was handed in before is kept."""


class _Group:
    """A transaction of SQLite that several writers share, one after another, so that they wait for the disk once."""

    def __init__(self, engine: Engine) -> None:
        self.connection = engine.connect().execution_options(writes=True)
        try:
            self._transaction = self.connection.begin()
        except BaseException:
            self.connection.close()
            raise
        self._members = 0
        self._error: Exception | None = None
        self._done = threading.Event()

    def join(self) -> bool:
        """Count one more writer; say whether there is room for another."""
        self._members += 1
        return self._members < _MEMBERS

    def commit(self) -> None:
        """Commit what all of them wrote, and let them know."""
        try:
            self._transaction.commit()
        except Exception as error:  # noqa: BLE001 - each of them raises it
            self._error = error
        finally:
            self.connection.close()
            self._done.set()

    def wait(self) -> None:
        """Wait until it is on the disk."""
        self._done.wait()
        if self._error is not None:
            raise self._error


class Database:
    """An engine with short transactions. Writers of one process queue here, so that SQLite's lock is not fought for."""

    def __init__(self, url: str) -> None:
        """Take a SQLAlchemy URL: `sqlite:///PATH` or `postgresql://USER@HOST/NAME`.

        Raises:
            UsageError: the URL is not one of these.
        """
        try:
            parsed = make_url(url)
        except ArgumentError as error:
            raise UsageError(
                f"{url!r} is no database URL; write postgresql://USER@HOST/NAME, or leave it out for a file"
            ) from error
        self.sqlite = parsed.get_backend_name() == "sqlite"
        if not self.sqlite and parsed.get_backend_name() != "postgresql":
            raise UsageError(f"{parsed.get_backend_name()}: labels are kept in SQLite or PostgreSQL; give such a URL")
        if not self.sqlite:
            parsed = parsed.set(drivername="postgresql+pg8000")
        self.name = parsed.render_as_string(hide_password=True)
        self._file = Path(parsed.database) if self.sqlite and parsed.database else None
        self._inode: int | None = None
        self._turn = threading.Lock()
        self._counting = threading.Lock()
        self._waiting = 0
        self._group: _Group | None = None
        try:
            self.engine: Engine = create_engine(parsed, **self._options())
        except (NoSuchModuleError, ModuleNotFoundError) as error:
            raise UsageError(f"{self.name}: its driver is not installed; pip install 'mindgauge[web]'") from error
        if self.sqlite:
            event.listen(self.engine, "connect", _settings)
            event.listen(self.engine, "begin", _begin)

    def _options(self) -> dict[str, object]:
        if self.sqlite:
            return {"connect_args": {"timeout": WAIT, "check_same_thread": False}, "pool_size": 8, "max_overflow": 56}
        return {"connect_args": {"timeout": WAIT}, "pool_size": 16, "max_overflow": 32, "pool_recycle": 300}

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection to read with.

        Raises:
            DatabaseError: it cannot be read.
        """
        # PostgreSQL shows each statement what is committed then anyway, so a transaction would only cost two more trips.
        options = {"writes": False} if self.sqlite else {"isolation_level": "AUTOCOMMIT"}
        with self._one_line(), self.engine.connect().execution_options(**options) as connection:
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        """Give a connection whose changes are committed together, or not at all.

        Raises:
            DatabaseError: it cannot be written; nothing of this was kept.
        """
        with self._one_line():
            if self.sqlite:
                with self._sharing() as connection:
                    yield connection
            else:
                with self.engine.begin() as connection:
                    yield connection

    @contextlib.contextmanager
    def _sharing(self) -> Iterator[Connection]:
        """Write in a transaction that those who wait for their turn join; the last of them commits it."""
        with self._counting:
            self._waiting += 1
        with self._turn:
            with self._counting:
                self._waiting -= 1
            group = self._group = self._group or _Group(self.engine)
            room = group.join()
            try:
                with group.connection.begin_nested():  # what fails takes nothing of the others' with it
                    yield group.connection
            finally:
                with self._counting:
                    more = self._waiting > 0
                if not (more and room):
                    self._group = None
                    group.commit()
        group.wait()

    def _see_file(self) -> None:
        """See that the file is the one we began with: SQLite would go on writing to one that nobody finds again.

        Raises:
            DatabaseError: it was taken away, or another one was put in its place.
        """
        if self._file is None or (self._inode is None and not self._file.exists()):
            return
        inode = self._file.stat().st_ino if self._file.exists() else None
        if self._inode is not None and inode != self._inode:
            gone = "the file is gone; put it back, and what was handed in before is there"
            other = "another file was put in its place; put the first one back, or start again with this one"
            raise DatabaseError(f"{self.name}: {gone if inode is None else other}")
        self._inode = inode

    @contextlib.contextmanager
    def _one_line(self) -> Iterator[None]:
        self._see_file()
        try:
            yield
        except (DBAPIError, OSError) as error:
            cause = _cause(error)
            advice = (
                "another program holds it; wait, or close that program"
                if "locked" in cause
                else "see that it runs and can be written"
            )
            raise DatabaseError(f"{self.name}: {cause}; {advice}, then try again") from error
        except SQLAlchemyError as error:
            raise DatabaseError(f"{self.name}: {' '.join(str(error).split())[:200]}") from error

    def close(self) -> None:
        """Let go of all connections."""
        self.engine.dispose()


def _cause(error: Exception) -> str:
    """Return what the database itself says, in one line; pg8000 gives a dictionary with the message under M."""
    origin = getattr(error, "orig", None) or error
    told = origin.args[0] if origin.args else origin
    said = told.get("M", told) if isinstance(told, dict) else origin
    return " ".join(str(said).split())[:200]


def _settings(connection: object, _: object) -> None:
    """Set up a connection to SQLite: readers beside one writer; a label survives a power cut, too."""
    connection.isolation_level = None  # type: ignore[attr-defined]  # we begin transactions ourselves
    cursor = connection.cursor()  # type: ignore[attr-defined]
    cursor.execute("PRAGMA trusted_schema = OFF")
    strange = cursor.execute(_STRANGE).fetchone()
    if strange:  # SQLite would run it when a label is read or written
        raise UsageError(
            f"annotation database: it holds the {strange[0]} {strange[1][:60]!r}, which Mindgauge did not make; nothing was read"
        )
    for pragma in (
        "journal_mode = WAL",
        "synchronous = FULL",
        "foreign_keys = ON",
        f"busy_timeout = {WAIT * 1000:.0f}",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin(connection: Connection) -> None:
    """Take SQLite's write lock at the start: a transaction that reads first could not get it later."""
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
