"""Potato's JSONL: one record for each item and person, as its own export writes it; with data and a configuration.

`data.jsonl` and `config.yaml` are what Potato starts from. A criterion is a radio scheme, marked words are spans over
the whole text, the note is a text scheme. The format does not carry what was handed on, the path of a walk, times, the
version of the rubric, and words that do not stand in the text letter for letter; a record has one note and one list of
marked words, so those of labels that were given one by one are put together.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mindgauge.annotation.exchange import passages
from mindgauge.annotation.records import Answered
from mindgauge.records.rubric import in_language

if TYPE_CHECKING:
    from mindgauge.annotation.exchange.content import Content, PersonLabels
    from mindgauge.records.rubric import Criterion

ANNOTATIONS, DATA, CONFIGURATION = "annotations.jsonl", "data.jsonl", "config.yaml"
NOTE, NOTE_BOX, EVIDENCE = "note", "text_box", "evidence"
_TAKEN = {NOTE, EVIDENCE}
"""Names that a criterion's scheme cannot have."""


def scheme(criterion: str) -> str:
    """Return the name of a criterion's scheme."""
    return f"{criterion}_" if criterion in _TAKEN else criterion


def records(content: Content) -> list[dict[str, Any]]:
    """Return what each person said of each item, as records of `annotations.jsonl`."""
    return [_record(entry) for entry in content.labelled if entry.labels]


def items(content: Content) -> list[dict[str, Any]]:
    """Return the items, as records of `data.jsonl`."""
    return [{"id": item.id, "text": passages.whole(item)} for item in content.items]


def configuration(content: Content) -> str:
    """Write the configuration. It is JSON, which is YAML, too."""
    people = list(dict.fromkeys(entry.person.name for entry in content.labelled))
    config = {
        "annotation_task_name": content.name,
        "task_dir": ".",
        "output_annotation_dir": "annotation_output",
        "export_annotation_format": "jsonl",
        "data_files": [DATA],
        "item_properties": {"id_key": "id", "text_key": "text"},
        "user_config": {"allow_all_users": not people, "users": people},
        "annotation_schemes": [
            *(_scheme(criterion) for criterion in content.rubric.criteria),
            {
                "annotation_type": "span",
                "name": EVIDENCE,
                "description": "Words that show it",
                "labels": [EVIDENCE],
            },
            {"annotation_type": "text", "name": NOTE, "description": "Note", "multiline": True},
        ],
    }
    return json.dumps(config, ensure_ascii=False, indent=2) + "\n"


def _scheme(criterion: Criterion) -> dict[str, Any]:
    words = (Answered.NOT_APPLICABLE,) if criterion.not_applicable else ()
    return {
        "annotation_type": "radio",
        "name": scheme(criterion.name),
        "description": in_language(criterion.text, "en") or criterion.name,
        "labels": [
            *({"name": str(level.value), "tooltip": in_language(level.text, "en")} for level in criterion.levels),
            *({"name": word.value} for word in (*words, Answered.CANNOT_TELL)),
        ],
    }


def _record(entry: PersonLabels) -> dict[str, Any]:
    labels: dict[str, Any] = {}
    for label in entry.labels:
        name = str(label.value) if label.answered is Answered.OK else label.answered.value
        labels[scheme(label.criterion)] = {name: name}
    notes = list(dict.fromkeys(label.note for label in entry.labels if label.note))
    if notes:
        labels[NOTE] = {NOTE_BOX: "\n".join(notes)}
    marks = dict.fromkeys(mark for label in entry.labels for mark in label.evidence)
    places = dict.fromkeys(place for mark in marks if (place := passages.place(entry.item, mark)) is not None)
    text = passages.whole(entry.item)
    spans = [
        {"schema": EVIDENCE, "name": EVIDENCE, "title": EVIDENCE, "start": start, "end": end, "text": text[start:end]}
        for start, end in places
    ]
    return {
        "instance_id": entry.item.id,
        "user_id": entry.person.name,
        "labels": labels,
        "spans": {EVIDENCE: spans} if spans else {},
        "links": {},
    }
