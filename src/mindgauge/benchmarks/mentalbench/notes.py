"""What is missing, doubled or damaged in the released files, one line each; no word of their texts."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from mindgauge.benchmarks.mentalbench import cells
from mindgauge.benchmarks.mentalbench.cells import CellFault
from mindgauge.benchmarks.mentalbench.conversations import concern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.benchmarks.mentalbench.conversations import ConversationRow, Conversations, ParsedSheet
    from mindgauge.benchmarks.mentalbench.released import MentalBenchRelease, RaterSheet


def notes(
    files: MentalBenchRelease,
    conversations: Conversations,
    rated: list[ParsedSheet],
    empty: set[tuple[ConversationRow, str]],
) -> list[str]:
    """Return every finding."""
    lines = list(files.notes)
    for sheet in files.sheets[1:]:
        lines += _misaligned(files.sheets[0], sheet)
    for sheet_rated in rated:
        lines += (
            f"{sheet_rated.sheet.source}: {line}"
            for line in (*_rows(sheet_rated, conversations), *_values(sheet_rated))
        )
    if empty:
        systems = ", ".join(f"{n} × {name}" for name, n in sorted(Counter(system for _, system in empty).items()))
        lines.append(
            f"empty replies, by their text or else by what the judges say: {len(empty)} ({systems}); ratings of them have no value"
        )
    concerns_held = {concern(context) for context in files.texts.context} if files.texts else set()
    absent = [text for text in conversations.ids if text not in concerns_held]
    if absent and files.texts:
        lines.append(f"{len(absent)} of {len(conversations.ids)} rated conversations are not in {files.texts.source}")
    elif absent:
        lines.append("replies have no text: the files with ratings do not hold it, and the 100k file is not here")
    return lines


def misaligned(first: RaterSheet, second: RaterSheet) -> list[str]:
    """Return the ConvIDs under which two files hold different concerns, blanks aside."""
    by_ident = dict(zip(second.conversation, map(concern, second.context), strict=True))
    pairs = zip(first.conversation, map(concern, first.context), strict=True)
    return [ident for ident, text in pairs if ident in by_ident and by_ident[ident] != text]


def _misaligned(first: RaterSheet, second: RaterSheet) -> Iterator[str]:
    differing = misaligned(first, second)
    if differing:
        yield f"{second.source}: {_many(differing, 'ConvID')} of another concern than in {first.source}; joined by concern"
    first_concerns = {concern(context) for context in first.context}
    alone = [
        i
        for i, text in zip(second.conversation, map(concern, second.context), strict=True)
        if text not in first_concerns
    ]
    if alone:
        yield f"{second.source}: {_many(alone, 'ConvID')} of a concern that is not in {first.source}"


def _rows(sheet_rated: ParsedSheet, conversations: Conversations) -> Iterator[str]:
    ids = sheet_rated.sheet.conversation
    repeated = [i for i, place in zip(ids, sheet_rated.places, strict=True) if place and place.occurrence]
    if repeated:
        yield f"{_many(repeated, 'ConvID')} of a concern that another row has too; kept as replies of their own (run 1 and up)"
    twice = [ident for ident, count in Counter(ids).items() if count > 1]
    if twice:
        yield f"{_many(twice, 'ConvID')} of several rows"
    lost = [str(row) for row, place in zip(sheet_rated.sheet.row, sheet_rated.places, strict=True) if place is None]
    if lost:
        yield f"{_many(lost, 'row')} without a concern; what is rated there cannot be known, so it is not loaded"
    concerns = {place.concern for place in sheet_rated.places if place}
    if len(concerns) < len(conversations.ids):
        yield f"{len(concerns)} of the {len(conversations.ids)} different concerns"


def _values(sheet_rated: ParsedSheet) -> Iterator[str]:
    all_scores = [(system, scores) for system, column in sheet_rated.scores.items() for scores in column]
    blank = Counter(system for system, scores in all_scores if scores.fault is CellFault.EMPTY_CELL)
    unread = Counter(str(scores.fault) for _, scores in all_scores if scores.fault not in {None, CellFault.EMPTY_CELL})
    repairs = Counter(str(repair) for _, scores in all_scores for repair in scores.repairs)
    wrong = [raw for _, scores in all_scores if not scores.fault for raw in scores.raw if cells.level(raw) is None]
    faults = Counter(_shown(raw) for raw in wrong)
    zeros = sum(
        set(scores.raw) == {0} for _, scores in all_scores if not any(isinstance(r, list | dict) for r in scores.raw)
    )
    for counts, label in (
        (blank, "empty cells"),
        (unread, "cells without a verdict"),
        (repairs, "repaired cells"),
        (faults, "values that are no level from 1 to 5"),
    ):
        if counts:
            yield f"{label}: {counts.total()} ({', '.join(f'{n} × {key}' for key, n in counts.most_common())})"
    if zeros:
        yield f"cells that hold nothing but zeros: {zeros}"


def _shown(raw: object) -> str:
    return str(CellFault.NOT_GIVEN) if raw is msgspec.UNSET else "null" if raw is None else f"{cells.plain(raw)!r:.20}"


def _many(names: list[str], noun: str) -> str:
    """Name some rows, the first twenty of them."""
    listed = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
    return f"{len(names)} {noun}{'s' * (len(names) > 1)} ({listed})"
