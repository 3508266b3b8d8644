"""Answers to an online form: a row for each person, a column for each question and reply, `How empathic is it? [Reply 1]`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl

from mindgauge.records.english import named as joined
from mindgauge.records.ratings import columns, raters

if TYPE_CHECKING:
    from mindgauge.records.ratings.tables import Sheet

_PART = re.compile(r"^(?=(?s:.*)\]$)(.*?\S)\s*+\[((?s:.+))\]$")
_ITEM = re.compile(
    r"(?i)^(?:reply|response|answer|case|item|text|conversation|dialogue?|vignette|message|sample|fall|回复|样本|案例|r|q|a)?[ _.\-#]*\d+$"
)
_WHO = ("response_id", "token", "id", "timestamp", "submitdate", "start_date")
_LEAST = 3


def read(sheet: Sheet) -> tuple[str, pl.DataFrame, list[str]] | None:
    """Read such a table; see `exports.read`. None where its columns, or its rows, are of another kind."""
    parts = {name: match.groups() for name in sheet.frame.columns if (match := _PART.match(name.strip()))}
    outer, inner = {part for part, _ in parts.values()}, {part for _, part in parts.values()}
    by_item = all(map(_ITEM.match, inner))
    if len(parts) < _LEAST or not (by_item or all(map(_ITEM.match, outer))):
        return None
    if any(raters.kind(part) for part in (*outer, *inner)):
        return None
    cells = {name: (first, second) if by_item else (second, first) for name, (first, second) in parts.items()}
    described = columns.describe(sheet)
    free = [column for name, column in described.items() if name not in parts and column.distinct == sheet.frame.height]
    who = columns.named(free, "rater") or next((c for name in _WHO for c in free if c.key == name), None)
    rater = pl.col(who.name) if who else pl.format("row {}", pl.int_range(1, pl.len() + 1))
    frame = (
        sheet.frame.select(
            pl.int_range(1 + sheet.above, pl.len() + 1 + sheet.above).alias("\0row"), rater.alias("\0rater"), *(pl.col(name) for name in cells)
        )
        .unpivot(on=list(cells), index=["\0row", "\0rater"], variable_name="column", value_name="value")
        .select(
            pl.col("\0row").alias("row"),
            pl.col("\0rater").alias("rater"),
            criterion=pl.col("column").replace_strict({name: criterion for name, (criterion, _) in cells.items()}),
            subject=pl.col("column").replace_strict({name: subject for name, (_, subject) in cells.items()}),
            value=pl.col("value"),
        )
    )  # fmt: skip
    others = [
        name
        for name, column in described.items()
        if name not in cells and column.filled and not (who and name == who.name)
    ]
    left_out = [f"{sheet.name}: columns {joined([repr(name) for name in others], limit=12)}"] if others else []
    said = f"column {who.name!r}" if who else "its number"
    return f"{sheet.name}: a row for each person ({said}), a column for each criterion and reply", frame, left_out
