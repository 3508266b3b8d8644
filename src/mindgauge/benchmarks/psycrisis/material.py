"""A user's table as it is, for an audit: messages, replies, judges' raw answers and labels, faulty ones too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.benchmarks.psycrisis import columns, released
from mindgauge.benchmarks.released import RATINGS, TEXTS, Material, frame
from mindgauge.records import RaterKind
from mindgauge.records.files import mapping, tables

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.benchmarks.psycrisis.columns import Columns
    from mindgauge.benchmarks.psycrisis.released import Cells

Row = tuple[object, ...]


def material(data: Path) -> Material:
    """Read a table by the mapping that lies beside it. Rows are counted from 0; a reply is known by its row.

    Raises:
        DataError: there is no mapping, or it does not fit the table.
        UsageError: it maps something that is not known.
    """
    path = tables.find(data)
    _, read_from, rows = released.opened(path, mapping.beside(path))
    texts, ratings = _texts(path.name, rows, read_from), _ratings(path.name, rows, read_from)
    options = {c.name: tuple(map(str, c.choices)) for c in columns.RUBRIC.criteria}
    scales = {columns.TOTAL: (0.0, float(len(columns.DIMENSIONS)))}
    return Material(frame(texts, TEXTS), frame(ratings, RATINGS), scales, options, (read_from.note,))


def _texts(file: str, rows: Cells, read_from: Columns) -> list[Row]:
    texts: list[Row] = []
    for row, (_, cells) in enumerate(rows):
        values = {field: cells[place] for field, place in read_from.fields.items()}
        ident = values.get("id")
        texts.append(
            (file, row, "input", ident, values.get("user"), None, values.get("source"), None, values.get("category"))
        )
        if "reply" in values:
            texts.append((file, row, "reply", f"row {row}", values["reply"], values.get("model"), None, None, None))
        texts += [
            (file, row, "verdict", f"row {row}", cells[place], values.get("model"), judge, None, None)
            for judge, place in read_from.answers.items()
        ]
    return texts


def _ratings(file: str, rows: Cells, read_from: Columns) -> list[Row]:
    """Read values as they stand; one that means a level is written as that level."""
    criteria = {criterion.name: criterion for criterion in columns.RUBRIC.criteria}
    model, rater_column, user = (
        read_from.fields.get("model"),
        read_from.fields.get(columns.RATER),
        read_from.fields["user"],
    )
    ratings: list[Row] = []
    for row, (_, cells) in enumerate(rows):
        for label in read_from.labels:
            cell, criterion = cells[label.column], criteria.get(label.criterion)
            rater = label.rater if rater_column is None or label.kind is not RaterKind.PERSON else cells[rater_column]
            value = columns.level(criterion, cell)[0] or cell if criterion is not None else cell
            ratings.append((
                f"row {row}", label.criterion, rater, label.kind.value, None, "unparsable" if cell is None else "ok",
                value, None if model is None else cells[model], cells[user], file, row,
            ))  # fmt: skip
    return ratings
