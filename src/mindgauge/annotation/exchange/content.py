"""What an export holds: people's independent labels, every label there is, and the gold view; closed batches, or all."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mindgauge.annotation.labels import last
from mindgauge.annotation.ratings import read
from mindgauge.annotation.records import Item, Label, Person, Phase
from mindgauge.store import Store

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from mindgauge.annotation.gold import Gold
    from mindgauge.annotation.project import Annotation
    from mindgauge.records.rubric import Rubric


class PersonLabels(NamedTuple):
    """What one person said of one item, alone: the last labels of the labelling phase, in the rubric's order."""

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

    @property
    def items(self) -> list[Item]:
        """The items, without those of the training round."""
        return [item for item in self.all_items if item.batch]


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
    handed_on = a.handed_on(phase=Phase.LABELLING)
    by_task: dict[tuple[str, str], list[Label]] = {}
    for label in last(history, Phase.LABELLING).values():
        by_task.setdefault((label.item, label.person), []).append(label)
    labelled = []
    for item in (item for item in items if item.batch):
        criteria = tuple(c.name for c in a.rubric_for(item, rubrics[item.batch]).criteria)
        for person in people.values():
            labels = by_task.get((item.id, person.id), [])
            if labels or (person.id, item.id) in handed_on:
                ordered = sorted(labels, key=lambda label: criteria.index(label.criterion))
                labelled.append(PersonLabels(item, person, tuple(ordered), criteria))
    binding = {label.number for phases in ((Phase.TRAINING,), ()) for label in last(history, *phases).values()}
    closed = {batch.number for batch in batches if batch.phase is Phase.CLOSED}
    gold = [
        value
        for part in parts
        for value in part.gold
        if part.batch.number in closed or (part.batch.number and value.people)  # of what is open, what people have said
    ]
    models = _models(a.folder)
    systems = {item.id: models[item.subject] for item in items if item.batch in closed and item.subject in models}
    return Content(a.project.name, a.rubric(), items, people, labelled, history, binding, gold, systems)


def _models(folder: Path) -> dict[str, str]:
    if not (folder / "run.sqlite").is_file():
        return {}
    with Store(folder) as store:
        return dict(store.select("SELECT id, model FROM replies").fetchall())
