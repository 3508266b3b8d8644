"""One table that somebody brings: headers, and rows of cells, each with the line of the file on which it begins; CSV and sheets of workbooks."""

from __future__ import annotations

import functools
import json
import math
import re
import warnings
from typing import TYPE_CHECKING, Any, TypeAlias

from mindgauge.records.errors import DataError, HiddenContentWarning
from mindgauge.records.files import bounds, confined, csv_rows, frames
from mindgauge.records.files.bounds import clean
from mindgauge.records.files.mapping import described, place
from mindgauge.records.files.texts import decoded, faults

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    import polars as pl

    from mindgauge.records.files.csv_rows import NumberedFrame
    from mindgauge.records.files.folder import Readable
    from mindgauge.records.files.mapping import FileLayout


Row: TypeAlias = "tuple[int, Sequence[Any]]"


class InputTable:
    """A table: headers, and rows of cells with the line of the file on which each begins (of Parquet, its number, from 1)."""

    remarks: Sequence[str] = ()
    """What must be known of it, a sentence each."""

    def __init__(
        self,
        path: Readable | None,
        headers: Sequence[str],
        cells: Callable[[], Iterator[Row]],
        *,
        numbered: Callable[[], NumberedFrame] | None = None,
        separator: str = ",",
        part: str = "",
        empty: tuple[Any, ...] = (None,),
    ) -> None:
        """Describe it; nothing more is read.

        Args:
            path: its file; None for a table in memory.
            headers: its columns.
            cells: reads its rows, a cell for each header or fewer.
            numbered: reads it as a whole, faster.
            separator: between its cells.
            part: the sheet that it is, of a workbook with several.
            empty: the cells that say nothing.
        """
        self.path, self.separator, self.part = path, separator, part
        self.name = "the table" if path is None else str(path)
        self._headers, self._cells, self._numbered, self._empty = list(headers), cells, numbered, empty

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
        line = [n for n, name in enumerate(self.headers) if name and name not in places] + list(places.values())
        names = [name for name in self.headers if name and name not in places] + list(places)
        plain, texts = line == [*range(len(self.headers))], "" in self._empty
        for number, cells in self.cells():
            values = cells if plain else [cells[n] if n < len(cells) else None for n in line]
            if texts:
                yield number, {name: cell for name, cell in zip(names, values, strict=False) if cell}
            else:
                yield number, {name: cell for name, cell in zip(names, values, strict=False) if cell is not None}

    def glimpse(self) -> list[str]:
        """Return the columns as far as they are seen without reading on."""
        return self.headers

    def numbered(self) -> NumberedFrame:
        """Return its cells column by column, in the order of its headers, and the line of each row.

        Raises:
            DataError: it is broken, or has more than is read.
        """
        if self._numbered is not None:
            return self._numbered()
        with faults(self, b""):
            return csv_rows.frame_of(self.cells(), len(self.headers))

    def lists(self) -> list[list[Any]]:
        """Return the cells column by column."""
        return [column.to_list() for column in self.numbered().frame]

    def texts(self) -> Iterator[tuple[int, list[str | None]]]:
        """Yield rows of texts, one per header; None for empty cells and for what stands for nothing (`nan`)."""
        width = len(self.headers)
        for count, (number, cells) in enumerate(self.cells(), 1):
            if count * width > bounds.CELLS or width > bounds.COLUMNS:
                raise DataError(f"{self}: it has more than {bounds.COLUMNS:,} columns or {bounds.CELLS:,} cells, the most that are read; split it into several files")  # fmt: skip
            yield number, [*map(text_of, cells), *[None] * (width - len(cells))]

    def frame(self, wanted: Collection[str], columns: Mapping[str, str] | None = None) -> pl.DataFrame:
        """Return the columns that are wanted or mapped, with our names beside the file's.

        Raises:
            DataError: as `rows`.
        """
        with faults(self, b""):
            bounds.refuse_twice(self.headers)
        places = self.places(columns or {})
        named = {name: line for line, name in enumerate(self.headers) if name in wanted} | places
        frame = self.numbered().frame
        return frame.select(frame.to_series(line).alias(name) for name, line in named.items() if name)


