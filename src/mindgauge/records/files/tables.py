"""The one reader of tables that people bring: whatever the file is, its cells are read as they stand, or one line says why not.

CSV with any separator, workbooks, JSON, JSON lines, Parquet, tables in memory; in a folder, behind a link, or in a zip
(`archive.zip/member.csv`). `docs/files.md` says what may be handed in; `bounds` says how much of it.

A reader that is given `notes` goes on where another refuses, and writes down what it met: an audit is to say what is odd.
"""

from __future__ import annotations

import functools
import json
import math
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypeAlias

from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds, confined, folder, frames, mapping
from mindgauge.records.files.bounds import clean
from mindgauge.records.files.folder import File
from mindgauge.records.files.mapping import FileLayout, described, place
from mindgauge.records.files.texts import decoded, faults, read_records

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    import polars as pl

    from mindgauge.records.files.folder import Readable
    from mindgauge.records.files.mapping import ColumnMap
    from mindgauge.records.files.texts import Frame

WORKBOOKS, SEPARATED, LINES = {".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"}, {".csv", ".tsv"}, {".jsonl", ".ndjson"}
HEADED = WORKBOOKS | SEPARATED
"""Tables whose headers are a row like the others."""
ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet", ".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
_SHOWN = 30
_SEEN = FileLayout()
"""How a file is read of which nothing is said."""
_QUOTED = re.compile(rb'"[^"]*"')
_NAMED = 100
"""Broken lines of a file that are named each for itself."""
Row: TypeAlias = "tuple[int, Sequence[Any]]"
Source: TypeAlias = "str | Path | File | Frame"


def is_table(source: object) -> bool:
    """Whether a source is a table in memory, a file, or a folder of tables, rather than a run or a name."""
    if not isinstance(source, str | Path):
        return True
    path = Path(source)
    return path.suffix.lower() in ENDINGS or path.is_file() or (path.is_dir() and not is_run(path))


def is_run(source: object) -> bool:
    """Whether a path is a folder that holds, or should hold, a run: no run lies in a folder of tables."""
    if not isinstance(source, str | Path) or not Path(source).is_dir():
        return False
    if (Path(source) / "run.sqlite").exists() or (Path(source) / "manifest.toml").exists():
        return True
    return not any(path.suffix.lower() in ENDINGS for path in Path(source).iterdir())


def name_of(source: object) -> str:
    """Return how messages call a source."""
    return str(source) if isinstance(source, str | Path | File) else "the table"


def find(source: str | Readable) -> Readable:
    """Return the file that a path names, links followed: also a member of a zip, or the only table in a folder or zip.

    Raises:
        DataError: there is none, or several.
    """
    path = folder.at(Path(source)) if isinstance(source, str | Path) else source
    if isinstance(path, File) or (path.exists() and not path.is_dir() and path.suffix.lower() != ".zip"):
        return path
    if not path.exists():
        raise DataError(f"{path}: no such file or folder")
    broken: tuple[str, ...] = ()
    if path.is_dir():
        below = folder.below(path)
        members, broken = below.all, below.broken
    else:
        members = tuple(folder.members(path, PurePosixPath()))
    lying = [file for file in members if file.suffix.lower() in ENDINGS and not file.name.startswith("~$")]
    if not lying:
        raise DataError("; ".join([f"{path}: no table here ({', '.join(sorted(ENDINGS))})", *broken]))
    if len(lying) > 1:
        named = ", ".join(file.place.as_posix() for file in lying[:_SHOWN])
        raise DataError(f"{path}: several tables here; name one of them, {path}/NAME ({named})")
    return lying[0]


