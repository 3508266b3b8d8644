"""Labels out: what an export holds, and its files, which the templates of each tool write as JSON.

Plain tables carry all there is of a label: `ratings` has people's independent labels, which `mindgauge reliability` reads;
`history` every label of everybody, in order; `gold` the gold view. Records of other tools have one note, one time and one
list of marked words, so those of labels that were given one by one are put together. They carry no path of a walk, no
version of the rubric, and no words that are not in the text letter for letter; Potato's carry no times, and not what was
handed on. Places count code points, as Label Studio's do.
"""

from __future__ import annotations

import functools
import itertools
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree.ElementTree import Element

import jinja2
import polars as pl

from mindgauge.annotation.labels import last
from mindgauge.annotation.ratings import PEOPLE, read
from mindgauge.annotation.records import Answered, Item, Label, Person, Phase
from mindgauge.raters.quotes import DIALOGUE, REPLY
from mindgauge.raters.window import Unit
from mindgauge.records import RaterKind, Status, digest, encode
from mindgauge.records.drawn import COLUMNS as DRAWN_COLUMNS
from mindgauge.records.prompt import transcript
from mindgauge.records.rubric import in_language
from mindgauge.records.text import xml, yaml
from mindgauge.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from mindgauge.annotation.gold import Gold
    from mindgauge.annotation.project import Annotation
    from mindgauge.records import Evidence
    from mindgauge.records.rubric import Rubric

HANDED_ON = "handed_on"
CSV, PARQUET, LABEL_STUDIO, POTATO = FORMATS = ("csv", "parquet", "label-studio", "potato")
_TEMPLATES = Path(__file__).parent / "templates"
_JINJA = jinja2.Environment(autoescape=False)  # noqa: S701 - each value is written as JSON
_WRITERS: dict[str, Callable[[Any], str]] = {
    "json": lambda tree: json.dumps(tree, ensure_ascii=False, indent=2) + "\n",
    "jsonl": lambda rows: "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows),
    "yaml": lambda tree: yaml(tree, 2) + "\n",  # JSON, which is YAML, too
    "xml": lambda tree: xml(_element(tree)),
}
"""Ending of a file → how the template's JSON is written there; XML is [tag, attributes, children…]."""


class PersonLabels(NamedTuple):
    """What one person entry of one item, alone: the last labels of the labelling phase, in the rubric's order."""

    item: Item
    person: Person
    labels: tuple[Label, ...]
    """Empty where the item was handed on."""
    criteria: tuple[str, ...]
    """That are about the item."""


class Content(NamedTuple):
    """What an export is written from."""

    name: str
    rubric: Rubric
    all_items: list[Item]
    """With those of the training round, of which only the history tells."""
    people: dict[str, Person]
    labelled: list[PersonLabels]
    history: list[Label]
    """Of everybody and every phase, oldest first."""
    binding: set[int]
    """Numbers of those in the history that no later one has replaced."""
    gold: list[Gold]
    systems: dict[str, str]
    """Item of a closed batch → whose reply it is, where the run knows."""


def content(a: Annotation, numbers: Collection[int]) -> Content:
    """Gather what there is on some batches, and of the training round.

    Raises:
        DatabaseError: it cannot be read.
    """
    batches = [batch for batch in a.batches() if batch.number in numbers or not batch.number]
    parts = [read(a, batch) for batch in batches]
    items = [item for part in parts for item in part.items]
    history = sorted((label for part in parts for label in part.labels), key=lambda label: label.number)
    rubrics = {batch.number: batch.rubric for batch in batches}
    people = {person.id: person for person in a.people()}
    alone, handed_on = last(history, Phase.LABELLING), a.handed_on(phase=Phase.LABELLING)
    labelled = []
    for item in (item for item in items if item.batch):
        criteria = tuple(c.name for c in a.rubric_for(item, rubrics[item.batch]).criteria)
        for person in people.values():
            labels = tuple(alone[key] for name in criteria if (key := (item.id, person.id, name)) in alone)
            if labels or (person.id, item.id) in handed_on:
                labelled.append(PersonLabels(item, person, labels, criteria))
    binding = {label.number for phases in ((Phase.TRAINING,), ()) for label in last(history, *phases).values()}
    closed = {batch.number for batch in batches if batch.phase is Phase.CLOSED}
    gold = [
        value
        for part in parts
        for value in part.gold
        if part.batch.number in closed or (part.batch.number and value.people)  # of what is open, what people labelled
    ]
    models: dict[str, str] = {}
    if (a.folder / "run.sqlite").is_file():
        with Store(a.folder) as store:
            models = dict(store.select("SELECT id, model FROM replies").fetchall())
    systems = {item.id: models[item.subject] for item in items if item.batch in closed and item.subject in models}
    return Content(a.project.name, a.rubric(), items, people, labelled, history, binding, gold, systems)


