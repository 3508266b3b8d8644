"""Which files a format has, and which format a file is."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from mindgauge.annotation.exchange import label_studio, table
from mindgauge.annotation.exchange import potato as from_potato
from mindgauge.annotation.exchange import potato as to_potato
from mindgauge.records import ratings
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import tables as reader
from mindgauge.records.files.texts import read_json, unwrapped
from mindgauge.records.ratings import NOTHING_SAID
from mindgauge.records.ratings.layout import OPTIONAL, REQUIRED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mindgauge.annotation.exchange.content import Content
    from mindgauge.annotation.exchange.known import ImportedLabel, Known
    from mindgauge.records.files.folder import Readable
    from mindgauge.records.ratings import RatingLayout

RATINGS = "ratings"
"""How the form is called that is none of these: ratings as people have them."""
CSV, PARQUET, LABEL_STUDIO, POTATO = FORMATS = ("csv", "parquet", "label-studio", "potato")


def files(content: Content, form: str) -> dict[str, str | pl.DataFrame]:
    """Return the files of an export, name → text or table; history and gold stand beside each format's own."""
    ending = "parquet" if form == PARQUET else "csv"
    tables = {"history": table.history(content), "gold": table.gold(content)}
    contents: dict[str, str | pl.DataFrame] = {}
    if form == LABEL_STUDIO:
        contents["tasks.json"] = json.dumps(label_studio.tasks(content), ensure_ascii=False, indent=2) + "\n"
        contents["config.xml"] = label_studio.configuration(content)
    elif form == POTATO:
        contents[to_potato.ANNOTATIONS] = _lines(to_potato.as_records(content))
        contents[to_potato.DATA] = _lines(to_potato.items(content))
        contents[to_potato.CONFIGURATION] = to_potato.configuration(content)
    else:
        tables = {"ratings": table.ratings(content), **tables}
    return contents | {f"{name}.{ending}": rows for name, rows in tables.items()}


def _folder(path: Readable) -> str:
    return path.resolve().parent.name if isinstance(path, Path) else path.place.parent.name


def _lines(rows: Iterable[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def read(
    path: Path, project: Known, form: str = "", layout: RatingLayout = NOTHING_SAID
) -> tuple[str, list[ImportedLabel], list[str]]:
    """Read a file, by its ending and content or as the format that is named.

    Returns:
        The format, the labels, and how they were read where the ratings stand in another form than one a row.

    Raises:
        UsageError: the format is unknown.
        DataError: the file is of none, is broken, or names what the project does not know.
    """
    if form and form not in FORMATS:
        raise UsageError(f"unknown format {form!r}; known are {', '.join(FORMATS)}")
    if not form and (layout != NOTHING_SAID or _several(path)):
        return _any_shape(path, project, layout)
    file = reader.find(path)
    value = read_json(file, project.how.layout.encoding) if file.suffix.lower() == ".json" else None
    value = value if _is_state(value) else unwrapped(value, path)
    if value is None or (isinstance(value, list) and value and table.is_one(value[0], project)):
        outcome = _table(file, project, form)
        if outcome is None:
            return _any_shape(path, project, layout)
        recognised, entries = outcome
    else:
        recognised, entries = _json(value, path, project, form)
    if not entries:
        raise DataError(f"{path}: no labels of people in it")
    return recognised, entries, []


def _several(path: Path) -> bool:
    """Whether a path is a folder or zip with several tables."""
    if not path.is_dir() and path.suffix.lower() != ".zip":
        return False
    return sum(file.suffix.lower() in reader.ENDINGS for file in reader.lying_in(path)[0]) > 1


def _any_shape(path: Path, project: Known, layout: RatingLayout) -> tuple[str, list[ImportedLabel], list[str]]:
    """Read ratings in any shape; what nobody answered is no label."""
    columns = {name: column for name, column in project.how.columns.items() if name in {*REQUIRED, *OPTIONAL}}
    layout = dataclasses.replace(layout, columns=columns, file=project.how.layout)
    frame, account = ratings.read([path], layout)
    answered = frame.filter(pl.col("value").is_not_null() | (pl.col("status") == "not_applicable"))
    entries = table.read([(row["line"], row) for row in answered.iter_rows(named=True)], path, project)
    if not entries:
        raise DataError(f"{path}: no labels of people in it")
    return RATINGS, entries, account.lines()


def _is_state(content: Any) -> bool:
    return isinstance(content, dict) and from_potato.STATE in content


def _json(content: Any, path: Path, project: Known, form: str) -> tuple[str, list[ImportedLabel]]:
    state = _is_state(content)
    if form in {CSV, PARQUET} or (form == POTATO and not state) or (form == LABEL_STUDIO and state):
        raise DataError(f"{path}: not a file of {form}")
    if state:
        return POTATO, from_potato.state(content, project, path.name, path.parent.name)
    return LABEL_STUDIO, label_studio.read(content, project, path.name)


def _table(path: Readable, project: Known, form: str) -> tuple[str, list[ImportedLabel]] | None:
    """Read a table of Potato's, or of ratings, one a row; None where it is neither."""
    rows = list(reader.open_table(path, project.how.layout).rows(project.columns))
    if not rows:
        raise DataError(f"{path}: no ratings in it (0 rows)")
    lines = path.suffix.lower() in {".jsonl", ".ndjson"}
    potato = from_potato.is_record(rows[0][1]) if lines else from_potato.is_header(rows[0][1])
    if form == LABEL_STUDIO or (form == POTATO and not potato):
        raise DataError(f"{path}: not a file of {form}")
    if potato and form in {"", POTATO}:
        if lines:
            return POTATO, from_potato.records(rows, project, path.name, _folder(path))
        return POTATO, from_potato.table(rows, project, path.name)
    if not form and not table.is_meant(rows):
        return None
    return PARQUET if path.suffix.lower() == ".parquet" else CSV, table.read(rows, path, project)
