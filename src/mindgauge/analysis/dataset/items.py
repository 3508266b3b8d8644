"""Items on their way through the steps: a table, a row each; what a step drops, and why."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

COLUMNS: dict[str, pl.DataType] = {
    "row": pl.UInt32(), "source": pl.String(), "origin": pl.String(), "group": pl.String(), "label": pl.String(),
    "language": pl.String(), "text": pl.String(), "messages": pl.List(pl.Struct({"role": pl.String, "content": pl.String})),
    "cluster": pl.UInt32(), "copies": pl.UInt32(), "probability": pl.Float64(), "split": pl.String(),
}  # fmt: skip
"""`row` is a row's number in the order of contents, whatever the order of files; `origin` its id in the source."""


class StepResult(NamedTuple):
    """What a step keeps, and what it drops: `row`, `reason`, and in `of` the row that stands for a dropped one."""

    items: pl.DataFrame
    dropped: pl.DataFrame


def numbered(frame: pl.DataFrame) -> pl.DataFrame:
    """Put rows into the order of their contents, and number them: rows that are equal in all may change places."""
    kinds = {name: kind for name, kind in COLUMNS.items() if name != "row"}
    blank = {"copies": pl.lit(0), "probability": pl.lit(1.0)}
    columns = [
        (pl.col(name) if name in frame.columns else blank.get(name, pl.lit(None))).cast(kind).alias(name)
        for name, kind in kinds.items()
    ]
    ordered = frame.select(columns).sort("source", "origin", "text", "group", "label", "language", nulls_last=True)
    return ordered.with_row_index("row").select(pl.col(name).cast(kind) for name, kind in COLUMNS.items())


def parted(items: pl.DataFrame, reason: pl.Expr) -> StepResult:
    """Drop the items for which an expression gives a reason, and keep those for which it is null."""
    rows = items.with_columns(reason=reason)
    dropped = rows.filter(pl.col("reason").is_not_null()).drop("reason")
    reasons = rows.filter(pl.col("reason").is_not_null())["reason"]
    remaining = rows.filter(pl.col("reason").is_null()).drop("reason")
    return StepResult(remaining, dropped.with_columns(reasons, of=pl.lit(None, pl.UInt32)))


def nothing_dropped(items: pl.DataFrame) -> StepResult:
    """Keep all."""
    return StepResult(items, items.clear().with_columns(reason=pl.lit(None, pl.String), of=pl.lit(None, pl.UInt32)))
