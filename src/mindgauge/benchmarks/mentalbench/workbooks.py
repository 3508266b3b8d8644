"""Workbooks and CSV files as columns of text, whatever kind of cell a spreadsheet made of it."""

from __future__ import annotations

import codecs
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from mindgauge import bounds, confined, files
from mindgauge.errors import DataError
from mindgauge.tables import csv_frame

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
    return [_sheet([column.to_list() for column in sheet]) for sheet in confined.workbook(path).values()]


def _sheet(columns: list[Column]) -> Table:
    headers = [(column[0] or "").strip() for column in columns if column]
    return Table(headers, lambda: [column[1:] for column in columns])


def _csv(path: File) -> Table:
    """Open a CSV file. Its headers are read at once: most files in a folder are other people's, and large."""
    try:
        content = files.content(path).removeprefix(codecs.BOM_UTF8)
        _, headers = next(bounds.rows(content, ",", errors="replace", strict=False), (0, []))
    except OSError as error:
        raise DataError(f"{path}: cannot read it ({error.strerror})") from error
    except bounds.Fault as fault:
        raise DataError(f"{path}: cannot read it ({fault})") from fault

    def read() -> list[Column]:
        return [column.to_list() for column in csv_frame(path, ",")]

    return Table([header.strip() for header in headers], read)
