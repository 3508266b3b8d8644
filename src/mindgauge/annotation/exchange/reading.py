"""Labels in: each file becomes rows of a plain table, and each row of a person's a label.

The names in a file are those of the tool's template. Answers of Label Studio (JSON, JSON-MIN) are Choices, Ratings and
Numbers whose control has a criterion's name; TextAreas are notes, Labels of any kind marked words. The control `rater`
says who annotated, or else Label Studio. A cancelled annotation was handed on; JSON-MIN leaves those out. Predictions are
not read.

A scheme of Potato gives its label chosen, `scale_N` of a Likert scale, or the value of a slider or number. The versions
of Potato write exports (JSONL, CSV, TSV), a user's state, and a user's older files, whose folder has the person's name.

Of a plain table with a column `phase`, such as `history`, the last label of the labelling phase counts: only that was given
alone. What a spreadsheet could take for a formula has an apostrophe in front in CSV, which is taken away again.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from mindgauge.annotation.exchange.export import CSV, FORMATS, LABEL_STUDIO, PARQUET, POTATO, control, names
from mindgauge.annotation.exchange.known import COLUMNS, HANDED_ON, marked, plain
from mindgauge.annotation.records import Phase
from mindgauge.records import Evidence, RaterKind, drawn, ratings
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import bounds
from mindgauge.records.files import tables as reader
from mindgauge.records.files.texts import read_json, restored, unwrapped
from mindgauge.records.ratings import NOTHING_SAID
from mindgauge.records.ratings.layout import OPTIONAL, REQUIRED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.annotation.exchange.known import ImportedLabel, Known
    from mindgauge.annotation.records import Item
    from mindgauge.records.files.folder import Readable
    from mindgauge.records.ratings import RatingLayout

    Rows = Iterator[tuple[str, dict[str, Any]]]
    """Place, for messages, and cells under our names."""

RATINGS = "ratings"
"""The form of a file that is none of these: ratings as people have them."""
_STUDIO, _POTATO = names(LABEL_STUDIO), names(POTATO)
_PERSON = ("", RaterKind.PERSON.value, "human", "people", "expert", "clinician", "annotator")


def read(
    path: Path, project: Known, form: str = "", layout: RatingLayout = NOTHING_SAID
) -> tuple[str, list[ImportedLabel], list[str]]:
    """Read a file, by its ending and content or as the format that is named.

    Returns:
        The format, the labels, and how they were read where the ratings are in another form than one a row.

    Raises:
        UsageError: the format is unknown.
        DataError: the file is of none, is broken, or names what the project does not know.
    """
    if form and form not in FORMATS:
        raise UsageError(f"unknown format {form!r}; known are {', '.join(FORMATS)}")
    account: list[str] = []
    recognised, rows = RATINGS, None
    if form or (layout == NOTHING_SAID and not _several(path)):
        recognised, rows = _recognised(path, project, form)
    if rows is None:
        rows, account = _any_shape(path, project, layout)
    labels: dict[tuple[str, ...], ImportedLabel | None] = {}
    for place, row in rows:
        phase = plain(row.get("phase"))
        if plain(row.get("rater_kind")).casefold() in _PERSON and phase in {"", Phase.LABELLING.value}:
            key = (*(plain(row.get(name)) for name in COLUMNS[:3]), "" if phase else place)
            labels[key] = project.label(place, row)
    entries = [label for label in labels.values() if label is not None]
    if not entries:
        advice = f"; a control or a key must have a criterion's name ({', '.join(project.criteria)})"
        raise DataError(f"{path}: no labels of people in it{advice if recognised == LABEL_STUDIO else ''}")
    return recognised, entries, account


def _several(path: Path) -> bool:
    """Whether a path is a folder or zip with several tables."""
    if not path.is_dir() and path.suffix.lower() != ".zip":
        return False
    return sum(file.suffix.lower() in reader.ENDINGS for file in reader.lying_in(path)[0]) > 1


def _any_shape(path: Path, project: Known, layout: RatingLayout) -> tuple[Rows, list[str]]:
    """Read ratings in any shape; what nobody answered is no label."""
    columns = {name: column for name, column in project.how.columns.items() if name in {*REQUIRED, *OPTIONAL}}
    layout = dataclasses.replace(layout, columns=columns, file=project.how.layout)
    frame, account = ratings.read([path], layout)
    answered = frame.filter(pl.col("value").is_not_null() | (pl.col("status") == "not_applicable"))
    return _table([(row["line"], row) for row in answered.iter_rows(named=True)], path), account.lines()


def _recognised(path: Path, project: Known, form: str) -> tuple[str, Rows | None]:
    """Return the format of a file and its rows; none where it is a table of another shape than ratings, one a row."""
    file = reader.find(path)
    content = read_json(file, project.how.layout.encoding) if file.suffix.lower() == ".json" else None
    if isinstance(content, dict) and _POTATO["state"][0] in content:
        recognised, rows = POTATO, _potato_state(content, project, path)
    elif (content := unwrapped(content, path)) is not None and not _of_ratings(content, project):
        recognised, rows = LABEL_STUDIO, _label_studio(content, project, path)
    else:
        return _of_table(file, project, form)
    if form not in {"", recognised}:
        raise DataError(f"{path}: not a file of {form}")
    return recognised, rows


def _of_ratings(content: object, project: Known) -> bool:
    first = content[0] if isinstance(content, list) and content else None
    return isinstance(first, dict) and all(project.columns.get(name, name) in first for name in COLUMNS[:3])


def _of_table(path: Readable, project: Known, form: str) -> tuple[str, Rows | None]:
    rows = list(reader.open_table(path, project.how.layout).rows(project.columns))
    if not rows:
        raise DataError(f"{path}: no ratings in it (0 rows)")
    header, lines = rows[0][1].keys(), path.suffix.lower() in {".jsonl", ".ndjson"}
    instance, second = (_POTATO["instance"], _POTATO["labels"]) if lines else (_POTATO["instance"][:1], _POTATO["user"])
    if form in {"", POTATO} and not header.isdisjoint(instance) and not header.isdisjoint(second):
        return POTATO, (_potato_lines if lines else _potato_table)(rows, project, path)
    if form in {LABEL_STUDIO, POTATO}:
        raise DataError(f"{path}: not a file of {form}")
    if not form and len({*COLUMNS} & {name for _, row in rows for name in row}) < len(COLUMNS) - 1:
        return RATINGS, None
    return PARQUET if path.suffix.lower() == ".parquet" else CSV, _table(rows, path)


def _table(rows: Sequence[tuple[int, dict[str, Any]]], path: Readable) -> Rows:
    """Yield the rows of a table of ratings, with the columns subject, criterion, rater and value."""
    if path.suffix.lower() in {".csv", ".tsv"}:
        rows = [
            (line, {restored(name): restored(cell) if isinstance(cell, str) else cell for name, cell in row.items()})
            for line, row in rows
        ]
    columns = list(dict.fromkeys(name for _, row in rows for name in row))
    needed = COLUMNS[:3] if "answered" in columns else COLUMNS
    missing = next((name for name in needed if name not in columns), None)
    if missing is not None:
        raise DataError(
            f"{path}: no column {missing}; needed are {', '.join(COLUMNS)}, found {', '.join(columns)}; "
            f"name it with --map {missing}=COLUMN"
        )
    for line, row in rows:
        yield f"{row.get('file') or path.name}:{line}", row


# Label Studio. A record of JSON-MIN is an annotation whose regions are its keys.


def _label_studio(tasks: object, project: Known, path: Path) -> Rows:
    if not isinstance(tasks, list) or not tasks or not all(isinstance(task, dict) for task in tasks):
        raise DataError(f"{path.name}: expected Label Studio's list of tasks, found {type(tasks).__name__}")
    for number, task in enumerate(tasks, 1):
        place = f"{path.name}: task {number}"
        inside = next((name for name in _STUDIO["annotations"] if name in task and "data" in task), None)
        if inside is None:
            yield from _annotation({**task, "result": list(_flat(task, project))}, task, place, project)
            continue
        data = {"id": task.get("id"), **(task["data"] if isinstance(task["data"], dict) else {})}
        for count, annotation in enumerate(task[inside] if isinstance(task[inside], list) else [], 1):
            if not isinstance(annotation, dict):
                raise DataError(f"{place}, annotation {count}: expected an object, found {type(annotation).__name__}")
            cancelled = any(annotation.get(name) for name in _STUDIO["cancelled"])
            answered = {"answered": HANDED_ON} if cancelled else {}
            yield from _annotation(annotation, data, f"{place}, annotation {count}", project, **answered)


def _flat(task: dict[str, Any], project: Known) -> Iterator[dict[str, Any]]:
    for name, value in task.items():
        if name in {"rater", "note"}:
            inside = value if isinstance(value, dict) else {"text": value}
            yield {"from_name": name, "type": "textarea" if name == "note" else "", "value": inside}
            continue
        for part in value if isinstance(value, list) else [value]:
            inside = part if isinstance(part, dict) else {"choices": part}
            if "labels" in inside or _criterion(LABEL_STUDIO, name, project) is not None:
                yield {"from_name": name, "value": inside, "to_name": _STUDIO["evidence"].get(name, "")}


def _annotation(annotation: dict[str, Any], data: dict[str, Any], place: str, project: Known, **answered: str) -> Rows:
    """Read what one annotation says: of whom, what was chosen with each control, notes and marked words."""
    controls: dict[str, dict[str, Any]] = {}
    notes: list[str] = []
    marks: list[Evidence] = []
    raters: list[object] = []
    for region in annotation["result"] if isinstance(annotation.get("result"), list) else []:
        if not isinstance(region, dict) or "from_name" not in region:  # a relation between regions
            continue
        name, kind, about = (plain(region.get(key)) for key in ("from_name", "type", "to_name"))
        value = region["value"] if isinstance(region.get("value"), dict) else {}
        chosen: Any = next((value[key] for key in _STUDIO["answer"] if key in value), [])
        parts = [plain(part) for part in (chosen if isinstance(chosen, list) else [chosen]) if part is not None]
        if "labels" in value or kind.endswith("labels"):
            marks.append(_marked(value, about, data, place))
        elif name == "rater":
            raters += parts
        elif kind == "textarea":
            notes += parts
        else:
            controls.setdefault(name, {}).update(dict.fromkeys(parts, True))
    author = next((annotation[name] for name in _STUDIO["rater"] if name in annotation), None)
    if isinstance(author, dict):
        author = next((author[key] for key in _STUDIO["person"] if author.get(key)), "")
    about_item = {
        "subject": next((data[key] for key in (project.columns.get("subject", "subject"), "id") if key in data), None),
        "rater": raters[0] if raters else author, "at": annotation.get("created_at"),
        "seconds": annotation.get("lead_time"), "note": "\n".join(notes), "evidence": marks,
        **{name: data[name] for name in (*drawn.COLUMNS, drawn.WEIGHT) if name in data},
    }  # fmt: skip
    if answered:
        yield place, {**about_item, **answered}
    else:
        yield from _said(LABEL_STUDIO, place, about_item, controls, project)


def _marked(value: dict[str, Any], about: str, data: dict[str, Any], place: str) -> Evidence:
    text, start, end = value.get("text"), value.get("start"), value.get("end")
    source = about if about in _STUDIO["evidence"].values() else ""
    if isinstance(text, str):
        return Evidence(text, source=source)
    if isinstance(data.get(about), str) and isinstance(start, int) and isinstance(end, int):
        return Evidence(data[about][max(start, 0) : end], source=source)
    raise DataError(f"{place}: marked words without their text")


# Potato.


def _potato_state(content: dict[str, Any], project: Known, path: Path) -> Rows:
    labels, spans = (part if isinstance(part, dict) else {} for part in map(content.get, _POTATO["state"]))
    for instance, answers in labels.items():
        about = {
            "rater": content.get("user_id") or path.parent.name,
            "subject": instance,
            "evidence": spans.get(instance),
        }
        yield from _said(POTATO, f"{path.name}: {instance}", about, _schemes(answers), project)


def _potato_lines(rows: Sequence[tuple[int, dict[str, Any]]], project: Known, path: Readable) -> Rows:
    folder = path.resolve().parent.name if isinstance(path, Path) else path.place.parent.name
    for line, row in rows:
        rater = next((row[name] for name in _POTATO["user"] if row.get(name)), folder)
        subject, labels, spans = (
            next((row[name] for name in _POTATO[kind] if name in row), None) for kind in ("instance", "labels", "spans")
        )
        about = {"rater": rater, "subject": subject, "evidence": spans}
        yield from _said(POTATO, f"{path.name}:{line}", about, _schemes(labels), project)


def _potato_table(rows: Sequence[tuple[int, dict[str, Any]]], project: Known, path: Readable) -> Rows:
    for line, row in rows:
        schemes: dict[str, dict[str, Any]] = {}
        spans: list[Any] = []
        for column in (name for name in row if name not in _POTATO["no_scheme"]):
            name, label = _column(column, project)
            if name == "span_annotation" or label == "_spans":
                spans += _parsed(row[column])
            elif not label.startswith("_"):
                schemes.setdefault(name, {})[label] = row[column]
        rater = next((row[name] for name in _POTATO["user"] if row.get(name)), None)
        about = {"rater": rater, "subject": row.get("instance_id"), "evidence": spans}
        yield from _said(POTATO, f"{path.name}:{line}", about, schemes, project)


def _column(column: str, project: Known) -> tuple[str, str]:
    """Split a column into scheme and label at `:::`, at the first point after a criterion's name, or at the first."""
    name, separator, label = column.partition(_POTATO["separator"])
    if separator or _criterion(POTATO, column, project) is not None:
        return name, label
    points = [place for place, letter in enumerate(column) if letter == "."]
    criteria = (place for place in points if _criterion(POTATO, column[:place], project) is not None)
    point = next(criteria, points[0] if points else len(column))
    return column[:point], column[point + 1 :]


