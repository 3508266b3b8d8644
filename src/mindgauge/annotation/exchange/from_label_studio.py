"""Reading Label Studio: its JSON of tasks with annotations, and JSON-MIN, which has one record for each annotation.

Answers are Choices, Ratings and Numbers whose control has a criterion's name; TextAreas are notes, Labels of any kind
marked words. Who annotated is the control `rater`, or else who Label Studio says it was. A cancelled annotation was handed
on; JSON-MIN leaves those out. Predictions are a model's and are not read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.annotation.exchange.cells import plain
from mindgauge.annotation.exchange.to_label_studio import EVIDENCE, NOTE, RATER, SUBJECT, control
from mindgauge.records import Evidence
from mindgauge.records.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.annotation.exchange.known import ImportedLabel, Known

_SOURCES = frozenset(EVIDENCE.values())


class _AnnotationContent(NamedTuple):
    """What one annotation says: of whom, criterion → answer, notes and marked words."""

    rater: list[Any]
    answers: dict[str, Any]
    notes: list[str]
    evidence: list[Evidence]


def read(content: object, project: Known, source: str) -> list[ImportedLabel]:
    """Read an export of Label Studio, JSON or JSON-MIN.

    Raises:
        DataError: it is neither, or names what the project does not know.
    """
    if not isinstance(content, list) or not content or not all(isinstance(task, dict) for task in content):
        raise DataError(f"{source}: expected Label Studio's list of tasks, found {type(content).__name__}")
    entries = []
    for number, task in enumerate(content, 1):
        place = f"{source}: task {number}"
        if "data" in task and ("annotations" in task or "completions" in task):
            entries += list(_task(task, project, place))
        else:
            entries += list(_flat(task, project, place))
    if not entries:
        criteria = ", ".join(project.criteria)
        raise DataError(f"{source}: no labels in it; a control or a key must have a criterion's name ({criteria})")
    return entries


def _task(task: dict[str, Any], project: Known, origin: str) -> Iterator[ImportedLabel]:
    data = task["data"] if isinstance(task["data"], dict) else {}
    subject = next((data[key] for key in (project.column(SUBJECT), "id") if key in data), task.get("id"))
    annotations = task.get("annotations", task.get("completions"))
    for number, annotation in enumerate(annotations if isinstance(annotations, list) else [], 1):
        place = f"{origin}, annotation {number}"
        if not isinstance(annotation, dict):
            raise DataError(f"{place}: expected an object, found {type(annotation).__name__}")
        record = _said(annotation.get("result"), data, project, place)
        rater = record.rater[0] if record.rater else _person(annotation.get("completed_by"))
        time = annotation.get("created_at")
        if annotation.get("was_cancelled") or annotation.get("skipped"):
            yield project.handed_on(place, rater=rater, subject=subject, time=time)
            continue
        yield from _entries(
            record, project, place, rater=rater, subject=subject, time=time, took=annotation.get("lead_time")
        )


def _flat(task: dict[str, Any], project: Known, place: str) -> Iterator[ImportedLabel]:
    """Read a record of JSON-MIN: the data, and under each control's name what was said with it."""
    subject = next((task[key] for key in (project.column(SUBJECT), "id") if key in task), None)
    record = _AnnotationContent([], {}, [], [])
    for name, value in task.items():
        if name in (RATER, NOTE):
            (record.rater if name == RATER else record.notes).extend(_listed(value, "text"))
        elif isinstance(value, list) and value and all(isinstance(v, dict) and "labels" in v for v in value):
            record.evidence.extend(_mark(v, EVIDENCE.get(name, ""), task, place) for v in value)
        elif (criterion := _criterion(name, project)) is not None:
            for choice in value if isinstance(value, list) else [value]:
                _put(record, criterion, _only(choice, place, name), place)
    rater = record.rater[0] if record.rater else _person(task.get("annotator"))
    time, took = task.get("created_at"), task.get("lead_time")
    yield from _entries(record, project, place, rater=rater, subject=subject, time=time, took=took)


def _entries(
    record: _AnnotationContent,
    project: Known,
    place: str,
    *,
    rater: object,
    subject: object,
    time: object,
    took: object,
) -> Iterator[ImportedLabel]:
    for criterion, value in record.answers.items():
        yield project.entry(
            place, rater=rater, subject=subject, criterion=criterion, value=value, note="\n".join(record.notes),
            evidence=record.evidence, time=time, seconds=took,
        )  # fmt: skip


def _said(result: object, data: dict[str, Any], project: Known, place: str) -> _AnnotationContent:
    record = _AnnotationContent([], {}, [], [])
    for region in result if isinstance(result, list) else []:
        if not isinstance(region, dict) or "from_name" not in region:  # a relation between regions
            continue
        name, value = plain(region["from_name"]), region.get("value")
        value = value if isinstance(value, dict) else {}
        if "labels" in value or plain(region.get("type")).endswith("labels"):
            target = plain(region.get("to_name"))
            record.evidence.append(_mark(value, target if target in _SOURCES else "", data, place, target))
        elif name == RATER:
            record.rater.extend(_listed(value, "choices"))
        elif region.get("type") == "textarea":
            record.notes.extend(_listed(value, "text"))
        else:
            _put(record, _criterion(name, project) or name, _only(value, place, name), place)
    return record


def _put(record: _AnnotationContent, criterion: str, value: object, place: str) -> None:
    if value is None:
        return
    if record.answers.setdefault(criterion, value) != value:
        raise DataError(f"{place}: {criterion} is answered twice")


def _criterion(name: str, project: Known) -> str | None:
    controls = {control(criterion): criterion for criterion in project.criteria}
    return controls.get(name) or (name if project.is_criterion(name) else None)


def _only(value: object, place: str, name: str) -> object:
    """Return the one thing that was chosen; None where nothing was."""
    if not isinstance(value, dict):
        return value
    chosen = next((value[key] for key in ("choices", "rating", "number", "text") if key in value), None)
    if isinstance(chosen, list):
        if len(chosen) > 1 or any(isinstance(choice, list | dict) for choice in chosen):
            raise DataError(f"{place}: several choices for {name}; a criterion has one answer")
        return chosen[0] if chosen else None
    return chosen


def _mark(value: dict[str, Any], source: str, data: dict[str, Any], place: str, target: str = "") -> Evidence:
    text = value.get("text")
    if isinstance(text, str):
        return Evidence(text, source=source)
    passage, start, end = data.get(target or source), value.get("start"), value.get("end")
    if isinstance(passage, str) and isinstance(start, int) and isinstance(end, int):
        return Evidence(passage[max(start, 0) : end], source=source)
    raise DataError(f"{place}: marked words without their text")


def _listed(value: object, key: str) -> list[str]:
    content = value.get(key) if isinstance(value, dict) else value
    return [plain(part) for part in (content if isinstance(content, list) else [content]) if part is not None]


def _person(author: object) -> object:
    """Return how Label Studio names somebody: by address, name or number."""
    if not isinstance(author, dict):
        return author
    return next((author[key] for key in ("email", "username", "first_name", "id") if author.get(key)), "")
