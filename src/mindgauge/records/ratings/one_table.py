"""One table by itself: which column holds what, and its ratings where it has one a row."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from mindgauge.records.english import named as joined
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import mapping
from mindgauge.records.ratings import columns as kinds
from mindgauge.records.ratings import grids, raters
from mindgauge.records.ratings.attributes import attributes
from mindgauge.records.ratings.layout import COLUMNS, FILE, REQUIRED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.records.ratings.columns import InputColumn
    from mindgauge.records.ratings.layout import RatingLayout
    from mindgauge.records.ratings.tables import Sheet

ALIKE = 0.5
"""Most of something: of a column's cells, or of the columns that two tables have."""
_OBJECT = re.compile(r"^\s*(?:```(?:json)?\s*)?\{")


class Wide(NamedTuple):
    """A table whose columns are criteria, raters, or both."""

    sheet: Sheet
    columns: dict[str, InputColumn]
    roles: dict[str, str]
    """Our name → the column that was found to hold it."""
    values: list[str]
    """Columns that hold values."""


class Long(NamedTuple):
    """Ratings of some tables, how they were read, and what of these tables was left out."""

    frame: pl.DataFrame
    shape: str
    left_out: list[str]
    attributes: pl.DataFrame | None = None
    """What else the tables say of their rows (`attributes.attributes`)."""


def roles(sheet: Sheet, columns: dict[str, InputColumn], layout: RatingLayout) -> dict[str, str]:
    """Return which column holds what, as the user says it, and as the names of columns say.

    Raises:
        DataError: a column that the user names is not there; of one table among several it may be missing.
    """
    headers = list(columns)
    assigned: dict[str, str] = {}
    for ours, theirs in layout.columns.items():
        try:
            assigned[ours] = headers[mapping.place(ours, theirs, headers, sheet.name)]
        except DataError:
            if sheet.alone:
                raise
    if layout.rater and layout.rater not in {FILE, COLUMNS}:
        column = column_called(layout.rater, columns)
        if column is None and sheet.alone:
            raise DataError(
                f"{sheet.name}: no column {layout.rater!r} for --rater; the columns are {mapping.described(headers)}"
            )
        if column is not None:
            assigned["rater"] = column
    taken = {
        *assigned.values(),
        *filter(None, (column_called(name, columns) for name in (*layout.subject, *layout.criteria, *layout.drop))),
    }
    for role in kinds.NAMES:
        if (
            role in assigned
            or role in {"subject", "value", "criterion", "cluster"}
            or (role == "rater" and layout.rater)
        ):
            continue
        candidate = kinds.named(columns.values(), role, taken)
        if candidate is not None and _fits(candidate, role):
            assigned[role] = candidate.name
            taken.add(candidate.name)
    return assigned