def _parsed(cell: object) -> list[Any]:
    try:
        spans = bounds.json_value(plain(cell))
    except ValueError:
        return []
    return spans if isinstance(spans, list) else []


def _schemes(content: object) -> dict[str, dict[str, Any]]:
    """Bring labels into one shape: scheme → label → value."""
    schemes: dict[str, dict[str, Any]] = {}
    for pair in content if isinstance(content, list) else ():
        if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], dict):
            schemes.setdefault(plain(pair[0].get("schema")), {})[plain(pair[0].get("name"))] = pair[1]
    for name, value in content.items() if isinstance(content, dict) else ():
        if isinstance(value, dict):
            inner = value.get("labels")
            schemes[name] = inner if isinstance(inner, dict) else value
        else:
            schemes[name] = {plain(label): True for label in value} if isinstance(value, list) else {"": value}
    return schemes


def _marks(content: Any, item: Item) -> Iterator[Evidence]:
    """Yield marked words, in whichever shape: objects with start, end and perhaps their text, in lists and objects."""
    if isinstance(content, Evidence):
        yield content
    elif isinstance(content, list):
        for part in content:
            yield from _marks(part, item)
    elif isinstance(content, dict) and content.keys().isdisjoint({"start", "end", *_POTATO["quote"]}):
        yield from _marks(list(content.values()), item)
    elif isinstance(content, dict):
        start, end = content.get("start"), content.get("end")
        text = next((content[key] for key in _POTATO["quote"] if isinstance(content.get(key), str)), None)
        mark = marked(item, start, end) if isinstance(start, int) and isinstance(end, int) else None
        if mark is not None and text in (None, mark.quote):
            yield mark
        elif text:
            yield Evidence(text)