class RecordTable(InputTable):
    """A table of JSON: each row has keys of its own, and the columns are all of them."""

    def __init__(
        self,
        path: Readable,
        records: Callable[[], Iterator[tuple[int, dict[str, Any]]]],
        frame: Callable[[Collection[str]], pl.DataFrame] | None = None,
    ) -> None:
        """Describe it; nothing is read.

        Args:
            path: its file.
            records: reads its rows.
            frame: reads it as a whole, at least these columns, faster.
        """
        # Its cells are read below: were its own method handed on, it would hold itself, and its file stay in memory.
        super().__init__(path, (), lambda: iter(()))
        self._records, self._frame = records, frame

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

    def cells(self) -> Iterator[Row]:
        """Yield its rows: a cell for each header."""
        keys = self._keys
        return ((number, [record.get(key) for key in keys]) for number, record in self._records())

    def lists(self) -> list[list[Any]]:
        """Return the cells column by column."""
        records = [record for _, record in self._records()]
        return [[record.get(key) for record in records] for key in self._keys]

    def frame(self, wanted: Collection[str], columns: Mapping[str, str] | None = None) -> pl.DataFrame:
        """Return the table with our names beside the file's; only what is wanted is filled.

        Raises:
            DataError: it is broken, or a wanted column holds lists or objects.
        """
        cells = {name: self.headers[line] for name, line in self.places(columns).items()} if columns else {}
        filled = {cells.get(name, name) for name in wanted}
        if self._frame is not None and all(cells.values()):
            frame = self._frame(filled)
        else:
            frame = frames.text_frame(self, [*filled, *cells], self.rows(columns))
        return frame.with_columns([frame[column].alias(name) for name, column in cells.items() if column and column in frame.columns])  # fmt: skip

    def rows(self, columns: Mapping[str, str] | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield rows as they stand, with our names; see `InputTable.rows`."""
        theirs = {name: self.headers[at] for name, at in self.places(columns).items()} if columns else {}
        for number, record in self._records():
            if not theirs:
                yield number, record
                continue
            row = {key: cell for key, cell in record.items() if key not in theirs}
            yield number, row | {name: record[key] for name, key in theirs.items() if key in record}


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


# CSV files and the sheets of workbooks: tables whose headers are a row like the others.


WORKBOOKS, SEPARATED = {".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"}, {".csv", ".tsv"}
HEADED = WORKBOOKS | SEPARATED


def separated(path: Readable, how: FileLayout, notes: list[str] | None) -> InputTable:
    """Open a CSV file; between its cells stands what stands there most often where its headers are.

    Raises:
        DataError: it cannot be read, or has no such row of headers.
    """
    content = decoded(path, how.encoding, notes)
    named = csv_rows.named_separator(content)
    if named and how.header is None:
        how = how._replace(header=2)
    guess = "\t" if path.suffix.lower() == ".tsv" else csv_rows.separator(content, how.header or 0)
    separator = how.separator or named or guess

    def cells() -> Iterator[Row]:
        with faults(path, content):
            if notes is None:
                yield from csv_rows.rows(content, separator)
            else:
                yield from csv_rows.mended_rows(content, separator, path, notes)

    def plain(header_line: int, width: int) -> NumberedFrame | None:
        read = csv_rows.plain_frame(content, separator, header_line, width)
        # A short row cannot be told from one whose last cell is empty, and where notes are taken, one is of such rows.
        return None if read is None or (notes is not None and width and read.frame.to_series(-1).has_nulls()) else read

    ditto = csv_rows.has_lone_quotes(content, separator)
    return _headed(path, cells, how, notes, separator=separator, plain=plain, ditto=ditto)


def sheets(
    path: Readable, how: FileLayout, notes: list[str] | None, left_out: list[str] | None = None
) -> list[InputTable]:
    """Open a workbook: each sheet, or only the one that is named. What is hidden in it is left out, and named in the account.

    Args:
        path: the file.
        how: as `tables.open_table` has it.
        notes: as `tables.open_tables` has them.
        left_out: as `tables.open_tables` has it.

    Raises:
        DataError: it cannot be read, or has no such sheet or row of headers.
    """
    frames_by_sheet, hidden = confined.workbook(path, how.sheet, how.header)
    if not frames_by_sheet and how.sheet:
        raise DataError(f"{path}: no sheet {how.sheet!r} (it has {', '.join(confined.workbook(path, header=0)[0])})")
    account = notes if left_out is None else left_out
    if hidden and account is not None:
        account.append(f"{path}: {hidden}")
    elif hidden:
        warnings.warn(f"{path}: {hidden}", HiddenContentWarning, stacklevel=2)
    many_sheets = len(frames_by_sheet) > 1
    return [_of_sheet(path, name if many_sheets else "", frame, how, notes) for name, frame in frames_by_sheet.items()]


def _of_sheet(path: Readable, sheet: str, frame: pl.DataFrame, how: FileLayout, notes: list[str] | None) -> InputTable:
    cells: list[Row] = [(row[0], row[1:]) for row in frame.iter_rows()]
    while cells and not any(map(_filled, cells[-1][1])):
        cells.pop()
    return _headed(path, lambda: iter(cells), how, notes, part=sheet)


def _headed(
    path: Readable,
    cells: Callable[[], Iterator[Row]],
    how: FileLayout,
    notes: list[str] | None,
    *,
    separator: str = ",",
    part: str = "",
    plain: Callable[[int, int], NumberedFrame | None] | None = None,
    ditto: bool = False,
) -> InputTable:
    """Take the headers from a row: the one that is named, else the first that is not empty.

    Args:
        path: the file.
        cells: reads all its rows.
        how: as `tables.open_table` has it.
        notes: as `tables.open_tables` has them.
        separator: between its cells.
        part: its sheet.
        plain: reads what stands below a line as a whole, in so many columns, where that is the same.
        ditto: whether quotes may stand alone in it.
    """
    header_line, header = _header(path, cells, how)
    headers, width = [name.strip() for name in header], len(header)
    if notes is not None:
        headers = noted(header, path, notes)

    def below() -> Iterator[Row]:
        with faults(path, b""):
            ragged = 0
            for number, row in cells():
                if number <= header_line:
                    continue
                if ditto and csv_rows.is_swallowed(row, width, separator):
                    _refuse_ditto(path, number, notes)
                if notes is not None:
                    ragged += len(row) != width
                elif len(row) > width and any(map(_filled, row[width:])):
                    raise bounds.Fault(
                        f"more cells than the header has columns ({len(row)} cells, {width} columns)", number
                    )
                yield number, row if notes is not None or len(row) <= width else row[:width]
            if ragged and notes is not None:
                notes.append(f"{path}: {ragged} rows with more or fewer cells than the header")

    def numbered() -> NumberedFrame:
        with faults(path, b""):
            return (plain(header_line, width) if plain else None) or csv_rows.frame_of(below(), width)

    return InputTable(path, headers, below, numbered=numbered, separator=separator, part=part, empty=(None, ""))


_DITTO = (
    'two quotes that each stand alone (") make one cell of the rows between them; write what they stand for, '
    "or hand the table in as .xlsx or .jsonl if the cell is meant so"
)


def _refuse_ditto(path: Readable, line: int, notes: list[str] | None) -> None:
    if notes is None:
        raise bounds.Fault(_DITTO, line)
    notes.append(f"{path}:{line}: {_DITTO}")


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


def noted(headers: Sequence[str], path: object, notes: list[str]) -> list[str]:
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
            twice, bare = bare, f"{bare} ({number})"
            notes.append(f"{path}: the column {twice!r} occurs twice; the first is read as it, the other as {bare!r}")
        columns[bare] = None
    if unnamed:
        many_names = f"s {', '.join(map(str, unnamed[:10]))}{', …' if len(unnamed) > 10 else ''} have"
        notes.append(f"{path}: column{many_names if len(unnamed) > 1 else f' {unnamed[0]} has'} no name")
    return list(columns)


def _filled(cell: object) -> bool:
    return bool(cell.strip()) if isinstance(cell, str) else cell is not None
