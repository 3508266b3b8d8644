"""The database of a project: SQLite in its folder, or a PostgreSQL server by URL; its faults in one line; transactions that writers share.

What reads or writes it is a function of a connection, which may be called a second time: by SQLite's writers, who share
a transaction, where that was not kept; on a server, where the connection to it was lost. Where a commit's answer was
lost, the second call finds what the first one did. So such a function changes nothing but the database, and what must
count once carries an id.

Where a statement meets a full disk, or a fault of it, SQLite may end the whole transaction by itself: what members wrote
before is gone, a savepoint holds nothing, a commit does nothing, and a later member's statements would each be kept by
themselves. So after each member the connection is asked whether the transaction still runs, and only a commit of the
transaction in which a member wrote means that its work is kept.
"""

from __future__ import annotations

import ssl
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from sqlalchemy import create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from mindgauge.records.errors import MindgaugeError, UsageError
from mindgauge.records.files import private
from mindgauge.records.redaction import redacted

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import URL, Connection, Engine
    from sqlalchemy.engine import ExceptionContext


T = TypeVar("T")
WAIT = 15.0
"""Seconds to wait for another writer before giving up."""
_GONE = ("08", "57P")
"""How the SQLSTATE of a lost connection, or of a server that goes down or comes up, begins."""
_CONFLICTS = ("40001", "40P01")
"""Of two transactions that could not both go on."""
_STRANGE = """
SELECT type, name FROM sqlite_schema AS part
WHERE type NOT IN ('table', 'index') OR sql LIKE 'CREATE VIRTUAL%'
    OR (type = 'table' AND EXISTS (SELECT 1 FROM pragma_table_xinfo(part.name) WHERE hidden))
    OR (type = 'index' AND EXISTS (SELECT 1 FROM pragma_index_xinfo(part.name) WHERE cid = -2)) LIMIT 1"""
"""What in a file could run SQL of whoever made it."""


class DatabaseError(MindgaugeError):
    """The database is locked, gone or full; what was handed in before is kept."""


