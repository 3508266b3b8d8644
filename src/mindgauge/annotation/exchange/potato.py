"""Potato: JSONL as its own export writes it out, with data and a configuration; what its versions have written in.

`data.jsonl` and `config.yaml` are what Potato starts from. A criterion is a radio scheme, marked words are spans over
the whole text, the note is a text scheme. The format does not carry what was handed on, the path of a walk, times, the
version of the rubric, and words that do not stand in the text letter for letter; a record has one note and one list of
marked words, so those of labels that were given one by one are put together.

- `annotations.jsonl`, `annotations.csv`: `instance_id`, `user_id` and the labels; in CSV in columns `scheme.label`.
- `user_state.json`: one person's, with labels as pairs of ({schema, name}, value) or as objects.
- `annotated_instances.jsonl`: `id`, `label_annotations` and `span_annotations`; the person is the folder's name, or
  `user_id`. The first versions wrote `annotation` with lists of labels.
- `annotated_instances.csv`: `user`, `instance_id` and columns `scheme:::label`; its spans, Python's own writing, are left.

A scheme with a criterion's name gives its answer: the label chosen, `scale_N` of a Likert scale, or the value
of a slider or number. Other schemes are notes where they hold text, and faults where they hold a choice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.annotation.exchange import known
from mindgauge.annotation.exchange.known import plain
from mindgauge.annotation.records import Answered
from mindgauge.records import Evidence
from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds
from mindgauge.records.rubric import in_language
from mindgauge.records.text import yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mindgauge.annotation.exchange.content import Content, PersonLabels
    from mindgauge.annotation.exchange.known import ImportedLabel, Known
    from mindgauge.annotation.records import Item
    from mindgauge.records.rubric import Criterion


ANNOTATIONS, DATA, CONFIGURATION = "annotations.jsonl", "data.jsonl", "config.yaml"
NOTE, NOTE_BOX, EVIDENCE = "note", "text_box", "evidence"
_TAKEN = {NOTE, EVIDENCE}
"""Names that a criterion's scheme cannot have."""


def scheme(criterion: str) -> str:
    """Return the name of a criterion's scheme."""
    return f"{criterion}_" if criterion in _TAKEN else criterion


def as_records(content: Content) -> list[dict[str, Any]]:
    """Return what each person said of each item, as records of `annotations.jsonl`."""
    return [_record(entry) for entry in content.labelled if entry.labels]


def items(content: Content) -> list[dict[str, Any]]:
    """Return the items, as records of `data.jsonl`."""
    return [{"id": item.id, "text": known.whole(item), **known.drawn(item)} for item in content.items]


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
    return yaml(config, 2) + "\n"


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
    places = dict.fromkeys(place for mark in marks if (place := known.place(entry.item, mark)) is not None)
    text = known.whole(entry.item)
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


# Reading Potato, as its versions have written: exports (JSONL, CSV, TSV), a user's state, and a user's older files.


STATE = "instance_id_to_label_to_value"
_STATE_SPANS = "instance_id_to_span_to_value"
_LABELS = ("labels", "label_annotations", "annotation")
_SPANS = ("spans", "span_annotations")
_NOT_CHOSEN = {"", "false", "0", "off", "no", "none"}
_TEXTS = {"text_box", "free_response", ""}
"""Labels under which Potato keeps what was typed."""
_LIKERT = "scale_"
_APART = ":::"
_ABOUT = {"instance_id", "id", "user", "user_id", "displayed_text", "annotator_origin", "annotator_origin_detail"}


class _Record(NamedTuple):
    """What one person said of one item: scheme → label → value, and marked words as Potato keeps them."""

    place: str
    user: object
    instance: object
    labels: dict[str, dict[str, Any]]
    spans: list[dict[str, Any]]


def is_record(row: dict[str, Any]) -> bool:
    """Say whether a row of JSONL is one of Potato's."""
    return ("instance_id" in row or "id" in row) and any(name in row for name in _LABELS)


def is_header(columns: Iterable[str]) -> bool:
    """Say whether these are the columns of a table of Potato's."""
    names = set(columns)
    return "instance_id" in names and bool({"user", "user_id"} & names)


def state(content: dict[str, Any], project: Known, place: str, user: str) -> list[ImportedLabel]:
    """Read `user_state.json`; `user` is taken where it does not say whose it is.

    Raises:
        DataError: it is broken, or names what the project does not know.
    """
    labels, spans = content.get(STATE), content.get(_STATE_SPANS)
    labels, spans = labels if isinstance(labels, dict) else {}, spans if isinstance(spans, dict) else {}
    return [
        entry
        for instance, answers in labels.items()
        for entry in _entries(
            _Record(
                f"{place}: {instance}",
                content.get("user_id") or user,
                instance,
                _labels(answers),
                _spans(spans.get(instance)),
            ),
            project,
        )
    ]


def records(rows: Iterable[tuple[int, dict[str, Any]]], project: Known, place: str, user: str) -> list[ImportedLabel]:
    """Read rows of JSONL; `user` is taken where they do not say whose they are.

    Raises:
        DataError: they name what the project does not know.
    """
    entries: list[ImportedLabel] = []
    for line, row in rows:
        labels = next((row[name] for name in _LABELS if name in row), None)
        spans = next((row[name] for name in _SPANS if name in row), None)
        user_id = row.get("user_id") or row.get("user") or user
        instance = row.get("instance_id", row.get("id"))
        entries += _entries(_Record(f"{place}:{line}", user_id, instance, _labels(labels), _spans(spans)), project)
    return entries


