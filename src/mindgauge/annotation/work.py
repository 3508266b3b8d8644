"""What one person does: the item before them, and what they hand in. Every change is one transaction.

A submission carries its form's id, so that it counts once however often it is sent, and the task's turn, so that an old
page cannot overwrite what was done since.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import delete, func, insert, select, update

from mindgauge.annotation import answers as checked
from mindgauge.annotation import pace, rounds, schema
from mindgauge.annotation.project import labels_of, last, log
from mindgauge.annotation.records import Answered, Comment, Item, Label, Person, Phase, Role
from mindgauge.errors import MindgaugeError
from mindgauge.records import Value, encode
from mindgauge.rubric import Rubric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row

    from mindgauge.annotation.project import Annotation
    from mindgauge.annotation.records import Answer
    from mindgauge.records import Evidence

PAGE = "page"
"""The source of a label that was given here."""
_TOGETHER = (Phase.DISCUSSION, Phase.ADJUDICATION)
"""The phases in which people see what others said."""
_LONGEST_NOTE = 10_000


class StaleError(MindgaugeError):
    """The page was old: the item has been answered, handed on, or its phase is over. `kept` is what stands, by criterion."""

    def __init__(self, message: str, kept: dict[str, Label]) -> None:
        super().__init__(message)
        self.kept = kept


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
    """By criterion: what the person said of it before, in an earlier phase or taken back now."""
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


class Standing(msgspec.Struct, frozen=True):
    """There is nothing to do now: others are still at it (`waiting`), or all is closed (`finished`)."""

    kind: str
    batch: int
    phase: Phase | None
    finished: int
    people: int


class Feedback(msgspec.Struct, frozen=True):
    """On an anchor: what it was written for beside what the person said, by criterion."""

    item: str
    expected: dict[str, Value | None]
    given: dict[str, Value | str | None]


class Submitted(msgspec.Struct, frozen=True):
    """What became of a submission; `again` says that the same form had come before, so nothing was changed."""

    again: bool
    feedback: Feedback | None = None
    closed: bool = False
    """Whether it was the last of its batch, which is now closed."""


def current(a: Annotation, person: Person, item: str = "") -> Assignment | Standing:
    """Return what is before a person now.

    Args:
        a: the project.
        person: an annotator, or whoever adjudicates.
        item: one of theirs in the running phase, in place of the next; done ones only where people sit together.

    Raises:
        KeyError: the item is none of those.
    """
    with a.database.reading() as c:
        batch, phase = _running(c, person)
        tasks = [] if phase is None else _tasks(c, person.id, batch, phase)
        task = _chosen(tasks, item, phase)
        if task is None:
            return _standing(c, batch, phase)
        return _assignment(a, c, person, tasks, task)


def assignments(a: Annotation, person: Person, phase: Phase) -> list[tuple[Item, str]]:
    """Return a person's items in a running phase and the state of each task: `open`, `done` or `handed_on`."""
    with a.database.reading() as c:
        batch, running = _running(c, person)
        if running is not phase:
            return []
        return [(_item(c, task.item), task.state) for task in _tasks(c, person.id, batch, phase)]


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
        task = _locked(c, person, item, phase)
        if task is not None and _came_before(c, form):
            return Submitted(again=True, feedback=_feedback(c, person, item, phase))
        _refuse_stale(c, task, person, item, phase, turn)
        assert task is not None
        number = _rubric_number(c, task.batch)
        subject = _item(c, item)
        checked.check(a.rubric_for(subject, number), answers)
        at = time.time()
        shared = {
            "form": form, "person": person.id, "item": item, "phase": phase, "note": note[:_LONGEST_NOTE],
            "evidence": encode(checked.located(subject, evidence)).decode(), "rubric": number, "at": at,
            "seconds": pace.sane(seconds), "source": source,
        }  # fmt: skip
        c.execute(insert(schema.labels), [{**shared, **checked.columns(answer)} for answer in answers])
        _finish(c, task, "done", at, shared["seconds"])
        closed = rounds.advance(a, c, task.batch)
        found = Submitted(again=False, feedback=_feedback(c, person, item, phase), closed=closed)
    if closed:
        rounds.closed(a)
    return found


