"""How a damaged run was laid out: its tables, the pages that are theirs, and which records are rows of which."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.records.errors import UsageError
from mindgauge.store import rows
from mindgauge.store.pages import DamagedError, Pages, StoredRecord
from mindgauge.store.rows import SCHEMA_VERSION, SchemaObject, usual_parts

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping
    from pathlib import Path


class TableLayout(NamedTuple):
    """A table: where its tree begins, and what its rows look like."""

    columns: rows.RunTable
    root: int
    order: tuple[int, ...]
    """Where each column stands in a record."""
    alias: int | None
    """The column that is the rowid."""
    by_rowid: bool

    @property
    def name(self) -> str:
        """What it is called."""
        return self.columns.name

    def row(self, row: StoredRecord) -> tuple[Any, ...] | None:
        """Return a record as a row of this table; None where it is not one, or not as it was written."""
        if len(row.values) != len(self.order):
            return None
        values = [row.values[place] for place in self.order]
        if self.alias is not None:
            values[self.alias] = row.rowid
        stored = *self.columns.stored(values[:-1]), values[-1]
        return stored if self.columns.holds(stored) else None


class RunLayout(NamedTuple):
    """How a damaged run was laid out."""

    parts: tuple[SchemaObject, ...]
    """What every run of this version is made of, each where it begins in this one."""
    strange: tuple[str, ...]
    """What else the file names, by kind and name. It is somebody else's SQL, so nothing of it is run or copied."""


def laid_out(pages: Pages, source: Path) -> RunLayout:
    """Read how the run is laid out; what cannot be read is as in every run of this version.

    Raises:
        UsageError: it is another version's.
    """
    usual = {(part.kind, part.name): part for part in usual_parts()}
    parts = [SchemaObject(*row.values) for row in _schema(pages)]  # type: ignore[arg-type]  # whatever it holds is looked at below
    is_ours = {part.sql for part in usual.values()} <= {part.sql for part in parts}
    if parts and pages.version not in {None, SCHEMA_VERSION} and not is_ours:
        raise UsageError(
            f"{source}: written as version {pages.version}, this Mindgauge reads {SCHEMA_VERSION}; use the Mindgauge that wrote it"
        )
    strange = []
    for part in parts:
        part_known = usual.get((part.kind, part.name))
        if part_known is None:
            strange.append(f"{part.kind} {str(part.name)[:60]!r}")
        elif part_known.root and isinstance(part.root, int) and part.root > 0:
            usual[part.kind, part.name] = part_known._replace(root=part.root)
    return RunLayout(tuple(usual.values()), tuple(strange))


def _schema(pages: Pages) -> Iterable[StoredRecord]:
    """Return the records of the table that says how the file is laid out, and that has no checksums."""
    waiting, visited = [1], set[int]()
    while waiting:
        number = waiting.pop()
        with contextlib.suppress(DamagedError):
            page = pages.page(number)
            if number not in visited and page.of_table:
                visited.add(number)
                yield from (row for row in page.rows if len(row.values) == len(SchemaObject._fields))
                waiting += page.children


def tables_of(db: sqlite3.Connection, parts: Iterable[SchemaObject]) -> list[TableLayout]:
    """Describe the tables of a run."""
    tables = []
    for part in parts:
        if part.kind != "table":
            continue
        columns = db.execute(f"PRAGMA table_info({part.name})").fetchall()
        by_rowid = "WITHOUT ROWID" not in str(part.sql).upper()
        keys = sorted((c for c in columns if c[5]), key=lambda c: int(c[5]))
        stored = columns if by_rowid else [*keys, *(c for c in columns if not c[5])]
        alias = keys[0][0] if by_rowid and len(keys) == 1 and keys[0][2].upper() == "INTEGER" else None
        places = {column[0]: place for place, column in enumerate(stored)}
        order = tuple(places[column[0]] for column in columns)
        tables.append(TableLayout(rows.tables()[part.name], part.root, order, alias, by_rowid))
    return tables


def owners(pages: Pages, tables: Iterable[TableLayout]) -> tuple[Mapping[int, TableLayout], Counter[str]]:
    """Follow each table's tree; return whose each page is, and how many pages of each table cannot be read."""
    owner: dict[int, TableLayout] = {}
    damaged: Counter[str] = Counter()
    for table in tables:
        waiting = [table.root]
        while waiting:
            number = waiting.pop()
            if number in owner:
                continue
            try:
                page = pages.page(number)
            except DamagedError:
                damaged[table.name] += 1
                continue
            if page.of_table != table.by_rowid or (page.rows and not any(map(table.row, page.rows))):
                damaged[table.name] += 1  # it is another table's, or an index's: what led here is damaged
                continue
            owner[number] = table
            waiting += reversed(page.children)
    return owner, damaged


def led_to(pages: Pages, roots: Iterable[int]) -> set[int]:
    """Return the pages of indexes, whose records might be taken for rows."""
    numbers: set[int] = set()
    waiting = [*roots]
    while waiting:
        number = waiting.pop()
        with contextlib.suppress(DamagedError):
            page = pages.page(number)
            if number not in numbers and not page.of_table:
                numbers.add(number)
                waiting += page.children
    return numbers
