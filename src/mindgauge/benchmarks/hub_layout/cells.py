"""What single rows of the layout say, in our terms: levels, statuses, repeats, and what an export of ours adds in `details`."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from mindgauge.records import RaterKind, Status
from mindgauge.records.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mindgauge.benchmarks.hub_layout.reading import LayoutRow
    from mindgauge.records import Value
    from mindgauge.records.rubric import Criterion

RAW_OUTPUT = "raw_output"
"""In a rating's provenance: what the rater wrote, where no call of this run has it."""
EVALUATION = "evaluation_id"
"""In a rating's provenance: the id that its table gave it; `MERGED_ID` is that of the mean of which it is the first part."""
MERGED_ID = "merged_evaluation_id"
_REPEATS = 10_000
"""Repeats of anything, at most: lists are made with a place for each."""


def status_of(row: LayoutRow, stated: object) -> Status:
    """Return a status by its name.

    Raises:
        DataError: there is none of this name.
    """
    try:
        return Status(str(stated))
    except ValueError as error:
        raise DataError(f"{row.file}: row {row.number}: {str(stated)[:40]!r} in details is no status") from error


def rater_kind(row: LayoutRow, column: str) -> RaterKind:
    """Return what kind of rater a column names.

    Raises:
        DataError: there is none of this name.
    """
    try:
        return RaterKind(row.text(column))
    except ValueError as error:
        raise DataError(
            f"{row.file}: row {row.number}: {column} is {', '.join(RaterKind)}, not {row.text(column)[:40]!r}"
        ) from error


def exact(row: LayoutRow) -> bool:
    """Whether a row is an export's of ours, which says all that is known of it."""
    return "details" in row.cells


def details(row: LayoutRow) -> dict[str, Any]:
    """Return what an export of ours says of a row beside the layout's columns."""
    facts = row.json("details") if exact(row) else None
    return dict(facts) if isinstance(facts, dict) else {}


def origin(row: LayoutRow) -> dict[str, Any]:
    """Return where a row says that it was read from, and which evaluation it says that it is."""
    place = {
        "source_file": row.text("source_file") or None, "source_row": row.whole("source_row"),
        EVALUATION: row.text(EVALUATION) or None,
    }  # fmt: skip
    return {name: value for name, value in place.items() if value is not None}


def annotator(row: LayoutRow) -> str:
    """Return who gave a person's score: the column says it, or the table is named after them."""
    return row.text("annotator") or row.table


def review_set(row: LayoutRow) -> tuple[str, str, str]:
    """Return the name of a row's review set as it stands there, what the sets of all judges are called, and whose it is."""
    stated = row.text("review_set") or row.table
    name, _, rater = stated.removeprefix("sampled_").partition("__")
    return stated, name or "review", rater


def raw_of(row: LayoutRow, output: str) -> dict[str, Any]:
    """Return what a rater wrote as a rating keeps it: a released value as it stood, or a judge's text."""
    if row.text("instrument"):
        return {RAW_OUTPUT: output}
    try:
        value = json.loads(output)
    except ValueError:
        return {RAW_OUTPUT: output}
    return {} if value == whole(row.cells.get("score")) and not isinstance(value, str) else {"raw": value}


def level(row: LayoutRow, criterion: Criterion) -> Value | None:
    """Return the level of a criterion that a row names; None where it names none."""
    if name := row.text("level"):
        return criterion.read(name)
    score = whole(row.cells.get("score"))
    if score is None:
        return None
    if all(isinstance(value, str) for value in criterion.values):
        return criterion.values[score - 1] if 1 <= score <= len(criterion.values) else None
    return score if score in criterion.values else None


def number(cell: object) -> float | None:
    """Return a number, however it is written; None where there is none."""
    try:
        value = float(str(cell)) if cell is not None else None
    except ValueError:
        return None
    return value if value is not None and value == value else None  # noqa: PLR0124 - NaN


def whole(cell: object) -> int | None:
    """Return a whole number, however it is written; None for anything else."""
    value = number(cell)
    return int(value) if value is not None and value.is_integer() else None


def repeats(
    rows: Sequence[LayoutRow], column: str, lot: Callable[[LayoutRow], object], subject: Callable[[LayoutRow], object],
    *, counted: bool = False,
) -> list[int]:  # fmt: skip
    """Return which repeat each row is, from 0.

    It is what the column says. Where there is no such column, each file that the rows of a lot were read from is one
    repeat, in the order of their names; and where they name none, or one file has a subject twice, rows of a subject count up.

    Args:
        rows: of all tables.
        column: that may say it.
        lot: what was repeated as a whole.
        subject: what stands once in each repeat.
        counted: whether rows count up where there is no such column, whatever files they name.
    """
    stated = [row.whole(column) for row in rows]
    for row, repeat in zip(rows, stated, strict=True):
        if repeat is not None and not 0 <= repeat <= _REPEATS:
            raise DataError(f"{row.file}: row {row.number}: {column} counts repeats, and is not {repeat}")
    if rows and None not in stated:
        first = 0 if any(exact(row) for row in rows) else min(n for n in stated if n is not None)
        return [n - first for n in stated if n is not None]
    files: dict[object, set[str]] = {}
    for row in rows:
        files.setdefault(lot(row), set()).add(row.text("source_file"))
    places = {key: {file: place for place, file in enumerate(sorted(names))} for key, names in files.items()}
    by_file = [places[lot(row)][row.text("source_file")] for row in rows]
    if not counted and len({(lot(row), subject(row), place) for row, place in zip(rows, by_file, strict=True)}) == len(
        rows
    ):
        return by_file
    counter: Counter[object] = Counter()
    ranks = []
    for row in rows:
        key = lot(row), subject(row)
        ranks.append(counter[key])
        counter[key] += 1
    return ranks
