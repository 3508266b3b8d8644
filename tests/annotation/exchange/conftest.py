"""Labelled projects to export, and fresh ones with the same items and people to import into."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, NamedTuple

import pytest

from mindgauge import benchmarks
from mindgauge.annotation import submissions, tasks
from mindgauge.annotation.exchange import Known
from mindgauge.annotation.labels import last
from mindgauge.annotation.project import Annotation
from mindgauge.annotation.records import Answer, Answered, Item, Phase
from mindgauge.records import Evidence, Message, digest
from tests.annotation.conftest import PEOPLE, begin, own_items
from tests.made_once import made_once

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mindgauge.annotation.records import Label

NOTES = (
    "",
    "=1+1",
    "@ana, see above",
    "-3 \t",
    "NA",
    "null",
    "'=quoted'",
    "好的，他没有回应。",
    '"so" 😀',
    "two\nlines",
)
ITEMS = own_items(4)
SAFE, NEGLECT = "Safe Response", "Linguistic Neglect"
WALK = ((0, "no"), (1, "no"), (2, NEGLECT))


class Said(NamedTuple):
    """What a label says, in one shape for all projects."""

    given: object
    note: str
    evidence: tuple[tuple[str, str, bool], ...]
    path: tuple[tuple[int, str], ...]
    seconds: float


def said(a: Annotation, phase: Phase = Phase.LABELLING) -> dict[tuple[str, str, str], Said]:
    """Return (item, person's name, criterion) → what the binding label of a phase says."""
    names = {person.id: person.name for person in a.people()}
    return {
        (item, names[person], criterion): of(label)
        for (item, person, criterion), label in last(a.labels(), phase).items()
    }


def of(label: Label) -> Said:
    evidence = tuple((mark.quote, mark.source, mark.found) for mark in label.evidence)
    return Said(label.given, label.note, evidence, label.path, label.seconds)


def submit(
    a: Annotation, name: str, item: str, *answers: Answer, note: str = "", evidence: tuple[Evidence, ...] = ()
) -> None:
    """Let a person label an item that is before them."""
    person = a.named(name)
    found = tasks.current(a, person, item)
    assert isinstance(found, tasks.Assignment)
    submissions.submit(
        a, person, item, found.phase, found.turn, digest(name, item, found.phase, found.turn), answers,
        note=note, evidence=evidence, seconds=12.5,
    )  # fmt: skip


def label_batch(a: Annotation, batch: int = 1) -> None:
    """Let three people label a batch of dialogue_safety: notes of all kinds, marked words, walks, and one handed on."""
    for person in a.annotators():
        for number, item in enumerate(a.items(batch)):
            found = tasks.current(a, person, item.id)
            assert isinstance(found, tasks.Assignment)
            if (person.name, number) == ("chi", 1):
                submissions.hand_on(a, person, item.id, found.phase, found.turn, digest("hand on", item.id))
                continue
            answer = Answer("category", Answered.OK, NEGLECT, WALK)
            if (person.name, number) == ("ben", 2):
                answer = Answer("category", Answered.CANNOT_TELL)
            marks = (
                Evidence(item.reply[:9], source="reply"),
                Evidence(item.messages[0].content[2:8], source="dialogue"),
            )
            note = NOTES[(number + len(person.name) * 3 + ord(person.name[0])) % len(NOTES)]
            submit(a, person.name, item.id, answer, note=note, evidence=marks[: number % 3])


def scored_items(count: int = 3) -> tuple[Item, ...]:
    """Replies to be scored on many criteria."""
    texts = [
        ("我睡不着。", "先喝点水，我们慢慢说。"),
        ("I failed the exam 😔.", "=That is hard. What happened?"),
        ("Hi.", "Hello."),
    ]
    return tuple(
        Item(digest("item", number), (Message("user", asked),), reply, batch=1, id=f"i{number}")
        for number, (asked, reply) in enumerate(texts[:count])
    )


def score(a: Annotation) -> None:
    """Let three people give scores, some of which do not apply."""
    for place, person in enumerate(a.annotators()):
        for number, item in enumerate(a.items(1)):
            answers = [
                Answer(c.name, Answered.NOT_APPLICABLE)
                if c.not_applicable and number == 1
                else Answer(c.name, Answered.OK, c.values[(number + place) % len(c.values)])
                for c in a.rubric().criteria
            ]
            submit(
                a,
                person.name,
                item.id,
                *answers,
                note=NOTES[number + 1],
                evidence=(Evidence(item.reply[:4], source="reply"),),
            )


@pytest.fixture(scope="session")
def labelled_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a labelled project, to be copied."""

    def make(folder: Path) -> Path:
        with begin(folder / "project", items=(*own_items(6), *own_items(8, batch=2)[6:])) as a:
            label_batch(a)
        return folder / "project"

    return made_once(tmp_path_factory, "labelled", make)


@pytest.fixture
def labelled(labelled_once: Path, tmp_path: Path) -> Annotation:
    """Batch 1 is closed, batch 2 not begun."""
    shutil.copytree(labelled_once, tmp_path / "labelled")
    return Annotation.open(tmp_path / "labelled")


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A project with the same items and people as `labelled`, and no labels."""
    begin(tmp_path / "fresh", items=(*own_items(6), *own_items(8, batch=2)[6:])).close()
    return tmp_path / "fresh"


def known(
    items: tuple[Item, ...] = ITEMS, instrument: str = "dialogue_safety", names: Mapping[str, str] | None = None
) -> Known:
    """Return what imports are held against, without a project; with names of the file's own."""
    rubric = benchmarks.find_one(instrument).rubric
    called = {f"row {number}": [item.subject] for number, item in enumerate(items)}
    return Known(PEOPLE, items, lambda item: rubric.on(item.tags), names, called)
