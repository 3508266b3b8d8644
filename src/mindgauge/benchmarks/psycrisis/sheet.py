"""A user's table as rows of cells: a workbook's sheet, a CSV, JSONL or Parquet file, whatever kind of cell it has."""

from __future__ import annotations

import csv
import io
import json
import math
from typing import TYPE_CHECKING, NamedTuple

from mindgauge.errors import DataError
from mindgauge.tables import clean, read_table, read_text

if TYPE_CHECKING:
    from pathlib import Path

ENDINGS = {".xlsx", ".csv", ".tsv", ".jsonl", ".ndjson", ".parquet"}
_SHOWN, _LONGEST = 30, 40


class Sheet(NamedTuple):
    """A table: its file and headers, and each row's number in the file with a cell per header, None where it is empty."""

    path: Path
    headers: list[str]
    rows: list[tuple[int, list[str | None]]]

    @property
    def columns(self) -> str:
        """Name the columns that were found, with their positions."""
        named = [f"{place} {header[:_LONGEST]!r}" for place, header in enumerate(self.headers[:_SHOWN], 1)]
        more = f", and {len(self.headers) - _SHOWN} more" if len(self.headers) > _SHOWN else ""
        return ", ".join(named) + more


def find(data: Path) -> Path:
    """Return the table that `data` is, or the only one in the folder that it is.

    Raises:
        DataError: there is none, or several.
    """
    if data.is_file():
        return data
    if not data.is_dir():
        raise DataError(f"{data}: no such file or folder")
    found = sorted(
        path for path in data.rglob("*") if path.suffix.lower() in ENDINGS and not path.name.startswith("~$")
    )
    if not found:
        raise DataError(f"{data}: no table here ({', '.join(sorted(ENDINGS))})")
    if len(found) > 1:
        names = ", ".join(path.relative_to(data).as_posix() for path in found[:_SHOWN])
        raise DataError(f"{data}: several tables here; give one of them as --data ({names})")
    return found[0]


def read(path: Path, sheet: str = "") -> Sheet:
    """Read a table. The first row of a workbook or CSV file holds its headers; rows are numbered as the file shows them.

    Args:
        path: of the table.
        sheet: of a workbook; may be left open where only one holds rows.

    Raises:
        DataError: the file cannot be read, is broken, or has no rows.
    """
    suffix = path.suffix.lower()
    if suffix == ".xlsx":
        found = _workbook(path, sheet)
    elif suffix in {".csv", ".tsv"}:
        found = _csv(path)
    else:
        found = _objects(path)
    if not found.rows:
        raise DataError(f"{path}: a table without rows")
    return found


def _workbook(path: Path, wanted: str) -> Sheet:
    import fastexcel

    try:
        workbook = fastexcel.read_excel(path)
        sheets = {
            name: workbook.load_sheet(name, header_row=None, dtypes="string").to_polars()
            for name in workbook.sheet_names
            if wanted in {"", name}
        }
    except (fastexcel.FastExcelError, OSError) as error:
        why = str(error).partition("\n")[0]
        raise DataError(f"{path}: not a workbook that can be read ({why}); save it again as .xlsx") from error
    full = [name for name, frame in sheets.items() if len(frame) > 1]
    if not full and wanted:
        raise DataError(f"{path}: no sheet {wanted!r} with rows (it has {', '.join(workbook.sheet_names)})")
    if len(full) > 1:
        raise DataError(f"{path}: several sheets hold rows ({', '.join(full)}); choose one with --map sheet=NAME")
    table = [[_cell(cell) for cell in row] for name in full for row in sheets[name].iter_rows()]
    return _headed(path, list(enumerate(table, 1)))


def _csv(path: Path) -> Sheet:
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    reader = csv.reader(io.StringIO(read_text(path), newline=""), delimiter=delimiter, strict=True)
    rows, first = [], 1
    try:
        for row in reader:
            if row:
                rows.append((first, [_cell(cell) for cell in row]))
            first = reader.line_num + 1
    except csv.Error as error:
        raise DataError(f"{path}:{first}: broken CSV ({error})") from error
    return _headed(path, rows)


def _headed(path: Path, rows: list[tuple[int, list[str | None]]]) -> Sheet:
    headers = [(cell or "").strip() for cell in rows[0][1]] if rows else []
    for number, row in rows[1:]:
        if len(row) > len(headers):
            raise DataError(f"{path}:{number}: {len(row)} cells in a table of {len(headers)} columns")
    return Sheet(path, headers, [(n, row + [None] * (len(headers) - len(row))) for n, row in rows[1:]])


def _objects(path: Path) -> Sheet:
    found = list(read_table(path))
    headers = list(dict.fromkeys(name for _, row in found for name in row))
    return Sheet(path, headers, [(number, [_cell(row.get(name)) for name in headers]) for number, row in found])


def _cell(value: object) -> str | None:
    """Write a cell as text that a store can carry: a whole number without decimals, nothing for NaN and for blanks."""
    if isinstance(value, str):
        text = clean(value)
        return text if text.strip() and text.strip().casefold() != "nan" else None
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return clean(json.dumps(value, ensure_ascii=False, default=str))
