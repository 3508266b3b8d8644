"""Which tables belong together: files, sheets and folders of one kind, for several raters."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from mindgauge.records.ratings import raters
from mindgauge.records.ratings.one_table import ALIKE, Wide

if TYPE_CHECKING:
    from collections.abc import Sequence


def grouped(tables: Sequence[Wide]) -> list[list[Wide]]:
    """Put tables of one kind together: those in one folder, or one workbook, that share most of their value columns."""
    groups: list[tuple[set[str], list[Wide]]] = []
    for table in tables:
        keys = {table.columns[name].key for name in table.values}
        for shared, members in groups:
            alike = (
                members[0].sheet.folder == table.sheet.folder
                and ("rater" in table.roles) == ("rater" in members[0].roles)
                and _same_subject(members[0], table)
            )
            if alike and len(keys & shared) > ALIKE * min(len(keys), len(shared)):
                members.append(table)
                shared.update(keys)
                break
        else:
            groups.append((keys, [table]))
    spelled = [_spelled_alike(members) for _, members in groups]
    return _folder_each(
        [part for members in spelled for sheets in _sheet_each(members) for part in _one_file_each(sheets)]
    )


def _ids(table: Wide) -> list[str]:
    """Return the columns that are named like ids, as names are compared."""
    return [
        column.key for column in table.columns.values() if column.identifies and column.filled and not column.is_text
    ]


def _same_subject(first: Wide, second: Wide) -> bool:
    """Whether two tables have an id in common, or neither has one."""
    ids, others = {*_ids(first)}, {*_ids(second)}
    return bool(ids & others) or not (ids or others) or {*ids, *others} == {"subject"}


def _spelled_alike(group: list[Wide]) -> list[Wide]:
    """Give columns that differ in letter case and blanks alone the name that the first table has."""
    names: dict[str, str] = {}
    renamed = []
    for table in group:
        own = {name: names.setdefault(column.key, name) for name, column in table.columns.items()}
        if all(old == new for old, new in own.items()) or len(set(own.values())) < len(own):
            renamed.append(table)
            continue
        renamed.append(
            Wide(
                table.sheet._replace(frame=table.sheet.frame.rename(own)),
                {own[name]: column._replace(name=own[name]) for name, column in table.columns.items()},
                {role: own[name] for role, name in table.roles.items()},
                [own[name] for name in table.values],
            )
        )
    return renamed


def _sheet_each(group: list[Wide]) -> list[list[Wide]]:
    """Part workbooks of several sheets: a file for each rater with a sheet for each framework, or the other way round."""
    files = list(dict.fromkeys(table.sheet.place for table in group))
    sheets = list(dict.fromkeys(table.sheet.part for table in group))
    if len(files) < 2 or len(sheets) < 2 or 2 * len(group) <= len(files) * len(sheets):
        return [group]
    by_file = sum(map(raters.names_rater, sheets)) > sum(raters.names_rater(file.stem) for file in files)
    parts: dict[str, list[Wide]] = {}
    for table in group:
        parts.setdefault(table.sheet.place.stem if by_file else table.sheet.part, []).append(table)
    again = any(
        {*a[0].values} & {*b[0].values} and _overlap(a[0], b[0]) for a, b in itertools.combinations(parts.values(), 2)
    )
    return [[_of_framework(table, name) for table in tables] if again else tables for name, tables in parts.items()]


def _overlap(first: Wide, second: Wide) -> bool:
    """Whether two tables rate the same subjects, as far as their ids tell."""
    shared = [key for key in _ids(first) if key in _ids(second)][:1]
    cells = [
        {*table.sheet.frame[column.name]}
        for table in (first, second)
        for column in table.columns.values()
        if column.key in shared
    ]
    return len(cells) == 2 and bool((cells[0] & cells[1]) - {None})


def _of_framework(table: Wide, framework: str) -> Wide:
    """Name the criteria of a sheet by it, where other sheets have columns of the same names."""
    own = {name: framework if len(table.values) == 1 else f"{framework}.{name}" for name in table.values}
    return table._replace(
        sheet=table.sheet._replace(frame=table.sheet.frame.rename(own)),
        columns={
            own.get(name, name): column._replace(name=own.get(name, name)) for name, column in table.columns.items()
        },
        values=[*own.values()],
    )


def _folder_each(groups: list[list[Wide]]) -> list[list[Wide]]:
    """Join single tables whose files are named alike, in a folder for each rater."""
    together: dict[tuple[str, frozenset[str]], list[Wide]] = {}
    others = []
    for group in groups:
        first = group[0]
        if len(group) > 1 or "rater" in first.roles:
            others.append(group)
        else:
            keys = frozenset(first.columns[name].key for name in first.values)
            together.setdefault((first.sheet.stem, keys), []).append(first)
    return [*others, *together.values()]


def _one_file_each(group: list[Wide]) -> list[list[Wide]]:
    """Part tables of which two bear one person's name, `H1_labels` and `H1_scores`, by their columns."""
    persons = [name for table in group if (name := raters.person_in(table.sheet.stem))]
    if len(set(persons)) == len(persons):
        return [group]
    parts: dict[frozenset[str], list[Wide]] = {}
    for table in group:
        parts.setdefault(frozenset(table.columns[name].key for name in table.values), []).append(table)
    return list(parts.values())
