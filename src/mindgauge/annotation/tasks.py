"""One item before one person in one phase: which there are, how many are done, and what makes a page an old one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from sqlalchemy import delete, func, insert, select, update

from mindgauge.annotation import rounds, schema
from mindgauge.annotation.labels import labels_of, last
from mindgauge.annotation.records import Phase, Role
from mindgauge.annotation.schema import tasks
from mindgauge.records import encode
from mindgauge.records.errors import MindgaugeError

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from mindgauge.annotation.project import Annotation
    from mindgauge.annotation.records import Label, Person


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
