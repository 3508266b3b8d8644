"""Labels in: each file becomes rows under our names, and each row of a person's a label that is held against the project.

The names in a file are those of the tool's template. Answers of Label Studio's JSON are Choices, Ratings and Numbers whose
control has a criterion's name; TextAreas are notes, Labels of any kind marked words. The control `rater` says who
annotated, or else Label Studio. A cancelled annotation was handed on. Predictions are not read. Potato's export in JSONL
has a label chosen for each scheme, `scale_N` of a Likert scale, or the value of a slider or number.

Of a plain table with a column `phase`, such as `history`, the last label of the labelling phase counts: only that was given
alone. What a spreadsheet could take for a formula has an apostrophe in front in CSV, which is taken away again.
"""

from __future__ import annotations

import dataclasses
import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import polars as pl

from mindgauge.annotation.exchange import export
from mindgauge.annotation.labels import LONGEST_NOTE, InvalidAnswerError, check
from mindgauge.annotation.records import Answer, Answered, Item, Person, Phase, Role
from mindgauge.raters.quotes import DIALOGUE, REPLY
from mindgauge.records import Evidence, RaterKind, Status, drawn, ratings
from mindgauge.records.english import nearest
from mindgauge.records.errors import DataError, MindgaugeError, UsageError
from mindgauge.records.files import bounds, mapping
from mindgauge.records.files import tables as reader
from mindgauge.records.files.texts import read_json, restored, unwrapped
from mindgauge.records.ratings import NOTHING_SAID
from mindgauge.records.ratings.layout import OPTIONAL, REQUIRED

Shape = TypeVar("Shape")
Found = TypeVar("Found")
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from mindgauge.records.files.folder import Readable
    from mindgauge.records.ratings import RatingLayout
    from mindgauge.records.rubric import Rubric

    Rows = Iterable[dict[str, Any]]
    """Cells under our names."""
    Records = Iterator[tuple[str, Any]]
    """Entries of a file, each with its place, for messages."""

RATINGS = "ratings"
"""The form of a file that is none of these: ratings as people have them."""
COLUMNS = ("subject", "criterion", "rater", "value")
MORE_COLUMNS = ("rater_kind", "status", "answered", "phase", "at", "seconds", "note", "evidence", "path")
CSV, PARQUET, LABEL_STUDIO, POTATO = export.FORMATS
_PERSON = ("", RaterKind.PERSON.value, "human", "people", "expert", "clinician", "annotator")
_ANSWERED = {
    Status.OK.value: Answered.OK.value, Status.UNPARSABLE.value: Answered.CANNOT_TELL.value,
    Status.NOT_APPLICABLE.value: Answered.NOT_APPLICABLE.value, Status.REFUSED.value: export.HANDED_ON,
}  # fmt: skip
"""The status of a rating → what became of the question."""
_WORDS = {word.value: word for word in (Answered.CANNOT_TELL, Answered.NOT_APPLICABLE)}
_ANSWERS, _NAMES = ("choices", "rating", "number", "text"), ("email", "username", "first_name", "id")
"""Label Studio's keys of what was chosen, and of who annotated."""
_LONGEST, _SOME = 60, 8
"""Characters of a name in a message, and names listed there."""


class RowError(MindgaugeError):
    """An entry of a file says what the project does not know; `read` adds the entry's place."""


class ImportedLabel(msgspec.Struct, frozen=True):
    """One answer of a file, under the names of the project; without an answer, the item was handed on."""

    place: str
    person: Person
    item: Item
    answer: Answer | None
    note: str = ""
    evidence: tuple[Evidence, ...] = ()
    time: float | None = None
    """Seconds since 1970; None where the file does not say."""
    seconds: float = 0.0


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
    if form and form not in export.FORMATS:
        raise UsageError(f"unknown format {form!r}; known are {', '.join(export.FORMATS)}")
    account: list[str] = []
    recognised, records = RATINGS, None
    if form or (layout == NOTHING_SAID and not _several(path)):
        recognised, records = _recognised(path, project, form)
    if records is None:
        records, account = _any_shape(path, project, layout)
    rows_of: dict[str, Callable[[Any, Known], Rows]] = {LABEL_STUDIO: _annotation, POTATO: _instance}
    labels: dict[tuple[str, ...], ImportedLabel | None] = {}
    for place, record in records:
        try:
            for row in rows_of[recognised](record, project) if recognised in rows_of else (record,):
                phase = _plain(row.get("phase"))
                if _plain(row.get("rater_kind")).casefold() in _PERSON and phase in {"", Phase.LABELLING.value}:
                    key = (*(_plain(row.get(name)) for name in COLUMNS[:3]), "" if phase else place)
                    labels[key] = project.label(place, row)
        except RowError as fault:
            raise DataError(f"{place}: {fault}") from fault
    entries = [label for label in labels.values() if label is not None]
    if not entries:
        advice = (
            f"; export JSON (not JSON-MIN), with a criterion's name on each control ({', '.join(project.criteria)})"
        )
        raise DataError(f"{path}: no labels of people in it{advice if recognised == LABEL_STUDIO else ''}")
    return recognised, entries, account


