"""What can still be read of a damaged run, written into a new one. The damaged file is only read.

Rows are taken from pages, not from tables: a page that SQLite cannot make sense of costs the rows on it, and one in
the middle of a table does not hide those behind it. The first page, which says where tables begin, is the same in all
runs of one version, so it is replaced where it is damaged.
"""

from __future__ import annotations

import contextlib
import mmap
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING

import msgspec

from mindgauge.store.failures import one_line
from mindgauge.store.layout import TableLayout, laid_out, led_to, owners, tables_of
from mindgauge.store.opening import connect
from mindgauge.store.pages import DamagedError, Page, Pages
from mindgauge.store.rows import put
from mindgauge.store.soundness import seal

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
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
