"""Tables of ratings in any shape, set out in long form: what is a row, who rates, and on what.

Known are: a rating a row; a row for each rater and subject, with a column for each criterion; a file, or a sheet, for
each rater; a column for each rater, or for each rater or system and criterion. What a table does not say is not guessed
from its values alone: a table that names nobody as its rater is left out where other tables do.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from mindgauge.records.english import named as joined
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import mapping
from mindgauge.records.ratings import columns as kinds
from mindgauge.records.ratings import grids, raters
from mindgauge.records.ratings.layout import COLUMNS, FILE, REQUIRED, ROW

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.records.ratings.columns import InputColumn
    from mindgauge.records.ratings.layout import RatingLayout
    from mindgauge.records.ratings.tables import Sheet

RATING = "rating"
"""What a criterion is called that nothing names."""
_ALIKE = 0.5
"""Tables of one kind share more than this of the columns that hold values."""
_MOST = 3
"""Columns that together say what a row rates."""
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


# -- what the columns of a table are ---------------------------------------------------------------------------------------


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
        column = _column(layout.rater, columns)
        if column is None and sheet.alone:
            raise DataError(
                f"{sheet.name}: no column {layout.rater!r} for --rater; the columns are {mapping.described(headers)}"
            )
        if column is not None:
            assigned["rater"] = column
    taken = {
        *assigned.values(),
        *filter(None, (_column(name, columns) for name in (*layout.subject, *layout.criteria, *layout.drop))),
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


def _column(name: str, columns: dict[str, InputColumn]) -> str | None:
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
        if not objects or objects < _ALIKE * (len(cells) - cells.null_count()):
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


# -- one rating a row ------------------------------------------------------------------------------------------------------


def long(sheet: Sheet, columns: dict[str, InputColumn], assigned: dict[str, str], layout: RatingLayout) -> Long | None:
    """Read a table with a rating a row; None where it is none."""
    by_key = {column.key: column.name for column in columns.values()}
    roles_read = {**assigned, **{name: by_key[name] for name in REQUIRED if name in by_key and name not in assigned}}
    exact = all(name in roles_read for name in REQUIRED)
    if not exact:
        if any(_column(name, columns) for name in layout.criteria):
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
        subject = _said_subject(columns, layout) or _rated(sheet, columns, roles_read)
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
        _joined(subject).alias("subject"),
        rater.alias("rater"),
        *(pl.col(column).alias(name) for name, column in roles_read.items() if name not in {"subject", "rater"}),
    )
    if layout.criteria:
        frame = frame.filter(pl.col("criterion").is_in(layout.criteria))
    used = ", ".join(f"{name} in {column!r}" for name, column in roles_read.items() if name != column)
    return Long(frame, "" if exact and not used else f"{sheet.name}: a rating a row ({used})", [])


def _rated(sheet: Sheet, columns: dict[str, InputColumn], assigned: dict[str, str]) -> list[str]:
    """Find the column that is named like what a row rates: one whose ids several rows share on one criterion, if there is one."""
    ranked: list[str] = []
    while column := kinds.named(columns.values(), "subject", {*assigned.values(), *ranked}):
        ranked.append(column.name)
    criterion = assigned["criterion"]
    shared = [name for name in ranked if sheet.frame.select(criterion, name).drop_nulls().is_duplicated().any()]
    return (shared or ranked)[:1]


# -- criteria or raters as columns -----------------------------------------------------------------------------------------


def wide(sheet: Sheet, columns: dict[str, InputColumn], assigned: dict[str, str], layout: RatingLayout) -> Wide:
    """Find the columns of a table that hold values."""
    said = [name for name in (_column(criterion, columns) for criterion in layout.criteria) if name]
    drop = {name for name in (_column(text, columns) for text in layout.drop) if name}
    subject = _said_subject(columns, layout) or ([assigned["subject"]] if "subject" in assigned else [])
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
            if alike and len(keys & shared) > _ALIKE * min(len(keys), len(shared)):
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


def read(group: list[Wide], layout: RatingLayout, place: str, *, lone: bool) -> Long | str:
    """Set out tables of one kind in long form.

    Args:
        group: tables whose columns are alike.
        layout: what the user says of them.
        place: what stands before a row's number where that is the subject, and there are several kinds of tables.
        lone: whether there is nothing else, so that a single table that names no rater is one rater's.

    Returns:
        Their ratings; or why they are left out.

    Raises:
        DataError: nothing tells the subjects apart.
    """
    name = _name(group)
    by_column = all("rater" in table.roles for table in group)
    values = _values(group, layout, by_column=by_column)
    if not values:
        return "no column holds ratings"
    grid, as_systems = _grid(values, group, layout, by_column=by_column, lone=lone)
    by_file = not by_column and (grid is None or as_systems)
    if by_file and len(group) == 1 and not lone and layout.rater != FILE:
        return "nothing in it says who rated; if the file is one rater's, say --rater file"
    subject = _subject(group, values, layout)
    if isinstance(subject, str):
        return subject
    many = len(group) > 1
    stems = raters.of_files(_stems(group)) if by_file or many else [""]
    systems = by_column and many and _files_are_systems(group, stems)
    left_out = _others(group, values if grid is None else list(grid.cells), subject)
    apart = many and grid is not None and not grid.criteria and _rate_the_same(group, subject)
    parts = stems if apart else [""] * len(group)
    frames = [
        _melted(
            table,
            [v for v in values if v in table.columns],
            subject,
            grid,
            stem,
            place,
            as_systems=as_systems,
            unnamed=layout.criteria[0]
            if len(layout.criteria) == 1
            else part or (table.sheet.part if not many else "") or RATING,
        )
        for table, stem, part in zip(group, stems, parts, strict=True)
    ]
    if layout.criteria and grid is not None and grid.criteria:
        wanted = {kinds.key(name) for name in layout.criteria}
        frames = [
            frame.filter(pl.col("criterion").map_elements(kinds.key, pl.String).is_in(wanted)) for frame in frames
        ]
    if systems:
        frames = [frame.with_columns(system=pl.lit(stem)) for frame, stem in zip(frames, stems, strict=True)]
    shape = _shape(group, name, subject, grid, by_column=by_column, by_file=by_file, as_systems=as_systems)
    if systems:
        shape += "; each file is one system's"
    if by_file and not layout.rater and len(values) > 1:
        shape += _doubt(group, stems)
    return Long(pl.concat(frames, how="diagonal_relaxed"), shape, left_out)


def _doubt(group: list[Wide], stems: list[str]) -> str:
    """Say what to say where nothing is named like a rater, so that the columns may be raters as well."""
    if any(raters.names_rater(stem) or raters.kind(stem) for stem in stems):
        return ""
    if len(group) == 1:
        return " (nothing in it says who rated, so it is taken for one rater's; if each column is a rater, say --rater columns)"
    return f" (if each {_unit(group)} is a criterion and each column a rater, say --rater columns)"


def _unit(group: list[Wide]) -> str:
    many = len(group) > 1
    return "sheet" if many and len({table.sheet.place for table in group}) == 1 else "file"


def _files_are_systems(group: list[Wide], stems: list[str]) -> bool:
    """Whether each file is named by the model that it rates, since a column of it says who rated."""
    free = not any("system" in table.roles for table in group)
    return free and len(set(stems)) == len(stems) and all(map(raters.names_model, stems))


def _rate_the_same(group: list[Wide], subject: list[str]) -> bool:
    """Whether tables rate the same subjects, so that each has a criterion of its own; batches have other subjects."""
    if not subject:
        return True
    idents = [set(table.sheet.frame.select(subject).drop_nulls().iter_rows()) for table in group]
    return len(set().union(*idents)) < sum(map(len, idents))


def _stems(group: list[Wide]) -> list[str]:
    """Return what the names of some tables' sheets, files or folders say of who rated: the first of these that differ."""
    sheets = [table.sheet.stem for table in group]
    files = [table.sheet.place.stem for table in group]
    folders = [table.sheet.place.parent.name for table in group]
    return next(
        (names for names in (sheets, files, folders) if len(set(names)) == len(names)),
        sheets if len(set(sheets)) > 1 else folders,
    )