def _several(path: Path) -> bool:
    """Whether a path is a folder or zip with several tables."""
    if not path.is_dir() and path.suffix.lower() != ".zip":
        return False
    return sum(file.suffix.lower() in reader.ENDINGS for file in reader.lying_in(path)[0]) > 1


def _any_shape(path: Path, project: Known, layout: RatingLayout) -> tuple[Records, list[str]]:
    """Read ratings in any shape; what nobody answered is no label."""
    columns = {name: column for name, column in project.how.columns.items() if name in {*REQUIRED, *OPTIONAL}}
    layout = dataclasses.replace(layout, columns=columns, file=project.how.layout)
    frame, account = ratings.read([path], layout)
    answered = frame.filter(pl.col("value").is_not_null() | (pl.col("status") == "not_applicable"))
    return _table([(row["line"], row) for row in answered.iter_rows(named=True)], path), account.lines()


def _recognised(path: Path, project: Known, form: str) -> tuple[str, Records | None]:
    """Return the format of a file, and its entries; none where it is a table of another shape than ratings, one a row."""
    file = reader.find(path)
    suffix, columns = file.suffix.lower(), project.columns
    content = unwrapped(read_json(file, project.how.layout.encoding), path) if suffix == ".json" else None
    first = content[0] if isinstance(content, list) and content else None
    if content is not None and not (isinstance(first, dict) and {columns.get(n, n) for n in COLUMNS[:3]} <= {*first}):
        recognised, records = LABEL_STUDIO, _annotations(content, path)
    else:
        rows = list(reader.open_table(file, project.how.layout).rows(columns))
        if not rows:
            raise DataError(f"{path}: no ratings in it (0 rows)")
        recognised = PARQUET if suffix == ".parquet" else CSV
        if suffix in {".jsonl", ".ndjson"} and {"instance_id", "labels"} <= rows[0][1].keys():
            recognised, records = POTATO, ((f"{path.name}:{line}", row) for line, row in rows)
        elif form or len({*COLUMNS} & {name for _, row in rows for name in row}) >= len(COLUMNS) - 1:
            records = _table(rows, path)
        else:
            return RATINGS, None
    if form not in {"", recognised} and {form, recognised} != {CSV, PARQUET}:
        raise DataError(f"{path}: not a file of {form}")
    return recognised, records


def _table(rows: Sequence[tuple[int, dict[str, Any]]], path: Readable) -> Records:
    """Yield the rows of a table of ratings, with the columns subject, criterion, rater and value."""
    if path.suffix.lower() in {".csv", ".tsv"}:
        rows = [
            (line, {restored(name): restored(cell) if isinstance(cell, str) else cell for name, cell in row.items()})
            for line, row in rows
        ]
    columns = list(dict.fromkeys(name for _, row in rows for name in row))
    for name in COLUMNS[:3] if "answered" in columns else COLUMNS:
        if name not in columns:
            raise DataError(f"{path}: no column {name}; needed are {', '.join(COLUMNS)}, found {', '.join(columns)}; name it with --map {name}=COLUMN")  # fmt: skip
    for line, row in rows:
        yield f"{row.get('file') or path.name}:{line}", row


# Label Studio and Potato.


def _annotations(tasks: object, path: Path) -> Records:
    if not isinstance(tasks, list) or not tasks or not all(isinstance(task, dict) for task in tasks):
        raise DataError(f"{path.name}: expected Label Studio's list of tasks, found {type(tasks).__name__}")
    for number, task in enumerate(tasks, 1):
        data = {"id": task.get("id"), **(task["data"] if isinstance(task.get("data"), dict) else {})}
        annotations = task.get("annotations")
        for count, annotation in enumerate(annotations if isinstance(annotations, list) else [], 1):
            yield f"{path.name}: task {number}, annotation {count}", (annotation, data)


