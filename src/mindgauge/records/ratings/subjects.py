"""What a row rates: the columns that tell the rows of a table apart, and those that say of which conversation they are."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import polars as pl

from mindgauge.records.ratings import columns as kinds
from mindgauge.records.ratings.layout import ROW
from mindgauge.records.ratings.one_table import ALIKE, Wide, column_called, said_subject

if TYPE_CHECKING:
    from mindgauge.records.ratings.columns import InputColumn
    from mindgauge.records.ratings.layout import RatingLayout

_MOST = 3
"""Columns that together say what a row rates."""


def subject_of(group: list[Wide], values: list[str], layout: RatingLayout) -> list[str] | str:
    """Find the columns that together say what a row rates; [] stands for the row itself.

    Returns:
        The columns; or why these tables hold no ratings.
    """
    first = group[0].columns
    if tuple(layout.subject) == (ROW,) and not any(column_called(ROW, table.columns) for table in group):
        return []
    missing = [text for text in layout.subject if any(column_called(text, table.columns) is None for table in group)]
    if missing:
        return f"no column {missing[0]!r} for --subject"
    if layout.subject:
        return said_subject(first, layout)
    if all("subject" in table.roles for table in group):
        return [group[0].roles["subject"]]
    taken = {*values, *(column for table in group for column in table.roles.values())}
    free = [first[name] for name in first if name not in taken and all(name in table.columns for table in group[1:])]
    return (
        _identifying(group, free)
        or _nearly(group, free)
        or (
            "no column says which reply a row rates; name it with --subject COLUMN, or say --subject row where the rows of all "
            "files are in one order"
        )
    )


def _identifying(group: list[Wide], free: list[InputColumn]) -> list[str]:
    """Find columns that tell all rows apart: as few as possible, those that are named like ids first."""
    ranks = {name: rank for rank, name in enumerate(kinds.NAMES["subject"])}
    ids = sorted((c for c in free if c.identifies and not c.is_text), key=lambda c: ranks.get(c.key, len(ranks)))
    others = [
        c for c in free if not (c.identifies or c.is_text or c.counts or c.beside or c.computed) and c.distinct > 1
    ]
    # An id that no two raters share is that of a rating, or of a form that was sent.
    for candidates, fits in ((ids, _compared), (ids, _tells_all), ([*ids, *others], _tells_all)):
        for size in range(1, min(_MOST, len(candidates)) + 1):
            for combination in itertools.combinations(candidates, size):
                names = [column.name for column in combination]
                if fits(group, names):
                    return names
    return []


def _tells_all(group: list[Wide], subject: list[str]) -> bool:
    return all(_tells(table, subject) for table in group)


def _compared(group: list[Wide], subject: list[str]) -> bool:
    """Whether some columns tell the rows apart, and what they name occurs for several raters or systems."""
    keys = [table.sheet.frame.select(subject).drop_nulls() for table in group]
    once = len(group) == 1 and not group[0].roles.keys() & {"rater", "system", "run"}
    return _tells_all(group, subject) and (once or pl.concat(keys).n_unique() < sum(map(len, keys)))


def _nearly(group: list[Wide], free: list[InputColumn]) -> list[str]:
    """Find columns that tell most rows apart, so that the rows that repeat can be named: an id, else the texts."""
    ids = [column for column in free if column.identifies and not column.is_text and column.distinct > 1]
    if ids:
        return [max(ids, key=lambda column: column.distinct).name]
    texts = [column for column in free if column.is_text]
    enough = texts and max(column.distinct for column in texts) > ALIKE * group[0].sheet.frame.height
    return [column.name for column in texts] if enough else []


def _tells(table: Wide, subject: list[str]) -> bool:
    """Whether some columns tell the rows of a table apart, with its rater, system and run."""
    known = [table.roles[role] for role in ("rater", "system", "run") if role in table.roles]
    keys = table.sheet.frame.select([*dict.fromkeys([*subject, *known])]).drop_nulls(subject)
    return keys.height > 0 and keys.n_unique() == keys.height


def cluster(table: Wide, subject: list[str]) -> str | None:
    """Return the column with the conversation of each subject: one that several of them share."""
    column = kinds.named(table.columns.values(), "cluster", {*subject, *table.values, *table.roles.values()})
    if column is None or not subject or not column.filled or column.is_text:
        return None
    frame = table.sheet.frame.select([*dict.fromkeys([*subject, column.name])]).drop_nulls()
    subjects = frame.select(subject).n_unique()
    return column.name if frame.n_unique() == subjects and 1 < column.distinct < subjects else None
