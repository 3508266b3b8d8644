"""How a run's database is laid out, and its rows as they are written and checked; a rating taken apart into what it shares and what is its own.

Ratings are many and say much alike, so what they share is kept once, and `ratings` is a view that puts them together:
`series` names benchmark, rater and criterion, `origins` what is the same for all that a rater says in one command, and
`pieces` a rationale, quotes or the course of a call, which all ratings of one answer share.

Each row ends with a checksum over its values, so that a changed letter is noticed. It is the CRC-32 (zlib's) of the values
as MessagePack, each number in its shortest form as that format asks for, going on from the CRC-32 of the table's name. It
finds every change of up to 32 bits side by side, and any other but one in 2³². It is no signature: who changes a row on
purpose can compute it, too.
"""

from __future__ import annotations

import contextlib
import functools
import sqlite3
from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from zlib import crc32

import msgspec

from mindgauge.records import encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mindgauge.records import Rating

    Values: TypeAlias = Sequence[Any]

    Row = tuple[Any, ...]


SCHEMA_VERSION = 5
SCHEMA = """
CREATE TABLE samples (benchmark TEXT, position INTEGER, id TEXT, body BLOB, checksum INTEGER,
    PRIMARY KEY (benchmark, id));
CREATE INDEX samples_in_order ON samples (benchmark, position);
CREATE TABLE replies (benchmark TEXT, id TEXT, sample TEXT, model TEXT, run INTEGER, status TEXT, text TEXT,
    finish_reason TEXT, prompt_tokens INTEGER, completion_tokens INTEGER, cached_tokens INTEGER, seconds REAL,
    provenance BLOB, checksum INTEGER, PRIMARY KEY (benchmark, id));
CREATE INDEX replies_by_model ON replies (benchmark, model, status, sample, run);
CREATE TABLE series (id INTEGER PRIMARY KEY, benchmark TEXT NOT NULL, rater TEXT NOT NULL, criterion TEXT NOT NULL,
    checksum INTEGER, UNIQUE (benchmark, rater, criterion));
CREATE TABLE origins (id INTEGER PRIMARY KEY, rater_kind TEXT NOT NULL, instrument TEXT NOT NULL,
    selection TEXT, protocol TEXT, members TEXT NOT NULL, checksum INTEGER,
    UNIQUE (rater_kind, instrument, members));
CREATE TABLE pieces (id INTEGER PRIMARY KEY, said TEXT NOT NULL, checksum INTEGER);
CREATE TABLE rated (series INTEGER REFERENCES series (id), subject TEXT, run INTEGER, status TEXT, value,
    origin INTEGER REFERENCES origins (id), reason INTEGER, quotes INTEGER, course INTEGER, own TEXT,
    checksum INTEGER, PRIMARY KEY (series, subject, run)) WITHOUT ROWID;
CREATE VIEW ratings AS SELECT series.benchmark, rated.subject, series.criterion, series.rater, origins.rater_kind,
    rated.run, rated.status, rated.value,
    (SELECT said FROM pieces WHERE id = rated.reason) AS rationale,
    (SELECT said FROM pieces WHERE id = rated.quotes) AS evidence,
    origins.instrument, origins.selection, origins.protocol,
    '{' || rtrim(origins.members || coalesce((SELECT said FROM pieces WHERE id = rated.course), '')
        || coalesce(rated.own, ''), ',') || '}' AS provenance
    FROM series JOIN rated ON rated.series = series.id LEFT JOIN origins ON origins.id = rated.origin;
CREATE TRIGGER ratings_dropped INSTEAD OF DELETE ON ratings BEGIN
    DELETE FROM rated WHERE subject = OLD.subject AND run = OLD.run AND series =
        (SELECT id FROM series WHERE benchmark = OLD.benchmark AND rater = OLD.rater AND criterion = OLD.criterion);
END;
CREATE TABLE calls (key BLOB PRIMARY KEY, prompt BLOB, benchmark TEXT, model TEXT, run INTEGER, status TEXT, text TEXT,
    finish_reason TEXT, prompt_tokens INTEGER, completion_tokens INTEGER, cached_tokens INTEGER, seconds REAL,
    attempts INTEGER, model_resolved TEXT, fingerprint TEXT, cost REAL, error TEXT, at REAL,
    unsupported TEXT, checksum INTEGER);
CREATE INDEX calls_by_model ON calls (model, benchmark, status, prompt_tokens, completion_tokens, cached_tokens, seconds,
    attempts, cost);
CREATE TABLE overdue (key BLOB, at REAL, at_most REAL, checksum INTEGER, PRIMARY KEY (key, at)) WITHOUT ROWID;
CREATE TABLE batches (id TEXT PRIMARY KEY, model TEXT, file TEXT, remote TEXT, found INTEGER, began REAL, calls INTEGER,
    note TEXT, unsupported TEXT, checksum INTEGER);
CREATE TABLE batch_calls (key BLOB PRIMARY KEY, batch TEXT, attempt INTEGER, checksum INTEGER) WITHOUT ROWID;
CREATE INDEX batch_calls_of ON batch_calls (batch);
CREATE TRIGGER batch_call_kept AFTER INSERT ON calls BEGIN
    DELETE FROM batch_calls WHERE key = NEW.key;
END;
"""


class SchemaObject(NamedTuple):
    """Something that a database has a name for."""

    kind: str
    """`table`, `index`, `view` or `trigger`."""
    name: str
    table: str
    """The table that it belongs to; a table's own name."""
    root: int
    """The page where it begins; 0 where it has none."""
    sql: str | None
    """None where the index came with its table."""


PARTS = "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema"


@functools.cache
def usual_parts() -> tuple[SchemaObject, ...]:
    """Return what every run of this version is made of."""
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        db.executescript(SCHEMA)
        return tuple(SchemaObject(*row) for row in db.execute(PARTS))


