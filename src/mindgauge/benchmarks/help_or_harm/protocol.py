"""The authors' own anchors of the five levels, `protocol.csv`, from a folder of the user's; ours stand in `response/rubric.toml`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mindgauge.benchmarks.help_or_harm import released
from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds, csv_rows

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.records.rubric import Rubric

FILE = "protocol.csv"
_LABEL = "label"


def read(path: Path, rubric: Rubric) -> Rubric:
    """Return a rubric whose levels are worded as in the authors' file: a row for each category, a column for each level.

    What is ours of the words is left out: the question, what to look at, and the checks.

    Raises:
        DataError: a row or a column is missing, or is none of the authors'.
    """
    (criterion,) = rubric.criteria
    content = bounds.content(path, bounds.SETTINGS)
    header, *rows = (cells for _, cells in csv_rows.rows(content.removeprefix(b"\xef\xbb\xbf"), ","))
    if header[:1] != [_LABEL] or len(header) != 1 + len(criterion.levels):
        raise DataError(
            f"{path}: the columns are {_LABEL} and one for each of the {len(criterion.levels)} levels, from the worst"
        )
    protocols = {}
    for name, *texts in rows:
        category = released.category(name)
        if category is None or len(texts) != len(criterion.levels) or not all(texts):
            raise DataError(f"{path}: {name!r} is no category with a text for each level")
        protocols[category] = tuple({"en": text} for text in texts)
    missing = next((category for category in criterion.protocols if category not in protocols), None)
    if missing is not None:
        raise DataError(f"{path}: no row for {missing}")
    levels = tuple(msgspec.structs.replace(level, needs=(), unless=()) for level in criterion.levels)
    worded = msgspec.structs.replace(criterion, protocols=protocols, levels=levels, text={}, look={}, checks=())
    return msgspec.structs.replace(rubric, criteria=(worded,))
