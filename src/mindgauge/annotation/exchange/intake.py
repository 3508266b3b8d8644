"""Taking labels into a project: all of a file or nothing, and on to the gate where that completes a batch.

Only the labelling phase takes labels, of the batch that is open and of those that are not yet: later, everybody has seen
more than the dialogue. What is there already and says the same is left alone. Nothing is overwritten.
What a file says is first held against itself.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import func, insert, select, update

from mindgauge.annotation import rounds, schema, tasks
from mindgauge.annotation.exchange.known import HANDED_ON
from mindgauge.annotation.labels import columns, labels_of, last, located
from mindgauge.annotation.records import Answer, Answered, Phase
from mindgauge.annotation.schema import log
from mindgauge.records import encode
from mindgauge.records.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection, Row

    from mindgauge.annotation.exchange.known import ImportedLabel
    from mindgauge.annotation.project import Annotation
    from mindgauge.annotation.records import Label


class ImportResult(NamedTuple):
    """What became of a file's entries."""

    labels: int
    """New ones."""
    handed_on: int
    superseded: int
    """Of the new ones, those that took the place of another."""
    same: int
    """That were there already."""
    open: int
    """Items before a person of which the file answers some criteria only; they stay to be done."""
    batches: list[int]
    """That something was added to."""
    closed: list[int]
    """Of these, those that met their gate and are closed now."""


def take_in(a: Annotation, entries: Sequence[ImportedLabel], source: str, *, supersede: bool = False) -> ImportResult:
    """Add a file's labels, or nothing of it.

    Args:
        a: the project.
        entries: as read; those of one person, item and criterion must agree.
        source: the file's name.
        supersede: whether a label that says something else is added after the one that is there.

    Raises:
        DataError: two entries contradict each other, or one what is there, or its batch takes no labels any more.
        DatabaseError: it could not be kept; nothing of it was.
    """
    by_task: dict[tuple[str, str], list[ImportedLabel]] = {}
    for entry in entries:
        by_task.setdefault((entry.person.id, entry.item.id), []).append(entry)

    def add(c: Connection) -> ImportResult:
        count: Counter[str] = Counter()
        batches = {row.number: row for row in c.execute(_locked())}
        standing_labels: dict[tuple[str, str], dict[str, Label]] = {}
        for (subject, person, criterion), label in last(labels_of(c), Phase.LABELLING).items():
            standing_labels.setdefault((person, subject), {})[criterion] = label
        before = {(row.person, row.item): row for row in c.execute(_tasks())}
        changed = set()
        for key, group in by_task.items():
            task = before.get(key)
            standing = standing_labels.get(key, {})
            state = "" if task is None else task.state
            new = new_ones(agreed(group), standing, state, supersede=supersede, count=count)
            if not new:
                continue
            item = group[0].item
            _refuse_late(batches[item.batch], task, new[0])
            assert task is not None
            _add(a, c, task, new, list(standing), source, count)
            changed.add(item.batch)
        if changed:
            log(c, "", "imported", str(count["labels"]))
        closed = [number for number in sorted(changed) if rounds.advance(a, c, number)]
        return ImportResult(
            count["labels"], count["handed_on"], count["superseded"], count["same"], count["open"], sorted(changed),
            closed,
        )  # fmt: skip

    result = a.database.write(add)
    if result.closed:
        rounds.closed(a)
    return result


def _locked() -> Any:
    return select(schema.batches).order_by(schema.batches.c.number).with_for_update()


def _tasks() -> Any:
    return select(schema.tasks).where(schema.tasks.c.phase.in_([Phase.LABELLING, Phase.TRAINING]))


def _refuse_late(batch: Row[Any], task: Row[Any] | None, entry: ImportedLabel) -> None:
    if not batch.number:
        raise DataError(
            f"{entry.place}: the item {entry.item.id} belongs to the training round, which takes no imports"
        )
    if task is None:
        raise DataError(f"{entry.place}: {entry.person.name} was not asked about the item {entry.item.id}")
    if batch.phase != Phase.LABELLING:
        raise DataError(
            f"{entry.place}: batch {batch.number} is at {batch.phase}; labels can be added only while everybody still "
            "labels alone"
        )


