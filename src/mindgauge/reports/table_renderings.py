"""A table's renderings: its cells as text for the page and the terminal, and as CSV inside the page.

The CSV is safe to open in a spreadsheet; a long one is zipped, so that the page stays small.
"""

from __future__ import annotations

import base64
import csv
import io
import re
import zipfile
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from mindgauge.records import rounding
from mindgauge.records.text import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.reports.content import Cell, Column, Kind, ReportTable

_RISKY = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
LONG = 1000
"""Rows of a table whose CSV is zipped if it has more."""
ENDS = ("from", "to")
"""The headings of an interval's ends, which follow the column of its estimate; its name may stand before them."""
_BOUNDED: dict[Kind, rounding.Kind] = {"share": "share", "precise": "precise", "points": "points", "level": "level"}
_UNIT = re.compile(r" (?:%|points)$")
_NUMERIC = re.compile(r"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?")


def neutral(text: str) -> str:
    """Return a cell without hidden characters that no spreadsheet takes for a formula: a leading apostrophe, unless it is a number."""
    text = shown(text)
    return "'" + text if text.startswith(_RISKY) and not _NUMERIC.fullmatch(text) else text


def as_csv(sheet: ReportTable) -> str:
    """Write a table as CSV, numbers unrounded."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([neutral(column.name) for column in sheet.columns])
    writer.writerows([[neutral(cell) if isinstance(cell, str) else cell for cell in row] for row in sheet.rows])
    return buffer.getvalue()


def data_link(sheet: ReportTable) -> str:
    """Return the CSV as a link that needs no network. A mark at its start lets spreadsheets see that it is UTF-8.

    A long one is in a ZIP file, which every system opens, and statistics software reads as it is.
    """
    content = as_csv(sheet).encode("utf-8-sig")
    kind = "text/csv;charset=utf-8"
    if is_long(sheet):
        kind, content = "application/zip", _zipped(f"{sheet.name}.csv", content)
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def is_long(sheet: ReportTable) -> bool:
    """Whether a table is too long to stand in the page as it is."""
    return len(sheet.rows) > LONG


def _zipped(name: str, content: bytes) -> bytes:
    """Put one file into a ZIP file, the same for the same content."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def written(row: Sequence[Cell], columns: Sequence[Column]) -> list[str]:
    """Write the cells of a row, as the page, Markdown and the terminal show them; the ends of an interval never alike."""
    cells = [_written(cell, column) for cell, column in zip(row, columns, strict=True)]
    for place in intervals(columns):
        low, high = row[place + 1 : place + 3]
        kind = _BOUNDED.get(columns[place].kind)
        if kind is not None and isinstance(low, int | float) and isinstance(high, int | float):
            cells[place + 1 : place + 3] = rounding.ends(low, high, kind, signed=kind == "points")
    return cells


def intervals(columns: Sequence[Column]) -> list[int]:
    """Return the places of columns behind which the two ends of an interval follow."""
    names = [column.name for column in columns]
    return [
        place
        for place, name in enumerate(names[:-2])
        if tuple(names[place + 1 : place + 3]) in {ENDS, tuple(f"{name} {end}" for end in ENDS)}
    ]


class PageTable(NamedTuple):
    """A table as a page shows it: an interval stands beside its estimate, and what is the same in every row once, below."""

    columns: list[Column]
    rows: list[list[str]]
    same: list[tuple[str, str]]
    """Headings and values of columns that say the same in every row."""
    width: str
    """How much room it takes: `few`, `some`, `many` or `most` columns."""


_WIDTHS = ((10, "most"), (7, "many"), (5, "some"), (0, "few"))
"""From so many columns on, a table stands row by row where there is less room, and the widest is set smaller."""


def of_page(sheet: ReportTable, most_rows: int) -> PageTable:
    """Return a table as a page shows it; `most_rows` of its rows."""
    places = intervals(sheet.columns)
    ends = {end for place in places for end in (place + 1, place + 2)}
    rows = []
    for row in sheet.rows[:most_rows]:
        cells = written(row, sheet.columns)
        for place in places:
            value, low, high = cells[place : place + 3]
            if rounding.NONE not in {low, high}:
                cells[place] = f"{value} [{_UNIT.sub('', low)}, {_UNIT.sub('', high)}]"
        rows.append(cells)
    alike = {n for n in range(1, len(sheet.columns)) if len(rows) > 1 and len({row[n] for row in rows}) == 1}
    if len(alike | ends) == len(sheet.columns) - 1:
        # Names alone are no table.
        alike = set()
    kept = [n for n in range(len(sheet.columns)) if n not in ends | alike]
    same = [(sheet.columns[n].name, rows[0][n]) for n in sorted(alike - ends) if rows[0][n] != rounding.NONE]
    width = next(width for least, width in _WIDTHS if len(kept) >= least)
    return PageTable([sheet.columns[n] for n in kept], [[row[n] for n in kept] for row in rows], same, width)


def joined(sheet: ReportTable) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows as text where there is little room: an estimate and its interval in one cell.

    `0.36 [0.31, 0.42]`; what is not known is empty, and so is no column.
    """
    places = intervals(sheet.columns)
    ends = {end for place in places for end in (place + 1, place + 2)}
    rows = []
    for row in sheet.rows:
        cells = [
            "" if cell in {None, ""} else text for cell, text in zip(row, written(row, sheet.columns), strict=True)
        ]
        for place in places:
            value, low, high = (
                _UNIT.sub("", text) if index else text for index, text in enumerate(cells[place : place + 3])
            )
            cells[place] = f"{value} [{low}, {high}]" if value and low and high else value
        rows.append(cells)
    visible = [index for index in range(len(sheet.columns)) if index not in ends and any(row[index] for row in rows)]
    return [sheet.columns[index].name for index in visible], [[row[index] for index in visible] for row in rows]


def narrowed(sheet: ReportTable, names: Sequence[str] = ()) -> ReportTable:
    """Return a table for a narrow page: columns of words that say the same in every row stand in its title.

    Args:
        sheet: the table; it is not changed.
        names: the columns that are kept, with the ends of their intervals; all if not given.
    """
    ends = {place + end: place for place in intervals(sheet.columns) for end in (1, 2)}
    selected = [
        place
        for place, column in enumerate(sheet.columns)
        if not names or sheet.columns[ends.get(place, place)].name in names
    ]
    alike = {
        place
        for place in selected
        if len(sheet.rows) > 1 and sheet.columns[place].kind == "text" and len({row[place] for row in sheet.rows}) == 1
    }
    constant = [
        f"{sheet.columns[place].name}: {sheet.rows[0][place]}" for place in sorted(alike) if sheet.rows[0][place]
    ]
    places = [place for place in selected if place not in alike]
    return msgspec.structs.replace(
        sheet,
        title="; ".join(filter(None, [sheet.title, *constant])),
        columns=[sheet.columns[place] for place in places],
        rows=[[row[place] for place in places] for row in sheet.rows],
    )


def _written(cell: Cell, column: Column) -> str:
    if cell is None or isinstance(cell, str):
        return (cell or rounding.NONE)[: 8 if column.kind == "subject" else None]
    if column.kind in {"precise", "points"}:
        return rounding.precise(cell) if column.kind == "precise" else rounding.points(cell, signed=True)
    if column.kind in {"seconds", "dollars"}:
        return rounding.seconds(cell, 1) if column.kind == "seconds" else rounding.dollars(cell)
    if column.kind in {"share", "p"}:
        return rounding.percent(cell) if column.kind == "share" else rounding.p_value(cell)
    return rounding.count(cell) if isinstance(cell, int) and column.kind != "level" else rounding.decimal(cell)
