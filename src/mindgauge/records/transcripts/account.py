"""What was read of somebody's transcripts, in words: shown before anything is rated."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from mindgauge.records.english import named
from mindgauge.records.rounding import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.records.transcripts.transcript import Tally, Transcript

ROW = "a row each"
"""The plainest shape."""
_SHOWN, _FEW = 12, 3


class TranscriptAccount(msgspec.Struct, frozen=True):
    """What was read as transcripts, and what was left out."""

    files: int
    transcripts: int
    messages: int
    turns: int
    """Messages of the person."""
    unanswered: int
    """Transcripts that end with the person's message: this turn has no reply."""
    begins_with_bot: int
    joined: int
    """Messages that follow one of the same side and were joined to it."""
    empty_replies: int
    empty_messages: int
    """Turns in which the person's message is empty."""
    system: int
    omitted: int
    """Messages of tools, and of speakers that `--map omit=` names."""
    parts: int
    """Parts of messages that are no text: pictures, calls of tools."""
    repeated: list[str]
    """Transcripts that say the same, word for word, as another, which is in brackets: each counts once."""
    endings: int
    shapes: dict[str, int]
    speakers: dict[str, int]
    left_out: list[str]
    notes: list[str]

    @property
    def plain(self) -> bool:
        """Whether every row is a dialogue of `user` and `assistant`, and all of it was read: there is nothing to say."""
        usual = {f"{name!r} is {name}" for name in ("user", "assistant")}
        return {*self.shapes} == {ROW} and {*self.speakers} <= usual and len(self.lines()) == 1 + bool(self.speakers)

    def lines(self) -> list[str]:
        """Say what was read and what was left out, a sentence a line."""
        shapes = named(
            [f"{plural(count, 'transcript')} as {shape}" for shape, count in self.shapes.items()], limit=_SHOWN
        )
        read = (
            f"{plural(self.transcripts, 'transcript')} with {plural(self.messages, 'message')} in {plural(self.turns, 'turn')} "
            f"read from {plural(self.files, 'file')}: {shapes}"
        )
        lines = [read]
        if self.speakers:
            roles = named([f"{name} ({count})" for name, count in self.speakers.items()], limit=_SHOWN)
            lines.append(f"Speakers: {roles}")
        lines += [
            sentence
            for count, sentence in (
                (self.unanswered, f"{_ends(self.unanswered)} with a message of the person; this turn is unanswered and not rated"),
                (self.begins_with_bot, f"{_begins(self.begins_with_bot)} with the bot; its first message belongs to no turn"),
                (self.joined, f"{plural(self.joined, 'message')} of the side that spoke before joined to the one before: a turn holds all of them"),
                (self.empty_replies, f"{plural(self.empty_replies, 'reply', 'replies')} empty: the turn counts, with nothing in it to rate"),
                (self.empty_messages, f"{plural(self.empty_messages, 'message')} of the person empty"),
                (self.system, f"{plural(self.system, 'system message')} kept apart from the dialogue"),
                (self.omitted, f"Left out: {plural(self.omitted, 'message')} of tools or of speakers that are to be omitted"),
                (self.parts, f"Left out: {plural(self.parts, 'part')} of messages that nobody said (pictures, calls of tools, what a model thought)"),
                (len(self.repeated), f"Left out: {plural(len(self.repeated), 'transcript')} that {'repeats' if len(self.repeated) == 1 else 'repeat'} another word for word, which counts once: {named(self.repeated)}"),
                (self.endings, f"{plural(self.endings, 'transcript')} with a note that the conversation ended; it is no part of the last message"),
            )
            if count
        ]  # fmt: skip
        lines += [f"Left out: {line}" for line in self.left_out[:_SHOWN]]
        if len(self.left_out) > _SHOWN:
            lines.append(f"Left out: {len(self.left_out) - _SHOWN} more, see --json")
        return lines + self.notes


def counted(transcripts: Sequence[Transcript], files: int, tally: Tally) -> TranscriptAccount:
    """Write the account of what was read."""
    turns = empty_replies = empty_messages = 0
    for transcript in transcripts:
        roles = [message.role for message in transcript.messages]
        turns += roles.count("user")
        empty = [message.role for message in transcript.messages if not message.content.strip()]
        empty_replies += empty.count("assistant") - (
            roles[0] == "assistant" and not transcript.messages[0].content.strip()
        )
        empty_messages += empty.count("user")
    notes = list(tally.notes)
    if tally.late_system:
        notes.append(f"{plural(tally.late_system, 'system message')} in mid-dialogue stands with what the bot was told at its beginning" if tally.late_system == 1 else f"{tally.late_system} system messages in mid-dialogue stand with what the bot was told at its beginning")  # fmt: skip
    if tally.same_words:
        notes.append(
            f"{plural(tally.same_words, 'transcript')} with the words of another under another id; each counts"
        )
    if tally.labels:
        common = named([f"{name!r} ({count})" for name, count in tally.labels.most_common()], limit=_FEW)
        notes.append(f"Lines that begin like a speaker's and are read as text of the message: {common}")
    return TranscriptAccount(
        files=files,
        transcripts=len(transcripts),
        messages=sum(len(transcript.messages) for transcript in transcripts),
        turns=turns,
        unanswered=sum(transcript.unanswered for transcript in transcripts),
        begins_with_bot=sum(transcript.messages[0].role == "assistant" for transcript in transcripts),
        joined=tally.joined,
        empty_replies=empty_replies,
        empty_messages=empty_messages,
        system=tally.system,
        omitted=tally.omitted,
        parts=tally.parts,
        repeated=[*tally.repeated],
        endings=sum(bool(transcript.ending) for transcript in transcripts),
        shapes=dict(Counter(transcript.shape for transcript in transcripts)),
        speakers={
            f"{name!r} is {part}": count
            for (part, name), count in sorted(tally.speakers.items(), key=lambda item: (-item[1], *map(str, item[0])))
        },
        left_out=[*tally.left_out],
        notes=notes,
    )


def _ends(count: int) -> str:
    return f"{plural(count, 'transcript')} {'ends' if count == 1 else 'end'}"


def _begins(count: int) -> str:
    return f"{plural(count, 'transcript')} {'begins' if count == 1 else 'begin'}"