def _add(
    a: Annotation,
    c: Connection,
    task: Row[Any],
    entries: list[ImportedLabel],
    standing: list[str],
    source: str,
    count: Counter[str],
) -> None:
    """Add what one person says of one item beside their standing labels; finish the task where nothing is missing."""
    first = entries[0]
    number = _rubric_number(c, task.batch)
    form = secrets.token_hex(16)
    shared = {
        "form": form,
        "person": task.person,
        "item": task.item,
        "phase": Phase.LABELLING,
        "rubric": number,
        "source": source,
    }
    imported = time.time()
    finished = max((entry.time or imported for entry in entries), default=imported)
    seconds = max(tasks.sane(entry.seconds) for entry in entries)
    if first.answer is None:
        taken_back = [
            {
                **shared,
                **columns(Answer(name, Answered.WITHDRAWN)),
                "note": "",
                "evidence": "[]",
                "at": imported,
                "seconds": 0.0,
            }
            for name in standing
        ]
        if taken_back:
            c.execute(insert(schema.labels), taken_back)
        count["handed_on"] += 1
        tasks.finish(c, task, HANDED_ON, finished, 0.0)
        return
    rows = [
        {
            **shared, **columns(entry.answer), "note": entry.note, "at": entry.time or imported,
            "evidence": encode(located(entry.item, entry.evidence)).decode(), "seconds": tasks.sane(entry.seconds),
        }
        for entry in entries
        if entry.answer is not None
    ]  # fmt: skip
    c.execute(insert(schema.labels), rows)
    count["labels"] += len(rows)
    needed = {criterion.name for criterion in a.rubric_for(first.item, number).criteria}
    if needed <= {*standing, *(row["criterion"] for row in rows)}:
        tasks.finish(c, task, "done", finished, seconds)
    else:
        count["open"] += 1


def _rubric_number(c: Connection, batch: int) -> int:
    """Return a batch's version of the rubric, and settle it with the first label."""
    b = schema.batches.c
    newest = select(func.max(schema.rubrics.c.number)).scalar_subquery()
    c.execute(
        update(schema.batches).where(b.number == batch, b.rubric.is_(None)).values(rubric=newest, opened=time.time())
    )
    return int(c.execute(select(b.rubric).where(b.number == batch)).scalar_one())


def agreed(entries: Iterable[ImportedLabel]) -> dict[str, ImportedLabel]:
    """Return a person's entries on an item by criterion; under the empty name, that it was handed on.

    Raises:
        DataError: two contradict each other.
    """
    by_criterion: dict[str, ImportedLabel] = {}
    for entry in entries:
        name = "" if entry.answer is None else entry.answer.criterion
        first = by_criterion.setdefault(name, entry)
        if entry.answer is not None and first.answer is not None and _said(first.answer) != _said(entry.answer):
            raise DataError(
                f"{entry.place}: {entry.person.name} says {_said(entry.answer)} on {name}, and {_said(first.answer)} in "
                f"{first.place}; keep one of them"
            )
    if "" in by_criterion and len(by_criterion) > 1:
        raise DataError(
            f"{by_criterion[''].place}: {by_criterion[''].person.name} hands this item on, and labels it, too; keep one of them"
        )
    return by_criterion


def new_ones(
    entries: dict[str, ImportedLabel],
    standing: dict[str, Label],
    state: str,
    *,
    supersede: bool,
    count: Counter[str],
) -> list[ImportedLabel]:
    """Return one person's entries on an item that are not there yet.

    Args:
        entries: by criterion, as `agreed` has them.
        standing: the person's labels on the item, by criterion.
        state: of their task.
        supersede: whether an entry may say something else.
        count: of what is the `same` and of what is `superseded`; added to.

    Raises:
        DataError: one contradicts what is there, and nobody said that it may.
    """
    new = []
    for name, entry in entries.items():
        if entry.answer is None:
            before = "labelled" if standing else None
            same = state == HANDED_ON
        else:
            label = standing.get(name)
            before = _difference(entry, label) if label else "handed on" if state == HANDED_ON else None
            same = label is not None and not before
        if same:
            count["same"] += 1
            continue
        if before and not supersede:
            raise DataError(
                f"{entry.place}: {entry.person.name} {_wants(entry)} the item {entry.item.id}, but there it stands "
                f"otherwise ({before}); --supersede adds it all the same, and keeps both"
            )
        count["superseded"] += bool(before)
        new.append(entry)
    return new


def _wants(entry: ImportedLabel) -> str:
    return "hands on" if entry.answer is None else f"says {_said(entry.answer)} on {entry.answer.criterion} of"


def _said(answer: Answer | Label) -> object:
    return answer.value if answer.answered is Answered.OK else answer.answered.value


def _difference(entry: ImportedLabel, label: Label) -> str:
    """Say what of a label an entry has otherwise; what the file does not carry differs from nothing."""
    assert entry.answer is not None
    if _said(entry.answer) != _said(label):
        return f"{_said(label)}"
    if entry.answer.path and entry.answer.path != label.path:
        return "another path"
    if entry.note and entry.note != label.note and label.note not in entry.note.split("\n"):
        return "another note"
    quotes = {mark.quote for mark in entry.evidence}
    return "other words marked" if not quotes <= {mark.quote for mark in label.evidence} else ""
