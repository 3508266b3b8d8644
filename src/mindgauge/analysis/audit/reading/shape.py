"""From groups of tables to materials: the texts, ratings and options that stand in them."""

from __future__ import annotations

from itertools import islice, zip_longest
from typing import TYPE_CHECKING

from mindgauge.analysis.audit.reading.groups import Group, group, names_model
from mindgauge.analysis.audit.reading.roles import LOOKED_AT, leaf, letters, roles
from mindgauge.analysis.audit.reading.tables import tables
from mindgauge.benchmarks.material import RATINGS, TEXTS, Material, frame
from mindgauge.records.files.mapping import NOTHING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from mindgauge.analysis.audit.reading.groups import GroupTable
    from mindgauge.analysis.audit.reading.roles import Roles
    from mindgauge.analysis.audit.reading.tables import Row
    from mindgauge.records.files.folder import File
    from mindgauge.records.files.mapping import ColumnMap

LABEL = "label"


def read(paths: Iterable[Path | File], column_map: ColumnMap = NOTHING) -> Iterator[tuple[str, Material]]:
    """Read files and folders of any kind: a material for each group of tables of one kind, by its name.

    What could not be read, or only with a guess, is told in the notes of a last material, which is otherwise empty.
    """
    notes: list[str] = []
    for table_group in group(tables(paths, notes, column_map)):
        yield table_group.name, material(table_group)
    if notes:
        yield "the files", Material(frame([], TEXTS), frame([], RATINGS), {}, {}, tuple(notes))


def material(table_group: Group) -> Material:
    """Read the texts and ratings of tables of one kind."""
    texts: list[tuple[object, ...]] = []
    ratings: list[tuple[object, ...]] = []
    options: dict[str, None] = {}
    sampled_rows = list(islice(zip_longest(*(part.table.rows for part in table_group.parts)), LOOKED_AT))
    columns = roles([row for rows in sampled_rows for row in rows if row is not None])
    if not _versions(table_group, columns):
        table_group = table_group._replace(parts=[part._replace(system=None) for part in table_group.parts])
    if columns.system and all(part.system for part in table_group.parts) and _constant(table_group, columns.system):
        columns = columns._replace(system=None)  # the files' names tell systems, runs or settings apart
    repeats: set[tuple[object, ...]] = set()
    for part in table_group.parts:
        for number, row in enumerate(part.table.rows):
            texts += _texts(part, columns, number, row)
            for rating in _ratings(part, columns, number, row):
                verdict = (*rating[:4], rating[6])
                if (
                    rating[3] == "model" or verdict not in repeats
                ):  # each system's file repeats gold labels and people's values
                    ratings.append(rating)
                    repeats.add(verdict)
            if columns.options:
                options |= dict.fromkeys(letters(row.get(columns.options, "")))
    offered = {LABEL: tuple(sorted(options))} if options else {}
    return Material(frame(texts, TEXTS), frame(ratings, RATINGS), {}, offered)


def _versions(table_group: Group, columns: Roles) -> bool:
    """Whether the tables are several systems' or runs' versions of the same items; else their names tell no systems."""
    inputs = [name for name, kind in columns.texts.items() if kind not in {"reply", "verdict"}]
    first, *others = (
        {row[name] for row in part.table.rows for name in inputs if name in row} for part in table_group.parts
    )
    named = all(part.system and names_model(part.system) for part in table_group.parts)
    return named or not inputs or all(2 * len(first & other) >= min(len(first), len(other)) for other in others)


def _constant(table_group: Group, column: str) -> bool:
    return all(len({row.get(column) for row in part.table.rows}) == 1 for part in table_group.parts)


def _texts(part: GroupTable, columns: Roles, number: int, row: Row) -> Iterator[tuple[object, ...]]:
    system, split = _system(part, columns, row), _cell(row, columns.split) or part.split
    for name, kind in columns.texts.items():
        if name in row or (kind == "reply" and any(name in other for other in part.table.rows[:LOOKED_AT])):
            label = None if kind == "verdict" else _cell(row, columns.label)
            yield (
                part.table.name, number, kind, _cell(row, columns.id), row.get(name, ""), system, _cell(row, columns.source),
                split, label,
            )  # fmt: skip


def _ratings(part: GroupTable, columns: Roles, number: int, row: Row) -> Iterator[tuple[object, ...]]:
    system = _system(part, columns, row)
    item = _cell(row, columns.id) or str(number)
    if part.split or not part.system:
        item = f"{part.split or part.table.name}:{item}"
    location = (part.table.name, number)
    if columns.label and len(part.table.rows) > 1:
        yield item, LABEL, "gold", "gold", None, *_value(row.get(columns.label)), None, item, *location
    for name in filter(row.__contains__, columns.answers):
        rater = system or leaf(name)
        yield item, LABEL, rater, "model", None, *_value(row.get(name)), rater, item, *location
    for name, (criterion, rater) in columns.scores.items():
        if name not in row:  # in a file of another system
            continue
        value = _value(row[name])
        if rater == "human":
            yield item, criterion, rater, "person", None, *value, None, item, *location
        elif rater == "model":
            yield item, criterion, system or rater, "model", None, *value, system or rater, item, *location
        else:
            subject = f"{system}:{item}" if system else item
            yield subject, criterion, rater, "model", None, *value, system, item, *location


def _cell(row: Row, name: str | None) -> str | None:
    return row.get(name) if name else None


def _system(part: GroupTable, columns: Roles, row: Row) -> str | None:
    return _cell(row, columns.system) or part.system


def _value(cell: str | None) -> tuple[str, str | None]:
    """Return a rating's status and value."""
    return ("ok", cell) if cell else ("missing", None)
