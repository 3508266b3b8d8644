"""What is missing, doubled or damaged in the released files, one line each; no word of their texts."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from mindgauge.benchmarks.mentalbench import cells
from mindgauge.benchmarks.mentalbench.cells import Fault
from mindgauge.benchmarks.mentalbench.conversations import concern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.benchmarks.mentalbench.conversations import Conversations, Place, Rated
    from mindgauge.benchmarks.mentalbench.released import Files, Sheet


def notes(files: Files, known: Conversations, rated: list[Rated], empty: set[tuple[Place, str]]) -> list[str]:
    """Return every finding."""
    found = list(files.notes)
    for sheet in files.sheets[1:]:
        found += _misaligned(files.sheets[0], sheet)
    for one in rated:
        found += (f"{one.sheet.source}: {line}" for line in (*_rows(one, known), *_values(one)))
    if empty:
        systems = ", ".join(f"{n} × {name}" for name, n in sorted(Counter(system for _, system in empty).items()))
        found.append(
            f"empty replies, by their text or else by the judges' word: {len(empty)} ({systems}); ratings of them have no value"
        )
    held = {concern(context) for context in files.texts.context} if files.texts else set()
    without = [text for text in known.ids if text not in held]
    if without and files.texts:
        found.append(f"{len(without)} of {len(known.ids)} rated conversations are not in {files.texts.source}")
    elif without:
        found.append("replies have no text: the files with ratings do not hold it, and the 100k file is not here")
    return found


def misaligned(first: Sheet, second: Sheet) -> list[str]:
    """Return the ConvIDs under which two files hold different concerns, blanks aside."""
    held = dict(zip(second.conversation, map(concern, second.context), strict=True))
    pairs = zip(first.conversation, map(concern, first.context), strict=True)
    return [ident for ident, text in pairs if ident in held and held[ident] != text]


def _misaligned(first: Sheet, second: Sheet) -> Iterator[str]:
    differing = misaligned(first, second)
    if differing:
        yield f"{second.source}: {_many(differing, 'ConvID')} of another concern than in {first.source}; joined by concern"
    theirs = {concern(context) for context in first.context}
    alone = [i for i, text in zip(second.conversation, map(concern, second.context), strict=True) if text not in theirs]
    if alone:
        yield f"{second.source}: {_many(alone, 'ConvID')} of a concern that is not in {first.source}"


def _rows(one: Rated, known: Conversations) -> Iterator[str]:
    ids = one.sheet.conversation
    again = [i for i, place in zip(ids, one.places, strict=True) if place and place.occurrence]
    if again:
        yield f"{_many(again, 'ConvID')} of a concern that another row has too; kept as replies of their own (run 1 and up)"
    twice = [ident for ident, count in Counter(ids).items() if count > 1]
    if twice:
        yield f"{_many(twice, 'ConvID')} of several rows"
    lost = [str(row) for row, place in zip(one.sheet.row, one.places, strict=True) if place is None]
    if lost:
        yield f"{_many(lost, 'row')} without a concern; what is rated there cannot be known, so it is not loaded"
    concerns = {place.concern for place in one.places if place}
    if len(concerns) < len(known.ids):
        yield f"{len(concerns)} of the {len(known.ids)} different concerns"


def _values(one: Rated) -> Iterator[str]:
    every = [(system, scores) for system, column in one.scores.items() for scores in column]
    blank = Counter(system for system, scores in every if scores.fault is Fault.EMPTY_CELL)
    unread = Counter(str(scores.fault) for _, scores in every if scores.fault not in {None, Fault.EMPTY_CELL})
    repairs = Counter(str(repair) for _, scores in every for repair in scores.repairs)
    wrong = [raw for _, scores in every if not scores.fault for raw in scores.raw if cells.level(raw) is None]
    faults = Counter(_shown(raw) for raw in wrong)
    zeros = sum(
        set(scores.raw) == {0} for _, scores in every if not any(isinstance(r, list | dict) for r in scores.raw)
    )
    for found, what in (
        (blank, "empty cells"),
        (unread, "cells without a verdict"),
        (repairs, "repaired cells"),
        (faults, "values that are no level from 1 to 5"),
    ):
        if found:
            yield f"{what}: {found.total()} ({', '.join(f'{n} × {key}' for key, n in found.most_common())})"
    if zeros:
        yield f"cells that hold nothing but zeros: {zeros}"


def _shown(raw: object) -> str:
    return str(Fault.NOT_GIVEN) if raw is msgspec.UNSET else "null" if raw is None else f"{cells.plain(raw)!r:.20}"


def _many(names: list[str], what: str) -> str:
    """Name some rows, the first twenty of them."""
    shown = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
    return f"{len(names)} {what}{'s' * (len(names) > 1)} ({shown})"
