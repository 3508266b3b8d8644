"""What a person does with what is before them. Every change is one transaction.

A submission carries its form's id, so that it counts once however often it is sent, and the task's turn, so that an old
page cannot overwrite what was done since. A form's id means something only with its person, item and phase, and only as
long as what it said still stands: whatever else comes under it is a submission of its own, or an old page.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import insert, select

from mindgauge.annotation import labels as checked
from mindgauge.annotation import rounds, schema, tasks
from mindgauge.annotation.labels import labels_of, last
from mindgauge.annotation.records import Answered, Phase
from mindgauge.annotation.schema import log, logged
from mindgauge.annotation.tasks import StaleError
from mindgauge.records import Value, digest, encode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row

    from mindgauge.annotation.project import Annotation
    from mindgauge.annotation.records import Answer, Person
    from mindgauge.records import Evidence

PAGE = "page"
"""The source of a label that was given here."""


class AnchorFeedback(msgspec.Struct, frozen=True):
    """On an anchor: what it was written for beside what the person said, by criterion."""

    item: str
    expected: dict[str, Value | None]
    given: dict[str, Value | str | None]


class Submitted(msgspec.Struct, frozen=True):
    """What became of a submission; `repeated` says that the same form had come before, so nothing was changed."""

    repeated: bool
    feedback: AnchorFeedback | None = None
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
    subject, seconds = a.item(item), tasks.sane(seconds)
    marked = () if subject is None else checked.located(subject, evidence)
    shared_columns = {"form": form, "note": note[: checked.LONGEST_NOTE], "evidence": encode(marked).decode()}
    rows = [{**shared_columns, **checked.columns(answer)} for answer in answers]

    def keep(c: Connection) -> tuple[Submitted, bool]:
        task = tasks.named(c, person, item, phase)
        if task is not None and _stands(c, task, rows):
            return Submitted(True, _feedback(a, c, person, item, phase), not tasks.left(c, task)), False
        position, task = tasks.fresh(a, c, task, person, item, turn)
        number = tasks.settle(c, position)
        checked.check(a.rubric_for(a.known_item(item), number), answers)
        moment = time.time()
        shared = {
            "person": person.id, "item": item, "phase": phase, "rubric": number, "at": moment, "seconds": seconds,
            "source": source,
        }  # fmt: skip
        c.execute(insert(schema.labels), [{**shared, **row} for row in rows])
        tasks.finish(c, task, "done", moment, seconds)
        last_one = not tasks.left(c, task)
        closed = last_one and rounds.advance(a, c, position.batch)
        return Submitted(False, _feedback(a, c, person, item, phase), last_one), closed

    submitted, closed = a.database.write(keep)
    if closed:
        rounds.closed(a)
    return submitted


def save_draft(a: Annotation, person: Person, item: str, phase: Phase, turn: int, body: dict[str, Any]) -> None:
    """Keep what is typed and not handed in.

    Raises:
        StaleError: the task has moved on since.
    """
    a.database.write(lambda c: tasks.put_draft(c, _fresh(a, c, person, item, phase, turn), body))


def skip(a: Annotation, person: Person, item: str, phase: Phase, turn: int, form: str) -> None:
    """Put an item at the end of a person's order.

    Raises:
        StaleError: the task has moved on since.
    """

    def put_off(c: Connection) -> None:
        task = tasks.named(c, person, item, phase)
        if task is not None and task.turn == turn + 1 and logged(c, person.id, "skipped", item, form):
            return
        task = tasks.fresh(a, c, task, person, item, turn)[1]
        tasks.change(c, task, place=max(t.place for t in tasks.of(c, person.id, task.batch, phase)) + 1)
        log(c, person.id, "skipped", item, form)

    a.database.write(put_off)


def hand_on(a: Annotation, person: Person, item: str, phase: Phase, turn: int, form: str) -> None:
    """Hand an item on, without a reason: the person is not asked about it again in this phase.

    Raises:
        StaleError: the task has moved on since.
    """

    def give(c: Connection) -> bool:
        task = tasks.named(c, person, item, phase)
        if task is not None and task.state == "handed_on" and logged(c, person.id, "handed_on", item, form):
            return False
        task = tasks.fresh(a, c, task, person, item, turn)[1]
        tasks.finish(c, task, "handed_on", time.time(), 0.0)
        log(c, person.id, "handed_on", item, form)
        return not tasks.left(c, task) and rounds.advance(a, c, task.batch)

    if a.database.write(give):
        rounds.closed(a)


def undo(a: Annotation, person: Person, form: str) -> str | None:
    """Take back a person's last submission of the running phase; its item comes first again, filled in as it was.

    Returns:
        The item; None where there is nothing to take back, or this form had come before.
    """

    def take_back(c: Connection) -> str | None:
        position = tasks.running(a, c, person, lock=True)
        if position.phase is None or position.phase is Phase.TRAINING:  # the anchor's level has been shown
            return None
        own = tasks.of(c, person.id, position.batch, position.phase)
        finished = [task for task in own if task.state != "open"]
        if not finished or logged(c, person.id, "undone", "", form):
            return None
        task = max(finished, key=lambda t: t.finished)  # not by time: clocks run backwards, too
        if task.state == "done":
            _withdraw(c, task, tasks.rubric(c, position), form)
        tasks.change(c, task, state="open", place=min(t.place for t in own) - 1)
        log(c, person.id, "undone", task.item, form)
        return str(task.item)

    return a.database.write(take_back)


def comment(a: Annotation, person: Person, item: str, text: str, form: str) -> None:
    """Add to the discussion of an item.

    Raises:
        StaleError: the item is not under discussion.
        InvalidAnswerError: nothing is said.
    """
    content = text.strip()[: checked.LONGEST_NOTE]
    row = {"form": digest("comment", form, content), "person": person.id, "item": item, "text": content}
    same = select(schema.comments.c.number).filter_by(person=person.id, item=item, form=row["form"])

    def add(c: Connection) -> None:
        if c.execute(same).first() is not None:
            return
        position = tasks.running(a, c, person)
        subject = a.item(item)
        if position.phase not in tasks.TOGETHER or subject is None or subject.batch != position.batch:
            raise StaleError("this item is not under discussion any more", {})
        if not content:
            raise checked.InvalidAnswerError("", "write something, or leave it")
        c.execute(insert(schema.comments).values(**row, at=time.time()))

    a.database.write(add)


def _fresh(a: Annotation, c: Connection, person: Person, item: str, phase: Phase, turn: int) -> Row[Any]:
    return tasks.fresh(a, c, tasks.named(c, person, item, phase), person, item, turn)[1]


def _stands(c: Connection, task: Row[Any], rows: Sequence[dict[str, Any]]) -> bool:
    """Say whether just these answers came before, with the same form, and nothing came after them."""
    columns = schema.labels.c
    key = (columns.item == task.item, columns.person == task.person, columns.phase == task.phase)
    stored = c.execute(select(schema.labels).where(*key).order_by(columns.number)).mappings()
    standing = {row["criterion"]: row for row in stored}
    answers = {row["criterion"]: row for row in rows}
    return (
        bool(answers)
        and standing.keys() == answers.keys()
        and all(standing[name][column] == value for name, row in answers.items() for column, value in row.items())
    )


def _withdraw(c: Connection, task: Row[Any], rubric: int, form: str) -> None:
    """Keep that labels were taken back, and offer them again as a draft."""
    withdrawn = last(labels_of(c, item=task.item, person=task.person), Phase(task.phase))
    if not withdrawn:
        return
    labels = {criterion: label for (_, _, criterion), label in withdrawn.items()}
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


def _feedback(a: Annotation, c: Connection, person: Person, item: str, phase: Phase) -> AnchorFeedback | None:
    if phase is not Phase.TRAINING:
        return None
    own = last(labels_of(c, item=item, person=person.id), phase)
    return AnchorFeedback(item, a.known_item(item).expected, {label.criterion: label.given for label in own.values()})
