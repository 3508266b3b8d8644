"""Calls that are under way in a provider's batches, kept in the run so that any later process can collect them.

An intent is committed before anything is sent, and the provider's id when it is known; a process killed between the two
leaves an intent that is looked for at the provider. A call is under way until its outcome is committed: the same
transaction that keeps the call takes it out of here.
"""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from mindgauge.store.failures import one_line
from mindgauge.store.rows import change, put
from mindgauge.store.run import listed

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable
    from pathlib import Path

    from mindgauge.store.run import Store


class Submission(msgspec.Struct):
    """A batch as this run knows it."""

    id: str
    """Ours; it goes with the batch where the provider keeps metadata."""
    model: str
    file: str
    """The provider's id of the uploaded requests; empty if not known."""
    remote: str
    """The provider's id of the batch; empty if not known."""
    began: float
    """Seconds since 1970 at which it was decided on."""
    calls: int
    unsupported: tuple[str, ...] = ()
    """The parameters that its requests lack, since the provider does not take them."""


class Held(NamedTuple):
    """In which batch a call is under way, and how often it has been submitted."""

    batch: str
    attempt: int


class CallsUnderWay(NamedTuple):
    """How many batches hold how many calls whose outcome is not in the run yet."""

    batches: int
    calls: int


class Batches:
    """The batches of a run; a writer's changes are committed at once."""

    def __init__(self, store: Store) -> None:
        self.folder: Path = store.folder
        self._path = store.path
        self._db: sqlite3.Connection = store._db  # noqa: SLF001 - one package, one connection

    # -- what is under way ------------------------------------------------------------------------------------------

    def under_way(self, model: str) -> CallsUnderWay:
        """Count what of a model is under way."""
        query = "SELECT count(DISTINCT batch), count(*) FROM batch_calls WHERE batch IN (SELECT id FROM batches WHERE model = ?)"
        return CallsUnderWay(*self._db.execute(query, (model,)).fetchone())

    def holding(self, key: bytes) -> Held | None:
        """Return where a call is under way."""
        row = self._db.execute("SELECT batch, attempt FROM batch_calls WHERE key = ?", (key,)).fetchone()
        return None if row is None else Held(*row)

    def submission(self, ident: str) -> Submission:
        """Return a batch by our id."""
        query = "SELECT id, model, file, remote, began, calls, unsupported FROM batches WHERE id = ?"
        row = self._db.execute(query, (ident,)).fetchone()
        return msgspec.structs.replace(Submission(*row[:6]), unsupported=listed(row[6]))

    def keys(self, ident: str) -> set[bytes]:
        """Return the calls of a batch whose outcome is not in the run yet."""
        return {row[0] for row in self._db.execute("SELECT key FROM batch_calls WHERE batch = ?", (ident,))}

    def kept(self, key: bytes) -> bool:
        """Say whether the run has a call's outcome."""
        return self._db.execute("SELECT 1 FROM calls WHERE key = ?", (key,)).fetchone() is not None

    def confirmed(self) -> set[str]:
        """Return the provider's ids of all batches that it itself named as ours."""
        return {row[0] for row in self._db.execute("SELECT remote FROM batches WHERE remote != '' AND NOT found")}

    def notes(self) -> list[str]:
        """Return what was odd about batches' results."""
        return [row[0] for row in self._db.execute("SELECT note FROM batches WHERE note != '' ORDER BY began")]

    # -- changes ----------------------------------------------------------------------------------------------------

    def intend(self, model: str, calls: Iterable[tuple[bytes, int]], unsupported: Iterable[str] = ()) -> Submission:
        """Keep that calls, each with how often it will then have been submitted, are about to go into a batch."""
        calls = list(calls)
        new = Submission(secrets.token_hex(8), model, "", "", time.time(), len(calls), tuple(sorted(unsupported)))
        row = (new.id, model, "", "", 0, new.began, new.calls, "", ",".join(new.unsupported))
        with one_line(self._path):
            put(self._db, "batches", [row])
            put(self._db, "batch_calls", ((key, new.id, attempt) for key, attempt in calls))
            self._db.commit()
        return new

    def uploaded(self, submission: Submission, file: str) -> None:
        """Keep the provider's id of a batch's requests."""
        submission.file = file
        self._set(submission.id, file=file)

    def submitted(self, submission: Submission, remote: str, *, listed: bool = False) -> None:
        """Keep the provider's id of a batch; `listed` where we took it from a list, and it may be another's."""
        submission.remote = remote
        self._set(submission.id, remote=remote, found=listed)

    def remark(self, submission: Submission, note: str) -> None:
        """Keep what was odd about a batch's results."""
        self._set(submission.id, note=note)

    def drop(self, submission: Submission) -> None:
        """Forget a batch that came to nothing: its calls are no longer under way."""
        with one_line(self._path):
            self._db.execute("DELETE FROM batch_calls WHERE batch = ?", (submission.id,))
            self._db.execute("DELETE FROM batches WHERE id = ?", (submission.id,))
            self._db.commit()

    def _set(self, ident: str, **values: object) -> None:
        with one_line(self._path):
            change(self._db, "batches", {"id": ident}, values)
            self._db.commit()
