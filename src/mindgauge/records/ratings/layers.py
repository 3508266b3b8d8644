"""Rows of a table that are none: titles and second headers above its ratings, means below them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl

from mindgauge.records.ratings.columns import DECIMAL_COMMA, NAMES, key
from mindgauge.records.rounding import plural

if TYPE_CHECKING:
    from mindgauge.records.ratings.tables import Sheet

_SUMMARY = re.compile(
    r"(?i)^(?:mean|average|avg|median|sd|s\.d\.|std|stdev|std\.? ?dev\w*|standard deviation|min|max|sum|total|count|n|kappa|alpha|icc|mittelwert|"
    r"durchschnitt|summe|gesamt|standardabweichung|平均|平均值|均值|平均分|标准差|合计|总计|总分)(?:[ _](?:score|rating|value)s?)?[:.]?$"
)
_MOST_TITLES = 10
"""Rows above the headers that are looked at."""
_UNNAMED = re.compile(r"^(?:#\d+|Unnamed: \d+(?:_level_\d+)?|column_\d+|__UNNAMED__\d+|column \d+)$")
_TUPLE = re.compile(r"^\((?:'[^']*'|\"[^\"]*\"), *(?:'[^']*'|\"[^\"]*\")\)$")
_LEAST = 3
"""Cells below a second header, to see that it is none of them."""


def without_summary(sheet: Sheet, left_out: list[str]) -> Sheet:
    """Leave out the rows at the end whose name is that of a statistic: `Mean`, `SD`."""
    frame = sheet.frame
    named = [
        name
        for number, name in enumerate(frame.columns)
        if not number or key(name) in {*NAMES["subject"], *NAMES["rater"]}
    ]
    marks = (
        frame.select(pl.any_horizontal(pl.col(named).str.contains(_SUMMARY.pattern)).fill_null(value=False))
        .to_series()
        .to_list()
    )
    count = 0
    while count < len(marks) and marks[-1 - count]:
        count += 1
    if not count:
        return sheet
    words = frame.row(frame.height - count)
    left_out.append(
        f"{sheet.name}: {plural(count, 'row')} at its end with what was computed ({next(w for w in words if w)}, …)"
    )
    return sheet._replace(frame=frame.head(frame.height - count))


def under_headers(sheet: Sheet, left_out: list[str]) -> Sheet:
    """Take for headers what stands below titles, join headers in two rows, and leave out a row of units or question texts."""
    frame = _flat(_below_titles(sheet.frame))
    if frame.height != sheet.frame.height:
        left_out.append(f"{sheet.name}: {plural(sheet.frame.height - frame.height, 'row')} above the headers")
    frame = _joined(frame)
    height = frame.height
    frame = _described(frame)
    if frame.height != height:
        left_out.append(f"{sheet.name}: {plural(height - frame.height, 'row')} below the headers that say more of them")
    return sheet._replace(frame=frame, above=sheet.frame.height - frame.height)


def _flat(frame: pl.DataFrame) -> pl.DataFrame:
    """Write headers that pandas made of two levels, `('empathy', 'expert1')`, in one."""
    names = {
        name: "_".join(filter(None, re.findall(r"['\"]([^'\"]*)['\"]", name)))
        for name in frame.columns
        if _TUPLE.match(name)
    }
    return (
        frame.rename(names) if names and len({*names.values(), *frame.columns}) == len(names) + frame.width else frame
    )


def _below_titles(frame: pl.DataFrame) -> pl.DataFrame:
    """Take for headers the first row that fills most columns, where most columns have no name."""
    unnamed = sum(bool(_UNNAMED.match(name)) for name in frame.columns)
    if frame.width < 3 or unnamed < frame.width - 1 or unnamed == frame.width:
        return frame
    for number, row in enumerate(frame.head(_MOST_TITLES).iter_rows()):
        names = [cell or f"#{place}" for place, cell in enumerate(row, 1)]
        filled = [cell for cell in row if cell]
        if len(filled) > 0.6 * frame.width and len(set(names)) == len(names) and not any(map(_number, filled)):
            below = frame.slice(number + 1)
            below.columns = names
            return _without_empty(below)
    return frame


def _without_empty(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(
        name for name in frame.columns if not _UNNAMED.match(name) or frame[name].null_count() < frame.height
    )


def _joined(frame: pl.DataFrame) -> pl.DataFrame:
    """Join headers in two rows: `Anna`, with nothing beside it, above `Empathy` and `Safety`."""
    if frame.height <= _LEAST:
        return frame
    names, row = frame.columns, frame.row(0)
    places = [n for n, name in enumerate(names) if _UNNAMED.match(name) or re.search(r"\.\d+$", name)]
    own = [n for n in places if n and row[n] and not _number(row[n])]
    if not own or any(_number(cell) for cell in row if cell):
        return frame
    above, joined = "", []
    for name, cell in zip(names, row, strict=True):
        above = above if _UNNAMED.match(name) else re.sub(r"\.\d+$", "", name)
        joined.append(f"{above}_{cell}" if cell and above and cell != above else cell or name)
    if len(set(joined)) < len(joined):
        return frame
    below = frame.slice(1)
    below.columns = joined
    return below


def _described(frame: pl.DataFrame) -> pl.DataFrame:
    """Leave out rows below the headers with units or question texts: every column of numbers has words there."""
    imports = (
        frame.head(3)
        .select(pl.any_horizontal(pl.all().str.starts_with('{"ImportId"')).fill_null(value=False))
        .to_series()
        .to_list()
    )
    if any(imports):  # Qualtrics: the question texts, and below them what it calls the columns
        return frame.slice(imports.index(True) + 1)
    if frame.height <= _LEAST:
        return frame
    number = pl.all().str.replace(DECIMAL_COMMA, "$1.$2").cast(pl.Float64, strict=False).is_finite()
    below = frame.slice(1)
    filled, numbers = below.select(pl.all().is_not_null().sum()).row(0), below.select(number.sum()).row(0)
    numeric = [
        n for n, (count, figures) in enumerate(zip(filled, numbers, strict=True)) if count > _LEAST and count == figures
    ]
    first = frame.row(0)
    words = [first[n] for n in numeric if first[n]]
    unlike = [
        cell for cell in words if not _number(cell) and len(cell) > 1 and cell.casefold() not in {"na", "n/a", "nan"}
    ]
    if words and len(unlike) == len(words) and len(words) == len(numeric):
        return below
    return frame


def _number(cell: str) -> bool:
    try:
        float(re.sub(DECIMAL_COMMA, r"\1.\2", cell))
    except ValueError:
        return False
    return True
