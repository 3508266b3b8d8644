"""A transaction of SQLite that several writers share, one after another, so that they wait for the disk once.

Where a statement meets a full disk, or a fault of it, SQLite may end the whole transaction by itself: what members wrote
before is gone, a savepoint holds nothing, a commit does nothing, and a later member's statements would each be kept by
themselves. So after each member the connection is asked whether the transaction still runs, and only a commit of the
transaction in which a member wrote means that its work is kept.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection, Engine

T = TypeVar("T")
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