def _fits(column: InputColumn, role: str) -> bool:
    """Whether what stands in a column can be what its name says."""
    if not column.filled or column.is_text:
        return False
    if role == "run":
        return column.numeric
    if role in {"rater", "system"}:
        return column.distinct <= max(kinds.MOST_RATERS, column.filled // 2) and not (
            role == "system" and column.numeric
        )
    return column.distinct <= max(20, column.filled // 2)


def column_called(name: str, columns: dict[str, InputColumn]) -> str | None:
    """Return the column of a name, as it is written or as names are compared."""
    if name in columns:
        return name
    wanted = kinds.key(name)
    return next((column.name for column in columns.values() if column.key == wanted), None)


def expanded(sheet: Sheet) -> Sheet:
    """Give each key of objects that stand in cells a column of its own: `scores` with `{"empathy": 4}` is `scores.empathy`."""
    frame = sheet.frame
    for name in frame.columns:
        cells = frame[name]
        objects = cells.str.contains(_OBJECT.pattern).sum()
        if not objects or objects < ALIKE * (len(cells) - cells.null_count()):
            continue
        rows = [_object(cell) for cell in cells.to_list()]
        keys = list(dict.fromkeys(key for row in rows for key in row))
        new = [pl.Series(f"{name.strip()}.{key}", [row.get(key) for row in rows], pl.String) for key in keys]
        frame = frame.drop(name).with_columns(column for column in new if column.name not in frame.columns)
    return sheet._replace(frame=frame)


def _object(cell: str | None) -> dict[str, str | None]:
    """Read the flat part of an object, also of one between code fences."""
    text = re.sub(r"^\s*```(?:json)?|```\s*$", "", cell or "").strip()
    try:
        record = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    flat = record.items() if isinstance(record, dict) else ()
    return {
        str(key).strip(): None if value is None else str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in flat
        if not isinstance(value, dict | list)
    }


def long(sheet: Sheet, columns: dict[str, InputColumn], assigned: dict[str, str], layout: RatingLayout) -> Long | None:
    """Read a table with a rating a row; None where it is none."""
    by_key = {column.key: column.name for column in columns.values()}
    roles_read = {**assigned, **{name: by_key[name] for name in REQUIRED if name in by_key and name not in assigned}}
    exact = all(name in roles_read for name in REQUIRED)
    if not exact:
        if any(column_called(name, columns) for name in layout.criteria):
            return None
        for role in ("criterion", "value"):
            if role not in roles_read and (column := kinds.named(columns.values(), role, set(roles_read.values()))):
                fits = (
                    column.could_rate
                    if role == "value"
                    else not column.numeric and 2 * column.distinct <= column.filled
                )
                roles_read |= {role: column.name} if fits else {}
        if not {"criterion", "value"} <= roles_read.keys() or not ("rater" in roles_read or layout.rater == FILE):
            return None
    if "subject" not in roles_read:
        subject = said_subject(columns, layout) or _rated(sheet, columns, roles_read)
        if not subject:
            return None
    else:
        subject = [roles_read["subject"]]
    if "cluster" not in roles_read and (
        column := kinds.named(columns.values(), "cluster", {*roles_read.values(), *subject})
    ):
        roles_read["cluster"] = column.name
    rater = pl.lit(raters.of_files([sheet.stem])[0]) if "rater" not in roles_read else pl.col(roles_read["rater"])
    frame = sheet.frame.select(
        sheet.rows,
        joined_ids(subject).alias("subject"),
        rater.alias("rater"),
        *(pl.col(column).alias(name) for name, column in roles_read.items() if name not in {"subject", "rater"}),
    )
    if layout.criteria:
        frame = frame.filter(pl.col("criterion").is_in(layout.criteria))
    used = ", ".join(f"{name} in {column!r}" for name, column in roles_read.items() if name != column)
    shape = "" if exact and not used else f"{sheet.name}: a rating a row ({used})"
    return Long(frame, shape, [], attributes(sheet, columns, {*subject, *roles_read.values(), *layout.drop}))


def _rated(sheet: Sheet, columns: dict[str, InputColumn], assigned: dict[str, str]) -> list[str]:
    """Find the column that is named like what a row rates: one whose ids several rows share on one criterion, if there is one."""
    ranked: list[str] = []
    while column := kinds.named(columns.values(), "subject", {*assigned.values(), *ranked}):
        ranked.append(column.name)
    criterion = assigned["criterion"]
    shared = [name for name in ranked if sheet.frame.select(criterion, name).drop_nulls().is_duplicated().any()]
    return (shared or ranked)[:1]


def wide(sheet: Sheet, columns: dict[str, InputColumn], assigned: dict[str, str], layout: RatingLayout) -> Wide:
    """Find the columns of a table that hold values."""
    said = [name for name in (column_called(criterion, columns) for criterion in layout.criteria) if name]
    drop = {name for name in (column_called(text, columns) for text in layout.drop) if name}
    subject = said_subject(columns, layout) or ([assigned["subject"]] if "subject" in assigned else [])
    roles_taken = {name for role, name in assigned.items() if role not in REQUIRED or role == "rater"}
    values = said or [name for name in columns if any(kinds.key(c) in columns[name].key for c in layout.criteria)]
    if not values and len(layout.criteria) < 2:  # the one criterion may be in no column's name
        values = [
            column.name for column in columns.values()
            if column.could_rate
        ]  # fmt: skip
    values = [name for name in values if name not in {*roles_taken, *subject, *drop}]
    classes = assigned.get("category")
    if (
        not values
        and classes
        and "category" not in layout.columns
        and columns[classes].could_rate
        and classes not in drop
    ):
        # What nothing else is rated on is no property of the subject: the category is what people judged.
        values, assigned = [classes], {role: name for role, name in assigned.items() if role != "category"}
    return Wide(sheet, columns, assigned, values)


def said_subject(columns: dict[str, InputColumn], layout: RatingLayout) -> list[str]:
    """Return the columns that the user calls the subject, as far as they are here."""
    return [name for name in (column_called(text, columns) for text in layout.subject) if name]


def joined_ids(subject: list[str]) -> pl.Expr:
    """Return what a row rates: ids joined, long texts by what they are hashed to."""
    if len(subject) == 1:
        return pl.col(subject[0])
    return pl.concat_str(subject, separator=" / ", ignore_nulls=False)


def refuse_unsaid(layout: RatingLayout, tables: Sequence[Wide]) -> None:
    """Refuse a criterion that is in no table.

    Raises:
        UsageError: there is such a one.
    """
    keys = {column.key for table in tables for column in table.columns.values()}
    for name in layout.criteria:
        wanted = kinds.key(name)
        unnamed = len(layout.criteria) == 1 and any(
            layout.rater == COLUMNS or grids.of(table.values) for table in tables
        )
        if tables and not unnamed and not any(wanted == key or wanted in key for key in keys):
            known = joined([value for table in tables[:1] for value in table.values], limit=12)
            raise UsageError(f"--criteria {name}: no column is called so; columns with values are {known or 'none'}")
