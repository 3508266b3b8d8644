"""What a person does with what is before them. Every change is one transaction.

A submission carries its form's id, so that it counts once however often it is sent, and the task's turn, so that an old
page cannot overwrite what was done since.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import insert, select

from mindgauge.annotation import answers as checked
from mindgauge.annotation import pace, rounds, schema, tasks
from mindgauge.annotation.labels import labels_of, last
from mindgauge.annotation.records import Answered, Phase
from mindgauge.annotation.rows import log
from mindgauge.annotation.tasks import StaleError
from mindgauge.records import Value, encode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row

    from mindgauge.annotation.project import Annotation
    from mindgauge.annotation.records import Answer, Person
    from mindgauge.records import Evidence

PAGE = "page"
"""The source of a label that was given here."""


class Feedback(msgspec.Struct, frozen=True):
    """On an anchor: what it was written for beside what the person said, by criterion."""

    item: str
    expected: dict[str, Value | None]
    given: dict[str, Value | str | None]


class Submitted(msgspec.Struct, frozen=True):
    """What became of a submission; `again` says that the same form had come before, so nothing was changed."""

    again: bool
    feedback: Feedback | None = None
    last: bool = False
    """Whether nothing else of this phase is before the person."""


def submit(
    a: Annotation,
    person: Person,
    item: str,
    phase: Phase,
    turn: int,
    form: str,
    answers: Sequence[Answer],
    *,
    note: str = "",
    evidence: Sequence[Evidence] = (),
    seconds: float = 0.0,
    source: str = PAGE,
) -> Submitted:
    """Keep a person's answers on one item, and let the batch go on where they were the last.

    Args:
        a: the project.
        person: who answers.
        item: the subject.
        phase: in which the form was made.
        turn: of the task when the form was made.
        form: the form's id.
        answers: one for each criterion that is about the item.
        note: in the person's words.
        evidence: marked words.
        seconds: how long the item was on the screen.
        source: where the answers come from.

    Raises:
        StaleError: the task has moved on since the form was made.
        InvalidAnswerError: an answer is missing or not in the rubric.
        DatabaseError: it could not be kept; nothing of it was.
    """
    with a.database.writing() as c:
        task = tasks.named(c, person, item, phase)
        if task is not None and _came_before(c, form):
            return Submitted(True, _feedback(a, c, person, item, phase), not tasks.left(c, task))
        at, task = tasks.fresh(a, c, task, person, item, turn)
        number = tasks.settle(c, at)
        subject = a.known_item(item)
        checked.check(a.rubric_for(subject, number), answers)
        now, seconds = time.time(), pace.sane(seconds)
        shared = {
            "form": form, "person": person.id, "item": item, "phase": phase, "note": note[: checked.LONGEST_NOTE],
            "evidence": encode(checked.located(subject, evidence)).decode(), "rubric": number, "at": now,
            "seconds": seconds, "source": source,
        }  # fmt: skip
        c.execute(insert(schema.labels), [{**shared, **checked.columns(answer)} for answer in answers])
        tasks.finish(c, task, "done", now, seconds)
        last_one = not tasks.left(c, task)
        closed = last_one and rounds.advance(a, c, at.batch)
        found = Submitted(False, _feedback(a, c, person, item, phase), last_one)
    if closed:
        rounds.closed(a)
    return found


def save_draft(a: Annotation, person: Person, item: str, phase: Phase, turn: int, body: dict[str, Any]) -> None:
    """Keep what is typed and not handed in.

    Raises:
        StaleError: the task has moved on since.
    """
    with a.database.writing() as c:
        tasks.put_draft(c, _fresh(a, c, person, item, phase, turn), body)


def skip(a: Annotation, person: Person, item: str, phase: Phase, turn: int) -> None:
    """Put an item at the end of a person's order.

    Raises:
        StaleError: the task has moved on since.
    """
    with a.database.writing() as c:
        task = _fresh(a, c, person, item, phase, turn)
        tasks.change(c, task, place=max(t.place for t in tasks.of(c, person.id, task.batch, phase)) + 1)
        log(c, person.id, "skipped", item)


def hand_on(a: Annotation, person: Person, item: str, phase: Phase, turn: int, form: str) -> None:
    """Hand an item on, without a reason: the person is not asked about it again in this phase.

    Raises:
        StaleError: the task has moved on since.
    """
    with a.database.writing() as c:
        if _logged(c, "handed_on", form):
            return
        task = _fresh(a, c, person, item, phase, turn)
        tasks.finish(c, task, "handed_on", time.time(), 0.0)
        log(c, person.id, "handed_on", form)
        closed = not tasks.left(c, task) and rounds.advance(a, c, task.batch)
    if closed:
        rounds.closed(a)


def undo(a: Annotation, person: Person, form: str) -> str | None:
    """Take back a person's last submission of the running phase; its item comes first again, filled in as it was.

    Returns:
        The item; None where there is nothing to take back, or this form had come before.
    """
    with a.database.writing() as c:
        at = tasks.running(a, c, person, lock=True)
        if at.phase is None or at.phase is Phase.TRAINING:  # the anchor's level has been shown
            return None
        mine = tasks.of(c, person.id, at.batch, at.phase)
        finished = [task for task in mine if task.state != "open"]
        if not finished or _logged(c, "undone", form):
            return None
        task = max(finished, key=lambda t: t.at)
        if task.state == "done":
            _withdraw(c, task, tasks.rubric(c, at), form)
        tasks.change(c, task, state="open", place=min(t.place for t in mine) - 1)
        log(c, person.id, "undone", form)
        return str(task.item)


def comment(a: Annotation, person: Person, item: str, text: str, form: str) -> None:
    """Add to the discussion of an item.

    Raises:
        StaleError: the item is not under discussion.
        InvalidAnswerError: nothing is said.
    """
    with a.database.writing() as c:
        if c.execute(select(schema.comments.c.number).where(schema.comments.c.form == form)).first() is not None:
            return
        at = tasks.running(a, c, person)
        subject = a.item(item)
        if at.phase not in tasks.TOGETHER or subject is None or subject.batch != at.batch:
            raise StaleError("this item is not under discussion any more", {})
        if not text.strip():
            raise checked.InvalidAnswerError("", "write something, or leave it")
        row = {
            "form": form,
            "person": person.id,
            "item": item,
            "text": text.strip()[: checked.LONGEST_NOTE],
            "at": time.time(),
        }
        c.execute(insert(schema.comments).values(**row))


def _fresh(a: Annotation, c: Connection, person: Person, item: str, phase: Phase, turn: int) -> Row[Any]:
    return tasks.fresh(a, c, tasks.named(c, person, item, phase), person, item, turn)[1]


def _came_before(c: Connection, form: str) -> bool:
    return c.execute(select(schema.labels.c.number).where(schema.labels.c.form == form).limit(1)).first() is not None


def _logged(c: Connection, what: str, form: str) -> bool:
    e = schema.events.c
    return c.execute(select(e.number).where(e.what == what, e.about == form).limit(1)).first() is not None


def _withdraw(c: Connection, task: Row[Any], rubric: int, form: str) -> None:
    """Keep that labels were taken back, and offer them again as a draft."""
    mine = last(labels_of(c, item=task.item, person=task.person), Phase(task.phase))
    if not mine:
        return
    labels = {criterion: label for (_, _, criterion), label in mine.items()}
    shared = {
        "form": form, "person": task.person, "item": task.item, "phase": task.phase, "note": "", "evidence": "[]",
        "rubric": rubric, "at": time.time(), "seconds": 0.0, "source": PAGE, "answered": Answered.WITHDRAWN,
        "value": None, "path": "[]",
    }  # fmt: skip
    c.execute(insert(schema.labels), [{**shared, "criterion": criterion} for criterion in labels])
    answers = {
        criterion: {"answered": label.answered.value, "value": label.value, "path": label.path}
        for criterion, label in labels.items()
    }
    first = next(iter(labels.values()))
    evidence = [{"quote": e.quote, "source": e.source} for e in first.evidence]
    tasks.put_draft(c, task, {"answers": answers, "note": first.note, "evidence": evidence})


def _feedback(a: Annotation, c: Connection, person: Person, item: str, phase: Phase) -> Feedback | None:
    if phase is not Phase.TRAINING:
        return None
    mine = last(labels_of(c, item=item, person=person.id), phase)
    return Feedback(item, a.known_item(item).expected, {label.criterion: label.given for label in mine.values()})
