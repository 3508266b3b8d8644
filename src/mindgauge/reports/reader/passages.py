"""Messages and replies of some lines of the reader, in full, as they may be shown."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from xml.etree import ElementTree

import msgspec

from mindgauge.raters.window import Unit
from mindgauge.records import HELD, REASONING, Message
from mindgauge.reports import texts
from mindgauge.reports.draw.dialogues import draw_ribbon
from mindgauge.reports.ribbons import dialogues

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from mindgauge.reports.content import System
    from mindgauge.reports.runs import OpenRun, Section

Ribbons: TypeAlias = "dict[tuple[str, int, int], tuple[list[Any], str]]"
"""Dialogue, system's place and repeat → its drawing as nested lists, and what that says in words."""
_TEXTS = "SELECT id, text, provenance FROM replies WHERE benchmark = ? AND id IN (SELECT value FROM json_each(?))"
_BODIES = "SELECT id, body FROM samples WHERE benchmark = ? AND id IN (SELECT value FROM json_each(?))"
_HELD, _REASONING = f'"{HELD}"', f'"{REASONING}"'


class _Body(msgspec.Struct):
    """What a sample's messages are read from."""

    messages: tuple[Message, ...] = ()


class _Provenance(msgspec.Struct, rename={"history": HELD}):
    """What of a reply's provenance says which dialogue it answers, and what the model thought before it."""

    history: tuple[Message, ...] | None = None
    reasoning: str = ""


_decode_body = msgspec.json.Decoder(_Body).decode
_decode_provenance = msgspec.json.Decoder(_Provenance).decode


class ShownText(msgspec.Struct, frozen=True, array_like=True):
    """A text that may be shown: who speaks, what, in which language."""

    role: str
    text: str
    language: str


class GroupTexts(msgspec.Struct, frozen=True):
    """What is read together. `place` says where it stands if its texts may not be shown."""

    first: int
    """Its first line, counted in the file."""
    sample: str
    messages: list[ShownText]
    place: str
    protocol: str
    dialogue: bool
    ends: list[int]
    """In a dialogue: at which message each line's reply stands; past the last for the dialogue as a whole."""
    ribbon: list[Any] | None
    caption: str
    """What the ribbon shows, in words."""


class ShardTexts(msgspec.Struct, frozen=True):
    """Messages and replies. `histories` are dialogues of single lines, which answer another one than their group's."""

    groups: list[GroupTexts]
    subjects: list[str]
    replies: list[str | None]
    languages: list[str]
    statuses: list[str]
    histories: dict[int, list[ShownText]]
    reasoning: dict[int, str] = {}
    """What the model thought before a line's reply, where that was kept."""


class _TextLine(NamedTuple):
    """A line of the reader, as far as its texts go."""

    line: int
    group: int
    subject: str
    sample: str
    system: int
    repeat: int
    unit: str
    dialogue: str | None
    protocol: str | None
    language: str | None
    status: str
    hidden: bool


class _Sources(NamedTuple):
    """What was read of a run for some lines: samples' messages, replies, dialogues that were held, places of hidden samples."""

    messages: dict[str, tuple[Message, ...]]
    replies: dict[str, str]
    histories: dict[str, tuple[Message, ...]]
    places: dict[str, str]
    ribbons: Ribbons
    reasoning: dict[str, str]

    def dialogue(self, lines: Sequence[_TextLine]) -> tuple[Message, ...]:
        """Return the dialogue of a group: its sample's, or, of one that was held, all of it up to the last reply."""
        messages = self.messages.get(lines[0].sample, ())
        if lines[0].dialogue is None:
            return messages
        last = max((line.subject for line in lines), key=lambda subject: len(self.histories.get(subject, ())))
        reply = self.replies.get(last, "")
        return (*_system(messages), *self.histories.get(last, ()), *([Message("assistant", reply)] if reply else []))


