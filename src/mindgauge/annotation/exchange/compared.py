"""What a file says held against itself, and against what is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.annotation.exchange.known import HANDED_ON
from mindgauge.annotation.records import Answered
from mindgauge.errors import DataError

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable

    from mindgauge.annotation.exchange.known import Entry
    from mindgauge.annotation.records import Answer, Label


def agreed(entries: Iterable[Entry]) -> dict[str, Entry]:
    """Return a person's entries on an item by criterion; under the empty name, that it was handed on.

    Raises:
        DataError: two contradict each other.
    """
    by_criterion: dict[str, Entry] = {}
    for entry in entries:
        name = "" if entry.answer is None else entry.answer.criterion
        first = by_criterion.setdefault(name, entry)
        if entry.answer is not None and first.answer is not None and _said(first.answer) != _said(entry.answer):
            raise DataError(
                f"{entry.where}: {entry.person.name} says {_said(entry.answer)} on {name}, and {_said(first.answer)} in "
                f"{first.where}; keep one of them"
            )
    if "" in by_criterion and len(by_criterion) > 1:
        raise DataError(
            f"{by_criterion[''].where}: {by_criterion[''].person.name} hands this item on, and labels it, too; keep one of them"
        )
    return by_criterion


def new_ones(
    entries: dict[str, Entry],
    standing: dict[str, Label],
    state: str,
    *,
    supersede: bool,
    count: Counter[str],
) -> list[Entry]:
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
                f"{entry.where}: {entry.person.name} {_wants(entry)} the item {entry.item.id}, but there it stands "
                f"otherwise ({before}); --supersede adds it all the same, and keeps both"
            )
        count["superseded"] += bool(before)
        new.append(entry)
    return new


def _wants(entry: Entry) -> str:
    return "hands on" if entry.answer is None else f"says {_said(entry.answer)} on {entry.answer.criterion} of"


def _said(answer: Answer | Label) -> object:
    return answer.value if answer.answered is Answered.OK else answer.answered.value


def _difference(entry: Entry, label: Label) -> str:
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
