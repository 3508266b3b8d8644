"""A transcript: a dialogue that was held, its turns, and what is known of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import msgspec

from mindgauge.records.drawn import COLUMNS, Drawn
from mindgauge.records.english import named
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.records import Message, digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


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


@dataclass
class Tally:
    """Counts, and what is to be said, of all files together."""

    joined: int = 0
    omitted: int = 0
    parts: int = 0
    system: int = 0
    late_system: int = 0
    repeated: list[str] = field(default_factory=list)
    same_words: int = 0
    speakers: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Role and the name that it has in the files → transcripts."""
    labels: Counter[str] = field(default_factory=Counter)
    """Words that begin a line like a speaker's and were read as text → lines."""
    left_out: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


Part: TypeAlias = Literal["user", "assistant", "system", "omit"]
"""The role that a speaker has; what `omit` says (tools, notes) is no message of the dialogue."""
PARTS: tuple[Part, ...] = ("user", "assistant", "system", "omit")
"""Names before `=` in `--map` that name speakers: `user=Klient,assistant=Bot|Berater,omit=Notiz`."""
_WORDS: dict[Part, str] = {
    "user": (
        "user|human|person|client|patient|seeker|help seeker|help-seeker|visitor|caller|texter|participant|you said|"
        "用户|来访者|求助者|患者|咨询者"
    ),
    "assistant": (
        "assistant|chatbot|bot|ai|agent|model|gpt|chatgpt|chatgpt said|ai assistant|counselor|counsellor|therapist|"
        "supporter|helper|助手|助理|机器人|聊天机器人|咨询师|心理咨询师|支持者|客服"
    ),
    "system": "system|developer|系统",
    "omit": "tool|function|observation|function_call|tool_call|工具",
}
_SHOWN, _LONGEST = 6, 40


class Speakers(NamedTuple):
    """Name, in small letters → its role in the dialogue."""

    parts: dict[str, Part]
    mapped: frozenset[Part] = frozenset()
    """The roles whose names the user gave: no other names count for these."""

    @classmethod
    def of(cls, mapping: Mapping[str, str]) -> Speakers:
        """Take the usual names of each role, or those that a mapping gives, several separated by `|`.

        Raises:
            UsageError: one name is given to two roles.
        """
        parts: dict[str, Part] = {}
        for part in PARTS:
            if part not in mapping:
                continue
            for name in filter(None, map(key, mapping[part].split("|"))):
                if parts.setdefault(name, part) != part:
                    raise UsageError(f"--map {part}={mapping[part]}: {name!r} is {parts[name]} already; name it once")
        for part in PARTS:
            if part not in mapping or part == "omit":
                for name in _WORDS[part].split("|"):
                    parts.setdefault(name, part)
        return cls(parts, frozenset(part for part in PARTS if part in mapping))

    def part(self, name: str) -> Part | None:
        """Return the role of a speaker; None where the name says nothing."""
        return self.parts.get(key(name))

    @property
    def complete(self) -> bool:
        """Whether the user named both sides, so that whoever else seems to speak is known to be none of them."""
        return {"user", "assistant"} <= self.mapped


def key(name: str) -> str:
    """Return a speaker's name as it is compared."""
    return " ".join(name.split()).casefold()


def refusal(place: object, names: Iterable[str], speakers: Speakers) -> DataError:
    """Say that a transcript's speakers cannot be told apart as the person and the bot, and how to name them."""
    listed = list(dict.fromkeys(" ".join(name.split())[:_LONGEST] for name in names))
    quoted = named([repr(name) for name in listed], limit=_SHOWN) or "nobody"
    sides = {part: next((name for name in listed if speakers.part(name) == part), "") for part in ("user", "assistant")}
    unknown = [name for name in listed if speakers.part(name) is None]
    advice = ",".join(f"{part}={name or (unknown.pop(0) if unknown else 'NAME')}" for part, name in sides.items())
    ways = f"name the person and the bot with --map {advice}"
    if len(listed) > 2:
        ways += "; NAME|NAME names several on one side, omit=NAME leaves a speaker out"
    if len(listed) == 1:
        return DataError(f"{place}: one speaker, {quoted}, and a transcript has two; {ways}")
    if len(listed) == 2:
        return DataError(f"{place}: of its speakers, {quoted}, nothing says who is the person and who the bot; {ways}")
    return DataError(f"{place}: {len(listed)} speakers, {quoted}, and a transcript has the person and the bot; {ways}")