def of_lines(run: OpenRun, section: Section, part: pl.DataFrame, ribbons: Ribbons) -> ShardTexts:
    """Return the texts of some lines of a section, whole groups of them (columns as in `rows.rows`, with `line`)."""
    lines = [_TextLine(*row) for row in part.select(*_TextLine._fields).iter_rows()]
    sources = _read(run, section, lines, ribbons)
    first = lines[0].line
    groups: list[GroupTexts] = []
    histories: dict[int, list[ShownText]] = {}
    for _, own in groupby(lines, key=lambda line: line.group):
        together = list(own)
        head, messages = together[0], () if together[0].hidden else sources.dialogue(together)
        drawing, caption = ribbons.get((head.dialogue or "", head.system, head.repeat), (None, ""))
        groups.append(GroupTexts(
            head.line - first, head.sample, _shown(messages, head.language), f"{head.sample}, {sources.places[head.sample]}" if head.hidden else "",
            head.protocol or "", head.dialogue is not None, _ends(together, sources, messages), drawing, caption,
        ))  # fmt: skip
        if head.dialogue is None and not head.hidden:
            for line in together:
                answered = (*_system(messages), *sources.histories.get(line.subject, messages))
                if line.subject in sources.histories and answered != messages:
                    histories[line.line - first] = _shown(answered, line.language)
    replies = [_reply(section, line, sources) for line in lines]
    languages = [
        texts.language_of(r, line.language or "en") if r else "" for r, line in zip(replies, lines, strict=True)
    ]
    reasoning = {line.line - first: sources.reasoning[line.subject] for line in lines if line.subject in sources.reasoning}  # fmt: skip
    return ShardTexts(
        groups, [line.subject for line in lines], replies, languages, [line.status for line in lines], histories, reasoning
    )  # fmt: skip


def _read(run: OpenRun, section: Section, lines: Sequence[_TextLine], ribbons: Ribbons) -> _Sources:
    benchmark = section.benchmark.name
    wanted = list(dict.fromkeys(line.sample for line in lines if not line.hidden))
    hidden = list(dict.fromkeys(line.sample for line in lines if line.hidden))
    messages = {
        ident: _decode_body(body).messages for ident, body in run.store.select(_BODIES, (benchmark, _json(wanted)))
    }
    replies: dict[str, str] = {}
    histories: dict[str, tuple[Message, ...]] = {}
    reasoning: dict[str, str] = {}
    turns: dict[Message, Message] = {}  # the turns of a dialogue share what is before them
    subjects = [] if section.benchmark.closed else [line.subject for line in lines if not line.hidden]
    for ident, text, provenance in run.store.select(_TEXTS, (benchmark, _json(subjects))):
        replies[ident] = text
        origin = provenance.decode() if isinstance(provenance, bytes) else provenance
        facts = _decode_provenance(origin) if _HELD in origin or _REASONING in origin else _Provenance()
        if facts.history is not None:
            histories[ident] = tuple(turns.setdefault(message, message) for message in facts.history)
        if facts.reasoning:
            reasoning[ident] = texts.clean(facts.reasoning)
    return _Sources(messages, replies, histories, texts.places(run, section, hidden), ribbons, reasoning)


def _reply(section: Section, line: _TextLine, sources: _Sources) -> str | None:
    return None if line.hidden or section.benchmark.closed else texts.clean(sources.replies.get(line.subject, ""))


def _system(messages: Sequence[Message]) -> tuple[Message, ...]:
    return tuple(message for message in messages if message.role == "system")


def _ends(lines: Sequence[_TextLine], sources: _Sources, messages: Sequence[Message]) -> list[int]:
    if lines[0].dialogue is None or lines[0].hidden:
        return []
    before = len(_system(messages))
    return [
        len(messages) if line.unit == Unit.DIALOGUE else before + len(sources.histories.get(line.subject, ()))
        for line in lines
    ]


def _shown(messages: Sequence[Message], language: str | None) -> list[ShownText]:
    cleaned = [(message.role, texts.clean(message.content)) for message in messages]
    return [ShownText(role, text, texts.language_of(text, language or "en")) for role, text in cleaned]


def _json(values: Sequence[object]) -> str:
    return msgspec.json.encode(values).decode()


def ribbons(run: OpenRun, section: Section, systems: Sequence[System]) -> Ribbons:
    """Draw every dialogue of a section as nested lists, with what each drawing says."""
    if not section.holds_dialogues:
        return {}
    places = {system.number: place for place, system in enumerate(systems)}
    own = [system for system in systems if system.run == section.run]
    rated = dialogues(run, section, own, section.benchmark.situation)
    return {
        (dialogue, places[ribbon.system.number], int(repeat)): (_nested(ElementTree.fromstring(draw_ribbon(ribbon))), ribbon.said)  # noqa: S314 - drawn by us
        for ribbon in rated.ribbons
        for dialogue, _, repeat in [ribbon.key.rpartition("/")]
    }  # fmt: skip


def _nested(node: ElementTree.Element) -> list[Any]:
    """Write a picture as lists: a name, attributes, and what is in it."""
    inside = [part for child in node for part in (_nested(child), child.tail) if part]
    return [node.tag, dict(node.attrib), *([node.text] if node.text else []), *inside]