def _name(group: list[Wide]) -> str:
    first = group[0].sheet
    if len(group) == 1:
        return first.name
    places = {table.sheet.place for table in group}
    if len(places) == 1:
        return f"{first.place} ({len(group)} sheets)"
    tables = f"{len(group)} {'files' if len(places) == len(group) else 'files and sheets'}"
    return f"{first.folder}/ ({tables})" if first.folder != "." else tables


def _values(group: list[Wide], layout: RatingLayout, *, by_column: bool) -> list[str]:
    """Return the columns that hold values: of several raters' files those that at least two of them have."""
    counts: dict[str, int] = {}
    for table in group:
        for name in table.values:
            counts[name] = counts.get(name, 0) + 1
    least = 1 if by_column or len(group) == 1 or layout.criteria else 2
    return [name for name, count in counts.items() if count >= least]


def _grid(
    values: list[str], group: list[Wide], layout: RatingLayout, *, by_column: bool, lone: bool
) -> tuple[grids.Grid | None, bool]:
    """See whether the columns are raters, or systems; with the answer whether they are systems."""
    if layout.rater == COLUMNS:
        return grids.of(values) or grids.split(values, layout.criteria) or grids.whole(values), False
    grid = grids.of(values)
    if grid is None:
        return None, False
    people = any(raters.names_person(name) or raters.kind(name) in {"person", "gold"} for name in grid.raters)
    if not by_column and all(map(raters.names_person, grid.raters)):
        as_systems = False
    elif by_column or _shared_words(grid.raters) or all(map(raters.names_system, grid.raters)):
        as_systems = True  # `human_response_gpt`, `human_response_claude`: one rater, several systems
    else:
        as_systems = not people and (len(group) > 1 or not lone or len(grid.criteria) > 1 or layout.rater == FILE)
    return grid, as_systems


