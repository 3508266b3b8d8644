"""What a table says of each subject besides its ratings, by which subjects are put into slices: its turn, its length, its source."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl

from mindgauge.records.ratings import columns as kinds
from mindgauge.records.ratings.layout import OPTIONAL, REQUIRED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from mindgauge.records.ratings.columns import InputColumn
    from mindgauge.records.ratings.tables import Sheet

TURN, LENGTH, POSITION = "turn", "reply length", "position in the table"
VALUES = 20
"""Values of a column, at most: thousands of values are no slices."""
_TURN = re.compile(r"^(?:turn|round|轮次)(?:_?(?:id|index|idx|no|nr|number))?$")
_LENGTH = re.compile(r"^(?:(?:reply|response|answer|text)_)?(?:length|len|n_?(?:chars|characters|words|tokens)|num_(?:words|tokens)|words|chars)$|^字数$")  # fmt: skip
_REPLY = re.compile(r"^(?:reply|response|answer|output|completion|generation|text|content)(?:_text)?$|^(?:model|bot|assistant)_(?:reply|response|answer|output)$|^回复$|^回答$")  # fmt: skip
_NAMED = re.compile(r"^(?:persona|scenario|source|dataset|split|topic|domain|gender|sex|site|batch)(?:_(?:id|name))?$")
"""Columns whose values are groups, also where they are numbers or named like an id."""
_AFTERWARDS = re.compile(
    r"(?:^|_)(?:labels?|verdicts?|gold|truth|ratings?|scores?|judges?|judgements?|outcomes?|decisions?|flags?|flagged|unsafe|safe|safety|harm\w*|risk\w*"
    r"|sever\w*|correct|agree\w*|match\w*|predict\w*|confidence|certainty|status|consensus|majority)(?:_|$)|标签|评分|判断"
)
"""Columns with what was said of a reply once it was there: misses gather there by construction."""


def attributes(sheet: Sheet, columns: Mapping[str, InputColumn], used: Collection[str]) -> pl.DataFrame:
    """Return what a table says of each of its rows besides ratings: file, row, and a column for each thing known.

    Args:
        sheet: the table.
        columns: what is in each of its columns.
        used: columns that are read as something else.
    """
    reserved = {*used, *OPTIONAL, *REQUIRED, "file", "row", "line"}
    free = [column for column in columns.values() if column.name not in reserved]
    expressions: dict[str, pl.Expr] = {}
    for column in free:
        cells = pl.col(column.name)
        if column.numeric and (_TURN.match(column.key) or _LENGTH.match(column.key)):
            expressions.setdefault(TURN if _TURN.match(column.key) else LENGTH, cells.cast(pl.Float64, strict=False))
        elif _NAMED.match(column.key) or _groups(column):
            expressions[column.name] = cells if 1 < column.distinct <= VALUES else pl.lit(None, pl.String)
    for column in free:
        if column.is_text and _REPLY.match(column.key):
            expressions.setdefault(LENGTH, pl.col(column.name).str.len_chars().cast(pl.Float64))
    return sheet.frame.select(pl.lit(sheet.name).alias("file"), sheet.rows, **expressions)


def _groups(column: InputColumn) -> bool:
    """Whether a column of words puts rows into groups, and is not named like a verdict, a remark or an id."""
    named = column.computed or column.identifies or _AFTERWARDS.search(column.key) or kinds.is_remark(column.key)
    return not (named or column.numeric or column.is_text or column.counts)


def of_subjects(parts: Iterable[pl.DataFrame | None], frame: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each subject with what is known of it; what differs between rows of one subject is left out.

    A column whose values are those of a criterion is left out, too: it holds verdicts.

    Args:
        parts: as `attributes` returns them.
        frame: ratings: subject, file, row, value.
    """
    rows = frame.lazy().select("subject", "file", "row").unique().collect()
    details = pl.concat([part for part in parts if part is not None] or [pl.DataFrame(schema={"file": pl.String, "row": pl.Int64})], how="diagonal_relaxed")  # fmt: skip
    by_row = rows.join(details, on=["file", "row"], how="left").sort("row")
    words = {str(value).casefold() for value in frame["value"].drop_nulls().unique()}
    names = []
    for name in details.drop("file", "row").columns:
        values = by_row.lazy().select("subject", name).drop_nulls().unique().collect()
        is_verdict = values[name].dtype == pl.String and {v.casefold() for v in values[name].unique()} <= words
        if not (values.is_empty() or is_verdict or values["subject"].is_duplicated().any()):
            names.append(name)
    together = by_row.lazy().group_by("subject", maintain_order=True).agg(pl.col(names).drop_nulls().first(), row=pl.col("row").min())  # fmt: skip
    position = pl.col("row").cast(pl.Float64).alias(POSITION)
    return together.with_columns(position).drop("row").collect()
