"""Label Studio: tasks with annotations out, as JSON with a labelling configuration; its JSON and JSON-MIN in.

Each task is an item, each annotation what one person said of it: one Choices control per criterion, Labels for marked
words (places count code points, as Label Studio's do), TextArea for the note, and a Choices control `rater`, for Label
Studio gives annotations of people whom it does not know to whoever imports them. What was handed on is a cancelled
annotation. The format does not carry the path of a walk, the version of the rubric, and words that do not stand in the
text letter for letter; an annotation has one note, one time and one list of marked words, so those of labels that were
given one by one are put together.

Answers are Choices, Ratings and Numbers whose control has a criterion's name; TextAreas are notes, Labels of any kind
marked words. Who annotated is the control `rater`, or else who Label Studio says it was. A cancelled annotation was handed
on; JSON-MIN leaves those out. Predictions are a model's and are not read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree.ElementTree import Element, SubElement

from mindgauge.annotation.exchange import known
from mindgauge.annotation.exchange.known import plain, written
from mindgauge.annotation.records import Answered
from mindgauge.raters.quotes import DIALOGUE, REPLY
from mindgauge.records import Evidence, digest
from mindgauge.records.errors import DataError
from mindgauge.records.rubric import in_language
from mindgauge.records.text import xml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.annotation.exchange.content import Content, PersonLabels
    from mindgauge.annotation.exchange.known import ImportedLabel, Known
    from mindgauge.annotation.records import Item, Label


SUBJECT, RATER, NOTE = "subject", "rater", "note"
EVIDENCE = {f"evidence_in_{source}": source for source in (REPLY, DIALOGUE)}
_CONTROL = {source: name for name, source in EVIDENCE.items()}
_SHOWN = "evidence"
_MIN = ("annotator", "annotation_id", "created_at", "updated_at", "lead_time")
_TAKEN = {SUBJECT, RATER, NOTE, REPLY, DIALOGUE, "id", "agreement", *EVIDENCE, *_MIN}
"""Names that a criterion's control cannot have."""


def control(criterion: str) -> str:
    """Return the name of a criterion's control."""
    return f"{criterion}_" if criterion in _TAKEN else criterion


def configuration(content: Content) -> str:
    """Write the labelling configuration that fits the tasks."""
    view = Element("View")
    texts = [DIALOGUE, REPLY] if any(item.reply for item in content.items) else [DIALOGUE]
    for name in texts:
        SubElement(view, "Header", value=name.capitalize())
        SubElement(view, "Text", name=name, value=f"${name}")
        labels = SubElement(view, "Labels", name=_CONTROL[name], toName=name)
        SubElement(labels, "Label", value=_SHOWN)
    about = texts[-1]
    for criterion in content.rubric.criteria:
        SubElement(view, "Header", value=in_language(criterion.text, "en") or criterion.name)
        choices = SubElement(view, "Choices", name=control(criterion.name), toName=about, choice="single-radio")
        for level in criterion.levels:
            SubElement(choices, "Choice", value=str(level.value), hint=in_language(level.text, "en"))
        words = (Answered.NOT_APPLICABLE,) if criterion.not_applicable else ()
        for word in (*words, Answered.CANNOT_TELL):
            SubElement(choices, "Choice", value=word.value)
    SubElement(view, "Header", value="Note")
    SubElement(view, "TextArea", name=NOTE, toName=about, maxSubmissions="1", editable="true")
    SubElement(view, "Header", value="Whose labels these are")
    people = SubElement(view, "Choices", name=RATER, toName=about, choice="single-radio")
    for name in sorted({entry.person.name for entry in content.labelled}):
        SubElement(people, "Choice", value=name)
    return xml(view)


def tasks(content: Content) -> list[dict[str, Any]]:
    """Return every item as a task, with an annotation for each person who labelled it or handed it on."""
    by_item: dict[str, list[PersonLabels]] = {}
    for entry in content.labelled:
        by_item.setdefault(entry.item.id, []).append(entry)
    return [
        {
            "data": {SUBJECT: item.id, DIALOGUE: known.dialogue(item), REPLY: item.reply, **known.drawn(item)},
            "annotations": [_annotation(entry) for entry in by_item.get(item.id, [])],
        }
        for item in content.items
    ]


def _annotation(entry: PersonLabels) -> dict[str, Any]:
    about = REPLY if entry.item.reply else DIALOGUE
    results = [(RATER, about, "choices", {"choices": [entry.person.name]})]
    results += [(control(label.criterion), about, "choices", {"choices": [_choice(label)]}) for label in entry.labels]
    notes = list(dict.fromkeys(label.note for label in entry.labels if label.note))
    if notes:
        results.append((NOTE, about, "textarea", {"text": ["\n".join(notes)]}))
    marks = dict.fromkeys((mark.quote, mark.source) for label in entry.labels for mark in label.evidence)
    for quote, source in marks:
        span = _span(entry.item, Evidence(quote, source=source))
        if span is not None:
            results.append(span)
    result = [
        {"id": digest(entry.item.id, entry.person.name, number)[:10], "from_name": name, "to_name": target, "type": kind, "value": value}
        for number, (name, target, kind, value) in enumerate(results)
    ]  # fmt: skip
    annotation: dict[str, Any] = {"result": result, "was_cancelled": not entry.labels, "ground_truth": False}
    if entry.labels:
        annotation["created_at"] = written(max(label.at for label in entry.labels))
        annotation["lead_time"] = max(label.seconds for label in entry.labels)
    return annotation


def _choice(label: Label) -> str:
    return str(label.value) if label.answered is Answered.OK else label.answered.value


def _span(item: Item, mark: Evidence) -> tuple[str, str, str, dict[str, Any]] | None:
    for source, text in ((REPLY, item.reply), (DIALOGUE, known.dialogue(item))):
        start = text.find(mark.quote) if mark.source in {"", source} else -1
        if start >= 0:
            value = {"start": start, "end": start + len(mark.quote), "text": mark.quote, "labels": [_SHOWN]}
            return _CONTROL[source], source, "labels", value
    return None


# Reading Label Studio: its JSON of tasks with annotations, and JSON-MIN, which has one record for each annotation.


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
        known.same_draw(project.item(subject, place), data, place)
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