def save_draft(a: Annotation, person: Person, item: str, phase: Phase, turn: int, body: dict[str, Any]) -> None:
    """Keep what is typed and not handed in.

    Raises:
        StaleError: the task has moved on since.
    """
    with a.database.writing() as c:
        task = _locked(c, person, item, phase)
        _refuse_stale(c, task, person, item, phase, turn)
        _put_draft(c, person.id, item, phase, body)


def skip(a: Annotation, person: Person, item: str, phase: Phase, turn: int) -> None:
    """Put an item at the end of a person's order.

    Raises:
        StaleError: the task has moved on since.
    """
    with a.database.writing() as c:
        task = _locked(c, person, item, phase)
        _refuse_stale(c, task, person, item, phase, turn)
        assert task is not None
        places = [t.place for t in _tasks(c, person.id, task.batch, phase)]
        _change(c, task, place=max(places) + 1)
        log(c, person.id, "skipped", item)


def hand_on(a: Annotation, person: Person, item: str, phase: Phase, turn: int, form: str) -> None:
    """Hand an item on, without a reason: the person is not asked about it again in this phase.

    Raises:
        StaleError: the task has moved on since.
    """
    with a.database.writing() as c:
        task = _locked(c, person, item, phase)
        if task is not None and _logged(c, "handed_on", form):
            return
        _refuse_stale(c, task, person, item, phase, turn)
        assert task is not None
        _finish(c, task, "handed_on", time.time(), 0.0)
        log(c, person.id, "handed_on", form)
        closed = rounds.advance(a, c, task.batch)
    if closed:
        rounds.closed(a)


def undo(a: Annotation, person: Person, form: str) -> str | None:
    """Take back a person's last submission of the running phase; its item comes first again, filled in as it was.

    Returns:
        The item; None where there is nothing to take back, or this form had come before.
    """
    with a.database.writing() as c:
        batch, phase = _running(c, person)
        if phase is None or phase is Phase.TRAINING:  # the anchor's level has been shown
            return None
        c.execute(select(schema.batches.c.number).where(schema.batches.c.number == batch).with_for_update())
        tasks = _tasks(c, person.id, batch, phase)
        finished = [task for task in tasks if task.state != "open"]
        if not finished or _logged(c, "undone", form):
            return None
        task = max(finished, key=lambda t: t.at)
        if task.state == "done":
            _withdraw(c, person, task, form)
        _change(c, task, state="open", place=min(t.place for t in tasks) - 1)
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
        batch, phase = _running(c, person)
        if phase not in _TOGETHER or c.execute(_batch_of(item)).scalar() != batch:
            raise StaleError("this item is not under discussion any more", {})
        if not text.strip():
            raise checked.InvalidAnswerError("", "write something, or leave it")
        row = {"form": form, "person": person.id, "item": item, "text": text.strip()[:_LONGEST_NOTE], "at": time.time()}
        c.execute(insert(schema.comments).values(**row))


# -- the pieces -----------------------------------------------------------------------------------------------------


def _running(c: Connection, person: Person) -> tuple[int, Phase | None]:
    """Return the batch and the phase that a person is in; None where they have nothing to do with the running one."""
    batch = rounds.running(c)
    if person.role is Role.ANNOTATOR:
        training = select(schema.tasks.c.item).where(
            schema.tasks.c.person == person.id, schema.tasks.c.batch == 0, schema.tasks.c.state == "open"
        )
        if c.execute(training.limit(1)).first() is not None:
            return 0, Phase.TRAINING
    return (0, None) if batch is None else (batch.number, Phase(batch.phase))


