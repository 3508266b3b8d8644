"""Rounds and their gate: a batch is labelled, measured, and, below the gate, reviewed, discussed and decided.

Everybody labels alone. At or above the gate the batch closes. Below, what people disagree on goes back to each of them
alone, then to all of them together, and what is left to one who decides. What too few have labelled, since it was handed
on, is decided, too.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, insert, select, update

from mindgauge.annotation import agreement, ratings, schema
from mindgauge.annotation.labels import labels_of, last
from mindgauge.annotation.records import Item, Phase, Role
from mindgauge.annotation.schema import handed_on_of, items_of, log, people_of, rubric_of
from mindgauge.annotation.setup import put_before
from mindgauge.records import encode
from mindgauge.records.errors import MindgaugeError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row

    from mindgauge.annotation.project import Annotation
    from mindgauge.annotation.records import Person

PASSED, ADJUDICATED, BELOW = "passed", "adjudicated", "below"
"""How a batch closed: at or above the gate; decided by one person; below the gate with nobody to decide, or nothing."""
_NEXT = {Phase.LABELLING: Phase.REVIEW, Phase.REVIEW: Phase.DISCUSSION, Phase.DISCUSSION: Phase.ADJUDICATION}


def running(c: Connection, *, lock: bool = False) -> Row[Any] | None:
    """Return the batch that is worked on: the first that is not closed; the training round is none.

    Args:
        c: a connection.
        lock: hold it until the transaction ends.
    """
    b = schema.batches.c
    query = select(schema.batches).where(b.number > 0, b.phase != Phase.CLOSED).order_by(b.number).limit(1)
    return c.execute(query.with_for_update() if lock else query).first()


def finished(c: Connection, batch: int, phase: Phase) -> tuple[int, int]:
    """Return how many of the people of a phase have no open task in it, and how many there are."""
    t, p = schema.tasks.c, schema.people.c
    query = (
        select(t.person, func.count().filter(t.state == "open").label("open"))
        .join(schema.people, p.id == t.person)
        .where(t.batch == batch, t.phase == phase, p.active.is_(True))
        .group_by(t.person)
    )
    rows = c.execute(query).all()
    return sum(row.open == 0 for row in rows), len(rows)


def advance(a: Annotation, c: Connection, batch: int) -> bool:
    """Let a batch go on if its phase is done: measure it, and open the next phase or close it.

    Args:
        a: the project.
        c: a writing connection.
        batch: 0, the training round, never goes on.

    Returns:
        Whether the batch is closed now.
    """
    closed = False
    while batch and not closed:
        # Of two who are the last at the same time, the one that waits here sees the other's labels.
        query = select(schema.batches.c.phase).where(schema.batches.c.number == batch).with_for_update()
        phase = Phase(c.execute(query).scalar_one())
        finished_people, people = finished(c, batch, phase)
        if phase is Phase.CLOSED or finished_people < people:
            return False
        closed = _go_on(a, c, batch, phase)
    return closed


def retire(a: Annotation, person: Person) -> None:
    """Let an annotator take no further part: their labels stay, and nobody waits for the rest of them.

    Raises:
        UsageError: they are no annotator, or the last one.
    """

    def leave(c: Connection) -> bool:
        batch = running(c, lock=True)
        remaining = [p for p in people_of(c) if p.active and p.role is Role.ANNOTATOR and p.id != person.id]
        if person.role is not Role.ANNOTATOR or not remaining:
            raise UsageError(f"{person.name}: only an annotator can retire, and one has to remain")
        c.execute(update(schema.people).where(schema.people.c.id == person.id).values(active=False))
        log(c, person.id, "retired")
        return batch is not None and advance(a, c, batch.number)

    if a.database.write(leave):
        closed(a)


def closed(a: Annotation) -> None:
    """Put what was closed into the run; if that cannot be done now, the next `status` or `export` does it."""
    try:
        ratings.flow(a)
    except MindgaugeError:
        a.log("", "not in the run yet")


def _go_on(a: Annotation, c: Connection, batch: int, phase: Phase) -> bool:
    """Leave a phase that everybody is done with; say whether the batch is closed."""
    items = items_of(c, batch)
    annotators = [p for p in people_of(c) if p.active and p.role is Role.ANNOTATOR]
    ids = [p.id for p in annotators]
    if phase is Phase.ADJUDICATION:
        return _close(c, batch, PASSED if _passed_before(c, batch) else ADJUDICATED)
    labels = last(labels_of(c, batch=batch))
    handed_on = handed_on_of(c, batch)
    figures = agreement.measure(labels, items, ids, a.rubric(rubric_of(c, batch)), seed=a.project.seed)
    passed = len(ids) < 2 or agreement.passes(figures, a.project.gate)  # one person alone can meet no gate
    row = {"batch": batch, "phase": phase, "passed": passed, "figures": encode(figures).decode(), "at": time.time()}
    c.execute(insert(schema.gates).values(**row))
    disagreed = agreement.disagreed(labels, items, ids, handed_on) if len(ids) > 1 else []
    too_few = [ident for ident in disagreed if _labelled(labels, ident) < 2]
    together = [ident for ident in disagreed if ident not in set(too_few)]
    if passed and phase is not Phase.DISCUSSION:
        pending, following = too_few, Phase.ADJUDICATION
    elif phase is not Phase.DISCUSSION and together:
        pending, following = together, _NEXT[phase]
    else:
        pending, following = disagreed, Phase.ADJUDICATION
    people = a.adjudicators()[:1] if following is Phase.ADJUDICATION else annotators
    if not pending or not people:
        return _close(c, batch, PASSED if passed else BELOW)
    _open(c, batch, following, people, [item for item in items if item.id in set(pending)])
    return False


def _close(c: Connection, batch: int, decided: str) -> bool:
    values = {"phase": Phase.CLOSED, "closed": time.time(), "decided": decided}
    c.execute(update(schema.batches).where(schema.batches.c.number == batch).values(**values))
    log(c, "", "closed", str(batch))
    return True


def _open(c: Connection, batch: int, phase: Phase, people: Sequence[Person], items: Sequence[Item]) -> None:
    """Open a phase: its items before each of its people, in an order of their own."""
    c.execute(update(schema.batches).where(schema.batches.c.number == batch).values(phase=phase))
    for person in people:
        put_before(c, person, batch, phase, items)
    log(c, "", phase, str(batch))


def _labelled(labels: dict[tuple[str, str, str], Any], item: str) -> int:
    return len({person for subject, person, _ in labels if subject == item})


def _passed_before(c: Connection, batch: int) -> bool:
    g = schema.gates.c
    query = select(g.passed).where(g.batch == batch).order_by(g.number.desc())
    return bool(c.execute(query.limit(1)).scalar())


def adjudicates(person: Person, people: Sequence[Person]) -> bool:
    """Whether a person decides what is left: the adjudicator, or the owner where there is none."""
    named = any(other.role is Role.ADJUDICATOR and other.active for other in people)
    return person.role is Role.ADJUDICATOR or (person.role is Role.OWNER and not named)