def files(content: Content, form: str) -> dict[str, str | pl.DataFrame]:
    """Return the files of an export, name → text or table; history and gold come with each format's own."""
    ending = "parquet" if form == PARQUET else "csv"
    tables: dict[str, str | pl.DataFrame] = {f"{name}.{ending}": rows for name, rows in _tables(content).items()}
    if form in {CSV, PARQUET}:
        return tables
    del tables[f"ratings.{ending}"]
    items = [item for item in content.all_items if item.batch]
    of_item: dict[str, list[PersonLabels]] = {item.id: [] for item in items}
    for entry in content.labelled:
        of_item[entry.item.id].append(entry)
    scope = {
        "name": content.name, "criteria": content.rubric.criteria, "items": items, "of_item": of_item,
        "labelled": content.labelled, "people": list(dict.fromkeys(entry.person.name for entry in content.labelled)),
        "next": next, "keys": _keys,
        "notes": _notes, "marks": _marks, "control": functools.partial(control, form), "time": _time,
        "dialogue": dialogue, "whole": whole, "drawn": _drawn, "english": lambda text: in_language(text, "en"),
    }  # fmt: skip
    contents: dict[str, str | pl.DataFrame] = {}
    for name in names(form)["files"]:
        template = _JINJA.from_string((_TEMPLATES / form / name).read_text("utf-8"))
        contents[name] = _WRITERS[name.rpartition(".")[2]](json.loads(template.render(scope)))
    return contents | tables


@functools.cache
def names(form: str) -> dict[str, Any]:
    """Return what the template of a format says beside its files: the names under which they are read back."""
    known_names: dict[str, Any] = json.loads((_TEMPLATES / form / "names.json").read_text("utf-8"))
    return known_names


def control(form: str, criterion: str) -> str:
    """Return the name of a criterion's control: its own, unless the tool's file has another use for that."""
    return f"{criterion}_" if criterion in names(form)["taken"] else criterion


def dialogue(item: Item) -> str:
    """Return the dialogue as one text, one speaker a paragraph; of several turns, each with the number of its turn."""
    if not item.unit:
        return transcript(item.messages)
    turns = itertools.accumulate(int(message.role == "user") for message in item.messages)
    return "\n\n".join(f"[{turn}] {transcript((m,))}" for turn, m in zip(turns, item.messages, strict=True))


def whole(item: Item) -> str:
    """Return the dialogue and the reply to it, where the question is about one."""
    judged = "\n\nMessage to judge: " if item.unit == Unit.CLIENT else "\n\nReply: "
    return f"{dialogue(item)}{judged}{item.reply}" if item.reply else dialogue(item)


def mark_place(item: Item, mark: Evidence) -> tuple[str, int, str] | None:
    """Return in which text marked words are, where they begin there, and the words; None where they are in none letter for letter."""
    for source, text in ((REPLY, item.reply), (DIALOGUE, dialogue(item))):
        if text and mark.source in {"", source} and (start := text.find(mark.quote)) >= 0:
            return source, start, mark.quote
    return None


def _drawn(item: Item) -> dict[str, Any]:
    """Return with which probability an item was drawn, as columns of a file; nothing where it was not."""
    return dict(zip(DRAWN_COLUMNS, item.drawn.cells, strict=True)) if item.drawn is not None else {}