class Database:
    """An engine with short transactions. Writers of one process queue here, so that SQLite's lock is not fought for."""

    def __init__(self, url: str) -> None:
        """Take a SQLAlchemy URL: `sqlite:///PATH` or `postgresql://USER@HOST/NAME`.

        Raises:
            UsageError: the URL is not one of these.
        """
        try:
            parsed = make_url(url)
        except (ArgumentError, ValueError) as error:
            raise UsageError(
                f"{redacted(url)!r} is no database URL; write postgresql://USER:PASSWORD@HOST/NAME, "
                "with %40 for @ in a password, %2F for / and so on, or leave it out for a file"
            ) from error
        self.sqlite = parsed.get_backend_name() == "sqlite"
        if self.sqlite and not parsed.database:
            raise UsageError(f"{url}: it names no file; leave it out for one in the project's folder")
        if not self.sqlite and parsed.get_backend_name() != "postgresql":
            raise UsageError(f"{parsed.get_backend_name()}: labels are kept in SQLite or PostgreSQL; give such a URL")
        if not self.sqlite:
            parsed = parsed.set(drivername="postgresql+pg8000")
        self.name = redacted(parsed.render_as_string(hide_password=True))
        self._file = Path(parsed.database) if self.sqlite and parsed.database else None
        self._inode: int | None = None
        self._turn = threading.Lock()
        self._counting = threading.Lock()
        self._waiting = 0
        self._shared: Shared | None = None
        try:
            self._readers, self._writers = _sqlite(parsed) if self.sqlite else _postgresql(parsed)
        except (NoSuchModuleError, ModuleNotFoundError) as error:
            raise UsageError(f"{self.name}: its driver is not installed; pip install 'mindgauge[web]'") from error
        self._faults = (SQLAlchemyError, OSError, Ended, self._writers.dialect.loaded_dbapi.Error)

    def read(self, work: Callable[[Connection], T]) -> T:
        """Return what `work` reads.

        Raises:
            DatabaseError: it cannot be read.
        """

        def reading() -> T:
            with self._readers.connect() as connection:
                return work(connection)

        return self._tried(reading)

    def write(self, work: Callable[[Connection], T]) -> T:
        """Let `work` write; return what it returns once that is on the disk. All its changes are kept, or none.

        Raises:
            DatabaseError: it cannot be written; nothing of this was kept.
        """

        def writing() -> T:
            if self.sqlite:
                return self._together(work)
            with self._writers.begin() as connection:
                return work(connection)

        return self._tried(writing)

    def _together(self, work: Callable[[Connection], T]) -> T:
        """Write in a transaction that those who wait for their turn join; the last of them finishes it.

        Where it was not kept, each of them writes again, alone: what is raised then is a member's own.
        """
        with self._counting:
            self._waiting += 1
        with self._turn:
            with self._counting:
                self._waiting -= 1
            shared, outcome = self._joined(work)
        if not shared.kept() and not shared.alone:
            with self._turn:
                self._finish()
                shared, outcome = self._joined(work, alone=True)
        if shared.fault is not None:
            raise shared.fault
        return outcome.result()

    def _joined(self, work: Callable[[Connection], T], *, alone: bool = False) -> tuple[Shared, WorkResult[T]]:
        """Let a member write in the shared transaction, and finish it where no other is to follow."""
        shared = self._shared = self._shared or Shared(self._writers)
        try:
            return shared, shared.run(work)
        finally:
            with self._counting:
                follows = self._waiting > 0 and not alone
            if not (follows and shared.room):
                self._finish()

    def _finish(self) -> None:
        """Finish the transaction that is shared now, if there is one."""
        shared, self._shared = self._shared, None
        if shared is not None:
            shared.finish()

    def _see_file(self) -> None:
        """See that the file is the one we began with: SQLite would go on writing to one that nobody finds again.

        Raises:
            DatabaseError: it was taken away, or another one was put in its place.
        """
        if self._file is None or (self._inode is None and not self._file.exists()):
            return
        inode = self._file.stat().st_ino if self._file.exists() else None
        if self._inode is not None and inode != self._inode:
            missing = "the file is gone; put it back, and what was handed in before is there"
            other = "another file was put in its place; put the first one back, or start again with this one"
            raise DatabaseError(f"{self.name}: {missing if inode is None else other}")
        self._inode = inode

    def _tried(self, attempt: Callable[[], T]) -> T:
        """Return what an attempt returns; where a server's connection was lost, there is a second one.

        Raises:
            DatabaseError: the database failed.
        """
        self._see_file()
        try:
            return attempt()
        except self._faults as error:
            if self.sqlite or not _passes(error):
                raise self._in_one_line(error) from error
        self.close()  # of idle connections, none may be of any use now
        try:
            return attempt()
        except self._faults as error:
            raise self._in_one_line(error) from error

    def _in_one_line(self, error: Exception) -> DatabaseError:
        cause = _cause(error)
        advice = "see that it runs and can be written" if self._file is None else private.remedy(self._file, cause)
        if "locked" in cause:
            advice = "another program holds it; wait, or close that program"
        return DatabaseError(f"{self.name}: {cause}; {advice}, then try again")

    def close(self) -> None:
        """Let go of the connections that nobody uses; others are made when they are needed."""
        self._readers.dispose()
        self._writers.dispose()


def _sqlite(url: URL) -> tuple[Engine, Engine]:
    """Return what reads and what writes a file: readers beside one writer."""
    engine = create_engine(
        url,
        hide_parameters=True,
        connect_args={"timeout": WAIT, "check_same_thread": False},
        pool_size=8,
        max_overflow=56,
    )
    event.listen(engine, "connect", _settings)
    event.listen(engine, "begin", _begin)
    return engine, engine


def _postgresql(url: URL) -> tuple[Engine, Engine]:
    """Return what reads and what writes a server.

    It shows each statement of a reader what is committed then anyway, so a transaction would only cost more trips.
    Parameters are people's words and ids: they stand in no message and no log.
    """
    url, secured = _secured(url)
    shared = {"hide_parameters": True, "connect_args": {"timeout": WAIT, **secured}, "pool_recycle": 300}
    readers = create_engine(url, isolation_level="AUTOCOMMIT", pool_size=16, max_overflow=16, **shared)
    writers = create_engine(url, pool_size=8, max_overflow=8, **shared)
    for engine in (readers, writers):
        event.listen(engine, "handle_error", _notice_outage)
    return readers, writers


