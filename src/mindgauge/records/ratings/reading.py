"""From files to one long table of ratings: which form each table has, and what is read of it."""

from __future__ import annotations

import itertools
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from mindgauge.records.english import named as joined
from mindgauge.records.errors import DataError, UnclearRatingsError, UsageError
from mindgauge.records.ratings import (
    account,
    attributes,
    columns,
    exports,
    layers,
    long,
    one_table,
    raters,
    shapes,
    tables,
    tasks,
)
from mindgauge.records.ratings.layout import NOTHING_SAID, REQUIRED, ROW
from mindgauge.records.ratings.one_table import ALIKE, Wide

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from mindgauge.records.files.folder import File
    from mindgauge.records.files.texts import Frame
    from mindgauge.records.ratings.account import Account
    from mindgauge.records.ratings.columns import InputColumn
    from mindgauge.records.ratings.layout import RatingLayout
    from mindgauge.records.ratings.one_table import Long
    from mindgauge.records.ratings.tables import Sheet


class LongRatings(NamedTuple):
    """Ratings in long form (`long.COLUMNS`), and what was read to get them."""

    frame: pl.DataFrame
    account: Account


def read(
    sources: Sequence[str | Path | File | Frame],
    layout: RatingLayout = NOTHING_SAID,
    notes: list[str] | None = None,
    details: list[pl.DataFrame] | None = None,
) -> LongRatings:
    """Read ratings from files, folders, zips, workbooks and tables in memory, whatever shape they have.

    Args:
        sources: what somebody brings.
        layout: what the user says of its shape.
        notes: where to write what is odd in a file; if not given, such a file is refused.
        details: where to write what else the tables say of each subject (`attributes.of_subjects`), if that is wanted.

    Raises:
        UsageError: a criterion, or a thing to leave out, is not there.
        UnclearRatingsError: what is there cannot be told apart.
        DataError: a file cannot be read, or nothing in it is a rating.
    """
    left_out: list[str] = []
    sheets = tables.opened(sources, layout, left_out, notes)
    parts, wides, rows = [], [], 0
    for sheet in sheets:
        part = _of_log(sheet, layout) if sheet.shape else _by_itself(sheet, layout, left_out)
        if isinstance(part, one_table.Wide):
            wides.append(part)
        elif part is not None:
            parts.append(part)
            rows += sheet.frame.height
    one_table.refuse_unsaid(layout, [] if parts else wides)
    _refuse_subject(sheets, layout)
    kinds = grouped([table for table in wides if table.values])
    left_out += [f"{table.sheet.name}: no column holds ratings" for table in wides if not table.values]
    lone = not parts and sum(len(group) for group in kinds) == 1
    for number, group in enumerate(kinds, 1):
        place = f"kind {number} " if len(kinds) > 1 else ""
        outcome = shapes.read(group, layout, place, lone=lone)
        if isinstance(outcome, str):
            left_out += [f"{table.sheet.name}: {outcome}" for table in group]
        else:
            parts.append(outcome)
            rows += sum(table.sheet.frame.height for table in group)
    if not parts:
        raise (UnclearRatingsError if kinds else DataError)(_nothing(sources, left_out))
    try:
        checked = _checked(parts, sheets, rows, layout, left_out)
    except DataError as error:
        raise UnclearRatingsError(str(error)) from error
    if details is not None:
        details.append(attributes.of_subjects((part.attributes for part in parts), checked.frame))
    return checked


def _columns(sheets: Sequence[Sheet]) -> set[str]:
    return {
        columns.key(name)
        for sheet in sheets
        for name in one_table.expanded(layers.under_headers(sheet, [])).frame.columns
    }


def _refuse_subject(sheets: Sequence[Sheet], layout: RatingLayout) -> None:
    """Refuse a subject that is a column of no table.

    Raises:
        UsageError: there is such a one.
    """
    absent = [name for name in layout.subject if name != ROW]
    absent = [name for name in absent if columns.key(name) not in _columns(sheets)]
    if absent:
        raise UsageError(f"--subject {absent[0]}: no column is called so")


def _refuse_drop(sheets: Sequence[Sheet], frame: pl.DataFrame, layout: RatingLayout, left_out: Sequence[str]) -> None:
    """Refuse to leave out what is not there: a name with a slip of the pen would stay in.

    Raises:
        UsageError: there is such a one.
    """
    if not layout.drop or any(sheet.part for sheet in sheets):  # sheets that are left out are not known by now
        return
    files = {line.removesuffix(": dropped") for line in left_out if line.endswith(": dropped")}
    known = {PurePosixPath(file).name for file in files} | {PurePosixPath(file).stem for file in files}
    known |= {*frame["rater"].drop_nulls().unique(), *frame["criterion"].drop_nulls().unique()}
    absent = [name for name in layout.drop if name not in known and columns.key(name) not in _columns(sheets)]
    if absent:
        raise UsageError(f"--drop {absent[0]}: no column, criterion, rater or file is called so")


def _nothing(sources: Sequence[object], left_out: Sequence[str]) -> str:
    """Say why there are no ratings."""
    if len(left_out) == 1:
        return left_out[0]
    names = str(sources[0]) if len(sources) == 1 else f"{len(sources)} sources"
    return f"{names}: no ratings in it ({'; '.join(left_out[:3]) or 'no table has rows'})"