_packed = msgspec.msgpack.Encoder().encode
_AS_IT_IS = {
    *((NoneType, kind) for kind in ("TEXT", "INTEGER", "REAL", "BLOB", "")), *((bytes, kind) for kind in ("TEXT", "BLOB", "")),
    (str, "TEXT"), (str, "BLOB"), (str, ""), (int, "INTEGER"), (int, "BLOB"), (int, ""),
}  # fmt: skip
"""Which values a column of which type keeps as they are given. SQLite turns others into its type where it can (its
documentation: "Type Affinity"), which would be another value than the checksum's."""


@functools.cache
def _stay(types: tuple[type, ...], kinds: tuple[str, ...]) -> bool:
    """Whether columns keep values of these types as they are, where numbers that need not be whole are above 0."""
    return all(pair in _AS_IT_IS or pair == (float, "REAL") for pair in zip(types, kinds, strict=True))


class RunTable(NamedTuple):
    """A table of a run: the names and types of its columns without the checksum, and where its checksums begin."""

    name: str
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    start: int
    reals: tuple[int, ...]
    """Which columns hold numbers that need not be whole."""

    def stored(self, values: Values) -> Values:
        """Return values as the table gives them back."""
        if not _stay(tuple(map(type, values)), self.kinds):
            return tuple(map(_kept, values, self.kinds))
        for place in self.reals:
            if values[place] is not None and not values[place] > 0:
                return tuple(map(_kept, values, self.kinds))
        return values

    def summed(self, values: Values) -> tuple[Any, ...]:
        """Return a row: values as the table keeps them, and their checksum."""
        stored = self.stored(values)
        return *stored, self._checksum(stored)

    def holds(self, row: Values) -> bool:
        """Say whether a row's checksum is that of its values."""
        return bool(self._checksum(self.stored(row[:-1])) == row[-1])

    def _checksum(self, values: Values) -> int:
        crc = crc32(_packed(values), self.start)
        return crc - ((crc & 0x80000000) << 1)  # with a sign, since SQLite then takes four bytes

    def wrong(self, db: sqlite3.Connection) -> tuple[int, int]:
        """Count the rows whose checksum is not theirs, and all rows."""
        wrong = count = 0
        start = self.start
        for row in db.execute(f"SELECT * FROM {self.name}"):  # noqa: S608 - a name of ours
            crc = crc32(_packed(row[:-1]), start)  # as `holds` does, without its calls: there are millions of rows
            wrong += crc - ((crc & 0x80000000) << 1) != row[-1]
            count += 1
        return wrong, count


def _kept(value: Any, kind: str) -> Any:
    """Return a value in the form in which a column of this type keeps it."""
    if (type(value), kind) in _AS_IT_IS:
        return value
    if isinstance(value, str):
        return str(value)  # an enumeration's member is written as its text
    if isinstance(value, float) and value != value:  # noqa: PLR0124 - not a number, which SQLite keeps as a null
        return None
    if isinstance(value, bool):
        value = int(value)
    if kind == "REAL" and isinstance(value, int | float):
        return float(value) + 0.0  # which has no negative zero
    if kind == "INTEGER" and isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return int(value)
    return str(value) if kind == "TEXT" and isinstance(value, int | float) else value


@functools.cache
def tables() -> Mapping[str, RunTable]:
    """Return the tables of a run, by name."""
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        db.executescript(SCHEMA)
        names = [
            name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rootpage")
        ]
        columns = {name: db.execute(f"PRAGMA table_info({name})").fetchall()[:-1] for name in names}
    return {
        name: RunTable(
            name,
            tuple(c[1] for c in of_table),
            tuple(c[2] for c in of_table),
            crc32(name.encode()),
            tuple(place for place, c in enumerate(of_table) if c[2] == "REAL"),
        )
        for name, of_table in columns.items()
    }


def put(db: sqlite3.Connection, table: str, rows: Iterable[Values], *, anew: bool = True) -> None:
    """Write rows into the open transaction.

    Args:
        db: a run's database.
        table: its table, also of an attached database.
        rows: their values in the order of the columns, without the checksum.
        anew: whether a row takes the place of one with its key; if not, that one stays.
    """
    layout = tables()[table.rpartition(".")[2]]
    db.executemany(_insertion(table, len(layout.names) + 1, anew=anew), map(layout.summed, rows))


@functools.cache
def _insertion(table: str, columns: int, *, anew: bool) -> str:
    return f"INSERT OR {'REPLACE' if anew else 'IGNORE'} INTO {table} VALUES ({', '.join('?' * columns)})"  # noqa: S608 - a name of ours


def change(db: sqlite3.Connection, table: str, key: Mapping[str, object], values: Mapping[str, object]) -> None:
    """Set columns of the row that has a key, if there is one, in the open transaction."""
    names = tables()[table.rpartition(".")[2]].names
    condition = " AND ".join(f"{name} = ?" for name in key)
    row = db.execute(f"SELECT * FROM {table} WHERE {condition}", tuple(key.values())).fetchone()  # noqa: S608 - names of ours
    if row is not None:
        put(db, table, [tuple({**dict(zip(names, row[:-1], strict=True)), **values}.values())])


# A rating taken apart: what it shares with others of its series, its origin or its call, and what is its own.


ORIGIN = frozenset({
    "batch", "began", "drawn", "endpoint", "fingerprint", "model", "parameters", "phase", "project", "protocol", "selection",
    "software", "source", "source_file", "unsupported",
})  # fmt: skip
"""What of a rating's provenance is the same for many calls."""
OWN = frozenset({"answered_in", "checks", "implied", "misfit", "problem", "said", "uncertain"})
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
