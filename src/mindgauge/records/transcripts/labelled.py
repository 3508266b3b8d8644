"""Transcripts as text: a message begins with a line that names its speaker, `user: …`, and goes on to the next such line.

Messages hold lines that look the same (`Subject:`, `Note:`), so a line counts as a speaker's only if it has the form that
the speakers' lines of this text have: the decoration, capital or small letters, an empty line before it where all have
one. Who else speaks in this form as often as they do is a third speaker, and the transcript is refused.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds
from mindgauge.records.text import HAN
from mindgauge.records.transcripts.transcript import Utterance, key, refusal

if TYPE_CHECKING:
    from mindgauge.records.transcripts.transcript import Part, Speakers, Tally

_TIME = r"""(?:\[[^\]\n]{0,40}\d[^\]\n]{0,40}\]|\(\d[^)\n]{0,40}\)
    |\d{1,4}[-/.:]\d{1,2}(?:[-/.:]\d{1,4})?(?:[\d:.,+ -]|T(?=\d)|Z(?=[ \t-])){0,40}+(?:[AaPp]\.?[Mm]\.?(?=[ \t-]))?)"""
"""A time stamp before a name: `[2024-05-01 10:22]`, `(10:22)`, `01/05/2024, 10:22 - `."""
_NAME = r"""[^\W\d_][^\n:：*\[\]()<>|"“”?!,;，。]{0,39}+"""
_PATTERN = r"""^[ \t]{0,3}
    (?P<mark>\#{1,6}[ ]+|[-*][ ]+|>[ ]?)?
    (?P<bold>\*\*|__)?
    (?P<time>TIME[ \t]*+(?:-[ \t]*+)?)?
    (?:\*\*|__)?
    \[?(?P<name>NAME)\]?
    (?:[ \t]*+(?:\([^)\n]{1,40}\)|\[[^\]\n]{1,40}\]))?
    [ \t]*+(?:(?:\*\*|__)?[ \t]*+[:：](?!//)[ \t]*+(?:\*\*|__)?|(?P<heading>(?:\*\*|__)?[ \t]*+$))
    [ \t]*+""".replace("TIME", _TIME)
_ENDED = re.compile(r"\[(?=[^\[\]\n]*\]\Z)[^\[\]\n]*\b(?:ended|end of (?:the )?(?:chat|conversation|dialogue|transcript))\b[^\[\]\n]*\]", re.IGNORECASE)  # fmt: skip
_WORDS = 2
"""Words of a name that nothing says is a speaker's, at most: longer ones begin sentences."""
_SHARE = 3
"""Who speaks at least a third as often as a speaker is one."""
_MOST = 100_000
"""Lines of one transcript that begin like a speaker's."""
_NAMED = 4
"""Speakers that a message names."""
_HEADINGS = frozenset({"note", "notes", "subject", "re", "tip", "tips", "warning", "important", "reminder", "reminders", "remember", "example", "edit", "update", "ps", "p.s", "summary", "plan", "step", "option", "date", "time", "title", "source", "extras", "privacy", "questions", "answer", "question", "resources", "next", "注意", "注", "备注", "提示", "例如", "总结"})  # fmt: skip
"""Words that begin lines of a message and are nobody's name."""


@functools.lru_cache(maxsize=8)
def _label(names: frozenset[str]) -> re.Pattern[str]:
    """Return what a speaker's line begins with: any name, or one of these, whatever characters are in it."""
    own = "".join(f"(?i:{re.escape(name)})|" for name in sorted(names, key=len, reverse=True))
    return re.compile(_PATTERN.replace("NAME", own + _NAME), re.MULTILINE | re.VERBOSE)


class _Label(NamedTuple):
    """A line that begins like a speaker's."""

    name: str
    begins: int
    text: int
    """Where what follows the label begins."""
    mark: str
    bold: bool
    timed: bool
    colon: bool
    separate: bool
    """Whether nothing or an empty line is before it."""
    alone: bool
    """Whether nothing follows on the line."""

    @property
    def form(self) -> tuple[object, ...]:
        """What the speakers' lines of a text have in common."""
        return self.mark, self.bold, self.timed, self.colon

    @property
    def letters(self) -> str:
        """Whether the name is written in capital or small letters."""
        if HAN.search(self.name):
            return "han"
        first = [word[0].isupper() for word in self.name.split()]
        return "upper" if self.name.isupper() else "title" if all(first) else "lower" if not any(first) else "mixed"


def utterances(text: str, place: object, speakers: Speakers, tally: Tally) -> tuple[list[Utterance], str]:
    """Read who says what, and the line that notes the end of the conversation, if one does.

    Args:
        text: the transcript.
        place: where it stands, for messages.
        speakers: who is who.
        tally: counts the names of speakers, and lines that look like a speaker's.

    Raises:
        DataError: nobody speaks, or more than a person and a bot, or somebody of whom nothing says which of them it is.
    """
    if len(text) > bounds.CELL:
        raise DataError(f"{place}: {bounds.excess(len(text), 'characters', bounds.CELL)}")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = _lines(text, speakers, place)
    main = _main(lines, speakers)
    sides = [line for line in lines if line.name in main]
    formed = _formed(lines, sides)
    spoken = [line for line in formed if speakers.part(line.name) is not None]
    parts = {speakers.part(line.name) for line in spoken} & {"user", "assistant"}
    if len(parts) < 2:
        names = Counter(line.name for line in lines if not _heading(line, sides))
        one_sided = parts and all(speakers.part(name) for name in names)
        if not names:
            raise DataError(f"{place}: no line begins with the name of a speaker, such as `user:` and `chatbot:`; name the person and the bot with --map user=NAME,assistant=NAME")  # fmt: skip
        if not one_sided:
            raise refusal(place, [name for name, _ in names.most_common(_NAMED)], speakers)
    _refuse_third(formed, sides, place, speakers)
    begins = {line.begins for line in spoken}
    tally.labels.update(line.name for line in formed if line.begins not in begins and not _heading(line, sides))
    tally.speakers.update({(part, line.name) for line in spoken if (part := speakers.part(line.name))})
    if text[: spoken[0].begins].strip():
        tally.notes.append(f"{place}: what stands before the first speaker is left out")
    body, ending = _ended(text)
    ends = [line.begins for line in spoken[1:]] + [len(body)]
    return [
        Utterance(_part(line, speakers), body[line.text : end].strip()) for line, end in zip(spoken, ends, strict=True)
    ], ending


def has_speakers(text: str, place: object, speakers: Speakers) -> bool:
    """Whether a line of a text begins with the name of a speaker who is known."""
    return any(speakers.part(line.name) for line in _lines(text, speakers, place))


def unknown(text: str, place: object, speakers: Speakers) -> list[str]:
    """Return the names that may be speakers' in a text in which nobody known speaks, the most frequent first."""
    lines = _lines(text, speakers, place)
    return [name for name, _ in Counter(line.name for line in lines if not _heading(line, [])).most_common(_NAMED)]


def _lines(text: str, speakers: Speakers, place: object) -> list[_Label]:
    labels: list[_Label] = []
    own = frozenset(name for name, part in speakers.parts.items() if part in speakers.mapped)
    for match in _label(own).finditer(text):
        if len(labels) == _MOST:
            raise DataError(f"{place}: more than {_MOST:,} lines begin like a speaker's, the most that are read; split it into several files")  # fmt: skip
        if match["heading"] is not None and not (match["mark"] or match["bold"]):
            continue  # a line of text without a colon
        before = text[max(0, match.start() - 200) : match.start()].removesuffix("\n")
        labels.append(
            _Label(
                match["name"].strip(" \t_"), match.start(), match.end(), (match["mark"] or "").strip(), bool(match["bold"]),
                bool(match["time"]), match["heading"] is None, not before or before.rstrip(" \t\r").endswith("\n"),
                match.end() == len(text) or text[match.end()] in "\r\n",
            )
        )  # fmt: skip
    return labels


def _main(lines: list[_Label], speakers: Speakers) -> set[str]:
    """Return the names of each side that are most frequent, those that the user gave, and of what is no side."""
    names = Counter(line.name for line in lines)
    main: set[str] = set()
    for part in ("user", "assistant", "system", "omit"):
        own = [name for name in names if speakers.part(name) == part]
        if part in speakers.mapped or part in {"system", "omit"}:
            main.update(own)
        elif own:
            main.add(max(own, key=names.__getitem__))
    return main


def _formed(lines: list[_Label], sides: list[_Label]) -> list[_Label]:
    """Return the lines in the form of the sides' lines, each in its most frequent one: those that may be speakers'."""
    by_name: dict[str, list[_Label]] = {}
    for line in sides:
        by_name.setdefault(key(line.name), []).append(line)
    forms = {Counter(line.form for line in own).most_common(1)[0][0] for own in by_name.values()}
    usual = [line for line in sides if line.form in forms]
    letters, separate = {line.letters for line in usual}, all(line.separate for line in usual)
    return [
        line
        for line in lines
        if line.form in forms and line.separate >= separate and (line.letters in letters or key(line.name) in by_name)
    ]


def _refuse_third(formed: list[_Label], sides: list[_Label], place: object, speakers: Speakers) -> None:
    """Refuse a transcript in which more than two speak; where the user named both sides, they are who speaks."""
    if speakers.complete:
        return
    main = {key(line.name) for line in sides}
    lines: dict[str, list[_Label]] = {}
    for line in formed:
        lines.setdefault(key(line.name), []).append(line)
    rarest = min(
        len(own) for name, own in lines.items() if name in main and speakers.part(name) in {"user", "assistant"}
    )
    third = [
        own[0].name
        for name, own in lines.items()
        if name not in main
        and (speakers.part(name) or (_SHARE * len(own) >= rarest and not all(_heading(line, sides) for line in own)))
    ]
    if third:
        raise refusal(place, [own[0].name for name, own in lines.items() if name in main] + third, speakers)


def _heading(line: _Label, sides: list[_Label]) -> bool:
    """Whether a line begins a part of a message rather than a message."""
    words = key(line.name).split()
    alone = line.alone and 2 * sum(side.alone for side in sides) <= len(sides)
    return alone or len(words) > _WORDS or words[0] in _HEADINGS


def _part(line: _Label, speakers: Speakers) -> Part:
    part = speakers.part(line.name)
    assert part is not None
    return part


def _ended(text: str) -> tuple[str, str]:
    """Split off the last line where it is a program's note that the conversation ended."""
    body = text.rstrip()
    start = body.rfind("\n") + 1
    last = body[start:].strip()
    return (body[:start].rstrip(), last) if _ENDED.fullmatch(last) else (text, "")