def _secured(url: URL) -> tuple[URL, dict[str, ssl.SSLContext]]:
    """Read how a connection is secured from a URL, as PostgreSQL's own programs do, and take it out.

    Raises:
        UsageError: the URL says something else beside.
    """
    mode = url.query.get("sslmode", "")
    url = url.difference_update_query(["sslmode"])
    if url.query or mode not in {"", "disable", "allow", "prefer", "require", "verify-ca", "verify-full"}:
        raise UsageError(
            f"{redacted(url.render_as_string(hide_password=True))}: after ? only sslmode is read "
            "(disable, allow, prefer, require, verify-ca or verify-full)"
        )
    if mode in {"", "disable", "allow", "prefer"}:
        return url, {}
    context = ssl.create_default_context()
    context.check_hostname = mode == "verify-full"
    if mode == "require":  # encrypted, whoever answers, as libpq means it
        context.verify_mode = ssl.CERT_NONE
    return url, {"ssl_context": context}


def _cause(error: Exception) -> str:
    """Return what the database itself says, in one line; pg8000 gives a dictionary with the message under M."""
    origin = getattr(error, "orig", None) or error
    report = origin.args[0] if origin.args else origin
    message = report.get("M", report) if isinstance(report, dict) else origin
    return " ".join(str(message).split())[:200]


def _state(error: BaseException | None) -> str:
    """Return the SQLSTATE that a server gave with an error; empty where there is none."""
    origin = getattr(error, "orig", None) or error
    report = origin.args[0] if origin is not None and origin.args else None
    return str(report.get("C", "")) if isinstance(report, dict) else ""


def _passes(error: Exception) -> bool:
    """Say whether a second attempt may succeed: the connection was lost, or another transaction was in the way."""
    state = _state(error)
    lost = getattr(error, "connection_invalidated", False) or not isinstance(error, SQLAlchemyError)
    return lost or state.startswith(_GONE) or state in _CONFLICTS


def _notice_outage(context: ExceptionContext) -> None:
    """Tell the pool that a server has ended the connection, so that none of those before is used again."""
    if _state(context.original_exception).startswith(_GONE):
        context.is_disconnect = True


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


# A transaction of SQLite that several writers share, one after another, so that they wait for the disk once.


_MEMBERS = 16
"""Writers that share a transaction at most: the first of them waits for all."""


class Ended(Exception):  # noqa: N818 - it says what became of the transaction
    """The transaction ended by itself, and what was written in it is not kept."""


class WorkResult(NamedTuple, Generic[T]):
    """What one member's work returned, or raised; it holds once the transaction is kept."""

    value: T | None
    error: Exception | None

    def result(self) -> T:
        """Return what the work returned, or raise what it raised."""
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]  # it is the work's own, which may be None


class Shared:
    """One transaction and its members. Whoever holds the writers' turn runs a member in it, or finishes it."""

    def __init__(self, engine: Engine) -> None:
        """Begin it, and so take the write lock of the file."""
        self._connection = engine.connect().execution_options(writes=True)
        try:
            self._transaction = self._connection.begin()
        except BaseException:
            self._connection.close()
            raise
        self._members = 0
        self._done = threading.Event()
        self.fault: Exception | None = None
        """Why nothing of it is kept."""

    @property
    def room(self) -> bool:
        """Whether one more may write in it."""
        return self.fault is None and self._members < _MEMBERS

    @property
    def alone(self) -> bool:
        """Whether it had one member."""
        return self._members == 1

    def run(self, work: Callable[[Connection], T]) -> WorkResult[T]:
        """Let one more member write; what it raises takes nothing of the others' with it."""
        self._members += 1
        try:
            savepoint = self._connection.begin_nested()
            try:
                value = work(self._connection)
                savepoint.commit()
            except Exception:
                if self._runs():
                    savepoint.rollback()
                raise
        except Exception as error:  # noqa: BLE001 - it is the member's own, who raises it
            if not self._runs():
                self.fault = error
            return WorkResult(None, error)
        except BaseException as error:
            self.fault = Ended(f"a writer was interrupted ({type(error).__name__})")
            raise
        if not self._runs():
            self.fault = Ended("the database ended a transaction by itself")
        return WorkResult(value, None)

    def finish(self) -> None:
        """Commit what all members wrote, if the transaction still runs, and let them know."""
        try:
            if self.fault is None:
                self._transaction.commit()
        except Exception as error:  # noqa: BLE001 - each of them raises it, or tries again
            self.fault = error
        finally:
            with suppress(Exception):  # whether it is kept is known by now
                if self.fault is not None:
                    self._connection.invalidate()
                self._connection.close()
            self._done.set()

    def kept(self) -> bool:
        """Wait until it is finished, and say whether it is on the disk."""
        self._done.wait()
        return self.fault is None

    def _runs(self) -> bool:
        raw = self._connection.connection.dbapi_connection
        return raw is not None and bool(raw.in_transaction)
