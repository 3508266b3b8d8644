"""`status --salvage`: what can still be read of a damaged run, as a new run: SQLite reads it page by page, checksums decide what is sound.

SQLite gives up a table at the first page that makes no sense. So each page is put in turn where a table of our own begins, in
a copy whose first page is ours: what raises costs one row or one page and hides no others, and no SQL of the damaged file is
run. Of the format (https://sqlite.org/fileformat2.html, sections 1.5 and 1.6) only what leads from page to page is read here.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import struct
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from mindgauge.annotation import blind
from mindgauge.benchmarks import standalone_rubric
from mindgauge.commands.command import CommandOption, command
from mindgauge.records.command_result import Tabular, noted
from mindgauge.records.english import named
from mindgauge.records.errors import UsageError
from mindgauge.records.files import private
from mindgauge.records.rounding import plural
from mindgauge.records.rubric import Rubric
from mindgauge.store import manifest, reading
from mindgauge.store.failures import DAMAGING, PENDING, one_line
from mindgauge.store.locks import made_whole, nobody_writes
from mindgauge.store.opening import FRAME, PAGE, absent, connect, latest, read_schema
from mindgauge.store.rows import SCHEMA_VERSION, RunTable, put, tables, usual_parts
from mindgauge.store.soundness import seal

if TYPE_CHECKING:
    from collections.abc import Iterator

_INNER_KEYED, _INNER, _LEAF_KEYED, _LEAF = 2, 5, 10, 13
"""How pages begin: of tables by key, which are like an index's, and of tables by rowid; inner ones lead to others."""
_QUERIES = {
    _LEAF: "SELECT rowid, * FROM leaf LIMIT 1 OFFSET ?",
    _LEAF_KEYED: "SELECT NULL, * FROM keyed LIMIT 1 OFFSET ?",
}
_COLUMNS = ", ".join(f"c{number}" for number in range(20))
"""Of the widest table, its checksum included."""
_LAYOUT = f"""
PRAGMA page_size = {PAGE}; PRAGMA writable_schema = ON;
CREATE TABLE leaf ({_COLUMNS}); CREATE TABLE keyed ({_COLUMNS}, PRIMARY KEY (c0)) WITHOUT ROWID;"""
_SUBJECTS = "SELECT id FROM replies UNION SELECT id FROM samples"
_NAMED = {"subject": _SUBJECTS, **dict.fromkeys(("reason", "quotes", "course"), "SELECT id FROM pieces")}
"""What columns refer to that declare no key. A number that refers to nothing would be given away again."""


class Kept(msgspec.Struct, frozen=True):
    """What became of a table. `lost` counts rows that were seen to be there; `pages` is how many pages hide others."""

    table: str
    kept: int
    lost: int
    pages: int


class Salvaged(Tabular, msgspec.Struct, frozen=True):
    """What of a damaged run is in the new one, table by table."""

    run: str
    out: str
    tables: list[Kept]
    notes: list[str]

    @property
    def whole(self) -> bool:
        """Whether nothing was found to be damaged."""
        return not any(table.lost or table.pages for table in self.tables)

    def summary(self) -> list[str]:
        """Say what could be read and what was lost, and how to go on."""
        rows, lost, pages = (sum(getattr(table, name) for table in self.tables) for name in ("kept", "lost", "pages"))
        damage = f"{plural(lost, 'row')} and {plural(pages, 'page')} lost"
        return [
            f"{self.run}: {plural(rows, 'row')} kept, {'nothing was found damaged' if self.whole else damage}",
            *noted(self.notes, 3),
            f"{self.out}: the command that made the run, with this `out`, pays only for what was lost.",
        ]

    def _listed(self) -> list[Kept]:
        return self.tables


@command(doing="Salvaging")
def salvage(run: str | Path, *, out: Annotated[str | Path, CommandOption(flag="--salvage", metavar="DIR")]) -> Salvaged:
    """Write what can be read of a damaged run into a new one.

    The command that made the run, with the new folder as `--out`, then pays only for what was lost.

    Args:
        run: The damaged run's directory; it is not changed.
        out: Write what can be read of a damaged run into this folder: new, or empty.

    Raises:
        UsageError: there is no run, somebody is writing it, another version wrote it, or `out` holds something or
            has no locks.
        MindgaugeError: the damaged file cannot be copied, or the new one not be written.
    """
    folder, path = Path(run), Path(out)
    if not (folder / "run.sqlite").is_file():
        raise UsageError(absent(folder))
    with nobody_writes(folder) as locked, made_whole(path, "another --out") as draft:
        copied, strange = _database(folder / "run.sqlite", draft / "run.sqlite")
        waiting = Path(PENDING) / "run.sqlite"
        if (folder / waiting).is_file():
            private.folder(draft / PENDING)
            strange += _database(folder / waiting, draft / waiting)[1]
        notes = [f"left out, since no Mindgauge made it: {named(strange, limit=5)}"] if strange else []
        notes += _files(folder, draft)
    if not locked:
        notes.append(f"{folder}: its file system has no locks; if anything wrote the run meanwhile, salvage it again")
    return Salvaged(str(folder), str(path), copied, notes)