def _time(seconds: float) -> str:
    """Write a point in time as ISO 8601 has it, to the microsecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _element(tree: list[Any]) -> Element:
    element = Element(tree[0], tree[1])
    element.extend(map(_element, tree[2:]))
    return element


def _keys(entry: PersonLabels) -> Iterator[str]:
    return (digest(entry.item.id, entry.person.name, number)[:10] for number in itertools.count())


def _notes(entry: PersonLabels) -> list[str]:
    """Return a person's notes on an item as one, each once; nothing where there is none."""
    notes = dict.fromkeys(label.note for label in entry.labels if label.note)
    return ["\n".join(notes)] if notes else []


def _marks(entry: PersonLabels) -> list[tuple[str, int, str]]:
    """Return the marked words that are in a text letter for letter: which text, where they begin there, and the words."""
    places = dict.fromkeys(mark_place(entry.item, mark) for label in entry.labels for mark in label.evidence)
    return [place for place in places if place is not None]


def _tables(content: Content) -> dict[str, pl.DataFrame]:
    """Return ratings, history and gold as tables; a tie has no value, and its votes say so."""
    items, people = {item.id: item for item in content.all_items}, content.people
    ratings: list[dict[str, Any]] = []
    for item, person, labels, criteria in content.labelled:
        ratings += [_row(label, item, person.name, content) for label in labels]
        handed_on = {
            **_about(item, content), "rater": person.name, "status": Status.REFUSED.value, "answered": HANDED_ON,
            "phase": Phase.LABELLING.value, "superseded": "no",
        }  # fmt: skip
        ratings += [{**handed_on, "criterion": name} for name in criteria if not labels]
    history = [_row(label, items[label.item], people[label.person].name, content) for label in content.history]
    gold = [
        {
            **_about(items[value.item], content), "criterion": value.criterion, "rater": PEOPLE,
            "rater_kind": RaterKind.GOLD.value, "status": value.status.value, "value": value.value,
            "answered": str(value.answered or ""), "policy": str(value.policy), "votes": encode(value.votes).decode(),
            "people": value.people, "tie": "yes" if value.policy == "tie" else "no",
            "by": people[value.by].name if value.by else None,
        }
        for value in content.gold
    ]  # fmt: skip
    return {"ratings": _table(ratings, "ratings"), "history": _table(history, "ratings"), "gold": _table(gold, "gold")}


def _about(item: Item, content: Content) -> dict[str, Any]:
    return {
        "subject": item.subject, "item": item.id, "batch": item.batch, "cluster": item.cluster or None,
        "system": content.systems.get(item.id), "rater_kind": RaterKind.PERSON.value, "run": 0, **_drawn(item),
    }  # fmt: skip


def _row(label: Label, item: Item, rater: str, content: Content) -> dict[str, Any]:
    """Return a label as a row; `superseded` says whether a later one has taken its place."""
    return {
        **_about(item, content), "criterion": label.criterion, "rater": rater, "value": label.value,
        "status": None if label.answered is Answered.WITHDRAWN else label.answered.status.value,
        "answered": label.answered.value, "phase": label.phase.value, "at": _time(label.at),
        "seconds": label.seconds, "instrument": label.instrument, "note": label.note or None,
        "evidence": encode(label.evidence).decode() if label.evidence else None,
        "path": encode(label.path).decode() if label.path else None, "source": label.source,
        "superseded": "no" if label.number in content.binding else "yes",
    }  # fmt: skip


def _table(rows: Sequence[dict[str, Any]], name: str) -> pl.DataFrame:
    """Return rows as a table; the values as numbers where all are, as text where some are words."""
    columns = names("table")[name]
    kinds = {type(row["value"]) for row in rows if row.get("value") is not None}
    texts = ({**row, "value": None if row.get("value") is None else str(row["value"])} for row in rows)
    cells = [tuple(map(row.get, columns)) for row in texts]
    frame = pl.DataFrame(cells, {column: getattr(pl, kind) for column, kind in columns.items()}, orient="row")
    if not kinds or str in kinds:
        return frame
    return frame.with_columns(pl.col("value").cast(pl.Float64 if float in kinds else pl.Int64))
