"""Filled forms, as spreadsheet programs save them: commas, semicolons or tabs, 4 as 4.0 or 4,0, in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mindgauge.records.errors import DataError
from mindgauge.records.files import tables
from mindgauge.records.files.bounds import clean
from mindgauge.reports.export.rationales import ASKED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_NEEDED = ("id", *ASKED)


class FilledRow(NamedTuple):
    """What a person says of one verdict; `answers` are cells as they were written, empty ones too."""

    number: int
    ident: str
    answers: dict[str, str]
    comment: str


def lines(path: Path) -> list[FilledRow]:
    """Read a filled form: the columns `id` and those of the questions, whatever else there is.

    Args:
        path: a table; of a workbook the first sheet.

    Raises:
        DataError: it cannot be read, a column is missing, a verdict stands there twice, or an answer has no id.
    """
    lines_read: dict[str, FilledRow] = {}
    for number, row in _rows(path):
        line = FilledRow(
            number,
            row["id"].strip().lstrip("'"),
            {name: row[name].strip() for name in ASKED},
            clean(row.get("comment", "").strip()),
        )
        if not line.ident:
            if any(line.answers.values()):
                raise DataError(f"{path}:{number}: an answer without an id; the form's id column must stay as it was")
            continue
        if line.ident in lines_read:
            raise DataError(
                f"{path}:{number}: id {line.ident!r} stands on line {lines_read[line.ident].number}, too; "
                "a form has one row for each verdict, and each person a form"
            )
        lines_read[line.ident] = line
    return list(lines_read.values())


def answer(cell: str) -> int | None:
    """Read an answer from 1 to 5, None if it is something else."""
    try:
        number = float(cell.replace(",", "."))
    except ValueError:
        return None
    return int(number) if number in {1, 2, 3, 4, 5} else None


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield each row's line in the file, and its cells by the header's names in lower case."""
    file = tables.find(path)
    table = tables.open_tables(file, tables.beside(file, ()).layout)[0]
    names = [name.casefold() for name in table.headers]
    absent = [name for name in _NEEDED if name not in names]
    if absent:
        raise DataError(f"{path}: no column {', '.join(absent)}; found {', '.join(filter(None, names)) or 'nothing'}")
    doubled = next((name for name in _NEEDED if names.count(name) > 1), None)
    if doubled is not None:
        raise DataError(f"{path}: several columns are called {doubled}; keep one")
    for number, cells in table.cells():
        texts = ["" if cell is None else str(cell) for cell in cells]
        yield number, dict(zip(names, [*texts, *[""] * (len(names) - len(texts))], strict=False))
