"""The form in which a classifier reads a dialogue: turns oldest to newest, the last one apart.

The last message is what is classified: a reply, if the assistant wrote it, or else what the person says.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from mindgauge.records import Message, Reply, Sample
from mindgauge.records.errors import DataError
from mindgauge.records.text import HAN, compatible

if TYPE_CHECKING:
    from collections.abc import Sequence

Dialogue: TypeAlias = tuple[Message, ...]
Reads: TypeAlias = Literal["reply", "message"]
"""What a classifier classifies: a supporter's reply, or what the person says."""

TAGS = {"system": "[system]", "user": "[seeker]", "assistant": "[supporter]"}
"""What stands before a turn, by its role."""

_TYPED = re.compile(r"\[(system|seeker|supporter)\]")
_BLANK = re.compile(r"\s+")


def dialogue(sample: Sample) -> Dialogue:
    """Return a sample's turns that say something.

    Raises:
        DataError: there are none.
    """
    turns = tuple(message for message in sample.messages if message.content.strip())
    if not turns:
        raise DataError(f"sample {sample.id}: an empty dialogue; there is nothing to classify")
    return turns


def reads(samples: Sequence[Sample]) -> Reads:
    """Return what the samples end with.

    Raises:
        DataError: some end with a reply and some with a message, or one is empty.
    """
    ends: Counter[Reads] = Counter("reply" if dialogue(s)[-1].role == "assistant" else "message" for s in samples)
    if len(ends) > 1:
        raise DataError(
            f"{ends['reply']} dialogues end with a reply and {ends['message']} with the person's message; a classifier "
            "reads one or the other: leave the fewer out, or train two"
        )
    return next(iter(ends))


def with_reply(sample: Sample, reply: Reply) -> Sample:
    """Return the sample with the reply as its last message, so that the reply is what is classified."""
    return msgspec.structs.replace(sample, messages=(*sample.messages, Message("assistant", reply.text)))


def earlier(turns: Dialogue) -> str:
    """Return all turns but the last as one text, each behind its tag; a tag that somebody typed loses its brackets."""
    return "".join(TAGS[turn.role] + _TYPED.sub(r"(\1)", turn.content) for turn in turns[:-1])


def characters(turns: Dialogue) -> int:
    """Return how long a dialogue is."""
    return sum(len(turn.content) for turn in turns)


def key(messages: Sequence[Message]) -> str:
    """Return what two dialogues have in common that differ in width, letter case and blanks only."""
    return "\0".join(f"{message.role}:{plain(message.content)}" for message in messages)


def plain(text: str) -> str:
    """Return a text without differences of width, letter case and blanks."""
    return _BLANK.sub("", compatible(text).casefold())


def telling(text: str) -> bool:
    """Whether a turn is so long that two dialogues share it only if they come from the same talk.

    15 characters of Chinese (the limit that the dialogues of Dialogue Safety were linked by), or 40 of other scripts,
    which say about as much.
    """
    return len(text) >= (15 if HAN.search(text) else 40)
