"""One item before one person in one phase: which there are, what is before them now with all its page shows, and how fast they work."""

from __future__ import annotations

import math
import statistics
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from sqlalchemy import delete, func, insert, select, update

from mindgauge.annotation import rounds, schema
from mindgauge.annotation.labels import labels_of, last
from mindgauge.annotation.records import Comment, Item, Label, Phase, Role
from mindgauge.annotation.schema import tasks
from mindgauge.records import encode
from mindgauge.records.errors import MindgaugeError
from mindgauge.records.rubric import Rubric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row

    from mindgauge.annotation.project import Annotation
    from mindgauge.annotation.records import Person


TOGETHER = (Phase.DISCUSSION, Phase.ADJUDICATION)
"""The phases in which people see what others said."""


class StaleError(MindgaugeError):
    """The page was old: the item has been answered, handed on, or its phase is over. `kept` is what stands, by criterion."""

    def __init__(self, message: str, labels: dict[str, Label]) -> None:
        super().__init__(message)
        self.kept = labels


class Running(NamedTuple):
    """What a person is in; no phase where all is closed."""

    batch: int
    phase: Phase | None
    rubric: int | None
    """Settled by the batch's first label."""


def running(a: Annotation, c: Connection, person: Person, *, lock: bool = False) -> Running:
    """Return the batch and the phase that a person is in: their training round first.

    Args:
        a: the project.
        c: a connection.
        person: who.
        lock: hold the batch, so that it does not go on until the transaction ends.
    """
    if a.project.training and person.role is Role.ANNOTATOR and _open(c, person.id, 0):
        return Running(0, Phase.TRAINING, schema.rubric_of(c, 0))
    batch = rounds.running(c, lock=lock)
    return Running(0, None, None) if batch is None else Running(batch.number, Phase(batch.phase), batch.rubric)


def of(c: Connection, person: str, batch: int, phase: Phase) -> list[Row[Any]]:
    """Return a person's tasks in their order."""
    t = schema.tasks.c
    conditions = (t.person == person, t.batch == batch, t.phase == phase)
    return list(c.execute(select(schema.tasks).where(*conditions).order_by(t.place)))


def left(c: Connection, task: Row[Any]) -> bool:
    """Whether the person of a task has another one to do in its phase."""
    return _open(c, task.person, task.batch, Phase(task.phase))


def named(c: Connection, person: Person, item: str, phase: Phase) -> Row[Any] | None:
    """Return a task and hold it, so that the same form sent twice at once comes one after the other."""
    t = schema.tasks.c
    conditions = (t.person == person.id, t.item == item, t.phase == phase)
    return c.execute(select(schema.tasks).where(*conditions).with_for_update()).first()


def fresh(
    a: Annotation, c: Connection, task: Row[Any] | None, person: Person, item: str, turn: int
) -> tuple[Running, Row[Any]]:
    """Return where the person is and the task, if the page that names it is not an old one.

    An open task holds its phase open. To answer anew what is done, the batch is held, so that it does not go on meanwhile.

    Raises:
        StaleError: it is.
    """
    position = running(a, c, person, lock=task is not None and task.state != "open")
    together = position.phase in TOGETHER
    if task is None or (task.batch, task.phase) != (position.batch, position.phase):
        reason = "this part is over; your labels stand as they were"
    elif task.state == "handed_on" and not together:
        reason = "this item was handed on"
    elif task.turn != turn or (task.state != "open" and not together):
        reason = "this item was changed on another page"
    else:
        return position, task
    labels = last(labels_of(c, item=item, person=person.id), *([Phase(task.phase)] if task is not None else []))
    raise StaleError(reason, {criterion: label for (_, _, criterion), label in labels.items()})


def rubric(c: Connection, position: Running) -> int:
    """Return the version of the rubric that a batch has, or would have if it began now."""
    return int(position.rubric or c.execute(select(func.max(schema.rubrics.c.number))).scalar_one())


def settle(c: Connection, position: Running) -> int:
    """Return the version of the rubric of a batch that is given a label, and settle it with the first."""
    number = rubric(c, position)
    if position.rubric is None:
        b = schema.batches.c
        c.execute(update(schema.batches).where(b.number == position.batch).values(rubric=number, opened=time.time()))
    return number


def change(c: Connection, task: Row[Any], **values: object) -> None:
    """Change a task; pages made before are old now."""
    t = schema.tasks.c
    key = (t.person == task.person, t.item == task.item, t.phase == task.phase)
    c.execute(update(schema.tasks).where(*key).values(turn=task.turn + 1, **values))


def finish(c: Connection, task: Row[Any], state: str, finished_at: float, seconds: float) -> None:
    """Close a task, as the person's latest, and forget its draft."""
    before = schema.tasks.alias()
    count = select(func.coalesce(func.max(before.c.finished), 0) + 1).where(before.c.person == task.person)
    change(c, task, state=state, at=finished_at, seconds=seconds, finished=count.scalar_subquery())
    d = schema.drafts.c
    c.execute(delete(schema.drafts).where(d.person == task.person, d.item == task.item, d.phase == task.phase))


