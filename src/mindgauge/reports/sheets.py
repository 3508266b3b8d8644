"""Tables as CSV inside the page, safe to open in a spreadsheet."""

from __future__ import annotations

import base64
import csv
import io
import re
from typing import TYPE_CHECKING

from mindgauge.reports import numbers

if TYPE_CHECKING:
    from mindgauge.reports.content import Cell, Column, Sheet

_RISKY = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
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
    """Return the CSV as a link that needs no network. A mark at its start lets spreadsheets see that it is UTF-8."""
    return "data:text/csv;charset=utf-8;base64," + base64.b64encode(as_csv(sheet).encode("utf-8-sig")).decode()


def shown(cell: Cell, column: Column) -> str:
    """Write a cell as the page shows it."""
    if cell is None or isinstance(cell, str):
        return (cell or numbers.NONE)[: 8 if column.kind == "subject" else None]
    if column.kind in {"seconds", "dollars"}:
        return f"{cell:.1f} s" if column.kind == "seconds" else f"${cell:.4f}"
    if column.kind == "share":
        return numbers.percent(cell)
    return f"{cell:,}" if isinstance(cell, int) and column.kind != "level" else numbers.decimal(cell)
