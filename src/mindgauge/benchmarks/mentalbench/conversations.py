"""Which rows of which files are about the same conversation.

The authors join their files by `ConvID`, that is by row. What a row is about is its concern, though, and in some rows
the files hold different concerns under one ConvID. So a row belongs to the conversation whose concern it shows, blanks
aside. Where a file shows one concern in several rows, the row whose ConvID the other files give to that concern comes
first (occurrence 0); what a further one really rates cannot be known, so it is kept as a reply of its own (1, 2, …)
that no other file rates, and is never paired.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mindgauge.benchmarks.mentalbench import cells
from mindgauge.records import Message, RaterKind, Sample
from mindgauge.records.files.bounds import clean

if TYPE_CHECKING:
    from mindgauge.benchmarks.mentalbench.cells import CellScores
    from mindgauge.benchmarks.mentalbench.released import MentalBenchRelease, RaterSheet, Texts


class ConversationRow(NamedTuple):
    """The conversation (its concern) that a row is about, and which of the file's rows about it this is."""

    concern: str
    occurrence: int


class ParsedSheet(NamedTuple):
    """A rater's sheet, read: by system, a cell's scores for each row; and each row's place, None without a concern."""

    sheet: RaterSheet
    places: list[ConversationRow | None]
    scores: dict[str, list[CellScores]]


class Conversations:
    """The conversations of all files, in the order in which they come."""

    def __init__(self, files: MentalBenchRelease) -> None:
        votes: dict[str, dict[str, int]] = {}
        for sheet in files.sheets:
            for ident, context in zip(sheet.conversation, sheet.context, strict=True):
                votes.setdefault(concern(context), {}).setdefault(ident, 0)
                votes[concern(context)][ident] += 1
        self.ids = {text: max(counts, key=counts.__getitem__) for text, counts in votes.items() if text}
        """For each concern the ConvID that most files give it."""
        others = (concern(context) for context in (files.texts.context if files.texts else ()))
        self.concerns = list(dict.fromkeys([*self.ids, *(text for text in others if text)]))

    def samples(self) -> dict[str, Sample]:
        """Return each conversation as a sample, by its concern."""
        return {text: self._sample(text) for text in self.concerns}

    def _sample(self, text: str) -> Sample:
        tags = {"language": "en"} | ({"conv_id": self.ids[text]} if text in self.ids else {})
        return Sample.of((Message("user", text),), tags=tags)

    def places(self, part: RaterSheet | Texts) -> list[ConversationRow | None]:
        """Return the place of each row."""
        texts = [concern(context) for context in part.context]
        rows: dict[str, list[int]] = {}
        for row, text in enumerate(texts):
            rows.setdefault(text, []).append(row)
        places: list[ConversationRow | None] = [None] * len(texts)
        for text, together in rows.items():
            ids, home = part.conversation, self.ids.get(text)
            for occurrence, row in enumerate(sorted(together, key=lambda row: ids[row] != home) if text else ()):
                places[row] = ConversationRow(text, occurrence)
        return places

    def rated(self, files: MentalBenchRelease) -> list[ParsedSheet]:
        """Read every rater's sheet."""
        return [ParsedSheet(sheet, self.places(sheet), sheet.scores()) for sheet in files.sheets]


def concern(context: str) -> str:
    """Return a concern as one line: what every file writes alike."""
    return " ".join(clean(context).split())


def empty_replies(
    files: MentalBenchRelease, conversations: Conversations, rated: list[ParsedSheet]
) -> set[tuple[ConversationRow, str]]:
    """Return (place, system) of the replies that are empty: by their text, or where that is not here by the judges' word.

    A missing reply was put to the judges as the word `nan`; two of them have to say so, or the only one there is. What
    the people's file holds for such a reply (nothing, zeros, levels) varies, so it proves nothing.
    """
    saying_empty: dict[tuple[ConversationRow, str], int] = {}
    judges = [sheet_rated for sheet_rated in rated if sheet_rated.sheet.kind is RaterKind.MODEL]
    for judge in judges:
        for system, column in judge.scores.items():
            for place, scores in zip(judge.places, column, strict=True):
                if place is not None and cells.says_empty(scores.explanation):
                    saying_empty[place, system] = saying_empty.get((place, system), 0) + 1
    empty = {reply for reply, judges_saying in saying_empty.items() if judges_saying >= min(2, len(judges))}
    if files.texts is not None:
        places = conversations.places(files.texts)
        for system, replies in files.texts.replies.items():
            for place, text in zip(places, replies, strict=True):
                if place is not None:
                    (empty.discard if written(text) else empty.add)((place, system))
    return empty


def written(text: str | None) -> str:
    """Return the text of a reply; none where a table says `nan`."""
    cleaned = clean(text or "").strip()
    return "" if cleaned.casefold() == "nan" else cleaned