def _shared_words(names: list[str]) -> str:
    """Return the words with which all names begin, where they say who rated: `human_response`."""
    words = [re.split(r"[\s_.\-]+", name.strip()) for name in names]
    shared = [parts[0] for parts in zip(*words, strict=False) if len({part.casefold() for part in parts}) == 1]
    begins = all(parts[: len(shared)] for parts in words) and min(map(len, words)) > len(shared)
    first = shared[0] if shared and begins else ""
    return first if first and raters.kind(first) in {"person", "model"} else ""


def _said_subject(columns: dict[str, InputColumn], layout: RatingLayout) -> list[str]:
    """Return the columns that the user calls the subject, as far as they are here."""
    return [name for name in (_column(text, columns) for text in layout.subject) if name]


def _subject(group: list[Wide], values: list[str], layout: RatingLayout) -> list[str] | str:
    """Find the columns that together say what a row rates; [] stands for the row itself.

    Returns:
        The columns; or why these tables hold no ratings.
    """
    first = group[0].columns
    if tuple(layout.subject) == (ROW,) and not any(_column(ROW, table.columns) for table in group):
        return []
    missing = [text for text in layout.subject if any(_column(text, table.columns) is None for table in group)]
    if missing:
        return f"no column {missing[0]!r} for --subject"
    if layout.subject:
        return _said_subject(first, layout)
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
    enough = texts and max(column.distinct for column in texts) > _ALIKE * group[0].sheet.frame.height
    return [column.name for column in texts] if enough else []


def _tells(table: Wide, subject: list[str]) -> bool:
    """Whether some columns tell the rows of a table apart, with its rater, system and run."""
    known = [table.roles[role] for role in ("rater", "system", "run") if role in table.roles]
    keys = table.sheet.frame.select([*dict.fromkeys([*subject, *known])]).drop_nulls(subject)
    return keys.height > 0 and keys.n_unique() == keys.height


def _others(group: list[Wide], values: list[str], subject: list[str]) -> list[str]:
    """Say which columns are not read."""
    used = {*values, *subject, *(column for table in group for column in table.roles.values())}
    surplus: dict[str, None] = {}
    for table in group:
        surplus |= dict.fromkeys(
            name for name, column in table.columns.items() if name not in used and column.filled and not column.counts and name != _cluster(table, subject)
        )  # fmt: skip
    if not surplus:
        return []
    several = "s" if len(surplus) > 1 else ""
    return [f"{_name(group)}: column{several} {joined([repr(name) for name in surplus], limit=12)}"]


def _cluster(table: Wide, subject: list[str]) -> str | None:
    """Return the column with the conversation of each subject: one that several of them share."""
    column = kinds.named(table.columns.values(), "cluster", {*subject, *table.values, *table.roles.values()})
    if column is None or not subject or not column.filled or column.is_text:
        return None
    frame = table.sheet.frame.select([*dict.fromkeys([*subject, column.name])]).drop_nulls()
    subjects = frame.select(subject).n_unique()
    return column.name if frame.n_unique() == subjects and 1 < column.distinct < subjects else None