def _annotation(record: tuple[Any, dict[str, Any]], project: Known) -> Rows:
    """Read what one annotation says: of whom, what was chosen with each control, notes and marked words."""
    annotation, data = record
    if not isinstance(annotation, dict):
        raise RowError(f"expected an object, found {type(annotation).__name__}")
    answers: dict[str, list[str]] = {}
    notes: list[str] = []
    marks: list[Evidence] = []
    raters: list[object] = []
    for region in annotation["result"] if isinstance(annotation.get("result"), list) else []:
        if not isinstance(region, dict) or "from_name" not in region:  # a relation between regions
            continue
        name, kind, about = (_plain(region.get(key)) for key in ("from_name", "type", "to_name"))
        value = region["value"] if isinstance(region.get("value"), dict) else {}
        chosen: Any = next((value[key] for key in _ANSWERS if key in value), [])
        parts = [_plain(part) for part in (chosen if isinstance(chosen, list) else [chosen]) if part is not None]
        if "labels" in value or kind.endswith("labels"):
            if not isinstance(value.get("text"), str):
                raise RowError("marked words without their text")
            marks.append(Evidence(value["text"], source=about if about in {REPLY, DIALOGUE} else ""))
        elif name == "rater":
            raters += parts
        elif kind == "textarea":
            notes += parts
        else:
            answers.setdefault(name, []).extend(parts)
    author = annotation.get("completed_by")
    if isinstance(author, dict):
        author = next((author[key] for key in _NAMES if author.get(key)), "")
    about_item = {
        "subject": next((data[key] for key in (project.columns.get("subject", "subject"), "id") if key in data), None),
        "rater": raters[0] if raters else author, "at": annotation.get("created_at"),
        "seconds": annotation.get("lead_time"), "note": "\n".join(notes), "evidence": marks,
        **{name: data[name] for name in (*drawn.COLUMNS, drawn.WEIGHT) if name in data},
    }  # fmt: skip
    if annotation.get("was_cancelled"):
        return [{**about_item, "answered": export.HANDED_ON}]
    return _by_criterion(LABEL_STUDIO, about_item, answers, project)


def _instance(row: dict[str, Any], project: Known) -> Rows:
    """Read what one person says of one of Potato's instances: scheme → label → value, and spans of the whole text."""
    about = {"subject": row.get("instance_id"), "rater": row.get("user_id")}
    answers: dict[str, list[str]] = {}
    notes: list[str] = []
    marks: list[Evidence] = []
    for name, labels in row["labels"].items() if isinstance(row.get("labels"), dict) else ():
        chosen = {key: value for key, value in labels.items() if value} if isinstance(labels, dict) else {"": labels}
        notes += [_plain(chosen.pop("text_box"))] if "text_box" in chosen else []
        if chosen:
            answers[name] = list(chosen)
    spans = row["spans"].values() if isinstance(row.get("spans"), dict) else ()
    for span in (span for part in spans if isinstance(part, list) for span in part if isinstance(span, dict)):
        item, start, words = project.item(about), span.get("start"), _plain(span.get("text"))
        text = export.whole(item)
        source = ""
        if words and isinstance(start, int) and start >= 0 and text.startswith(words, start):
            source = REPLY if item.reply and start >= len(text) - len(item.reply) else DIALOGUE
        marks.append(Evidence(words, source=source))
    return _by_criterion(POTATO, {**about, "note": "\n".join(notes), "evidence": marks}, answers, project)


def _by_criterion(form: str, about: dict[str, Any], answers: dict[str, list[str]], project: Known) -> Rows:
    """Yield a row for each control in which something was chosen."""
    criteria = {export.control(form, criterion): criterion for criterion in project.criteria}
    for name, chosen_values in answers.items():
        chosen = list(dict.fromkeys(chosen_values))
        if len(chosen) > 1:
            raise RowError(f"several answers to {name} ({', '.join(chosen)[:200]}); a criterion has one answer")
        yield from ({**about, "criterion": criteria.get(name, name), "value": value} for value in chosen)


# What a row is checked against.


