"""Label Studio's JSON: tasks with annotations, and the labelling configuration for them.

Each task is an item, each annotation what one person said of it: one Choices control per criterion, Labels for marked
words (places count code points, as Label Studio's do), TextArea for the note, and a Choices control `rater`, for Label
Studio gives annotations of people whom it does not know to whoever imports them. What was handed on is a cancelled
annotation. The format does not carry the path of a walk, the version of the rubric, and words that do not stand in the
text letter for letter; an annotation has one note, one time and one list of marked words, so those of labels that were
given one by one are put together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from mindgauge.annotation.exchange import passages
from mindgauge.annotation.exchange.cells import written
from mindgauge.annotation.records import Answered
from mindgauge.raters.quotes import DIALOGUE, REPLY
from mindgauge.records import Evidence, digest
from mindgauge.records.rubric import in_language

if TYPE_CHECKING:
    from mindgauge.annotation.exchange.content import Content, PersonLabels
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
    indent(view)
    return tostring(view, encoding="unicode") + "\n"


def tasks(content: Content) -> list[dict[str, Any]]:
    """Return every item as a task, with an annotation for each person who labelled it or handed it on."""
    by_item: dict[str, list[PersonLabels]] = {}
    for entry in content.labelled:
        by_item.setdefault(entry.item.id, []).append(entry)
    return [
        {
            "data": {SUBJECT: item.id, DIALOGUE: passages.dialogue(item), REPLY: item.reply},
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
    for source, text in ((REPLY, item.reply), (DIALOGUE, passages.dialogue(item))):
        start = text.find(mark.quote) if mark.source in {"", source} else -1
        if start >= 0:
            value = {"start": start, "end": start + len(mark.quote), "text": mark.quote, "labels": [_SHOWN]}
            return _CONTROL[source], source, "labels", value
    return None
