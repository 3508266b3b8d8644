"""Ratings that annotation tools export with the task: Argilla's records, Label Studio's tasks, Prodigy's answers.

Each record holds what its people said as lists and objects, so who rated what is not guessed.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from mindgauge.records.ratings import raters
from mindgauge.records.rounding import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mindgauge.records.ratings.tables import Sheet

Answer: TypeAlias = "tuple[str, str, Any]"
"""Criterion, rater, value."""
_KEPT = {"submitted", "completed", "", "none"}
_LOOKED_AT = 50
"""Rows by which the form of a table is told."""
_IDS = ("id", "record_id", "external_id", "_server_id", "_input_hash")


def read(sheet: Sheet) -> tuple[str, pl.DataFrame, list[str]] | None:
    """Read a table in one of these forms; see `exports.read`."""
    names = set(sheet.frame.columns)
    rows = sheet.frame.head(_LOOKED_AT).to_dicts()
    forms: list[tuple[str, Callable[[dict[str, Any]], Iterator[Answer | None]], bool]] = [
        ("a record of Argilla's a row, with its responses", _responses, "responses" in names and any(map(_has_responses, rows))),
        ("a record of Argilla's a row, the answers to each question as a list", _questions, any(any(map(_is_answers, row.values())) for row in rows)),
        ("a task of Label Studio's a row, with its annotations", _annotations, "annotations" in names and any(map(_has_annotations, rows))),
        ("an answer of Prodigy's a row", _answers, {"answer", "_input_hash"} <= names),
    ]  # fmt: skip
    for words, answers, applies in forms:
        if applies:
            return _read(sheet, words, answers)
    return None


def _read(
    sheet: Sheet, words: str, answers: Callable[[dict[str, Any]], Iterator[Answer | None]]
) -> tuple[str, pl.DataFrame, list[str]]:
    ident = next((name for name in _IDS if name in sheet.frame.columns and not sheet.frame[name].null_count()), None)
    rows, idle = [], 0
    for number, record in enumerate(sheet.frame.iter_rows(named=True), 1 + sheet.above):
        subject = record[ident] if ident else f"row {number}"
        for answer in answers(record):
            if answer is None:
                idle += 1
                continue
            criterion, rater, value = answer
            kind = raters.kind(rater) or "person"
            rows.append((number, subject, criterion, rater, kind, _text(value)))
    schema = {
        "row": pl.UInt32,
        "subject": pl.String,
        "criterion": pl.String,
        "rater": pl.String,
        "rater_kind": pl.String,
        "value": pl.String,
    }
    frame = pl.DataFrame(rows, schema, orient="row")
    left_out = [f"{sheet.name}: {plural(idle, 'answer')} that {'is a draft or was' if idle == 1 else 'are drafts or were'} skipped or discarded"] if idle else []  # fmt: skip
    return f"{sheet.name}: {words}", frame, left_out


def _value(cell: str | None) -> Any:
    if not cell or cell[0] not in "[{":
        return None
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return None


def _objects(value: Any) -> list[dict[str, Any]]:
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def _kept(answer: dict[str, Any]) -> bool:
    return str(answer.get("status") or "").casefold() in _KEPT


def _name(answer: dict[str, Any], number: int) -> str:
    """Return who answered: people without a name are told apart by their place."""
    who = next(
        (answer[name] for name in ("user_id", "user", "username", "completed_by") if answer.get(name) is not None), None
    )
    if isinstance(who, dict):
        who = who.get("email") or who.get("id")
    return str(who) if who is not None else f"nobody named {number}"


def _has_responses(row: dict[str, Any]) -> bool:
    value = _value(row["responses"])
    return any(isinstance(part.get("values"), dict) for part in _objects(value)) or (
        isinstance(value, dict)
        and any(_objects(answers) and "value" in _objects(answers)[0] for answers in value.values())
    )


def _responses(record: dict[str, Any]) -> Iterator[Answer | None]:
    """Yield a record's answers: by person (`[{user_id, values, status}]`), or by question (`{question: [{user_id, value}]}`)."""
    value = _value(record["responses"])
    if isinstance(value, dict):
        for question, answers in value.items():
            for number, answer in enumerate(_objects(answers), 1):
                yield (question, _name(answer, number), answer.get("value")) if _kept(answer) else None
    for number, response in enumerate(_objects(value), 1):
        for question, answer in (response.get("values") or {}).items():
            held = answer.get("value") if isinstance(answer, dict) else answer
            yield (question, _name(response, number), held) if _kept(response) else None
    yield from _suggestions(record)


def _suggestions(record: dict[str, Any]) -> Iterator[Answer]:
    """Yield what a model suggested, where the record says which."""
    suggestions = _value(record.get("suggestions"))
    if isinstance(suggestions, dict):
        for question, part in suggestions.items():
            if isinstance(part, dict) and part.get("agent"):
                yield question, str(part["agent"]), part.get("value")
    for part in _objects(suggestions):
        if part.get("agent") and part.get("question_name"):
            yield str(part["question_name"]), str(part["agent"]), part.get("value")


def _is_answers(cell: Any) -> bool:
    parts = _objects(_value(cell)) if isinstance(cell, str) else []
    return bool(parts) and all({"user_id", "value"} <= part.keys() for part in parts)


def _questions(record: dict[str, Any]) -> Iterator[Answer | None]:
    """Yield the answers of a record with a list of `{user_id, value, status}` in each question's cell."""
    for question, cell in record.items():
        if not _is_answers(cell):
            continue
        for number, answer in enumerate(_objects(_value(cell)), 1):
            yield (question, _name(answer, number), answer["value"]) if _kept(answer) else None
        agent = (_value(record.get(f"{question}-suggestion-metadata")) or {}).get("agent")
        if agent and record.get(f"{question}-suggestion") is not None:
            yield question, str(agent), record[f"{question}-suggestion"]


def _has_annotations(row: dict[str, Any]) -> bool:
    return any(isinstance(part.get("result"), list) for part in _objects(_value(row["annotations"])))


def _annotations(record: dict[str, Any]) -> Iterator[Answer | None]:
    """Yield the choices and ratings of a task; regions and texts are none."""
    for number, annotation in enumerate(_objects(_value(record["annotations"])), 1):
        if annotation.get("was_cancelled"):
            yield None
            continue
        for part in _objects(annotation.get("result")):
            value = part.get("value")
            fields = value if isinstance(value, dict) else {}
            held = next(
                (fields[kind] for kind in ("choices", "rating", "number") if fields.get(kind) is not None), None
            )
            if held is not None:
                yield str(part.get("from_name", "rating")), _name(annotation, number), held


def _answers(record: dict[str, Any]) -> Iterator[Answer | None]:
    """Yield an answer: of a choice what was accepted, of a label whether it was."""
    rater = record.get("_annotator_id") or record.get("_session_id") or "nobody named"
    accepted = _value(record.get("accept"))
    if record["answer"] == "ignore" or (accepted is not None and record["answer"] != "accept"):
        yield None
    elif accepted is None:
        yield str(record.get("label") or "answer"), str(rater), "yes" if record["answer"] == "accept" else "no"
    elif len(accepted) == 1 or (_value(record.get("config")) or {}).get("choice_style") != "multiple":
        yield "choice", str(rater), accepted
    else:
        for option in _objects(_value(record.get("options"))):
            yield str(option.get("id")), str(rater), "yes" if option.get("id") in accepted else "no"


def _text(value: Any) -> str | None:
    """Write a value; several choices at once are one value."""
    if isinstance(value, list):
        return ", ".join(sorted(map(str, value))) or None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return None if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