def _tasks(c: Connection, person: str, batch: int, phase: Phase) -> list[Row[Any]]:
    t = schema.tasks.c
    where = (t.person == person, t.batch == batch, t.phase == phase)
    return list(c.execute(select(schema.tasks).where(*where).order_by(t.place)))


def _chosen(tasks: Sequence[Row[Any]], item: str, phase: Phase | None) -> Row[Any] | None:
    if not item:
        return next((task for task in tasks if task.state == "open"), None)
    found = next((task for task in tasks if task.item == item), None)
    if found is None or (found.state != "open" and phase not in _TOGETHER):
        raise KeyError(item)
    return found


def _standing(c: Connection, batch: int, phase: Phase | None) -> Standing:
    if phase is None:
        return Standing("finished", 0, None, 0, 0)
    done, people = rounds.finished(c, batch, phase)
    return Standing("waiting", batch, phase, done, people)


def _assignment(a: Annotation, c: Connection, person: Person, tasks: Sequence[Row[Any]], task: Row[Any]) -> Assignment:
    phase = Phase(task.phase)
    subject = _item(c, task.item)
    binding = last(labels_of(c, item=task.item), *([Phase.TRAINING] if phase is Phase.TRAINING else []))
    by_person: dict[str, dict[str, Label]] = {}
    for (_, who, criterion), label in binding.items():
        by_person.setdefault(who, {})[criterion] = label
    d = schema.drafts.c
    mine = (d.person == person.id, d.item == task.item, d.phase == phase)
    draft = c.execute(select(d.body).where(*mine)).scalar()
    together = phase in _TOGETHER
    annotators = {p.id for p in a.annotators()} if together else set()
    said = select(schema.comments).where(schema.comments.c.item == task.item).order_by(schema.comments.c.number)
    done = sum(t.state != "open" for t in tasks)
    worked = pace.of(c, person.id)
    return Assignment(
        item=subject,
        phase=phase,
        batch=task.batch,
        turn=task.turn,
        place=done + 1 if task.state == "open" else done,
        of=len(tasks),
        done=done,
        own=by_person.get(person.id, {}),
        draft={} if draft is None else msgspec.json.decode(draft),
        others={who: its for who, its in by_person.items() if who in annotators and who != person.id},
        comments=[Comment(r.person, r.item, r.text, r.at) for r in c.execute(said)] if together else [],
        rubric=a.rubric_for(subject, _settled(c, task.batch)),
        seconds_left=worked.left(len(tasks) - done),
        distressing_seen=worked.distressing,
        pause=worked.pause,
        undo=phase is not Phase.TRAINING and done > 0,
    )


def _item(c: Connection, ident: str) -> Item:
    body = c.execute(select(schema.items.c.body).where(schema.items.c.id == ident)).scalar_one()
    return msgspec.json.decode(body, type=Item)


def _batch_of(item: str) -> Any:
    return select(schema.items.c.batch).where(schema.items.c.id == item)


def _locked(c: Connection, person: Person, item: str, phase: Phase) -> Row[Any] | None:
    """Return a task with its batch locked: of two who are the last at the same time, one sees the other's labels."""
    t = schema.tasks.c
    where = (t.person == person.id, t.item == item, t.phase == phase)
    batch = c.execute(select(t.batch).where(*where)).scalar()
    if batch is None:
        return None
    c.execute(select(schema.batches.c.number).where(schema.batches.c.number == batch).with_for_update())
    return c.execute(select(schema.tasks).where(*where)).first()


def _refuse_stale(c: Connection, task: Row[Any] | None, person: Person, item: str, phase: Phase, turn: int) -> None:
    """Refuse what was made for an earlier state of a task.

    Raises:
        StaleError: it was.
    """
    running = _running(c, person)
    together = phase in _TOGETHER
    if task is None or (task.batch, phase) != running:
        why = "this part is over; your labels stand as they were"
    elif task.state == "handed_on" and not together:
        why = "this item was handed on"
    elif task.turn != turn or (task.state != "open" and not together):
        why = "this item was changed on another page"
    else:
        return
    mine = last(labels_of(c, item=item, person=person.id), phase)
    raise StaleError(why, {criterion: label for (_, _, criterion), label in mine.items()})


