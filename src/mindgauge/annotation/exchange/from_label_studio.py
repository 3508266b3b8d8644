"""Reading Label Studio: its JSON of tasks with annotations, and JSON-MIN, which has one record for each annotation.

Answers are Choices, Ratings and Numbers whose control is called like a criterion; TextAreas are notes, Labels of any kind
marked words. Who annotated is the control `rater`, or else who Label Studio says it was. A cancelled annotation was handed
on; JSON-MIN leaves those out. Predictions are a model's and are not read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.annotation.exchange.cells import plain
from mindgauge.annotation.exchange.to_label_studio import EVIDENCE, NOTE, RATER, SUBJECT, control
from mindgauge.errors import DataError
from mindgauge.records import Evidence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.annotation.exchange.known import Entry, Known

_SOURCES = frozenset(EVIDENCE.values())


class _Said(NamedTuple):
    """What one annotation says: of whom, criterion → answer, notes and marked words."""

    rater: list[Any]
    answers: dict[str, Any]
    notes: list[str]
    evidence: list[Evidence]


def read(content: object, known: Known, where: str) -> list[Entry]:
    """Read an export of Label Studio, JSON or JSON-MIN.

    Raises:
        DataError: it is neither, or names what the project does not know.
    """
    if not isinstance(content, list) or not content or not all(isinstance(task, dict) for task in content):
        raise DataError(f"{where}: expected Label Studio's list of tasks, found {type(content).__name__}")
    found = []
    for number, task in enumerate(content, 1):
        place = f"{where}: task {number}"
        if "data" in task and ("annotations" in task or "completions" in task):
            found += list(_task(task, known, place))
        else:
            found += list(_flat(task, known, place))
    if not found:
        criteria = ", ".join(known.criteria)
        raise DataError(f"{where}: no labels in it; a control or a key must be called like a criterion ({criteria})")
    return found


def _task(task: dict[str, Any], known: Known, where: str) -> Iterator[Entry]:
    data = task["data"] if isinstance(task["data"], dict) else {}
    subject = next((data[key] for key in (known.column(SUBJECT), "id") if key in data), task.get("id"))
    annotations = task.get("annotations", task.get("completions"))
    for number, annotation in enumerate(annotations if isinstance(annotations, list) else [], 1):
        place = f"{where}, annotation {number}"
        if not isinstance(annotation, dict):
            raise DataError(f"{place}: expected an object, found {type(annotation).__name__}")
        said = _said(annotation.get("result"), data, known, place)
        rater = said.rater[0] if said.rater else _person(annotation.get("completed_by"))
        at = annotation.get("created_at")
        if annotation.get("was_cancelled") or annotation.get("skipped"):
            yield known.handed_on(place, rater=rater, subject=subject, at=at)
            continue
        yield from _entries(said, known, place, rater=rater, subject=subject, at=at, took=annotation.get("lead_time"))


def _flat(task: dict[str, Any], known: Known, where: str) -> Iterator[Entry]:
    """Read a record of JSON-MIN: the data, and under each control's name what was said with it."""
    subject = next((task[key] for key in (known.column(SUBJECT), "id") if key in task), None)
    said = _Said([], {}, [], [])
    for name, value in task.items():
        if name in (RATER, NOTE):
            (said.rater if name == RATER else said.notes).extend(_listed(value, "text"))
        elif isinstance(value, list) and value and all(isinstance(v, dict) and "labels" in v for v in value):
            said.evidence.extend(_mark(v, EVIDENCE.get(name, ""), task, where) for v in value)
        elif (criterion := _criterion(name, known)) is not None:
            for one in value if isinstance(value, list) else [value]:
                _put(said, criterion, _only(one, where, name), where)
    rater = said.rater[0] if said.rater else _person(task.get("annotator"))
    at, took = task.get("created_at"), task.get("lead_time")
    yield from _entries(said, known, where, rater=rater, subject=subject, at=at, took=took)


def _entries(
    said: _Said, known: Known, where: str, *, rater: object, subject: object, at: object, took: object
) -> Iterator[Entry]:
    for criterion, value in said.answers.items():
        yield known.entry(
            where, rater=rater, subject=subject, criterion=criterion, value=value, note="\n".join(said.notes),
            evidence=said.evidence, at=at, seconds=took,
        )  # fmt: skip


def _said(result: object, data: dict[str, Any], known: Known, where: str) -> _Said:
    said = _Said([], {}, [], [])
    for region in result if isinstance(result, list) else []:
        if not isinstance(region, dict) or "from_name" not in region:  # a relation between regions
            continue
        name, value = plain(region["from_name"]), region.get("value")
        value = value if isinstance(value, dict) else {}
        if "labels" in value or plain(region.get("type")).endswith("labels"):
            to = plain(region.get("to_name"))
            said.evidence.append(_mark(value, to if to in _SOURCES else "", data, where, to))
        elif name == RATER:
            said.rater.extend(_listed(value, "choices"))
        elif region.get("type") == "textarea":
            said.notes.extend(_listed(value, "text"))
        else:
            _put(said, _criterion(name, known) or name, _only(value, where, name), where)
    return said


def _put(said: _Said, criterion: str, value: object, where: str) -> None:
    if value is None:
        return
    if said.answers.setdefault(criterion, value) != value:
        raise DataError(f"{where}: {criterion} is answered twice")


def _criterion(name: str, known: Known) -> str | None:
    ours = {control(criterion): criterion for criterion in known.criteria}
    return ours.get(name) or (name if known.is_criterion(name) else None)


def _only(value: object, where: str, name: str) -> object:
    """Return the one thing that was chosen; None where nothing was."""
    if not isinstance(value, dict):
        return value
    found = next((value[key] for key in ("choices", "rating", "number", "text") if key in value), None)
    if isinstance(found, list):
        if len(found) > 1 or any(isinstance(one, list | dict) for one in found):
            raise DataError(f"{where}: several choices for {name}; a criterion has one answer")
        return found[0] if found else None
    return found


def _mark(value: dict[str, Any], source: str, data: dict[str, Any], where: str, to: str = "") -> Evidence:
    text = value.get("text")
    if isinstance(text, str):
        return Evidence(text, source=source)
    whole, start, end = data.get(to or source), value.get("start"), value.get("end")
    if isinstance(whole, str) and isinstance(start, int) and isinstance(end, int):
        return Evidence(whole[max(start, 0) : end], source=source)
    raise DataError(f"{where}: marked words without their text")


def _listed(value: object, key: str) -> list[str]:
    found = value.get(key) if isinstance(value, dict) else value
    return [plain(one) for one in (found if isinstance(found, list) else [found]) if one is not None]


def _person(who: object) -> object:
    """Return how Label Studio names somebody: by address, name or number."""
    if not isinstance(who, dict):
        return who
    return next((who[key] for key in ("email", "username", "first_name", "id") if who.get(key)), "")
