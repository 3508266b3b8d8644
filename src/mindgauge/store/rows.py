"""Rows as they are written and checked: each ends with a checksum over its values, so that a changed letter is noticed.

The checksum is the CRC-32 (zlib's) of the values as MessagePack, each number in its shortest form as that format asks
for, going on from the CRC-32 of the table's name. It finds every change of up to 32 bits side by side, and any other
but one in 2³². It is no signature: who changes a row on purpose can compute it, too.
"""

from __future__ import annotations

import contextlib
import functools
import sqlite3
from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from zlib import crc32

import msgspec

from mindgauge.store.schema import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Values: TypeAlias = Sequence[Any]

_packed = msgspec.msgpack.Encoder().encode
_AS_IT_IS = {
    *((NoneType, kind) for kind in ("TEXT", "INTEGER", "REAL", "BLOB", "")), *((bytes, kind) for kind in ("TEXT", "BLOB", "")),
    (str, "TEXT"), (str, "BLOB"), (str, ""), (int, "INTEGER"), (int, "BLOB"), (int, ""),
}  # fmt: skip
"""Which values a column of which type keeps as they are given. SQLite turns others into its type where it can (its
documentation: "Type Affinity"), which would be another value than the checksum's."""


class Table(NamedTuple):
    """A table of a run: the names and types of its columns without the checksum, and where its checksums begin."""

    name: str
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    start: int

    def stored(self, values: Values) -> Values:
        """Return values as the table gives them back."""
        if _AS_IT_IS.issuperset(zip(map(type, values), self.kinds, strict=True)):
            return values
        return tuple(map(_kept, values, self.kinds))

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
def tables() -> Mapping[str, Table]:
    """Return the tables of a run, by name."""
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        db.executescript(SCHEMA)
        names = [
            name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rootpage")
        ]
        columns = {name: db.execute(f"PRAGMA table_info({name})").fetchall()[:-1] for name in names}
    return {
        name: Table(name, tuple(c[1] for c in of_table), tuple(c[2] for c in of_table), crc32(name.encode()))
        for name, of_table in columns.items()
    }


def put(db: sqlite3.Connection, table: str, rows: Iterable[Values], *, anew: bool = True) -> None:
    """Write rows into the open transaction.

    Args:
        db: a run's database.
        table: its table.
        rows: their values in the order of the columns, without the checksum.
        anew: whether a row takes the place of one with its key; if not, that one stays.
    """
    layout = tables()[table]
    db.executemany(_insertion(table, len(layout.names) + 1, anew=anew), map(layout.summed, rows))


@functools.cache
def _insertion(table: str, columns: int, *, anew: bool) -> str:
    return f"INSERT OR {'REPLACE' if anew else 'IGNORE'} INTO {table} VALUES ({', '.join('?' * columns)})"  # noqa: S608 - a name of ours


def change(db: sqlite3.Connection, table: str, key: Mapping[str, object], values: Mapping[str, object]) -> None:
    """Set columns of the row that has a key, if there is one, in the open transaction."""
    names = tables()[table].names
    condition = " AND ".join(f"{name} = ?" for name in key)
    row = db.execute(f"SELECT * FROM {table} WHERE {condition}", tuple(key.values())).fetchone()  # noqa: S608 - names of ours
    if row is not None:
        put(db, table, [tuple({**dict(zip(names, row[:-1], strict=True)), **values}.values())])
