"""Tables of ratings in any shape, set out in long form: what is a row, who rates, and on what.

Known are: a rating a row; a row for each rater and subject, with a column for each criterion; a file, or a sheet, for
each rater; a column for each rater, or for each rater or system and criterion. What a table does not say is not guessed
from its values alone: a table that names nobody as its rater is left out where other tables do.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from typing import TYPE_CHECKING

import polars as pl

from mindgauge.records.english import named as joined
from mindgauge.records.ratings import columns as kinds
from mindgauge.records.ratings import grids, raters
from mindgauge.records.ratings.attributes import attributes
from mindgauge.records.ratings.layout import COLUMNS, FILE, REQUIRED, ROW
from mindgauge.records.ratings.one_table import ALIKE, Long, Wide, column_called, joined_ids, said_subject

if TYPE_CHECKING:
    from mindgauge.records.ratings.columns import InputColumn
    from mindgauge.records.ratings.layout import RatingLayout

RATING = "rating"
"""What a criterion is called that nothing names."""


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
    subject = subject_of(group, values, layout)
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
    used = {*values, *subject, *layout.drop}
    details = [attributes(table.sheet, table.columns, {*used, *table.roles.values()}) for table in group]
    return Long(pl.concat(frames, how="diagonal_relaxed"), shape, left_out, pl.concat(details, how="diagonal_relaxed"))


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


def _others(group: list[Wide], values: list[str], subject: list[str]) -> list[str]:
    """Say which columns are not read."""
    used = {*values, *subject, *(column for table in group for column in table.roles.values())}
    surplus: dict[str, None] = {}
    for table in group:
        read_columns = used | {cluster_of(table, subject)}
        surplus |= dict.fromkeys(
            name
            for name, column in table.columns.items()
            if name not in read_columns and column.filled and not column.counts
        )
    if not surplus:
        return []
    several = "s" if len(surplus) > 1 else ""
    return [f"{_name(group)}: column{several} {joined([repr(name) for name in surplus], limit=12)}"]


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
    ident = joined_ids(subject) if subject else pl.format("{}row {}", pl.lit(place), table.sheet.rows)
    if any(table.columns[name].is_text for name in subject):
        ident = ident.map_elements(_short, return_dtype=pl.String)
    cluster = table.roles.get("cluster") or cluster_of(table, subject)
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
    return table.sheet.placed(melted.drop("column"))


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


def cluster_of(table: Wide, subject: list[str]) -> str | None:
    """Return the column with the conversation of each subject: one that several of them share."""
    column = kinds.named(table.columns.values(), "cluster", {*subject, *table.values, *table.roles.values()})
    if column is None or not subject or not column.filled or column.is_text:
        return None
    frame = table.sheet.frame.select([*dict.fromkeys([*subject, column.name])]).drop_nulls()
    subjects = frame.select(subject).n_unique()
    return column.name if frame.n_unique() == subjects and 1 < column.distinct < subjects else None
