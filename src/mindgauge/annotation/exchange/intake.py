"""Taking labels into a project: all of a file or nothing, and on to the gate where that completes a batch.

Only the labelling phase takes labels, of the batch that is open and of those that are not yet: later, everybody has seen
more than the dialogue. What is there already and says the same is left alone. Nothing is overwritten. Entries of a file
that contradict each other are refused first.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, insert, select, update

from mindgauge.annotation import rounds, schema, tasks
from mindgauge.annotation.exchange.export import HANDED_ON
from mindgauge.annotation.labels import columns, labels_of, last, located
from mindgauge.annotation.records import Answer, Answered, Phase
from mindgauge.records import encode
from mindgauge.records.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row

    from mindgauge.annotation.exchange.reading import ImportedLabel
    from mindgauge.annotation.project import Annotation
    from mindgauge.annotation.records import Label


def take_in(
    a: Annotation, entries: Sequence[ImportedLabel], source: str, *, supersede: bool = False
) -> tuple[Counter[str], list[int], list[int]]:
    """Add a file's labels, or nothing of it.

    Args:
        a: the project.
        entries: as read; those of one person, item and criterion must agree.
        source: the file's name.
        supersede: whether a label that says something else is added after the one that is there.

    Returns:
        How many `labels` and items `handed_on` are new, how many of these are `superseded`, which means that they took the
        place of another, how many were there already (`same`), and how many items stay `open`, since the file answers
        some criteria only; the batches that something was added to; and those of them that met their gate.

    Raises:
        DataError: two entries contradict each other, or one what is there, or its batch takes no labels any more.
        DatabaseError: it could not be kept; nothing of it was.
    """
    by_task: dict[tuple[str, str], list[ImportedLabel]] = {}
    for entry in entries:
        by_task.setdefault((entry.person.id, entry.item.id), []).append(entry)

    def add(c: Connection) -> tuple[Counter[str], list[int], list[int]]:
        count: Counter[str] = Counter()
        locked = c.execute(select(schema.batches).order_by(schema.batches.c.number).with_for_update())
        batches = {row.number: row for row in locked}
        labels_there: dict[tuple[str, str], dict[str, Label]] = {}
        for (subject, person, criterion), label in last(labels_of(c), Phase.LABELLING).items():
            labels_there.setdefault((person, subject), {})[criterion] = label
        alone = schema.tasks.c.phase.in_([Phase.LABELLING, Phase.TRAINING])
        tasks_there = {(row.person, row.item): row for row in c.execute(select(schema.tasks).where(alone))}
        changed = set()
        for key, group in by_task.items():
            task, labels = tasks_there.get(key), labels_there.get(key, {})
            new = _new(group, labels, count, supersede=supersede, handed_on=bool(task and task.state == HANDED_ON))
            if new:
                task = _taking(batches[new[0].item.batch], task, new[0])
                _add(a, c, task, new, list(labels), source, count)
                changed.add(task.batch)
        if changed:
            schema.log(c, "", "imported", str(count["labels"]))
        return count, sorted(changed), [number for number in sorted(changed) if rounds.advance(a, c, number)]

    result = a.database.write(add)
    if result[2]:
        rounds.closed(a)
    return result


def _new(
    entries: list[ImportedLabel], labels: dict[str, Label], count: Counter[str], *, handed_on: bool, supersede: bool
) -> list[ImportedLabel]:
    """Return one person's entries on an item that are not there yet, and count what is the same and what is superseded.

    Raises:
        DataError: two contradict each other, or one contradicts what is there, and nobody said that it may.
    """
    by_criterion: dict[str, ImportedLabel] = {}
    for entry in entries:
        name = "" if entry.answer is None else entry.answer.criterion
        first = by_criterion.setdefault(name, entry)
        answer, before, person = _given(entry.answer), _given(first.answer), f"{entry.place}: {entry.person.name}"
        if answer != before:
            raise DataError(f"{person} says {answer} on {name}, and {before} in {first.place}; keep one of them")
    if "" in by_criterion and len(by_criterion) > 1:
        raise DataError(f"{by_criterion[''].place}: {entries[0].person.name} hands this item on, and labels it, too; keep one of them")  # fmt: skip
    new = []
    for name, entry in by_criterion.items():
        label = labels.get(name)
        wanted = f"says {_given(entry.answer)} on {name} of" if entry.answer else "hands on"
        difference = (
            "labelled" if entry.answer is None and labels else "handed on" if entry.answer and handed_on else ""
        )
        if entry.answer and label:
            difference = _difference(entry, entry.answer, label)
        if not difference and (label or (entry.answer is None and handed_on)):
            count["same"] += 1
        elif difference and not supersede:
            raise DataError(
                f"{entry.place}: {entry.person.name} {wanted} the item {entry.item.id}, but there it stands "
                f"otherwise ({difference}); --supersede adds it all the same, and keeps both"
            )
        else:
            count["superseded"] += bool(difference)
            new.append(entry)
    return new


def _given(answer: Answer | Label | None) -> object:
    return answer and (answer.value if answer.answered is Answered.OK else answer.answered.value)


def _difference(entry: ImportedLabel, answer: Answer, label: Label) -> str:
    """Say what of a label an entry has otherwise; what the file does not carry differs from nothing."""
    quotes, old_quotes = ({mark.quote for mark in part.evidence} for part in (entry, label))
    differences = {
        str(_given(label)): _given(answer) != _given(label),
        "another path": answer.path and answer.path != label.path,
        "another note": entry.note and entry.note != label.note and label.note not in entry.note.split("\n"),
        "other words marked": not quotes <= old_quotes,
    }
    return next((name for name, differs in differences.items() if differs), "")


def _taking(batch: Row[Any], task: Row[Any] | None, entry: ImportedLabel) -> Row[Any]:
    """Return a person's task, if its batch takes labels."""
    name, number = entry.item.id, batch.number
    if number and task is not None and batch.phase == Phase.LABELLING:
        return task
    raise DataError(
        f"{entry.place}: the item {name} belongs to the training round, which takes no imports" if not number
        else f"{entry.place}: {entry.person.name} was not asked about the item {name}" if task is None
        else f"{entry.place}: batch {number} is at {batch.phase}; labels can be added only while everybody still labels alone"
    )  # fmt: skip