class InputTable:
    """A table: headers, and rows of cells with the line of the file on which each begins (of Parquet, its number, from 1)."""

    def __init__(
        self,
        path: Readable | None,
        headers: Sequence[str],
        cells: Callable[[], Iterator[Row]],
        *,
        frame: Callable[[Collection[str]], pl.DataFrame] | None = None,
        separator: str = ",",
        part: str = "",
        empty: tuple[Any, ...] = (None,),
    ) -> None:
        """Describe it; nothing more is read.

        Args:
            path: its file; None for a table in memory.
            headers: its columns.
            cells: reads its rows, a cell for each header or fewer.
            frame: reads it as a whole, at least these columns, faster.
            separator: between its cells.
            part: the sheet of a workbook that it is.
            empty: the cells that say nothing.
        """
        self.path, self.separator, self.part = path, separator, part
        self.name = name_of(path)
        self.several = False
        """Whether its file has other sheets."""
        self._headers, self._cells, self._frame, self._empty = list(headers), cells, frame, empty

    def __str__(self) -> str:
        return self.name

    @property
    def headers(self) -> list[str]:
        """Its columns, in their order; a column without a name is empty."""
        return self._headers

    @property
    def columns(self) -> str:
        """Name the columns, with their positions."""
        return described(self.headers)

    def cells(self) -> Iterator[Row]:
        """Yield its rows: a cell for each header, or fewer."""
        return self._cells()

    def places(self, columns: Mapping[str, str]) -> dict[str, int]:
        """Return where the columns stand that a mapping names, from 0.

        Raises:
            DataError: one is not there.
        """
        return {name: place(name, column, self.headers, self) for name, column in columns.items()}

    def rows(self, columns: Mapping[str, str] | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield rows by column, with our names beside the file's; empty cells are not there.

        Where the file has a column of such a name, and another is mapped to it, it is left out.

        Raises:
            DataError: two columns have one name, or a column is not there, or the file is broken.
        """
        places = self.places(columns or {})
        with faults(self, b""):
            bounds.refuse_twice(self.headers)
        at = [n for n, name in enumerate(self.headers) if name and name not in places] + list(places.values())
        names = [name for name in self.headers if name and name not in places] + list(places)
        plain, texts = at == [*range(len(self.headers))], "" in self._empty
        for number, cells in self.cells():
            held = cells if plain else [cells[n] if n < len(cells) else None for n in at]
            if texts:
                yield number, {name: cell for name, cell in zip(names, held, strict=False) if cell}
            else:
                yield number, {name: cell for name, cell in zip(names, held, strict=False) if cell is not None}

    def glimpse(self) -> list[str]:
        """Return the columns as far as they are seen without reading on."""
        return self.headers

    def lists(self) -> list[list[Any]]:
        """Return the cells column by column."""
        if self._frame is not None:
            return [column.to_list() for column in self._frame(())]
        rows = [cells for _, cells in self.cells()]
        return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in self.headers]

    def texts(self) -> Iterator[tuple[int, list[str | None]]]:
        """Yield rows of texts, one per header; None for empty cells and for what stands for nothing (`nan`)."""
        width = len(self.headers)
        for count, (number, cells) in enumerate(self.cells(), 1):
            if count * width > bounds.CELLS or width > bounds.COLUMNS:
                raise DataError(f"{self}: it has more than {bounds.COLUMNS:,} columns or {bounds.CELLS:,} cells, the most that are read; split it into several files")  # fmt: skip
            yield number, [*map(text_of, cells), *[None] * (width - len(cells))]

    def frame(self, wanted: Collection[str], columns: Mapping[str, str] | None = None) -> pl.DataFrame:
        """Return the table with our names beside the file's; of JSON, only what is wanted is filled.

        Raises:
            DataError: as `rows`.
        """
        theirs = {name: self.headers[at] for name, at in self.places(columns or {}).items()} if columns else {}
        filled = {theirs.get(name, name) for name in wanted}
        if self._frame is not None and all(theirs.values()):
            frame = self._frame(filled)
        else:
            frame = frames.text_frame(self, [*filled, *theirs], self.rows(columns))
        return frame.with_columns([frame[column].alias(name) for name, column in theirs.items() if column and column in frame.columns])  # fmt: skip


class RecordTable(InputTable):
    """A table of JSON: each row has keys of its own, and the columns are all of them."""

    def __init__(
        self,
        path: Readable,
        records: Callable[[], Iterator[tuple[int, dict[str, Any]]]],
        frame: Callable[[Collection[str]], pl.DataFrame] | None = None,
    ) -> None:
        """Describe it; nothing is read."""
        super().__init__(path, (), self._all_cells, frame=frame)
        self._records = records

    @functools.cached_property
    def _keys(self) -> list[str]:
        return list(dict.fromkeys(key for _, record in self._records() for key in record))

    @property
    def headers(self) -> list[str]:
        """The keys of all rows, in the order in which they come."""
        return self._keys

    def glimpse(self) -> list[str]:
        """Return the keys of the first row."""
        return next((list(record) for _, record in self._records()), [])

    def records(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the rows as they stand."""
        return self._records()

    def _all_cells(self) -> Iterator[Row]:
        keys = self._keys
        return ((number, [record.get(key) for key in keys]) for number, record in self._records())

    def rows(self, columns: Mapping[str, str] | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield rows as they stand, with our names; see `InputTable.rows`."""
        theirs = {name: self.headers[at] for name, at in self.places(columns).items()} if columns else {}
        for number, record in self._records():
            if not theirs:
                yield number, record
                continue
            row = {key: cell for key, cell in record.items() if key not in theirs}
            yield number, row | {name: record[key] for name, key in theirs.items() if key in record}


def rows(
    source: Source, said: Mapping[str, str] | None = None, names: Collection[str] = (), prefixes: Iterable[str] = ()
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Open a table and yield its rows under our names.

    Args:
        source: as `open_table` takes it.
        said: a mapping.
        names: that may stand in it, see `mapping.read`.
        prefixes: of names that may stand in it.

    Raises:
        UsageError: the mapping names something else.
        DataError: as `open_table` and `InputTable.rows`.
    """
    how = mapping.read(said, names, prefixes)
    yield from open_table(source, how.layout).rows(how.columns)


def beside(source: Source, names: Collection[str]) -> ColumnMap:
    """Return what `columns.toml` beside a file says of some columns and of how the file is to be read.

    It is for verbs whose command line does not say it, and may name columns that only other verbs read.

    Raises:
        UsageError, DataError: it says it badly, or the file is missing.
    """
    if not isinstance(source, str | Path | File):
        return mapping.NOTHING
    wanted = {*names, *mapping.LAYOUT}
    return mapping.read(
        {name: column for name, column in mapping.beside(find(source)).items() if name in wanted}, names
    )


def text_of(cell: object) -> str | None:
    """Write a cell as text that a store can carry: a whole number without decimals, nothing for NaN and for blanks."""
    if isinstance(cell, str):
        text = clean(cell)
        return text if text.strip() and text.strip().casefold() != "nan" else None
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return None
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return clean(json.dumps(cell, ensure_ascii=False, default=str))


def open_table(source: Source, how: FileLayout = _SEEN) -> InputTable:
    """Open a table.

    Args:
        source: a path, a file in a zip, or a polars, pandas or Arrow table.
        how: its sheet, the row of its headers, its encoding and separator, where they are not seen from the file.

    Raises:
        DataError: it is missing, of another kind, broken, or has more than is read; the message names the line.
    """
    if not isinstance(source, str | Path | File):
        return _of_frame(None, _frame(source))
    path = find(source)
    tables = open_tables(path, how)
    full = [table for table in tables if next(table.cells(), None) is not None] if len(tables) > 1 else tables
    if len(full) > 1:
        raise DataError(f"{path}: several sheets hold rows ({', '.join(t.part for t in full)}); choose one with --map sheet=NAME")  # fmt: skip
    return (full or tables)[0]


def open_tables(
    path: Readable, how: FileLayout = _SEEN, notes: list[str] | None = None, *, as_written: bool = False
) -> list[InputTable]:
    """Open every table of a file: the sheets of a workbook, else one.

    Args:
        path: the file.
        how: as `open_table` has it.
        notes: where to write what is odd; if not given, that is refused.
        as_written: whether NaN and numbers that no table can hold stay, as texts; see `bounds.json_value`.

    Raises:
        DataError: as `open_table`.
    """
    suffix = path.suffix.lower()
    _refuse_idle(path, suffix, how)
    if suffix in WORKBOOKS:
        sheets = confined.workbook(path, sheet=how.sheet)
        if not sheets and how.sheet:
            raise DataError(f"{path}: no sheet {how.sheet!r} (it has {', '.join(confined.workbook(path))})")
        tables = [_of_sheet(path, name, frame, how, notes) for name, frame in sheets.items()]
        for table in tables:
            table.several = len(tables) > 1
        return tables or [InputTable(path, (), lambda: iter(()))]
    if suffix in SEPARATED:
        return [_separated(path, how, notes)]
    if suffix in LINES:
        return [_lines(path, how, notes, as_written=as_written)]
    if suffix == ".json":
        return [RecordTable(path, lambda: enumerate(read_records(path, how.encoding, as_written=as_written), 1))]
    if suffix == ".parquet":
        return [_of_frame(path, frames.without_nulls(confined.parquet(path)), notes)]
    raise DataError(f"{path}: expected {', '.join(ENDINGS[:7])}, found {suffix or 'no ending'}")


def _refuse_idle(path: Readable, suffix: str, how: FileLayout) -> None:
    idle = {
        "sheet": how.sheet and suffix not in WORKBOOKS,
        "header": how.header is not None and suffix not in HEADED,
        "encoding": how.encoding and suffix in WORKBOOKS | {".parquet"},
        "separator": how.separator and suffix not in SEPARATED,
    }
    name = next((name for name, said in idle.items() if said), None)
    if name is not None:
        raise DataError(f"{path}: --map {name}=… says nothing of a {suffix} file; leave it out")


def _frame(source: Frame) -> pl.DataFrame:
    import polars as pl

    if not hasattr(source, "__arrow_c_stream__"):
        raise DataError(f"expected a path or a polars, pandas or Arrow table, found {type(source).__name__}")
    return pl.DataFrame(source)


def _of_frame(path: Readable | None, frame: pl.DataFrame, notes: list[str] | None = None) -> InputTable:
    headers = frame.columns if notes is None else _noted(frame.columns, path, notes)
    return InputTable(path, headers, lambda: enumerate(frame.iter_rows(), 1), frame=lambda _: frame)


def _of_sheet(path: Readable, sheet: str, frame: pl.DataFrame, how: FileLayout, notes: list[str] | None) -> InputTable:
    cells = [(number, row) for number, row in enumerate(frame.iter_rows(), 1)]
    while cells and not any(map(_filled, cells[-1][1])):
        cells.pop()
    return _headed(path, lambda: iter(cells), how, notes, part=sheet)


def _separated(path: Readable, how: FileLayout, notes: list[str] | None) -> InputTable:
    """Open a CSV file; between its cells stands what stands there most often where its headers are."""
    content = decoded(path, how.encoding, notes)
    strict = notes is None
    separator = how.separator or ("\t" if path.suffix.lower() == ".tsv" else _separator(content, how.header or 0))

    def cells() -> Iterator[Row]:
        with faults(path, content):
            yield from bounds.rows(content, separator, strict=strict)

    table = _headed(path, cells, how, notes, separator=separator)
    if how.header is None:

        def frame(_: Collection[str]) -> pl.DataFrame:
            read = frames.csv_frame(path, content, separator, ragged=not strict)
            return read.rename({a: b for a, b in zip(read.columns, table.headers, strict=False) if b and a != b})

        table._frame = frame  # noqa: SLF001
    return table


def _separator(content: bytes, header: int) -> str:
    """Guess what separates cells, by the line that holds the headers (the first that is not empty if none is named)."""
    start = 0
    for number in range(1, (header or 1_000) + 1):
        end = content.find(b"\n", start)
        line = content[start : end if end >= 0 else len(content)][: bounds.ROW]
        if number == header or (not header and line.strip()) or end < 0:
            break
        start = end + 1
    bare = _QUOTED.sub(b"", line)
    return max(",;\t|", key=lambda mark: bare.count(mark.encode()))


def _headed(
    path: Readable,
    cells: Callable[[], Iterator[Row]],
    how: FileLayout,
    notes: list[str] | None,
    *,
    separator: str = ",",
    part: str = "",
) -> InputTable:
    """Take the headers from a row: the one that is named, else the first that is not empty."""
    above, header = _header(path, cells, how)
    headers, width = [name.strip() for name in header], len(header)
    if notes is not None:
        headers = _noted(header, path, notes)

    def below() -> Iterator[Row]:
        with faults(path, b""):
            ragged = 0
            for number, row in cells():
                if number <= above:
                    continue
                if notes is not None:
                    ragged += len(row) != width
                elif len(row) > width and any(map(_filled, row[width:])):
                    raise bounds.Fault("more cells than the header has columns", number)
                yield number, row if notes is not None or len(row) <= width else row[:width]
            if ragged and notes is not None:
                notes.append(f"{path}: {ragged} rows with more or fewer cells than the header")

    return InputTable(path, headers, below, separator=separator, part=part, empty=(None, ""))


def _header(path: Readable, cells: Callable[[], Iterator[Row]], how: FileLayout) -> tuple[int, list[str]]:
    """Return the headers and their line; a table without them has columns without names."""
    if how.header == 0:
        return 0, [""] * max((len(row) for _, row in cells()), default=0)
    for number, row in cells():
        if number == how.header or (how.header is None and any(map(_filled, row))):
            return number, [str(name or "") for name in row]
    if how.header:
        raise DataError(f"{path}: no row {how.header} for the headers")
    return 0, []


def _noted(headers: Sequence[str], path: object, notes: list[str]) -> list[str]:
    """Return column names without blanks around them; say which had them, had no name, or came twice."""
    columns: dict[str, None] = {}
    unnamed: list[int] = []
    for number, column in enumerate(headers):
        bare = column.strip()
        if bare != column and bare:
            notes.append(f"{path}: the column name {column!r} has blanks around it")
        if not bare or re.fullmatch(r"Unnamed: \d+", bare):
            unnamed.append(number)
            bare = bare or f"column {number}"
        if bare in columns:
            notes.append(f"{path}: the column {bare!r} occurs twice")
            bare = f"{bare} ({number})"
        columns[bare] = None
    if unnamed:
        several = f"s {', '.join(map(str, unnamed[:10]))}{', …' if len(unnamed) > 10 else ''} have"
        notes.append(f"{path}: column{several if len(unnamed) > 1 else f' {unnamed[0]} has'} no name")
    return list(columns)


def _filled(cell: object) -> bool:
    return bool(cell.strip()) if isinstance(cell, str) else cell is not None


def _lines(path: Readable, how: FileLayout, notes: list[str] | None, *, as_written: bool) -> InputTable:
    content = decoded(path, how.encoding, notes)

    def rows() -> Iterator[tuple[int, dict[str, Any]]]:
        if notes is not None:
            yield from _noted_lines(path, content, notes)
            return
        names: set[str] = set()
        with faults(path, content):
            for number, row in bounds.json_lines(content, as_written=as_written):
                if not isinstance(row, dict):
                    raise bounds.Fault(f"expected an object, found {type(row).__name__}", number)
                names.update(row)
                if len(names) > bounds.COLUMNS:
                    raise bounds.Fault(f"its rows have more than {bounds.COLUMNS:,} columns (keys) together, the most that are read; leave out those that are not needed", number)  # fmt: skip
                yield number, row

    return RecordTable(path, rows, lambda wanted: frames.json_frame(path, content, wanted, rows))


def _noted_lines(path: Readable, content: bytes, notes: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the lines that are JSON, as they are written, and say which are not."""
    broken = 0
    bounds.refuse_lines(content, quotes=False)
    for number, line in enumerate(content.decode("utf-8", "replace").split("\n"), 1):
        if not line.strip():
            continue
        if len(line) > bounds.ROW:
            notes.append(f"{path}:{number}: {len(line):,} characters in a line, of which at most {bounds.ROW:,} are read, not read")  # fmt: skip
            continue
        try:
            record = bounds.json_value(line, as_written=True)
        except bounds.Fault as fault:
            broken += 1
            if broken <= _NAMED:
                notes.append(f"{path}:{number}: {fault}, not read")
            continue
        yield number, record if isinstance(record, dict) else {"value": record}
    if broken > _NAMED:
        notes.append(f"{path}: {broken - _NAMED:,} more lines are broken JSON, not read")