def _joined(subject: list[str]) -> pl.Expr:
    """Return what a row rates: ids joined, long texts by what they are hashed to."""
    if len(subject) == 1:
        return pl.col(subject[0])
    return pl.concat_str(subject, separator=" / ", ignore_nulls=False)


def _short(text: str) -> str:
    return f"text {hashlib.blake2b(text.encode(), digest_size=6).hexdigest()}"


def _melted(
    table: Wide,
    values: list[str],
    subject: list[str],
    grid: grids.Grid | None,
    rater: str,
    place: str,
    *,
    as_systems: bool,
    unnamed: str,
) -> pl.DataFrame:
    """Set out one table in long form."""
    frame = table.sheet.frame
    ident = _joined(subject) if subject else pl.format("{}row {}", pl.lit(place), table.sheet.rows)
    if any(table.columns[name].is_text for name in subject):
        ident = ident.map_elements(_short, return_dtype=pl.String)
    cluster = table.roles.get("cluster") or _cluster(table, subject)
    named_columns = {role: name for role, name in table.roles.items() if role not in {*REQUIRED, "cluster"}}
    frame = frame.select(
        table.sheet.rows,
        ident.alias("subject"),
        *([pl.col(table.roles["rater"]).alias("rater")] if "rater" in table.roles else []),
        *([pl.col(cluster).alias("cluster")] if cluster else []),
        *(pl.col(name).alias(role) for role, name in named_columns.items()),
        *(pl.col(name).alias(f"\0{name}") for name in values),
    )
    index = [name for name in frame.columns if not name.startswith("\0")]
    melted = frame.unpivot(on=[f"\0{name}" for name in values], index=index, variable_name="column", value_name="value")
    melted = melted.with_columns(pl.col("column").str.strip_prefix("\0"))
    criteria = {name: name.strip() for name in values}
    if grid is not None:
        criteria = {name: criterion or unnamed for name, (_, criterion) in grid.cells.items()}
        melted = melted.filter(pl.col("column").is_in(list(grid.cells)))
        who = {name: part for name, (part, _) in grid.cells.items()}
        if as_systems:
            first = _shared_words(grid.raters)
            if first:
                who = _systems(who)
                rater = first if raters.kind(first) == "person" else rater
            melted = melted.with_columns(system=pl.col("column").replace_strict(who, default=None))
        else:
            melted = melted.with_columns(rater=pl.col("column").replace_strict(who, default=None))
    if "rater" not in melted.columns:
        melted = melted.with_columns(rater=pl.lit(rater))
    melted = melted.with_columns(criterion=pl.col("column").replace_strict(criteria, default=pl.col("column")))
    return melted.drop("column").with_columns(file=pl.lit(table.sheet.name))


def _systems(who: dict[str, str]) -> dict[str, str]:
    """Take off the words with which all names begin."""
    names = list(who.values())
    length = len(re.split(r"[\s_.\-]+", names[0].strip()))
    start = 0
    for depth in range(1, length):
        heads = {"_".join(re.split(r"[\s_.\-]+", name.strip())[:depth]).casefold() for name in names}
        if len(heads) > 1:
            break
        start = depth
    return {column: "_".join(re.split(r"[\s_.\-]+", name.strip())[start:]) or name for column, name in who.items()}


def _shape(
    group: list[Wide],
    name: str,
    subject: list[str],
    grid: grids.Grid | None,
    *,
    by_column: bool,
    by_file: bool,
    as_systems: bool,
) -> str:
    """Say how tables are read."""
    many = len(group) > 1
    unit = _unit(group)
    ident = joined([repr(column) for column in subject]) if subject else "the place of the row"
    if by_column:
        form = f"a row for each rater (column {group[0].roles['rater']!r}) and subject"
    elif by_file:
        form = f"one {unit} for each rater" if many else f"one rater's {unit}"
    else:
        form = "a column for each rater"
    if grid is not None and as_systems:
        form += ", a column for each system" + (" and criterion" if grid.criteria else "")
    elif grid is not None and grid.criteria:
        form += " and criterion"
    elif grid is None:
        form += ", a column for each criterion"
    return f"{name}: {form}; the subject is {ident}"


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
