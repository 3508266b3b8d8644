"""How a damaged run was laid out: its tables, the pages that are theirs, and which records are rows of which."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mindgauge.errors import UsageError
from mindgauge.records import Evidence, RaterKind, Reply, Sample, Status
from mindgauge.store.pages import DamagedError, Pages, Row
from mindgauge.store.schema import SCHEMA_VERSION, Part, usual_parts
from mindgauge.store.withheld import NOT_KEPT

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

_STORED = {"TEXT": (str,), "INTEGER": (int,), "REAL": (float, int), "BLOB": (bytes,), "": (str, int, float, bytes)}
_json = msgspec.json.Decoder().decode
_READS: dict[str, Callable[[Any], object]] = {
    "status": Status,
    "rater_kind": RaterKind,
    "provenance": lambda said: said if isinstance(said, int) else _json(said),
    "evidence": msgspec.json.Decoder(tuple[Evidence, ...]).decode,
    "body": msgspec.json.Decoder(Sample).decode,
}
"""How columns of these names are read; what cannot be read so is lost."""


class Table(NamedTuple):
    """A table: where its tree begins, and what its rows look like."""

    name: str
    root: int
    types: tuple[str, ...]
    names: tuple[str, ...]
    order: tuple[int, ...]
    """Where each column stands in a record."""
    alias: int | None
    """The column that is the rowid."""
    by_rowid: bool

    def row(self, row: Row) -> tuple[Any, ...] | None:
        """Return a record as a row of this table; None where it is not one."""
        if len(row.values) != len(self.names):
            return None
        values = [row.values[place] for place in self.order]
        if self.alias is not None:
            values[self.alias] = row.rowid
        for value, name, kind in zip(values, self.names, self.types, strict=True):
            if value is None:
                continue
            if not isinstance(value, _STORED.get(kind, _STORED[""])) or (isinstance(value, str) and "\0" in value):
                return None  # no text of ours has a null, and emptied pages are full of them
            if name in _READS:
                try:
                    _READS[name](value)
                except (ValueError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                    return None
        try:
            return None if _altered(dict(zip(self.names, values, strict=True))) else tuple(values)
        except (TypeError, AttributeError):  # a null where none can be
            return None


def _altered(row: dict[str, Any]) -> bool:
    """Say whether this is a reply that is not the one that its id hashes; versions of replies (`:stress`) have other ids."""
    if "sample" not in row or "text" not in row or ":" in row["benchmark"] or row["text"].startswith(f"({NOT_KEPT}"):
        return False
    return bool(row["id"] != Reply.of(row["sample"], row["model"], row["run"], Status.OK, row["text"]).id)


class Layout(NamedTuple):
    """How a damaged run was laid out."""

    parts: tuple[Part, ...]
    """What every run of this version is made of, each where it begins in this one."""
    strange: tuple[str, ...]
    """What else the file names, by kind and name. It is somebody else's SQL, so nothing of it is run or copied."""


def laid_out(pages: Pages, source: Path) -> Layout:
    """Read how the run is laid out; what cannot be read is as in every run of this version.

    Raises:
        UsageError: it is another version's.
    """
    usual = {(part.kind, part.name): part for part in usual_parts()}
    types = ("TEXT", "TEXT", "TEXT", "INTEGER", "TEXT")
    schema = Table("sqlite_schema", 1, types, ("", "", "", "", ""), (0, 1, 2, 3, 4), None, True)
    whose, _ = owners(pages, [schema])
    rows = [schema.row(row) for number in whose for row in pages.page(number).rows]
    parts = [Part(*row) for row in rows if row is not None]
    ours = {part.sql for part in usual.values()} <= {part.sql for part in parts}
    if parts and pages.version not in {None, SCHEMA_VERSION} and not ours:
        raise UsageError(
            f"{source}: written as version {pages.version}, this Mindgauge reads {SCHEMA_VERSION}; use the Mindgauge that wrote it"
        )
    strange = []
    for part in parts:
        known = usual.get((part.kind, part.name))
        if known is None:
            strange.append(f"{part.kind} {str(part.name)[:60]!r}")
        elif known.root and isinstance(part.root, int) and part.root > 0:
            usual[part.kind, part.name] = known._replace(root=part.root)
    return Layout(tuple(usual.values()), tuple(strange))


def tables_of(db: sqlite3.Connection, parts: Iterable[Part]) -> list[Table]:
    """Describe the tables of a run."""
    found = []
    parts = tuple(parts)
    roots = {part.name: part.root for part in parts if part.kind == "table"}
    for name, sql in ((part.name, part.sql or "") for part in parts if part.kind == "table"):
        columns = db.execute(f"PRAGMA table_info({name})").fetchall()
        by_rowid = "WITHOUT ROWID" not in sql.upper()
        keys = sorted((c for c in columns if c[5]), key=lambda c: int(c[5]))
        stored = columns if by_rowid else [*keys, *(c for c in columns if not c[5])]
        alias = keys[0][0] if by_rowid and len(keys) == 1 and keys[0][2].upper() == "INTEGER" else None
        places = {column[0]: place for place, column in enumerate(stored)}
        found.append(Table(
            name, roots[name], tuple(c[2].upper() for c in columns), tuple(c[1] for c in columns),
            tuple(places[c[0]] for c in columns), alias, by_rowid,
        ))  # fmt: skip
    return found


def owners(pages: Pages, tables: Iterable[Table]) -> tuple[Mapping[int, Table], Counter[str]]:
    """Follow each table's tree; return whose each page is, and how many pages of each table cannot be read."""
    found: dict[int, Table] = {}
    damaged: Counter[str] = Counter()
    for table in tables:
        waiting = [table.root]
        while waiting:
            number = waiting.pop()
            if number in found:
                continue
            try:
                page = pages.page(number)
            except DamagedError:
                damaged[table.name] += 1
                continue
            if page.of_table != table.by_rowid or (page.rows and not any(map(table.row, page.rows))):
                damaged[table.name] += 1  # it is another table's, or an index's: what led here is damaged
                continue
            found[number] = table
            waiting += reversed(page.children)
    return found, damaged


def led_to(pages: Pages, roots: Iterable[int]) -> set[int]:
    """Return the pages of indexes, whose records might be taken for rows."""
    found: set[int] = set()
    waiting = [*roots]
    while waiting:
        number = waiting.pop()
        with contextlib.suppress(DamagedError):
            page = pages.page(number)
            if number not in found and not page.of_table:
                found.add(number)
                waiting += page.children
    return found
