"""Workbooks and CSV files as columns of text, whatever kind of cell a spreadsheet made of it."""

from __future__ import annotations

import csv
import io
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from mindgauge.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mindgauge.files import File

Column = list[str | None]


class Table(NamedTuple):
    """A sheet or a CSV file: its headers without stray spaces, and how to read the columns below them."""

    headers: list[str]
    read: Callable[[], list[Column]]


def tables(path: File) -> list[Table]:
    """Open a file's tables: each sheet of a workbook, or the one of a CSV file.

    Raises:
        DataError: the file cannot be opened, or is no workbook.
    """
    return _sheets(path) if path.suffix.lower() == ".xlsx" else [_csv(path)]


def positions(headers: list[str], path: File) -> dict[str, int]:
    """Return where each header stands, letter case aside.

    Raises:
        DataError: a header stands there twice.
    """
    names = [header.casefold() for header in headers]
    twice = [name for name, count in Counter(names).items() if name and count > 1]
    if twice:
        raise DataError(f"{path}: the column {headers[names.index(twice[0])]} stands there twice; leave one of them")
    return {name: position for position, name in enumerate(names) if name}


def _sheets(path: File) -> list[Table]:
    import fastexcel

    try:
        workbook = fastexcel.read_excel(path.read_bytes())
        sheets = [workbook.load_sheet(name, header_row=None, dtypes="string") for name in workbook.sheet_names]
    except (fastexcel.FastExcelError, OSError) as error:
        why = str(error).partition("\n")[0]
        raise DataError(f"{path}: not a workbook that can be read ({why}); save it again as .xlsx") from error
    return [_sheet([column.to_list() for column in sheet.to_polars()]) for sheet in sheets]


def _sheet(columns: list[Column]) -> Table:
    headers = [(column[0] or "").strip() for column in columns if column]
    return Table(headers, lambda: [column[1:] for column in columns])


def _csv(path: File) -> Table:
    try:
        lines = io.StringIO(path.read_text("utf-8-sig", errors="replace"), newline="")
        headers = [header.strip() for header in next(csv.reader(lines), [])]
    except (OSError, csv.Error) as error:
        raise DataError(f"{path}: cannot read it ({error})") from error

    def read() -> list[Column]:
        import polars as pl

        try:
            return [column.to_list() for column in pl.read_csv(path.read_bytes(), infer_schema=False)]
        except pl.exceptions.PolarsError as error:
            why = str(error).partition("\n")[0]
            raise DataError(f"{path}: not a CSV file in UTF-8 that can be read ({why})") from error

    return Table(headers, read)