def put_draft(c: Connection, task: Row[Any], body: dict[str, Any]) -> None:
    """Keep a draft in place of the one before."""
    d = schema.drafts.c
    new = {"body": encode(body).decode(), "at": time.time()}
    key = (d.person == task.person, d.item == task.item, d.phase == task.phase)
    if not c.execute(update(schema.drafts).where(*key).values(**new)).rowcount:
        c.execute(insert(schema.drafts).values(person=task.person, item=task.item, phase=task.phase, **new))


def _open(c: Connection, person: str, batch: int, phase: Phase | None = None) -> bool:
    t = schema.tasks.c
    query = select(t.item).where(t.person == person, t.state == "open", t.batch == batch)
    if phase is not None:
        query = query.where(t.phase == phase)
    return c.execute(query.limit(1)).first() is not None


class Progress(msgspec.Struct, frozen=True):
    """The items of one person in one phase of a batch."""

    batch: int
    phase: Phase
    person: str
    """Id."""
    of: int
    done: int
    handed_on: int

    @property
    def left(self) -> int:
        """Count the items that still wait for them."""
        return self.of - self.done - self.handed_on


def progress(annotation: Annotation) -> list[Progress]:
    """Count everybody's items, by batch; phases that a batch has not come to are not in it.

    Raises:
        DatabaseError: it could not be read.
    """
    t = tasks.c
    finished, handed_on = (func.count().filter(t.state == state) for state in ("done", "handed_on"))
    query = select(t.batch, t.phase, t.person, func.count(), finished, handed_on).group_by(t.batch, t.phase, t.person)
    rows = annotation.database.read(lambda connection: connection.execute(query.order_by(t.batch)).all())
    return [Progress(batch, Phase(phase), *rest) for batch, phase, *rest in rows]


# What is before a person now: an item with all that its page shows, or nothing to do.


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
        position = running(a, c, person)
        own = [] if position.phase is None else of(c, person.id, position.batch, position.phase)
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
        position = running(a, c, person)
        return of(c, person.id, position.batch, phase) if position.phase is phase else []

    return [(a.known_item(task.item), task.state) for task in a.database.read(read)]


def _chosen(own: Sequence[Row[Any]], item: str, phase: Phase | None) -> Row[Any] | None:
    if not item:
        return next((task for task in own if task.state == "open"), None)
    task_named = next((task for task in own if task.item == item), None)
    if task_named is None or (task_named.state != "open" and phase not in TOGETHER):
        raise KeyError(item)
    return task_named


def _assignment(
    a: Annotation, c: Connection, person: Person, position: Running, own: Sequence[Row[Any]], task: Row[Any]
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
    pace, distressing, pause = pace_of(c, person.id)
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
        rubric=a.rubric_for(item, rubric(c, position)),
        seconds_left=None if pace is None else pace * (len(own) - finished),
        distressing_seen=distressing,
        pause=pause,
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


# How fast a person works, what weight they have had before them, and whether a pause is due.


LONGEST = 86_400.0
"""Seconds that one item can count; more means that a page was left open."""
_RECENT = 20
"""Items whose median is the pace."""
_FEWEST = 3
_BREAK = 300.0
"""Seconds without an item after which a person has had a pause."""
_STRETCH = 45 * 60.0
_STRETCH_ITEMS = 400
"""Items looked back at: nobody does more in one stretch."""
_HEAVY = 10
"""Distressing items in one stretch after which a pause is due; both limits are our own."""


def pace_of(c: Connection, person: str) -> tuple[float | None, int, bool]:
    """Return a person's seconds an item (None until a few are done), their distressing items, and whether a pause is due."""
    t, i = schema.tasks.c, schema.items.c
    finished = (t.person == person, t.state == "done", t.at.is_not(None))
    heavy_ones = (
        select(func.count()).select_from(schema.tasks).join(schema.items).where(*finished, i.crisis | i.graphic)
    )
    distressing = c.execute(heavy_ones).scalar_one()
    latest = select(t.at, t.seconds, i.crisis, i.graphic).join(schema.items, i.id == t.item).where(*finished)
    recent = c.execute(latest.order_by(t.finished.desc()).limit(_STRETCH_ITEMS)).all()
    took = [row.seconds for row in recent if row.seconds][:_RECENT]
    began, heavy = (end := time.time()), 0
    for row in recent:
        if began - row.at > _BREAK:
            break
        began, heavy = row.at, heavy + (row.crisis or row.graphic)
    pause = end - began >= _STRETCH or heavy >= _HEAVY
    return statistics.median(took) if len(took) >= _FEWEST else None, distressing, pause


def sane(seconds: float) -> float:
    """Return a duration as a browser told it, within what can be."""
    return min(max(seconds, 0.0), LONGEST) if math.isfinite(seconds) else 0.0