def _incomplete(columns: Mapping[str, InputColumn], roles: Mapping[str, str]) -> str:
    """Say of a table that is meant as one with a rating a row which column is missing; nothing of any other."""
    keys = [column.key for column in columns.values()]
    missing = [name for name in REQUIRED if name not in keys and name not in roles]
    if not 0 < len(missing) < len(REQUIRED) - 2:
        return ""
    return (
        f"no column {', '.join(missing)}; of ratings, one a row, needed are {', '.join(REQUIRED)}, found {', '.join(columns)}; "
        f"name it with --map {missing[0]}=COLUMN"
    )


def _of_log(sheet: Sheet, layout: RatingLayout) -> Long:
    """Return ratings that were read as such already."""
    frame = sheet.placed(sheet.frame)
    if layout.criteria:
        frame = frame.filter(pl.col("criterion").is_in(layout.criteria))
    return one_table.Long(frame, f"{sheet.name}: {sheet.shape}", [])


def _by_itself(sheet: Sheet, layout: RatingLayout, left_out: list[str]) -> Long | Wide | None:
    """Read a table that says itself what it holds; return any other as one whose columns are criteria or raters."""
    if not sheet.frame.height:
        left_out.append(f"{sheet.name}: no ratings in it (0 rows)")
        return None
    if set(long.COLUMNS) <= {
        *sheet.frame.columns
    }:  # what `reliability --show-reading` wrote, where a formula's mark stands behind an apostrophe
        sheet = sheet._replace(frame=sheet.frame.with_columns(pl.all().str.replace(r"^'([=+\-@])", "$1")))
    exported = (
        tasks.read(sheet) or exports.read(one_table.expanded(sheet)) or read_form(layers.under_headers(sheet, []))
    )
    if exported is not None:
        shape, frame, lines = exported
        left_out += lines
        return one_table.Long(sheet.placed(frame), shape, [])
    sheet = layers.without_summary(one_table.expanded(layers.under_headers(sheet, left_out)), left_out)
    if not sheet.frame.height:
        left_out.append(f"{sheet.name}: it holds what was computed from ratings")
        return None
    described = columns.describe(sheet)
    roles = one_table.roles(sheet, described, layout)
    rated = one_table.long(sheet, described, roles, layout)
    if rated is not None:
        return rated._replace(frame=sheet.placed(rated.frame))
    problem = "" if layout.criteria else _incomplete(described, roles)
    if problem and sheet.alone:
        raise DataError(f"{sheet.name}: {problem}")
    if problem:
        left_out.append(f"{sheet.name}: {problem}")
        return None
    return one_table.wide(sheet, described, roles, layout)


def _checked(
    parts: Sequence[Long], sheets: Sequence[Sheet], rows: int, layout: RatingLayout, left_out: list[str]
) -> LongRatings:
    """Put ratings one under the other, check them, and say what was read."""
    notes: list[str] = []
    left_out += [line for part in parts for line in part.left_out]
    frame = pl.concat([long.shaped(part.frame) for part in parts])
    guessed = any(part.shape for part in parts)
    names = {name: raters.kind(name) for name in frame["rater"].drop_nulls().unique()} if guessed else {}
    _refuse_drop(sheets, frame, layout, left_out)
    frame = long.dropped(frame, layout, left_out)
    if frame.is_empty():
        raise DataError("nothing is left of the ratings; look at --drop and --criteria")
    long.refuse_incomplete(frame)
    frame = long.without_subject(frame, notes)
    frame = frame.with_columns(
        rater_kind=pl.coalesce(
            "rater_kind", pl.col("rater").replace_strict(names, default=None, return_dtype=pl.String)
        )
    )
    frame = long.one_spelling(frame, notes)
    frame = long.valued(frame, layout, notes)
    if guessed:
        frame, idle = long.not_rated(frame)
        if idle:
            left_out.append(f"{idle:,} empty cells of subjects that somebody did not rate at all")
        if frame.is_empty():
            raise DataError("no ratings: all cells that may hold values are empty")
        long.near_ids(frame)
    frame = long.whole_subjects(frame, notes)
    frame = long.without_copies(frame, left_out)
    status = frame["status"]
    counts = {name: dict(frame[name].value_counts(sort=True).iter_rows()) for name in ("rater", "criterion")}
    reading = account.Account(
        rows, len(frame), frame["subject"].n_unique(), _sorted(counts["rater"]), _sorted(counts["criterion"]),
        int((frame["value"].is_null() & (status != "not_applicable")).sum()), int((status == "not_applicable").sum()),
        [part.shape for part in parts if part.shape], left_out, notes, not guessed,
    )  # fmt: skip
    return LongRatings(frame, reading)


def _sorted(counts: dict[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items()))


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


_PART = re.compile(r"^(?=(?s:.*)\]$)(.*?\S)\s*+\[((?s:.+))\]$")
_ITEM = re.compile(
    r"(?i)^(?:reply|response|answer|case|item|text|conversation|dialogue?|vignette|message|sample|fall|回复|样本|案例|r|q|a)?[ _.\-#]*\d+$"
)
_WHO = ("response_id", "token", "id", "timestamp", "submitdate", "start_date")
_LEAST = 3


def read_form(sheet: Sheet) -> tuple[str, pl.DataFrame, list[str]] | None:
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
