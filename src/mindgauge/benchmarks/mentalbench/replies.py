"""The released ratings as records: who gave which level to which reply, and what the files hold in place of a level."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.benchmarks import Released
from mindgauge.benchmarks.mentalbench import cells, released
from mindgauge.benchmarks.mentalbench.cells import CRITERIA, CellFault
from mindgauge.benchmarks.mentalbench.conversations import Conversations, empty_replies, written
from mindgauge.benchmarks.mentalbench.notes import notes
from mindgauge.records import Rating, Reply, Status
from mindgauge.records.files.bounds import clean

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mindgauge.benchmarks.mentalbench.cells import CellScores
    from mindgauge.benchmarks.mentalbench.conversations import ConversationRow, ParsedSheet
    from mindgauge.benchmarks.mentalbench.released import MentalBenchRelease
    from mindgauge.records import Sample


class _FirstSeen(NamedTuple):
    """Where a reply was seen first, and its text where the files hold it."""

    source: str
    row: int
    text: str | None


def read(data: Path) -> list[Sample]:
    """Read the conversations, each with the person's one message; blanks in it are single, as every file can agree on.

    Raises:
        DataError: nothing usable is there, or a file is broken.
    """
    return list(Conversations(released.find(data)).samples().values())


def load(data: Path) -> Released:
    """Load the released replies and everybody's ratings of them.

    Replies are not in the files with ratings: without the 100k file a reply has no text, and says so in its provenance.
    A reply that is empty (there, or by the judges' word) is `unparsable`, and so is every rating of it, because a
    judge was shown the word `nan` in its place. Whatever is not a level from 1 to 5 is `unparsable` too; it stays in
    the provenance (`fault`, `released`). Ratings of a judge's own system carry `self_judged`.

    Raises:
        DataError: nothing usable is there, or a file is broken.
    """
    files = released.find(data)
    conversations = Conversations(files)
    samples, rated = conversations.samples(), conversations.rated(files)
    located, empty = _seen(files, conversations, rated), empty_replies(files, conversations, rated)
    replies = {
        key: _reply(samples[key[0].concern], key, place_found, conversations, empty=key in empty)
        for key, place_found in located.items()
    }
    ratings = [rating for sheet_rated in rated for rating in _ratings(sheet_rated, replies)]
    return Released(list(samples.values()), list(replies.values()), ratings, notes(files, conversations, rated, empty))


def _seen(
    files: MentalBenchRelease, conversations: Conversations, rated: list[ParsedSheet]
) -> dict[tuple[ConversationRow, str], _FirstSeen]:
    """Find every reply, in the file with the texts or else in the first that rates it."""
    located: dict[tuple[ConversationRow, str], _FirstSeen] = {}
    if (texts := files.texts) is not None:
        for index, place in enumerate(conversations.places(texts)):
            if place is not None:
                for system, column in texts.replies.items():
                    located[place, system] = _FirstSeen(texts.source, texts.row[index], column[index] or "")
    for sheet_rated in rated:
        for index, place in enumerate(sheet_rated.places):
            if place is not None:
                for system in sheet_rated.scores:
                    located.setdefault(
                        (place, system), _FirstSeen(sheet_rated.sheet.source, sheet_rated.sheet.row[index], None)
                    )
    return located


def _reply(
    sample: Sample,
    key: tuple[ConversationRow, str],
    place_found: _FirstSeen,
    conversations: Conversations,
    *,
    empty: bool,
) -> Reply:
    place, system = key
    provenance: dict[str, Any] = {"source_file": place_found.source, "source_row": place_found.row}
    if place.concern in conversations.ids:
        provenance["conv_id"] = conversations.ids[place.concern]
    if place_found.text is None:
        provenance["text"] = "not released"
    status = Status.UNPARSABLE if empty else Status.OK
    return Reply.of(sample.id, system, place.occurrence, status, written(place_found.text), provenance=provenance)


def _ratings(sheet_rated: ParsedSheet, replies: dict[tuple[ConversationRow, str], Reply]) -> Iterator[Rating]:
    own = released.OWN_SYSTEM.get(sheet_rated.sheet.rater, sheet_rated.sheet.rater)
    for system, column in sheet_rated.scores.items():
        for index, (place, scores) in enumerate(zip(sheet_rated.places, column, strict=True)):
            if place is None:
                continue
            provenance: dict[str, Any] = {
                "source_file": sheet_rated.sheet.source,
                "source_row": sheet_rated.sheet.row[index],
                "conv_id": sheet_rated.sheet.conversation[index],
            }
            if scores.overall is not None:
                provenance["overall"] = cells.plain(scores.overall)
            if scores.repairs:
                provenance["repair"] = ", ".join(scores.repairs)
            if system == own:
                provenance["self_judged"] = True
            cell = sheet_rated.sheet.cells[system][index]
            yield from _of_cell(sheet_rated, scores, replies[place, system], provenance, cell)


def _of_cell(
    sheet_rated: ParsedSheet, scores: CellScores, reply: Reply, provenance: dict[str, Any], cell: str | None
) -> Iterator[Rating]:
    rater, kind = sheet_rated.sheet.rater, sheet_rated.sheet.kind
    for criterion, raw in zip(CRITERIA, scores.raw, strict=True):
        value = cells.level(raw)
        fault = scores.fault or (cells.fault(raw) if value is None else None)
        if fault is None and reply.status is not Status.OK:
            fault = CellFault.EMPTY_REPLY
        if fault is None:
            yield Rating(
                reply.id, criterion, rater, kind, 0, Status.OK, value, scores.explanation, provenance=provenance
            )
            continue
        released_value = clean(cell or "") if scores.fault else cells.plain(raw)
        details = {**provenance, "fault": str(fault), "released": released_value}
        status = Status.REFUSED if fault is CellFault.REFUSAL else Status.UNPARSABLE
        yield Rating(reply.id, criterion, rater, kind, 0, status, None, scores.explanation, provenance=details)
