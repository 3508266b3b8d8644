"""What is before a person now: an item with all that its page shows, or nothing to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import select

from mindgauge.annotation import rounds, schema, tasks, timing
from mindgauge.annotation.labels import labels_of, last
from mindgauge.annotation.records import Comment, Item, Label, Phase
from mindgauge.annotation.tasks import TOGETHER
from mindgauge.records.rubric import Rubric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row

    from mindgauge.annotation.project import Annotation
    from mindgauge.annotation.records import Person


class Assignment(msgspec.Struct, frozen=True):
    """An item before a person."""

    item: Item
    phase: Phase
    batch: int
    turn: int
    place: int
    """From 1, among those of this phase and batch."""
    of: int
    done: int
    own: dict[str, Label]
    """By criterion: what the person said of it before, in an earlier phase or on an earlier page."""
    draft: dict[str, Any]
    others: dict[str, dict[str, Label]]
    """Person's id → criterion → label of the annotators; only where they sit together."""
    comments: list[Comment]
    rubric: Rubric
    """As far as it is about this item."""
    seconds_left: float | None
    """Of this phase and batch, at the person's own pace; None until that is known."""
    distressing_seen: int
    pause: bool
    undo: bool


class NothingToDo(msgspec.Struct, frozen=True):
    """There is nothing to do now: others are still at it (`waiting`), or all is closed (`finished`)."""

    kind: str
    batch: int
    phase: Phase | None
    finished: int
    people: int


def current(a: Annotation, person: Person, item: str = "") -> Assignment | NothingToDo:
    """Return what is before a person now.

    Args:
        a: the project.
        person: an annotator, or whoever adjudicates.
        item: one of theirs in the running phase, in place of the next; done ones only where people sit together.

    Raises:
        KeyError: the item is none of those.
    """

    def read(c: Connection) -> Assignment | NothingToDo:
        position = tasks.running(a, c, person)
        own = [] if position.phase is None else tasks.of(c, person.id, position.batch, position.phase)
        task = _chosen(own, item, position.phase)
        if task is not None:
            return _assignment(a, c, person, position, own, task)
        if position.phase is None:
            return NothingToDo("finished", 0, None, 0, 0)
        finished, people = rounds.finished(c, position.batch, position.phase)
        return NothingToDo("waiting", position.batch, position.phase, finished, people)

    return a.database.read(read)


def find(a: Annotation, person: Person, item: str) -> Assignment | None:
    """Return an item as it is before a person now; None where it is not, or not any more."""
    try:
        assignment = current(a, person, item)
    except KeyError:
        return None
    return assignment if isinstance(assignment, Assignment) else None


def assignments(a: Annotation, person: Person, phase: Phase) -> list[tuple[Item, str]]:
    """Return a person's items in a running phase and the state of each task: `open`, `done` or `handed_on`."""

    def read(c: Connection) -> list[Row[Any]]:
        position = tasks.running(a, c, person)
        return tasks.of(c, person.id, position.batch, phase) if position.phase is phase else []

    return [(a.known_item(task.item), task.state) for task in a.database.read(read)]


def _chosen(own: Sequence[Row[Any]], item: str, phase: Phase | None) -> Row[Any] | None:
    if not item:
        return next((task for task in own if task.state == "open"), None)
    task_named = next((task for task in own if task.item == item), None)
    if task_named is None or (task_named.state != "open" and phase not in TOGETHER):
        raise KeyError(item)
    return task_named


def _assignment(
    a: Annotation, c: Connection, person: Person, position: tasks.Running, own: Sequence[Row[Any]], task: Row[Any]
) -> Assignment:
    phase = Phase(task.phase)
    together = phase in TOGETHER
    labels = labels_of(c, item=task.item, person=None if together else person.id)
    by_person: dict[str, dict[str, Label]] = {}
    for (_, author, criterion), label in last(labels, *([phase] if phase is Phase.TRAINING else [])).items():
        by_person.setdefault(author, {})[criterion] = label
    annotators = {p.id for p in a.annotators()} - {person.id} if together else set()
    item = a.known_item(task.item)
    finished = sum(t.state != "open" for t in own)
    worked = timing.of(c, person.id)
    return Assignment(
        item=item,
        phase=phase,
        batch=task.batch,
        turn=task.turn,
        place=finished + 1 if task.state == "open" else finished,
        of=len(own),
        done=finished,
        own=by_person.get(person.id, {}),
        draft=_draft(c, task),
        others={author: labelled for author, labelled in by_person.items() if author in annotators},
        comments=_comments(c, task.item) if together else [],
        rubric=a.rubric_for(item, tasks.rubric(c, position)),
        seconds_left=worked.left(len(own) - finished),
        distressing_seen=worked.distressing,
        pause=worked.pause,
        undo=phase is not Phase.TRAINING and finished > 0,
    )


def _draft(c: Connection, task: Row[Any]) -> dict[str, Any]:
    d = schema.drafts.c
    key = (d.person == task.person, d.item == task.item, d.phase == task.phase)
    body = c.execute(select(d.body).where(*key)).scalar()
    return {} if body is None else msgspec.json.decode(body, type=dict[str, Any])


def _comments(c: Connection, item: str) -> list[Comment]:
    query = select(schema.comments).where(schema.comments.c.item == item).order_by(schema.comments.c.number)
    return [Comment(r.person, r.item, r.text, r.at) for r in c.execute(query)]
