"""A rating taken apart: what it shares with others of its series, its origin or its call, and what is its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindgauge.records import encode
from mindgauge.store.rows import put

if TYPE_CHECKING:
    import sqlite3

    from mindgauge.records import Rating

    Row = tuple[Any, ...]

ORIGIN = frozenset({
    "batch", "began", "endpoint", "fingerprint", "model", "parameters", "phase", "project", "protocol", "selection",
    "software", "source", "source_file", "unsupported",
})  # fmt: skip
"""What of a rating's provenance is the same for many calls."""
OWN = frozenset({"answered_in", "checks", "implied", "problem", "said", "uncertain"})
"""What of it is about one criterion. The rest is about one call."""
REMEMBERED = 10_000
"""Origins at hand without asking the database; a server may name a new one with every answer."""


class RatingInterner:
    """Ratings that wait to be written. Texts that they have in common until then are written once."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._series: dict[Row, int] = {
            row[1:]: row[0] for row in db.execute("SELECT id, benchmark, rater, criterion FROM series")
        }
        self._origins: dict[Row, int] = {}
        self._next_series, self._next_origin, self._next_piece = (
            db.execute(f"SELECT coalesce(max(id), 0) + 1 FROM {table}").fetchone()[0]  # noqa: S608 - constant text
            for table in ("series", "origins", "pieces")
        )
        self._clear()

    def _clear(self) -> None:
        self._new_series: list[Row] = []
        self._new_origins: list[Row] = []
        self._pieces: dict[str, int] = {}
        self._rated: list[Row] = []

    def __bool__(self) -> bool:
        return bool(self._rated)

    def add(self, benchmark: str, rating: Rating) -> None:
        """Take a rating apart."""
        origin: dict[str, Any] = {}
        course: dict[str, Any] = {}
        own: dict[str, Any] = {}
        for name, value in rating.provenance.items():
            (origin if name in ORIGIN else own if name in OWN else course)[name] = value
        self._rated.append((
            self._series_of(benchmark, rating.rater, rating.criterion), rating.subject, rating.run, rating.status.value,
            rating.value, self._origin(rating, origin),
            self._piece(rating.rationale), self._piece(encode(rating.evidence).decode() if rating.evidence else ""),
            self._piece(_members(course)), _members(own) or None,
        ))  # fmt: skip

    def write(self) -> None:
        """Put what waits into the database's open transaction. Ids are given beforehand, so that it can be done again."""
        put(self._db, "series", self._new_series)
        put(self._db, "origins", self._new_origins)
        put(self._db, "pieces", ((ident, text) for text, ident in self._pieces.items()))
        put(self._db, "rated", self._rated)

    def written(self) -> None:
        """Let go of what has been committed."""
        self._clear()
        if len(self._origins) > REMEMBERED:
            self._origins = {}

    def _series_of(self, *names: str) -> int:
        if names not in self._series:
            self._series[names] = self._next_series
            self._new_series.append((self._next_series, *names))
            self._next_series += 1
        return self._series[names]

    def _origin(self, rating: Rating, provenance: dict[str, Any]) -> int:
        key = (rating.rater_kind.value, rating.instrument, _members(provenance))
        if key not in self._origins:
            query = "SELECT id FROM origins WHERE rater_kind = ? AND instrument = ? AND members = ?"
            row = self._db.execute(query, key).fetchone()
            if row is None:
                kind, instrument, members = key
                columns = (provenance.get("selection"), provenance.get("protocol"))
                self._new_origins.append((self._next_origin, kind, instrument, *columns, members))
                self._next_origin += 1
            self._origins[key] = self._next_origin - 1 if row is None else row[0]
        return self._origins[key]

    def _piece(self, text: str) -> int | None:
        if not text:
            return None
        if text not in self._pieces:
            self._pieces[text] = self._next_piece
            self._next_piece += 1
        return self._pieces[text]


def _members(content: dict[str, Any]) -> str:
    """Write an object's members so that those of several, one after the other, are members of one."""
    return f"{encode(content)[1:-1].decode()}," if content else ""