def table(rows: Iterable[tuple[int, dict[str, Any]]], project: Known, place: str) -> list[ImportedLabel]:
    """Read rows of CSV or TSV.

    Raises:
        DataError: they name what the project does not know.
    """
    entries: list[ImportedLabel] = []
    for line, row in rows:
        labels: dict[str, dict[str, Any]] = {}
        spans: list[dict[str, Any]] = []
        for column, cell in row.items():
            if column in _ABOUT:
                continue
            name, _, label = column.partition(_APART) if _APART in column else _split(column, project)
            if name == "span_annotation" or label == "_spans":
                spans += _spans(_parsed(cell))
            elif not label.startswith("_"):
                labels.setdefault(name, {})[label] = cell
        user_id = row.get("user_id") or row.get("user")
        entries += _entries(_Record(f"{place}:{line}", user_id, row.get("instance_id"), labels, spans), project)
    return entries


def _split(column: str, project: Known) -> tuple[str, str, str]:
    """Split a column into scheme and label at the first point after which the first is a criterion, or at the first."""
    points = [place for place, letter in enumerate(column) if letter == "."]
    if not points or _criterion(column, project) is not None:
        return column, "", ""
    point = next((p for p in points if _criterion(column[:p], project) is not None), points[0])
    return column[:point], ".", column[point + 1 :]


def _entries(record: _Record, project: Known) -> Iterator[ImportedLabel]:
    item = project.item(record.instance, record.place)
    answers: dict[str, object] = {}
    notes: list[str] = []
    for name, labels in record.labels.items():
        criterion = _criterion(name, project)
        typed = [plain(labels[label]) for label in labels if label in _TEXTS]
        chosen = {label: value for label, value in labels.items() if label not in _TEXTS}
        if criterion is None and (name == NOTE or not any(_chosen(value) for value in chosen.values())):
            notes += [text for text in (*typed, *map(plain, chosen.values() if name == NOTE else ())) if text]
            continue
        if not chosen and typed:  # a scheme with one field, such as a number, in a table
            chosen = {"": typed[0]}
        elif criterion is not None:
            notes += [text for text in typed if text]
        answer = _answer(chosen, record.place, name, project, criterion, item)
        if answer is not None:
            answers[criterion or name] = answer
    for name, value in answers.items():
        yield project.entry(
            record.place, rater=record.user, subject=item.id, criterion=name, value=value, note="\n".join(notes),
            evidence=[mark for span in record.spans if (mark := _mark(span, item)) is not None],
        )  # fmt: skip


def _criterion(name: str, project: Known) -> str | None:
    schemes = {scheme(criterion): criterion for criterion in project.criteria}
    return schemes.get(name) or (name if project.is_criterion(name) else None)


def _answer(labels: dict[str, Any], place: str, name: str, project: Known, criterion: str | None, item: Item) -> object:
    """Return the label that was chosen, or the value that was set; None where there is neither."""
    chosen = {label: value for label, value in labels.items() if _chosen(value) or _named(label, value)}
    if len(chosen) > 1:
        raise DataError(f"{place}: several labels for {name} ({', '.join(chosen)}); a criterion has one answer")
    for label, value in chosen.items():
        for candidate in (label, label.removeprefix(_LIKERT)):
            if project.reads(criterion or name, item, candidate):
                return candidate
        return value if isinstance(value, int | float | str) and not isinstance(value, bool) else label
    return None


def _chosen(value: object) -> bool:
    return plain(value).strip().casefold() not in _NOT_CHOSEN and value is not None


def _named(label: str, value: object) -> bool:
    """Whether a value says its label's own name, as that of a radio does, also where the level is `no` or 0."""
    return label != "" and plain(value).strip().casefold() == label.casefold()


def _labels(content: object) -> dict[str, dict[str, Any]]:
    """Bring labels into one shape: scheme → label → value."""
    labels: dict[str, dict[str, Any]] = {}
    if isinstance(content, list):
        for pair in content:
            if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], dict):
                labels.setdefault(plain(pair[0].get("schema")), {})[plain(pair[0].get("name"))] = pair[1]
    elif isinstance(content, dict):
        for name, value in content.items():
            if isinstance(value, dict):
                inner = value.get("labels")
                labels[name] = inner if isinstance(inner, dict) else value
            elif isinstance(value, list):
                labels[name] = {plain(label): True for label in value}
            else:
                labels[name] = {"": value}
    return labels


def _spans(content: object) -> list[dict[str, Any]]:
    """Bring marked words into one shape: a list of objects with start, end and perhaps their text."""
    if isinstance(content, dict):
        groups = (list(value.values()) if isinstance(value, dict) else value for value in content.values())
        return [span for group in groups if isinstance(group, list) for span in _spans(group)]
    pairs = content if isinstance(content, list) else []
    spans = (pair[0] if isinstance(pair, list) and pair else pair for pair in pairs)
    return [span for span in spans if isinstance(span, dict)]


def _mark(span: dict[str, Any], item: Item) -> Evidence | None:
    start, end = span.get("start"), span.get("end")
    text = next((span[key] for key in ("text", "span") if isinstance(span.get(key), str)), None)
    marked = known.marked(item, start, end) if isinstance(start, int) and isinstance(end, int) else None
    if marked is not None and text in (None, marked.quote):
        return marked
    return Evidence(text) if text else None


def _parsed(cell: object) -> object:
    try:
        return bounds.json_value(plain(cell))
    except ValueError:
        return None
