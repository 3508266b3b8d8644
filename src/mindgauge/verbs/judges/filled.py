"""Filled forms, as spreadsheet programs save them: commas, semicolons or tabs, 4 as 4.0 or 4,0, in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mindgauge import bounds, confined
from mindgauge.errors import DataError
from mindgauge.exports.rationales import ASKED
from mindgauge.tables import clean, faults, read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_DELIMITERS = ",;\t"
_NEEDED = ("id", *ASKED)


class Line(NamedTuple):
    """What a person says of one verdict; `answers` are cells as they were written, empty ones too."""

    number: int
    ident: str
    answers: dict[str, str]
    comment: str


def lines(path: Path) -> list[Line]:
    """Read a filled form: the columns `id` and those of the questions, whatever else there is.

    Args:
        path: CSV in UTF-8, with commas, semicolons or tabs, or a workbook's first sheet.

    Raises:
        DataError: it cannot be read, a column is missing, a verdict stands there twice, or an answer has no id.
    """
    lines_read: dict[str, Line] = {}
    for number, row in _rows(path):
        line = Line(
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
    """Yield each row's last line in the file, and its cells by the header's names in lower case."""
    suffix = path.suffix.lower()
    if suffix not in {".csv", ".tsv", ".xlsx"}:
        raise DataError(f"{path}: expected a form as .csv or .xlsx, found {suffix or 'no ending'}")
    table = _workbook(path) if suffix == ".xlsx" else _csv(path)
    names = [name.strip().casefold() for name in next(table, (0, []))[1]]
    absent = [name for name in _NEEDED if name not in names]
    if absent:
        raise DataError(f"{path}: no column {', '.join(absent)}; found {', '.join(filter(None, names)) or 'nothing'}")
    doubled = next((name for name in _NEEDED if names.count(name) > 1), None)
    if doubled is not None:
        raise DataError(f"{path}: several columns are called {doubled}; keep one")
    for number, cells in table:
        if any(cell.strip() for cell in cells[len(names) :]):
            raise DataError(f"{path}:{number}: more cells than the header has columns")
        yield number, dict(zip(names, [*cells, *[""] * (len(names) - len(cells))], strict=False))


def _csv(path: Path) -> Iterator[tuple[int, list[str]]]:
    content = read_bytes(path)
    head = content.partition(b"\n")[0]
    delimiter = max(_DELIMITERS, key=lambda mark: head.count(mark.encode()))
    with faults(path, content):
        yield from bounds.rows(content, delimiter)


def _workbook(path: Path) -> Iterator[tuple[int, list[str]]]:
    sheet = next(iter(confined.workbook(path).values()))
    for number, row in enumerate(sheet.iter_rows(), 1):
        yield number, ["" if cell is None else str(cell) for cell in row]
