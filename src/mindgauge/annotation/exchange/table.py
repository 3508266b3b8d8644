"""Plain tables of ratings, CSV or Parquet, one label a row; also JSONL and TSV to read.

Three are written. `ratings` has people's independent labels and is what `mindgauge reliability` reads; `history` every
label of everybody, in order; `gold` the gold view. They carry all there is of a label. In CSV, what a spreadsheet could
take for a formula gets an apostrophe in front (`texts.neutralised`), which is taken away again when it is read; Parquet
holds everything as it is. Of a table with a column `phase`, such as `history`, the last label of the labelling phase is
read, for only that was given alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from mindgauge.annotation.exchange.known import COLUMNS, HANDED_ON, plain, same_draw, written
from mindgauge.annotation.ratings import PEOPLE
from mindgauge.annotation.records import Answered, Phase
from mindgauge.records import Evidence, RaterKind, Status, encode
from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds
from mindgauge.records.files.texts import restored

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mindgauge.annotation.exchange.content import Content
    from mindgauge.annotation.exchange.known import ImportedLabel, Known
    from mindgauge.annotation.records import Item, Label
    from mindgauge.records.files.folder import Readable

_TEXT, _WHOLE, _NUMBER = pl.String, pl.Int64, pl.Float64
_DRAWN: dict[str, type[pl.DataType]] = {
    "probability": _NUMBER, "stratum": _TEXT, "stratum_size": _WHOLE, "frame": _WHOLE, "conversations": _NUMBER,
    "draw": _TEXT,
}  # fmt: skip
"""`records.drawn.COLUMNS`, with their types; empty where nothing was drawn."""
_SCHEMA: dict[str, type[pl.DataType]] = {
    "subject": _TEXT, "criterion": _TEXT, "rater": _TEXT, "rater_kind": _TEXT, "run": _WHOLE, "status": _TEXT,
    "value": _TEXT, "answered": _TEXT, "batch": _WHOLE, "phase": _TEXT, "at": _TEXT, "seconds": _NUMBER,
    "instrument": _TEXT, "note": _TEXT, "evidence": _TEXT, "path": _TEXT, "source": _TEXT, "superseded": _TEXT,
    "cluster": _TEXT, "system": _TEXT, "item": _TEXT, **_DRAWN,
}  # fmt: skip
_GOLD: dict[str, type[pl.DataType]] = {
    "subject": _TEXT, "criterion": _TEXT, "rater": _TEXT, "rater_kind": _TEXT, "run": _WHOLE, "status": _TEXT,
    "value": _TEXT, "answered": _TEXT, "batch": _WHOLE, "policy": _TEXT, "votes": _TEXT, "people": _WHOLE, "tie": _TEXT,
    "by": _TEXT, "cluster": _TEXT, "system": _TEXT, "item": _TEXT, **_DRAWN,
}  # fmt: skip
_STATUS = {
    Answered.OK.value: Status.OK.value,
    Answered.CANNOT_TELL.value: Status.UNPARSABLE.value,
    Answered.NOT_APPLICABLE.value: Status.NOT_APPLICABLE.value,
    HANDED_ON: Status.REFUSED.value,
}
"""What became of a question → the status of a rating that it is."""
_ANSWERED = {status: answered for answered, status in _STATUS.items()}
_PERSON = ("", RaterKind.PERSON.value, "human", "people", "expert", "clinician", "annotator")


def ratings(content: Content) -> pl.DataFrame:
    """Return people's independent labels, one row for each subject, criterion and rater."""
    rows: list[tuple[Any, ...]] = []
    for item, person, labels, criteria in content.labelled:
        rows += [_row(label, item, person.name, content) for label in labels]
        if not labels:
            about = (item.cluster or None, content.systems.get(item.id), item.id, *_drawn(item))
            rows += [
                (
                    item.subject, criterion, person.name, RaterKind.PERSON.value, 0, _STATUS[HANDED_ON], None, HANDED_ON,
                    item.batch, Phase.LABELLING.value, *[None] * 7, "no", *about,
                )
                for criterion in criteria
            ]  # fmt: skip
    return _frame(rows, _SCHEMA, (label.value for entry in content.labelled for label in entry.labels))


def history(content: Content) -> pl.DataFrame:
    """Return every label of everybody, oldest first; `superseded` says of which a later one has taken the place."""
    items = {item.id: item for item in content.all_items}
    rows = [_row(label, items[label.item], content.people[label.person].name, content) for label in content.history]
    return _frame(rows, _SCHEMA, (label.value for label in content.history))


def gold(content: Content) -> pl.DataFrame:
    """Return the gold view with how each value was read off; a tie has none, and its votes say so."""
    items = {item.id: item for item in content.items}
    rows = [
        (
            items[value.item].subject, value.criterion, PEOPLE, RaterKind.GOLD.value, 0, value.status.value,
            None if value.value is None else str(value.value), str(value.answered or ""), items[value.item].batch,
            str(value.policy), encode(value.votes).decode(), value.people, "yes" if value.policy == "tie" else "no",
            content.people[value.by].name if value.by else None, items[value.item].cluster or None,
            content.systems.get(value.item), value.item, *_drawn(items[value.item]),
        )
        for value in content.gold
    ]  # fmt: skip
    return _frame(rows, _GOLD, (value.value for value in content.gold))