def _came_before(c: Connection, form: str) -> bool:
    return c.execute(select(schema.labels.c.number).where(schema.labels.c.form == form).limit(1)).first() is not None


def _logged(c: Connection, what: str, form: str) -> bool:
    e = schema.events.c
    return c.execute(select(e.number).where(e.what == what, e.about == form).limit(1)).first() is not None


def _settled(c: Connection, batch: int) -> int:
    """Return the version of the rubric that a batch has, or would have if it began now."""
    number = c.execute(select(schema.batches.c.rubric).where(schema.batches.c.number == batch)).scalar()
    return int(number or c.execute(select(func.max(schema.rubrics.c.number))).scalar_one())


def _rubric_number(c: Connection, batch: int) -> int:
    """Return a batch's version of the rubric, and settle it with the first label."""
    number = _settled(c, batch)
    b = schema.batches.c
    begun = update(schema.batches).where(b.number == batch, b.rubric.is_(None))
    c.execute(begun.values(rubric=number, opened=time.time()))
    return number


def _change(c: Connection, task: Row[Any], **values: object) -> None:
    t = schema.tasks.c
    where = (t.person == task.person, t.item == task.item, t.phase == task.phase)
    c.execute(update(schema.tasks).where(*where).values(turn=task.turn + 1, **values))


def _finish(c: Connection, task: Row[Any], state: str, at: float, seconds: object) -> None:
    _change(c, task, state=state, at=at, seconds=seconds)
    d = schema.drafts.c
    c.execute(delete(schema.drafts).where(d.person == task.person, d.item == task.item, d.phase == task.phase))


def _put_draft(c: Connection, person: str, item: str, phase: Phase, body: dict[str, Any]) -> None:
    d = schema.drafts.c
    key = {"person": person, "item": item, "phase": phase}
    new = {"body": encode(body).decode(), "at": time.time()}
    where = (d.person == person, d.item == item, d.phase == phase)
    if not c.execute(update(schema.drafts).where(*where).values(**new)).rowcount:
        c.execute(insert(schema.drafts).values(**key, **new))


def _withdraw(c: Connection, person: Person, task: Row[Any], form: str) -> None:
    """Keep that labels were taken back, and offer them again as a draft."""
    phase = Phase(task.phase)
    mine = last(labels_of(c, item=task.item, person=person.id), phase)
    if not mine:
        return
    labels = {criterion: label for (_, _, criterion), label in mine.items()}
    first = next(iter(labels.values()))
    number = _settled(c, task.batch)
    shared = {
        "form": form, "person": person.id, "item": task.item, "phase": phase, "note": "", "evidence": "[]",
        "rubric": number, "at": time.time(), "seconds": 0.0, "source": PAGE, "answered": Answered.WITHDRAWN,
        "value": None, "path": "[]",
    }  # fmt: skip
    c.execute(insert(schema.labels), [{**shared, "criterion": criterion} for criterion in labels])
    answers = {
        criterion: {"answered": label.answered.value, "value": label.value, "path": label.path}
        for criterion, label in labels.items()
    }
    evidence = [{"quote": e.quote, "source": e.source} for e in first.evidence]
    _put_draft(c, person.id, task.item, phase, {"answers": answers, "note": first.note, "evidence": evidence})


def _feedback(c: Connection, person: Person, item: str, phase: Phase) -> Feedback | None:
    if phase is not Phase.TRAINING:
        return None
    mine = last(labels_of(c, item=item, person=person.id), phase)
    return Feedback(item, _item(c, item).expected, {label.criterion: label.given for label in mine.values()})