def _files(folder: Path, path: Path) -> list[str]:
    """Copy the files that go with the database, and say which are damaged; a damaged manifest goes along under another name."""
    private.copy_files(folder / "rubrics", path / "rubrics")
    files = [folder / name for name in (standalone_rubric.FILE, blind.FILE, reading.FILE)]
    present = filter(Path.is_file, (*files, *sorted(folder.glob("view-draw-*.json"))))
    uncopied = [file for file in present if not private.copied(file, path / file.name)]
    notes = [f"{file}: not copied, since it is a link or too large; copy it yourself" for file in uncopied]
    for rubric in sorted((*path.glob(standalone_rubric.FILE), *(path / "rubrics").glob("*.toml"))):
        try:
            Rubric.kept(rubric)
        except UsageError as error:
            notes.append(str(error).replace(str(path), str(folder)))
    fault = f"{folder} has no manifest.toml"
    try:
        content = manifest.read(folder)
    except UsageError:
        content, fault = {}, f"{folder / 'manifest.toml'}: damaged"
        if private.copied(folder / "manifest.toml", path / "manifest.toml.damaged"):
            fault += ", kept as manifest.toml.damaged to look at"
    if not content:
        return [*notes, f"{fault}; the command that made the run writes another"]
    manifest.write(path, content)
    return notes


def _database(source: Path, target: Path) -> tuple[list[Kept], list[str]]:
    """Copy every row of a database that can be read into a new one; return what became of each table, and what is not ours.

    Raises:
        UsageError: another version laid out the damaged run.
        MindgaugeError: the new one cannot be written.
    """
    work = target.with_name(f"{target.name}.damaged")
    usual = {(part.kind, part.name): part.sql for part in usual_parts()}
    with contextlib.ExitStack() as stack, one_line(target):
        stack.callback(work.unlink, missing_ok=True)
        private.copy(source, work)
        pages = _Pages(source, work, stack)
        parts = {(part.kind, part.name): part.sql for part in pages.parts}
        if pages.version != SCHEMA_VERSION and not usual.items() <= parts.items():
            raise UsageError(
                f"{source}: written as version {pages.version}, this Mindgauge reads {SCHEMA_VERSION}; use the Mindgauge that wrote it"
            )
        with contextlib.closing(connect(target, write=True)) as db:
            copied = _taken(pages, db)
            db.commit()
        seal(target)
        return copied, [f"{kind} {str(name)[:60]!r}" for kind, name in parts if (kind, name) not in usual]