class Known:
    """The names of a project, and what a file calls them."""

    def __init__(
        self,
        people: Sequence[Person],
        items: Iterable[Item],
        rubric_for: Callable[[Item], Rubric],
        names: Mapping[str, str] | None = None,
        own_ids: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """Take the project's.

        Args:
            people: everybody.
            items: all of them.
            rubric_for: item → the criteria that are about it.
            names: what `--map` says: columns, and what the file calls a person (`rater.H1`) or criterion (`criterion.empathy`).
            own_ids: the id that items had in the file that the project was made from → their subjects.

        Raises:
            UsageError: a name is none of ours.
        """
        self.how = mapping.read(names, (*COLUMNS, *MORE_COLUMNS), (mapping.RATER, mapping.CRITERION))
        """Which column holds what, and how the file is to be read."""
        self.columns = {name: self.how.columns[name] for name in (*COLUMNS, *MORE_COLUMNS) if name in self.how.columns}
        """What the file calls columns of ours."""
        self._people = {person.name.casefold(): person for person in people}
        self._items: dict[str, list[Item]] = {}
        """By id, by the subject of their ratings, and by the file's own id, which several may have."""
        self._rubrics: dict[str, Rubric] = {}
        self._criteria: dict[str, str] = {}
        for item in items:
            self._items |= {item.id: [item], item.subject: [item]}
            self._rubrics[item.id] = rubric_for(item)
            for criterion in self._rubrics[item.id].criteria:
                self._criteria |= {name.casefold(): criterion.name for name in (criterion.name, *criterion.aliases)}
        for name, subjects in (own_ids or {}).items():
            self._items.setdefault(name, [self._items[subject][0] for subject in subjects if subject in self._items])
        self.criteria = list(dict.fromkeys(self._criteria.values()))
        """All criteria, by the project's names."""
        self._raters = list(dict.fromkeys(p.name for p in self._people.values() if p.role is Role.ANNOTATOR))
        self._learn(mapping.RATER, self._people, self._raters)
        self._learn(mapping.CRITERION, self._criteria, self.criteria)

    def _learn(self, prefix: str, names: dict[str, Any], choices: Sequence[str]) -> None:
        """Know a person or a criterion by the file's name for it, too."""
        for option, alias in self.how.columns.items():
            if not option.startswith(prefix):
                continue
            own_name = option.removeprefix(prefix).casefold()
            if own_name not in names:
                raise UsageError(f"--map {option}={alias}: {option!r} is unknown; choose from {', '.join(prefix + name for name in choices)}")  # fmt: skip
            names[alias.casefold()] = names[own_name]

    def label(self, place: str, row: Mapping[str, Any]) -> ImportedLabel | None:
        """Read one answer; None where it was taken back.

        Args:
            place: file and line, for messages.
            row: cells under our names. `rater` gave it; `subject` is the item, by its id, the subject of its ratings, or the
                id that it had in the file that it came from; `criterion` was asked; `value` is a level, one of its aliases,
                `cannot_tell` or `not_applicable`; where it is empty, `answered` or `status` says why. `path` is a walk,
                (node from 0, answer); `note` the person's words, `evidence` marked ones; `at` a date as ISO 8601 has it, UTC
                where it names no zone; `seconds` how long the item was on the screen.

        Raises:
            RowError: the project does not know one of these; the message says what is known.
        """
        answered = _answered(row)
        if answered == Answered.WITHDRAWN:
            return None
        item, time, person = (
            self.item(row),
            _moment(row.get("at")),
            _named("rater", row, self._people, self._raters, "; name theirs"),
        )
        if person.role is not Role.ANNOTATOR:
            raise RowError(f"{person.name} is {person.role}; only annotators' labels can be imported")
        if answered == export.HANDED_ON:
            return ImportedLabel(place, person, item, None, time=time)
        answer = self._answer(row, item, row.get("value") if answered == Answered.OK else answered)
        note, seconds = bounds.clean(_plain(row.get("note"))), _number(row.get("seconds") or 0)
        if len(note) > LONGEST_NOTE:
            raise RowError(f"a note of {len(note):,} characters; {LONGEST_NOTE:,} are kept at most")
        if seconds is None or not 0 <= seconds < math.inf:
            raise RowError(f"{_plain(row['seconds'])[:_LONGEST]!r} is no number of seconds")
        marks = _cells(row, "evidence", tuple[Evidence, ...])
        evidence = tuple(Evidence(bounds.clean(mark.quote), source=mark.source) for mark in marks if mark.quote)
        return ImportedLabel(place, person, item, answer, note, evidence, time, seconds)

    def item(self, row: Mapping[str, Any]) -> Item:
        """Find the item of a row, by its id, by the subject of its ratings, or by the id that it had in the file that it came from.

        Raises:
            RowError: there is none, there are several, or the row says that it was drawn with another probability.
        """
        items = _named("subject", row, self._items, list(dict.fromkeys([i[0].subject for i in self._items.values()])))
        if len(items) > 1:
            raise RowError(f"{row['subject']!r} is the id of {len(items)} items here; name the subject's own id")
        try:
            record = drawn.of_row(row, "its draw")
        except DataError as error:
            raise RowError(str(error)) from error
        probability = items[0].drawn.probability if items[0].drawn is not None else 0.0
        if record is not None and not math.isclose(probability, record.probability, rel_tol=1e-6):
            state = f"was drawn with probability {probability:g}" if probability else "was not drawn"
            raise RowError(f"probability {record.probability:g}, but in the project the item {items[0].id} {state}")
        return items[0]

    def _answer(self, row: Mapping[str, Any], item: Item, value: object) -> Answer:
        name = _named("criterion", row, self._criteria, self.criteria, "; or name it")
        rubric = self._rubrics[item.id]
        criterion = next((c for c in rubric.criteria if c.name == name), None)
        if criterion is None:
            raise RowError(f"the criterion {name} is not about the item {item.id}")
        level = criterion.read(value if isinstance(value, int | str) else _plain(value))
        if level is None:
            level = criterion.read(_plain(_number(value)))  # 3.0, as spreadsheets write a 3
        word = _plain(value).strip().casefold().replace(" ", "_")
        answered = Answered.OK if level is not None else _WORDS.get(word)
        if answered is None:
            near = _near(_plain(value), [str(v) for v in criterion.values])
            choices = ", ".join(map(str, (*criterion.values, *_WORDS)))
            raise RowError(f"{name} has no level {_plain(value)[:_LONGEST]!r}{near}; known are {choices}")
        try:
            answer = Answer(name, answered, level, _cells(row, "path", tuple[tuple[int, str], ...]))
            check(rubric.only(criterion), [answer])
        except InvalidAnswerError as error:
            raise RowError(str(error)) from error
        return answer


def _answered(row: Mapping[str, Any]) -> str:
    """Return what became of the question: as the file says, or as its value and status show."""
    word, value = _plain(row.get("answered")), row.get("value")
    if not word and value is not None:
        return Answered.OK.value
    answered = word or _ANSWERED.get(_plain(row.get("status")), "")
    if (answered == Answered.OK and value is None) or answered not in {*_ANSWERED.values(), Answered.WITHDRAWN}:
        choices = ", ".join(_ANSWERED.values())
        raise RowError(f"no value, and neither `answered` nor `status` says why; known are {choices}")
    return answered


def _cells(row: Mapping[str, Any], name: str, shape: type[Shape]) -> Shape:
    """Read a cell that holds a list as JSON; in Parquet and JSONL it may be the list itself."""
    cell = row.get(name)
    try:
        return msgspec.convert(bounds.json_value(cell) if isinstance(cell, str) else cell or (), shape)
    except (msgspec.ValidationError, ValueError) as error:
        raise RowError(f"the column `{name}` is no list as an export writes it ({str(error)[:200]})") from error


def _moment(cell: object) -> float | None:
    if cell is None or cell == "":
        return None
    try:
        time = cell if isinstance(cell, datetime) else datetime.fromisoformat(str(cell).strip())
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise RowError(
            f"{str(cell)[:_LONGEST]!r} is not a date and time; write it like 2026-01-31T09:30:00Z"
        ) from error


def _plain(cell: object) -> str:
    """Write a cell as text: a whole number without its point, nothing as an empty text."""
    if cell is None:
        return ""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _number(cell: object) -> float | None:
    try:
        return float(_plain(cell))
    except ValueError:
        return None


def _near(name: str, choices: Collection[str]) -> str:
    near = nearest(name[:_LONGEST], choices, "")
    return f" ({near})" if near else ""


def _named(
    kind: str, row: Mapping[str, Any], values: Mapping[str, Found], choices: Sequence[str], advice: str = ""
) -> Found:
    """Return what a cell names."""
    name = _plain(row.get(kind)).strip()
    value = values.get(name if kind == "subject" else name.casefold())
    if value:
        return value
    listed = ", ".join(choices[:_SOME]) + (f" and {len(choices) - _SOME} more" if len(choices) > _SOME else "")
    advice = advice and f"{advice} with --map {kind}.OURS={' '.join(name.split())[:_LONGEST] or 'THEIRS'}"
    raise RowError(f"unknown {kind} {name[:_LONGEST]!r}{_near(name, choices)}; known are {listed}{advice}")
