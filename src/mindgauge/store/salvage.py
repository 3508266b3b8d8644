"""What can still be read of a damaged run, written into a new one: its tables, the pages that are theirs, and their rows.

Rows are taken from pages, not from tables: a page that SQLite cannot make sense of costs the rows on it, and one in
the middle of a table does not hide those behind it. The first page, which says where tables begin, is the same in all
runs of one version, so it is replaced where it is damaged.
"""

from __future__ import annotations

import contextlib
import mmap
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mindgauge.records.errors import UsageError
from mindgauge.store import rows
from mindgauge.store.failures import one_line
from mindgauge.store.opening import connect
from mindgauge.store.pages import DamagedError, Page, Pages, StoredRecord
from mindgauge.store.rows import SCHEMA_VERSION, SchemaObject, put, usual_parts
from mindgauge.store.soundness import seal

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path


_PIECES = "SELECT id FROM pieces"
_NAMED = {
    "subject": "SELECT id FROM replies UNION SELECT id FROM samples",
    "reason": _PIECES,
    "quotes": _PIECES,
    "course": _PIECES,
}
"""What columns refer to that declare no key. A number that refers to nothing would be given away again."""


class Kept(msgspec.Struct, frozen=True):
    """What became of a table. `lost` counts rows that were seen to be there; `pages` is how many pages hide others."""

    table: str
    kept: int
    lost: int
    pages: int


def salvage(source: Path, target: Path) -> tuple[list[Kept], tuple[str, ...]]:
    """Copy every row of the database `source` that can be read into a new database `target`.

    The new one is laid out as every run of this version: of the damaged file's own SQL nothing is run or copied.

    Returns:
        What became of each table, and what the damaged file names that is not ours.

    Raises:
        UsageError: another version laid out the damaged run.
        MindgaugeError: the new one cannot be written.
    """
    with contextlib.ExitStack() as stack, one_line(target):
        pages = Pages(*(stack.enter_context(_mapped(source.with_name(source.name + end))) for end in ("", "-wal")))
        layout = laid_out(pages, source)
        db = connect(target, write=True)
        stack.callback(db.close)
        indexes = [part.root for part in layout.parts if part.kind == "index"]
        tables = [*_taken(pages, tables_of(db, layout.parts), indexes, db)]
        db.commit()
        db.close()
        seal(target)
        return tables, layout.strange


@contextlib.contextmanager
def _mapped(path: Path) -> Iterator[mmap.mmap | bytes]:
    """Have a file's bytes at hand without reading them all; none where it is empty or missing."""
    if not path.is_file() or not path.stat().st_size:
        yield b""
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        yield content


def _taken(pages: Pages, tables: list[TableLayout], indexes: list[int], db: sqlite3.Connection) -> Iterator[Kept]:
    """Put the rows of all pages into the new database."""
    owner, damaged = owners(pages, tables)
    saved: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    idle = pages.idle() | led_to(pages, indexes)
    # What a tree leads to is taken before pages that no tree leads to any more, which may hold what was replaced since.
    for number in chain(owner, (n for n in pages.numbers() if n not in owner and n not in idle)):
        try:
            page = pages.page(number)
        except DamagedError:
            continue
        table = owner[number] if number in owner else _fitting(page, tables)
        if table is None:
            continue
        sound = [row[:-1] for row in map(table.row, page.rows) if row is not None]
        lost[table.name] += page.lost + len(page.rows) - len(sound)
        before = db.total_changes
        put(db, table.name, sound, anew=False)
        saved[table.name] += db.total_changes - before
    for name, unknown in _without_what_they_name(db, tables).items():
        saved[name] -= unknown
        lost[name] += unknown
    for table in tables:
        yield Kept(table.name, saved[table.name], lost[table.name], damaged[table.name])


def _fitting(page: Page, tables: list[TableLayout]) -> TableLayout | None:
    """Return the table whose rows these are; a checksum begins with its table."""
    return next((t for t in tables if t.by_rowid == page.of_table and any(map(t.row, page.rows))), None)


def _without_what_they_name(db: sqlite3.Connection, tables: list[TableLayout]) -> Counter[str]:
    """Drop rows that refer to a row that was lost; return how many of each table.

    What was said of a lost reply is said again when the reply is back: its call, if that was kept, is not paid again.
    """
    dropped: Counter[str] = Counter()
    for table in tables:
        keys = db.execute(f"PRAGMA foreign_key_list({table.name})").fetchall()
        named = [(column, f"SELECT {key} FROM {parent}") for _, _, parent, column, key, *_ in keys]  # noqa: S608 - names of ours
        named += [(column, targets) for column, targets in _NAMED.items() if column in table.columns.names]
        for column, targets in named:
            dropped[table.name] += db.execute(f"DELETE FROM {table.name} WHERE {column} NOT IN ({targets})").rowcount  # noqa: S608
    return dropped


# How a damaged run was laid out: its tables, the pages that are theirs, and which records are rows of which.


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