class _Pages:
    """A copy of a damaged file with a first page of ours, which has two tables that begin on two pages behind all others."""

    def __init__(self, source: Path, work: Path, stack: contextlib.ExitStack) -> None:
        """Take the copy `work`; add what the log has last of each page, also behind a damaged part of it."""
        self._file = stack.enter_context(work.open("r+b", buffering=0)).fileno()
        log_path = source.with_name(f"{source.name}-wal")
        log = log_path.read_bytes() if log_path.is_file() else b""
        size = work.stat().st_size + len(log)
        for number, place in latest(log)[0].items():
            if 0 < number <= 4 * (size // FRAME + 1):  # what a log names far away would make a huge file
                os.pwrite(self._file, log[place : place + PAGE], (number - 1) * PAGE)
        self.count = max(work.stat().st_size // PAGE, 1)
        self.version, self.parts = SCHEMA_VERSION, [*usual_parts()]
        uri = f"{work.resolve().as_uri()}?mode=ro"
        with contextlib.suppress(*DAMAGING), contextlib.closing(sqlite3.connect(f"{uri}&immutable=1", uri=True)) as db:
            version, parts = read_schema(db)
            self.version, self.parts = (version, parts) if parts else (self.version, self.parts)
        self.idle = self._idle_pages()
        with contextlib.closing(sqlite3.connect(":memory:")) as db:
            db.executescript(_LAYOUT)
            db.execute("UPDATE sqlite_schema SET rootpage = ? + (name = 'keyed')", (self.count + 1,))
            db.commit()
            os.pwrite(self._file, db.serialize()[:PAGE], 0)
        os.truncate(self._file, (self.count + 2) * PAGE)
        self._room, self._changes = 2 * size, 1
        """Letters and bytes that may still be read: a file in which rows share pages would hold any multiple of its size."""
        self._db = stack.enter_context(contextlib.closing(sqlite3.connect(uri, uri=True)))
        self._db.text_factory = lambda text: text.decode(errors="replace")

    def page(self, number: int) -> bytes:
        """Return a page; zeros where the file has none of this number."""
        content = os.pread(self._file, PAGE, (number - 1) * PAGE) if 0 < number <= self.count else b""
        return content.ljust(PAGE, b"\0")

    def rows(self, page: bytes) -> Iterator[tuple[Any, ...]]:
        """Yield what SQLite reads on a page, past what raises: the rowid, or nothing, and the columns."""
        if page[0] == _INNER_KEYED:  # of which each row follows the number of a page: as a leaf it has its rows alone
            places = struct.pack(f">{len(_places(page))}H", *(min(place + 4, PAGE) for place in _places(page)))
            page = bytes([_LEAF_KEYED]) + page[1:8] + places + page[8 + len(places) :]
        self._changes += 1
        os.pwrite(self._file, page, (self.count + (page[0] == _LEAF_KEYED)) * PAGE)
        os.pwrite(
            self._file, self._changes.to_bytes(4, "big"), 24
        )  # where a file tells that it has changed (section 1.3)
        for number in range(len(_places(page)) if page[0] in _QUERIES else 0):
            with contextlib.suppress(sqlite3.DatabaseError):
                for row in self._db.execute(_QUERIES[page[0]], (number,)):
                    self._room -= sum(len(value) for value in row if isinstance(value, str | bytes))
                    if self._room < 0:
                        return
                    yield row

    def _idle_pages(self) -> set[int]:
        """Return the pages that hold nothing any more, as far as their list can be read."""
        numbers: set[int] = set()
        trunk = int.from_bytes(self.page(1)[32:36], "big") if self.page(1).startswith(b"SQLite format 3\0") else 0
        while trunk and trunk not in numbers:
            numbers.add(trunk)
            trunk, count, *leaves = struct.unpack(f">{PAGE // 4}I", self.page(trunk))
            numbers.update(leaves[:count])
        return numbers

    def owners(self) -> dict[int, str]:
        """Follow the tree of each table; return whose each page is, in the order of the rows."""
        owner: dict[int, str] = {}
        for part in self.parts:
            waiting = [part.root] if part.name in tables() and isinstance(part.root, int) else []
            while waiting:
                number = waiting.pop()
                page = self.page(number)
                if page[0] in {_INNER_KEYED, _INNER} and number not in owner:
                    places = (*_places(page), 8)
                    waiting += reversed([int.from_bytes(page[place : place + 4], "big") for place in places])
                owner.setdefault(number, part.name)
        return owner


def _places(page: bytes) -> tuple[int, ...]:
    """Return where on a page its rows begin."""
    first, count = 12 if page[0] in {_INNER_KEYED, _INNER} else 8, int.from_bytes(page[3:5], "big")
    return struct.unpack_from(f">{count}H", page, first) if first + 2 * count <= PAGE else ()


def _row(table: RunTable, values: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return a rowid and what follows it as a row of a table; None where it is not one, or not as it was written."""
    width = len(table.names)
    first = values[0] if values[1] is None else values[1]  # a column that is the rowid is kept as nothing
    row = *table.stored((first, *values[2 : width + 1])), values[width + 1]
    return row[:-1] if table.holds(row) else None


def _taken(pages: _Pages, db: sqlite3.Connection) -> list[Kept]:
    """Put the rows of all pages into the new database.

    What a tree leads to is taken before pages that no tree leads to any more, which may hold what was replaced since.
    """
    owner = pages.owners()
    saved, lost, unread = Counter[str](), Counter[str](), Counter[str]()
    rest = (number for number in range(2, pages.count + 1) if number not in owner and number not in pages.idle)
    for number in chain(owner, rest):
        page = pages.page(number)
        records = list(pages.rows(page))
        names = [*([owner[number]] if number in owner else []), *tables()]
        name = next((name for name in names if any(_row(tables()[name], values) for values in records)), None)
        if name is not None:
            sound = [row for values in records if (row := _row(tables()[name], values))]
            before = db.total_changes
            put(db, name, sound, anew=False)
            saved[name] += db.total_changes - before
            lost[name] += max(len(_places(page)) - len(sound), 0)
        elif number in owner and page[0] != _INNER and (page[0] not in _QUERIES or page[3:5] != b"\0\0"):
            unread[owner[number]] += 1
    dropped = _without_what_they_name(db)
    return [Kept(name, saved[name] - dropped[name], lost[name] + dropped[name], unread[name]) for name in tables()]


def _without_what_they_name(db: sqlite3.Connection) -> Counter[str]:
    """Drop rows that refer to a row that was lost; return how many of each table.

    What was said of a lost reply is said again when the reply is back: its call, if that was kept, is not paid again.
    """
    dropped: Counter[str] = Counter()
    for name, table in tables().items():
        keys = db.execute(f"PRAGMA foreign_key_list({name})").fetchall()
        named = [(column, f"SELECT {key} FROM {parent}") for _, _, parent, column, key, *_ in keys]  # noqa: S608 - names of ours
        named += [(column, targets) for column, targets in _NAMED.items() if column in table.names]
        for column, targets in named:
            dropped[name] += db.execute(f"DELETE FROM {name} WHERE {column} NOT IN ({targets})").rowcount  # noqa: S608
    return dropped