# What was said with the controls of either tool: control → label → value.


def _criterion(form: str, name: str, project: Known) -> str | None:
    """Return the criterion of a control's name; None where it is that of none."""
    controls = {control(form, criterion): criterion for criterion in project.criteria}
    return controls.get(name) or (name if project.criterion(name) else None)


def _said(form: str, place: str, about: dict[str, Any], controls: dict[str, dict[str, Any]], project: Known) -> Rows:
    """Yield a row for each criterion; other controls are notes where they hold text, and faults where they hold a choice."""
    answers: dict[str, object] = {}
    notes = [about["note"]] if about.get("note") else []
    if not controls:
        return
    item = project.item(about["subject"], place)
    for name, labels in controls.items():
        criterion = _criterion(form, name, project)
        typed = [text for label, value in labels.items() if label in _POTATO["typed"] and (text := plain(value))]
        chosen = {label: value for label, value in labels.items() if label not in _POTATO["typed"]}
        if criterion is None and (name == "note" or not any(map(_is_chosen, chosen, chosen.values()))):
            notes += [*typed, *(text for value in chosen.values() if name == "note" and (text := plain(value)))]
            continue
        if not chosen and typed:  # a control with one field, such as a number, in a table
            chosen = {"": typed[0]}
        elif criterion is not None:
            notes += typed
        picked = {label: value for label, value in chosen.items() if _is_chosen(label, value)}
        if len(picked) > 1:
            raise DataError(
                f"{place}: several answers to {name} ({', '.join(picked)[:200]}); a criterion has one answer"
            )
        for label, value in picked.items():
            answers[criterion or name] = _answer(label, value, criterion or name, item, project)
    for criterion, value in answers.items():
        evidence = list(_marks(about["evidence"], item))
        yield place, {**about, "criterion": criterion, "value": value, "note": "\n".join(notes), "evidence": evidence}


def _is_chosen(label: str, value: object) -> bool:
    """Whether a value chooses its label; it may say the label's own name, also where the level is `no` or 0."""
    word = plain(value).strip().casefold()
    return (value is not None and word not in _POTATO["not_chosen"]) or (label != "" and word == label.casefold())


def _answer(label: str, value: object, criterion: str, item: Item, project: Known) -> object:
    """Return the label that was chosen, or the value that was set."""
    for candidate in (label, label.removeprefix(_POTATO["likert"])):
        if project.reads(criterion, item, candidate):
            return candidate
    return value if isinstance(value, int | float | str) and not isinstance(value, bool) else label
