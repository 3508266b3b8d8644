"""A user's table as rows of cells: a workbook's sheet, a CSV, JSONL or Parquet file, whatever kind of cell it has."""

from __future__ import annotations

import codecs
import io
import json
import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from mindgauge import bounds, confined, files
from mindgauge.errors import DataError
from mindgauge.tables import clean, read_records, read_table, refuse_encoding

if TYPE_CHECKING:
    from mindgauge.files import Readable

_WORKBOOKS, _SEPARATED = {".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"}, {".csv", ".tsv"}
HEADED = _WORKBOOKS | _SEPARATED
"""Tables whose headers are a row like the others."""
ENDINGS = {*HEADED, ".jsonl", ".ndjson", ".json", ".parquet"}
UTF_8 = "UTF-8"
_SHOWN, _LONGEST = 30, 40
_QUOTED = re.compile(r'"[^"]*"')
Row: TypeAlias = "tuple[int, list[str | None]]"


class Sheet(NamedTuple):
    """A table: its file and headers, and each row's number in the file with a cell per header, None where it is empty."""

    path: Readable
    headers: list[str]
    rows: list[Row]
    separator: str = ","

    @property
    def columns(self) -> str:
        """Name the columns that were found, with their positions."""
        named = [f"{place} {header[:_LONGEST]!r}" for place, header in enumerate(self.headers[:_SHOWN], 1)]
        more = f", and {len(self.headers) - _SHOWN} more" if len(self.headers) > _SHOWN else ""
        return ", ".join(named) + more


def find(data: Readable) -> Readable:
    """Return the table that `data` is, or the only one in the folder that it is.

    Raises:
        DataError: there is none, or several.
    """
    if isinstance(data, files.File) or data.is_file():
        return data
    if not data.is_dir():
        raise DataError(f"{data}: no such file or folder")
    lying = files.below(data)
    found = [path for path in lying.all if path.suffix.lower() in ENDINGS and not path.name.startswith("~$")]
    if not found:
        raise DataError("; ".join([f"{data}: no table here ({', '.join(sorted(ENDINGS))})", *lying.broken]))
    if len(found) > 1:
        names = ", ".join(path.place.as_posix() for path in found[:_SHOWN])
        raise DataError(f"{data}: several tables here; give one of them as --data ({names})")
    return found[0]


def read(path: Readable, sheet: str = "", header: int | None = None, encoding: str = UTF_8) -> Sheet:
    """Read a table; rows are numbered as the file shows them.

    Args:
        path: of the table.
        sheet: of a workbook; may be left open where only one holds rows.
        header: the row of a workbook or CSV file that holds the headers, 0 where none does; if not given, its first.
        encoding: of a CSV file.

    Raises:
        DataError: the file cannot be read, is broken, or has no rows.
    """
    suffix = path.suffix.lower()
    if suffix in _WORKBOOKS:
        found = _headed(path, _workbook(path, sheet), header)
    elif suffix in _SEPARATED:
        separator, rows = _separated(path, encoding)
        found = _headed(path, rows, header)._replace(separator=separator)
    elif suffix == ".json":
        found = _objects(path, list(enumerate(read_records(path), 1)))
    elif suffix in ENDINGS:
        found = _objects(path, list(read_table(path)))
    else:
        raise DataError(f"{path}: expected {', '.join(sorted(ENDINGS))}, found {suffix or 'no ending'}")
    if not found.rows:
        raise DataError(f"{path}: a table without rows")
    return found


def _workbook(path: Readable, wanted: str) -> list[Row]:
    frames = confined.workbook(path, sheet=wanted)
    sheets = {name: [(n, [*map(_cell, row)]) for n, row in enumerate(f.iter_rows(), 1)] for name, f in frames.items()}
    full = [name for name, rows in sheets.items() if sum(any(row) for _, row in rows) > 1]
    if not full and wanted:
        raise DataError(f"{path}: no sheet {wanted!r} with rows (it has {', '.join(confined.workbook(path))})")
    if len(full) > 1:
        raise DataError(f"{path}: several sheets hold rows ({', '.join(full)}); choose one with --map sheet=NAME")
    return sheets[full[0]] if full else []


def _separated(path: Readable, encoding: str) -> tuple[str, list[Row]]:
    """Read a CSV file; between its cells stands what stands there most often in the first line."""
    try:
        content = files.content(path).removeprefix(codecs.BOM_UTF8)
        codecs.lookup(encoding)
        first_line = _QUOTED.sub("", io.TextIOWrapper(io.BytesIO(content), encoding).readline(bounds.ROW))
        separator = "\t" if path.suffix.lower() == ".tsv" else max(",;\t|", key=first_line.count)
        rows: list[Row] = []
        line = 1
        for last, row in bounds.rows(content, separator, encoding=encoding, blank=True):
            if row:
                rows.append((line, [_cell(cell) for cell in row]))
            line = last + 1
    except UnicodeDecodeError as error:
        advice = f"save it as {UTF_8}, or name its encoding with --map encoding=gb18030"
        refuse_encoding(path, content, encoding, advice)
        raise DataError(f"{path}: not {encoding}; {advice}") from error
    except bounds.Fault as fault:
        raise DataError(fault.at(path)) from fault
    except (LookupError, ValueError) as error:
        raise DataError(f"{path}: {error}") from error
    except OSError as error:
        raise DataError(f"{path}: cannot read it ({error.strerror})") from error
    return separator, rows


def _headed(path: Readable, rows: list[Row], header: int | None) -> Sheet:
    """Take the headers from a row; what is empty at the end, rows and columns, is no part of the table."""
    filled = [place for place, (_, row) in enumerate(rows) if any(row)]
    first = filled[0] if filled and header is None else next((p for p, (n, _) in enumerate(rows) if n == header), None)
    if header and first is None:
        raise DataError(f"{path}: no row {header} for the headers")
    headers = [(cell or "").strip() for cell in rows[first][1]] if first is not None else []
    body = rows[0 if first is None else first + 1 : filled[-1] + 1 if filled else 0]
    width = max((place for _, row in body for place, cell in enumerate(row, 1) if cell is not None), default=0)
    while len(headers) > width and not headers[-1]:
        headers.pop()
    for number, row in body if header != 0 else ():
        if len(row) > len(rows[first or 0][1]):
            raise DataError(f"{path}:{number}: {len(row)} cells in a table of {len(rows[first or 0][1])} columns")
    headers += [""] * (width - len(headers))
    return Sheet(path, headers, [(n, (row + [None] * len(headers))[: len(headers)]) for n, row in body])


def _objects(path: Readable, found: list[tuple[int, dict[str, Any]]]) -> Sheet:
    headers = list(dict.fromkeys(name for _, row in found for name in row))
    if len(headers) * len(found) > bounds.CELLS or len(headers) > bounds.COLUMNS:
        cells = f"{len(found):,} rows of {len(headers):,} columns"
        raise DataError(f"{path}: {cells}, and at most {bounds.COLUMNS:,} columns and {bounds.CELLS:,} cells are read; split it into several files")  # fmt: skip
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
