"""A transcript: a dialogue that was held, its turns, and what is known of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mindgauge.records.drawn import COLUMNS, Drawn
from mindgauge.records.records import Message, digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mindgauge.records.transcripts.roles import Part
    from mindgauge.records.transcripts.tally import Tally


class Utterance(NamedTuple):
    """What one speaker says, as it stands in a file."""

    part: Part
    text: str


class Beginning(Sequence[Message]):
    """The first messages of a dialogue. All its beginnings share the messages; each is cut when it is first read."""

    def __init__(self, messages: tuple[Message, ...], length: int) -> None:
        self._messages, self._length = messages, length

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Message]:
        return islice(self._messages, self._length)

    def __getitem__(self, place: Any) -> Any:
        cut = range(self._length)[place]
        return self._messages[cut] if isinstance(cut, int) else self._messages[: self._length][place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and [*self] == [*other]

    def __hash__(self) -> int:
        return hash((*self,))


class Turn(NamedTuple):
    """A message of the person and the bot's reply to it."""

    number: int
    """From 1."""
    before: Sequence[Message]
    """The dialogue that the reply answers, up to the person's message; without system messages."""
    reply: str | None
    """None where the transcript ends before any."""


class Transcript(msgspec.Struct, frozen=True):
    """A dialogue between a person and a bot.

    `messages` alternate: several messages of one side in a row are one. They may begin with the bot's and end with the
    person's.
    """

    id: str
    messages: tuple[Message, ...]
    source: str
    """The file."""
    line: int = 0
    """Where it begins there, from 1; 0 where the file is the transcript."""
    system: str = ""
    """What the bot was told before."""
    model: str = ""
    run: int = 0
    cluster: str = ""
    """What it shares with others that are not independent of it: the column `cluster`, else its persona or participant."""
    named: bool = False
    """Whether the file gives it its id; otherwise that is the file's name and its place there."""
    tags: dict[str, str] = {}
    shape: str = ""
    """How it was kept, in words."""
    ending: str = ""
    """The line by which a program noted that the conversation ended."""
    drawn: Drawn | None = None
    """With which probability it was drawn, if it was."""

    @property
    def turns(self) -> Iterator[Turn]:
        """Its turns in their order; only the last may lack a reply."""
        number = 0
        for place, message in enumerate(self.messages):
            if message.role == "user":
                number += 1
                reply = self.messages[place + 1].content if place + 1 < len(self.messages) else None
                yield Turn(number, Beginning(self.messages, place + 1), reply)

    @property
    def unanswered(self) -> bool:
        """Whether it ends with a message of the person."""
        return self.messages[-1].role == "user"

    @property
    def words(self) -> str:
        """The hash of what was said in it."""
        return digest("dialogue", self.messages, self.system)


def folded(utterances: Iterable[Utterance], tally: Tally) -> tuple[str, tuple[Message, ...]]:
    """Return what the bot was told, and the dialogue: of each side one message at a time.

    Args:
        utterances: in their order.
        tally: counts what is joined, is empty or is no message.
    """
    system: list[str] = []
    messages: list[Message] = []
    for part, text in utterances:
        if part == "omit":
            tally.omitted += 1
        elif part == "system":
            tally.system += 1
            tally.late_system += bool(messages)
            system.append(text)
        elif messages and messages[-1].role == part:
            tally.joined += 1
            messages[-1] = Message(part, "\n\n".join(filter(None, (messages[-1].content, text))))
        else:
            messages.append(Message(part, text))
    return "\n\n".join(filter(None, system)), tuple(messages)


_COLUMNS = ("persona", "participant", "language", "category")


def as_row(transcript: Transcript) -> dict[str, Any]:
    """Return a dialogue as a row that the reader of transcripts reads as the same."""
    system = [{"role": "system", "content": transcript.system}] if transcript.system else []
    spoken = [{"role": message.role, "content": message.content} for message in transcript.messages]
    known = {"model": transcript.model, "run": transcript.run or None, "cluster": transcript.cluster}
    tags = {name if name in _COLUMNS else f"tag.{name}": value for name, value in transcript.tags.items()}
    lot = dict(zip(COLUMNS, transcript.drawn.cells, strict=True)) if transcript.drawn is not None else {}
    named = {name: value for name, value in known.items() if value}
    return {"id": transcript.id, "messages": [*system, *spoken], **named, **tags, **lot}
