"""CSV files and the sheets of workbooks: tables whose headers are a row like the others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds, confined, frames
from mindgauge.records.files.input_table import InputTable
from mindgauge.records.files.texts import decoded, faults

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    import polars as pl

    from mindgauge.records.files.folder import Readable
    from mindgauge.records.files.input_table import Row
    from mindgauge.records.files.mapping import FileLayout

WORKBOOKS, SEPARATED = {".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"}, {".csv", ".tsv"}
HEADED = WORKBOOKS | SEPARATED
_QUOTED = re.compile(rb'"[^"]*"')


def separated(path: Readable, how: FileLayout, notes: list[str] | None) -> InputTable:
    """Open a CSV file; between its cells stands what stands there most often where its headers are.

    Raises:
        DataError: it cannot be read, or has no such row of headers.
    """
    content = decoded(path, how.encoding, notes)
    strict = notes is None
    separator = how.separator or ("\t" if path.suffix.lower() == ".tsv" else _separator(content, how.header or 0))

    def cells() -> Iterator[Row]:
        with faults(path, content):
            yield from bounds.rows(content, separator, strict=strict)

    def fast() -> pl.DataFrame:
        return frames.csv_frame(path, content, separator, ragged=not strict)

    return _headed(path, cells, how, notes, separator=separator, fast=fast if how.header is None else None)


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


def sheets(path: Readable, how: FileLayout, notes: list[str] | None) -> list[InputTable]:
    """Open a workbook: each sheet, or only the one that is named.

    Raises:
        DataError: it cannot be read, or has no such sheet or row of headers.
    """
    frames_by_sheet = confined.workbook(path, sheet=how.sheet)
    if not frames_by_sheet and how.sheet:
        raise DataError(f"{path}: no sheet {how.sheet!r} (it has {', '.join(confined.workbook(path))})")
    several = len(frames_by_sheet) > 1
    return [_of_sheet(path, name if several else "", frame, how, notes) for name, frame in frames_by_sheet.items()]


def _of_sheet(path: Readable, sheet: str, frame: pl.DataFrame, how: FileLayout, notes: list[str] | None) -> InputTable:
    cells = [(number, row) for number, row in enumerate(frame.iter_rows(), 1)]
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
    fast: Callable[[], pl.DataFrame] | None = None,
) -> InputTable:
    """Take the headers from a row: the one that is named, else the first that is not empty.

    Args:
        path: the file.
        cells: reads all its rows.
        how: as `tables.open_table` has it.
        notes: as `tables.open_tables` has them.
        separator: between its cells.
        part: its sheet.
        fast: reads it as a whole, with the headers as they stand in the file.
    """
    above, header = _header(path, cells, how)
    headers, width = [name.strip() for name in header], len(header)
    if notes is not None:
        headers = noted(header, path, notes)

    def below() -> Iterator[Row]:
        with faults(path, b""):
            ragged = 0
            for number, row in cells():
                if number <= above:
                    continue
                if notes is not None:
                    ragged += len(row) != width
                elif len(row) > width and any(map(_filled, row[width:])):
                    raise bounds.Fault(
                        f"more cells than the header has columns ({len(row)} cells, {width} columns)", number
                    )
                yield number, row if notes is not None or len(row) <= width else row[:width]
            if ragged and notes is not None:
                notes.append(f"{path}: {ragged} rows with more or fewer cells than the header")

    def frame(_: Collection[str]) -> pl.DataFrame:
        assert fast is not None
        read = fast()
        return read.rename({a: b for a, b in zip(read.columns, headers, strict=False) if b and a != b})

    return InputTable(path, headers, below, frame=frame if fast else None, separator=separator, part=part, empty=(None, ""))  # fmt: skip


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
            notes.append(f"{path}: the column {bare!r} occurs twice")
            bare = f"{bare} ({number})"
        columns[bare] = None
    if unnamed:
        several = f"s {', '.join(map(str, unnamed[:10]))}{', …' if len(unnamed) > 10 else ''} have"
        notes.append(f"{path}: column{several if len(unnamed) > 1 else f' {unnamed[0]} has'} no name")
    return list(columns)


def _filled(cell: object) -> bool:
    return bool(cell.strip()) if isinstance(cell, str) else cell is not None
