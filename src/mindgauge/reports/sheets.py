"""Tables as CSV inside the page, safe to open in a spreadsheet; long ones zipped, so that the page stays small."""

from __future__ import annotations

import base64
import csv
import io
import re
import zipfile
from typing import TYPE_CHECKING

from mindgauge import rounding

if TYPE_CHECKING:
    from mindgauge.reports.content import Cell, Column, Sheet

_RISKY = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
LONG = 1000
"""Rows of a table whose CSV is zipped if it has more."""
_NUMERIC = re.compile(r"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?")


def neutral(cell: Cell) -> Cell:
    """Return a cell that no spreadsheet takes for a formula: a leading apostrophe, unless it is a number."""
    if isinstance(cell, str) and cell.startswith(_RISKY) and not _NUMERIC.fullmatch(cell):
        return "'" + cell
    return cell


def as_csv(sheet: Sheet) -> str:
    """Write a table as CSV, numbers unrounded."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([neutral(column.name) for column in sheet.columns])
    writer.writerows([[neutral(cell) for cell in row] for row in sheet.rows])
    return out.getvalue()


def data_link(sheet: Sheet) -> str:
    """Return the CSV as a link that needs no network. A mark at its start lets spreadsheets see that it is UTF-8.

    A long one is in a ZIP file, which every system opens, and statistics software reads as it is.
    """
    content = as_csv(sheet).encode("utf-8-sig")
    kind = "text/csv;charset=utf-8"
    if is_long(sheet):
        kind, content = "application/zip", _zipped(f"{sheet.name}.csv", content)
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def is_long(sheet: Sheet) -> bool:
    """Whether a table is too long to stand in the page as it is."""
    return len(sheet.rows) > LONG


def _zipped(name: str, content: bytes) -> bytes:
    """Put one file into a ZIP file, the same for the same content."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def shown(cell: Cell, column: Column) -> str:
    """Write a cell as the page shows it."""
    if cell is None or isinstance(cell, str):
        return (cell or rounding.NONE)[: 8 if column.kind == "subject" else None]
    if column.kind in {"seconds", "dollars"}:
        return rounding.seconds(cell, 1) if column.kind == "seconds" else rounding.dollars(cell)
    if column.kind == "share":
        return rounding.percent(cell)
    return f"{cell:,}" if isinstance(cell, int) and column.kind != "level" else rounding.decimal(cell)