def _row(label: Label, item: Item, rater: str, content: Content) -> tuple[Any, ...]:
    return (
        item.subject, label.criterion, rater, RaterKind.PERSON.value, 0, _STATUS.get(label.answered.value),
        None if label.value is None else str(label.value), label.answered.value, item.batch, label.phase.value,
        written(label.at), label.seconds, label.instrument, label.note or None,
        encode(label.evidence).decode() if label.evidence else None,
        encode(label.path).decode() if label.path else None, label.source,
        "no" if label.number in content.binding else "yes", item.cluster or None, content.systems.get(label.item),
        label.item, *_drawn(item),
    )  # fmt: skip


def _drawn(item: Item) -> tuple[Any, ...]:
    return item.drawn.cells if item.drawn is not None else (None,) * len(_DRAWN)


def _frame(
    rows: list[tuple[Any, ...]], columns: dict[str, type[pl.DataType]], values: Iterable[object]
) -> pl.DataFrame:
    """Return rows as a table; the values as numbers where all are, as text where some are words."""
    frame = pl.DataFrame(rows, columns, orient="row")
    kinds = {type(value) for value in values if value is not None}
    if not kinds or str in kinds:
        return frame
    return frame.with_columns(pl.col("value").cast(pl.Float64 if float in kinds else pl.Int64))


def read(rows: Sequence[tuple[int, dict[str, Any]]], path: Readable, project: Known) -> list[ImportedLabel]:
    """Read a table of ratings: the rows of people, with the columns subject, criterion, rater and value.

    Args:
        rows: line and cells under our names, as `InputTable.rows` has them.
        path: of the file.
        project: the project.

    Raises:
        DataError: it lacks a column, or names what the project does not know.
    """
    if path.suffix.lower() in {".csv", ".tsv"}:
        rows = [(line, _restored(row)) for line, row in rows]
    _refuse_missing(path, [row for _, row in rows])
    alone: dict[tuple[str, str, str, int], ImportedLabel | None] = {}
    for line, row in rows:
        if plain(row.get("rater_kind")).casefold() not in _PERSON:
            continue
        phase = plain(row.get("phase"))
        if phase not in {"", Phase.LABELLING.value}:
            continue
        place = f"{row.get('file') or path.name}:{line}"
        answered = _answered(row, place)
        subject, criterion, rater = (plain(row.get(name)) for name in COLUMNS[:3])
        key = (subject, criterion, rater, 0 if phase else line)
        alone[key] = None if answered == Answered.WITHDRAWN else _entry(row, project, place, answered)
        same_draw(project.item(row.get("subject"), place), row, place)
    return [entry for entry in alone.values() if entry is not None]


def _entry(row: dict[str, Any], project: Known, place: str, answered: str) -> ImportedLabel:
    rater, subject, time = (row.get(name) for name in ("rater", "subject", "at"))
    if answered == HANDED_ON:
        return project.handed_on(place, rater=rater, subject=subject, time=time)
    return project.entry(
        place,
        rater=rater,
        subject=subject,
        criterion=row.get("criterion"),
        value=row.get("value") if answered == Answered.OK else answered,
        path=_json(row.get("path"), "path", place),
        note=row.get("note"),
        evidence=_evidence(row.get("evidence"), place),
        time=time,
        seconds=row.get("seconds"),
    )


def _answered(row: dict[str, Any], place: str) -> str:
    """Return what became of the question: as the file says, or as its value and status show.

    Raises:
        DataError: there is neither a value nor a reason for none.
    """
    word = plain(row.get("answered"))
    if not word and row.get("value") is not None:
        return Answered.OK.value
    answered = word or _ANSWERED.get(plain(row.get("status")), "")
    if answered == Answered.OK and row.get("value") is None:
        answered = ""
    if answered not in {*_STATUS, Answered.WITHDRAWN.value}:
        raise DataError(
            f"{place}: no value, and neither `answered` nor `status` says why; known are {', '.join(_STATUS)}"
        )
    return answered


def _evidence(cell: object, place: str) -> tuple[Evidence, ...]:
    try:
        return msgspec.convert(_json(cell, "evidence", place), tuple[Evidence, ...])
    except msgspec.ValidationError as error:
        raise DataError(f"{place}: the column `evidence` is no list of quotes ({error})") from error


def _json(cell: object, name: str, place: str) -> object:
    """Read a cell that holds JSON; in Parquet and JSONL it may be the list itself."""
    if not isinstance(cell, str):
        return cell or ()
    try:
        return bounds.json_value(cell)
    except ValueError as error:
        raise DataError(f"{place}: the column `{name}` is not JSON") from error


def _refuse_missing(path: Readable, rows: Iterable[dict[str, Any]]) -> None:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    needed = [name for name in COLUMNS if name != "value" or "answered" not in columns]
    missing = next((name for name in needed if name not in columns), None)
    if missing is not None:
        raise DataError(
            f"{path}: no column {missing}; needed are {', '.join(COLUMNS)}, found {', '.join(columns)}; "
            f"name it with --map {missing}=COLUMN"
        )


def is_meant(rows: Iterable[tuple[int, dict[str, Any]]]) -> bool:
    """Whether a table is, or is meant as, one of ratings, one a row, by its columns."""
    columns = {name for _, row in rows for name in row}
    return len({*COLUMNS} & columns) > len(COLUMNS) - 2


def is_one(row: object, project: Known) -> bool:
    """Whether an object of a JSON file is a row of ratings, by its keys."""
    return isinstance(row, dict) and all(project.how.columns.get(name, name) in row for name in COLUMNS[:3])


def _restored(row: dict[str, Any]) -> dict[str, Any]:
    return {restored(name): restored(cell) if isinstance(cell, str) else cell for name, cell in row.items()}