def _add(
    a: Annotation,
    c: Connection,
    task: Row[Any],
    entries: list[ImportedLabel],
    before: list[str],
    source: str,
    count: Counter[str],
) -> None:
    """Add what one person says of one item beside the labels before; finish the task where nothing is missing."""
    imported, b = time.time(), schema.batches.c
    newest = select(func.max(schema.rubrics.c.number)).scalar_subquery()
    settled = {"rubric": newest, "opened": imported}  # by the first label of a batch
    c.execute(update(schema.batches).where(b.number == task.batch, b.rubric.is_(None)).values(settled))
    rubric = int(c.execute(select(b.rubric).where(b.number == task.batch)).scalar_one())
    handed_on = entries[0].answer is None
    answers = [(entries[0], Answer(name, Answered.WITHDRAWN)) for name in before] if handed_on else []
    answers += [(entry, entry.answer) for entry in entries if entry.answer is not None]
    form = secrets.token_hex(16)
    rows = [
        {
            "form": form, "person": task.person, "item": task.item, "phase": Phase.LABELLING, "rubric": rubric,
            "source": source, **columns(answer), "note": entry.note, "seconds": tasks.sane(entry.seconds),
            "at": imported if handed_on else entry.time or imported,
            "evidence": encode(located(entry.item, entry.evidence)).decode(),
        }
        for entry, answer in answers
    ]  # fmt: skip
    if rows:
        c.execute(insert(schema.labels), rows)
    count["handed_on" if handed_on else "labels"] += 1 if handed_on else len(rows)
    finished = max(entry.time or imported for entry in entries)
    needed = {criterion.name for criterion in a.rubric_for(entries[0].item, rubric).criteria}
    if handed_on or needed <= {*before, *(row["criterion"] for row in rows)}:
        seconds = 0.0 if handed_on else max(tasks.sane(entry.seconds) for entry in entries)
        tasks.finish(c, task, HANDED_ON if handed_on else "done", finished, seconds)
    else:
        count["open"] += 1
