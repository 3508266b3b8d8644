"""Personal data in what people wrote, found by rule: addresses, numbers, accounts, and names that somebody lists.

A rule finds what is written as such things are; it does not find a name, a place or a story that gives a person away.
In one dialogue the same thing gets the same placeholder, so that who reads it can still follow. What a bot says keeps
its numbers and links, which are helplines far more often than anybody's own, except those that the person wrote before.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mindgauge.records import Message
    from mindgauge.records.transcripts.transcript import Transcript


def _luhn(digits: str) -> bool:
    """Whether digits are a card's (ISO/IEC 7812-1, annex B)."""
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits))]
    return sum(value - 9 * (value > 9) for value in doubled) % 10 == 0


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)


def _is_card(text: str) -> bool:
    return 13 <= len(_digits(text)) <= 19 and _luhn(_digits(text))


def _is_telephone(text: str) -> bool:
    """Whether digits are as many as a whole telephone number has; 988 and 116 123 are nobody's own."""
    return 7 <= len(_digits(text)) <= 15 and not re.fullmatch(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}", text.strip())


def _always(_: str) -> bool:
    return True


_RULES: tuple[tuple[str, re.Pattern[str], Callable[[str], bool]], ...] = (
    ("email", re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"), _always),
    ("link", re.compile(r"(?:https?://|www\.)[^\s<>\"'，。）)]+"), _always),
    ("account", re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b"), _always),
    ("identity", re.compile(r"(?<!\d)[1-9]\d{5}(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])\d{3}[\dXx](?!\d)|\b\d{3}-\d{2}-\d{4}\b"), _always),
    ("account", re.compile(r"(?i)(?:(?<=qq)|(?<=wechat)|(?<=weixin)|(?<=vx)|(?<=微信)|(?<=微信号)|(?<=qq号)|(?<=扣扣))[号是:：\s]{0,4}[A-Za-z0-9][A-Za-z0-9_-]{4,19}"), _always),
    ("account", re.compile(r"(?<![\w@./])@[A-Za-z_][\w.]{2,29}\b"), _always),
    ("card", re.compile(r"(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)"), _is_card),
    ("number", re.compile(r"(?<!\d)\d(?:[ -]?\d){15,}"), _always),
    ("telephone", re.compile(r"(?<![A-Za-z0-9_.])(?:\+|00)?\(?\d(?:[ ().\-/]{0,2}\d){6,14}(?![ ().\-/]{0,2}\d)(?![A-Za-z_])"), _is_telephone),
)  # fmt: skip
"""The kind of what a rule finds, how it is written, and whether what is so written is one."""
_INTRODUCED = re.compile(r"(?:(?i:my name is|my name's|i am called|call me) |我(?:的名字)?(?:叫|是叫)|我的名字是)([A-Z][\w'-]+(?: [A-Z][\w'-]+)?|[\u4e00-\u9fff]{2,4})")  # fmt: skip


class Scrubber:
    """Replaces personal data, dialogue by dialogue, and counts what it replaced."""

    def __init__(self, names: Iterable[str] | None = None) -> None:
        """Make one that also replaces names.

        Args:
            names: to replace, and those by which people introduce themselves; None for no names at all.
        """
        self.introduced = names is not None
        self.listed = {name.strip() for name in names or () if name.strip()}
        self.counts: Counter[str] = Counter()

    def scrub(self, transcript: Transcript) -> Transcript:
        """Return a dialogue without what the rules find."""
        placeholders: dict[tuple[str, str], str] = {}
        listed = self.listed | {*(_introduced(transcript.messages) if self.introduced else ())}
        names = [_as_word(name) for name in sorted(listed, key=lambda name: (-len(name), name))]
        person = [m.content for m in transcript.messages if m.role == "user"]
        for text in person:
            self._replaced(text, placeholders, _RULES, count=False)
        messages = tuple(self._message(message, placeholders, names) for message in transcript.messages)
        return msgspec.structs.replace(transcript, messages=messages)

    def _message(
        self, message: Message, placeholders: dict[tuple[str, str], str], names: list[re.Pattern[str]]
    ) -> Message:
        if message.role == "user":
            text = self._replaced(message.content, placeholders, _RULES)
        else:
            text = self._echoes(message.content, placeholders)
        for name in names:
            text = name.sub(lambda match: self._placeholder("name", match[0].casefold(), placeholders), text)
        return msgspec.structs.replace(message, content=text)

    def _replaced(
        self, text: str, placeholders: dict[tuple[str, str], str],
        rules: Iterable[tuple[str, re.Pattern[str], Callable[[str], bool]]], *, count: bool = True,
    ) -> str:  # fmt: skip
        for kind, pattern, holds in rules:

            def placed(match: re.Match[str], kind: str = kind, holds: Callable[[str], bool] = holds) -> str:
                return (
                    self._placeholder(kind, _same(kind, match[0]), placeholders, count=count)
                    if holds(match[0])
                    else match[0]
                )

            text = pattern.sub(placed, text)
        return text

    def _echoes(self, text: str, placeholders: dict[tuple[str, str], str]) -> str:
        """Replace in the bot's words what the person wrote."""

        def placed(kind: str, match: re.Match[str]) -> str:
            known = placeholders.get((kind, _same(kind, match[0])))
            self.counts[kind] += known is not None
            return known or match[0]

        for kind, pattern, _ in _RULES:
            text = pattern.sub(lambda match, kind=kind: placed(kind, match), text)  # type: ignore[misc]
        return text

    def _placeholder(
        self, kind: str, same: str, placeholders: dict[tuple[str, str], str], *, count: bool = True
    ) -> str:
        self.counts[kind] += count
        number = 1 + sum(other == kind for other, _ in placeholders)
        return placeholders.setdefault((kind, same), f"[{kind} {number}]")


def _same(kind: str, text: str) -> str:
    """Return by what two ways of writing one thing are known as one."""
    return _digits(text) if kind in {"telephone", "card"} else text.strip(" :：号是").casefold()


def _as_word(name: str) -> re.Pattern[str]:
    """Return where a name stands as a word of its own; in Chinese, anywhere."""
    escaped = re.escape(name)
    return re.compile(escaped if re.search(r"[\u4e00-\u9fff]", name) else rf"(?i)(?<!\w){escaped}(?!\w)")


def _introduced(messages: Iterable[Message]) -> list[str]:
    """Return the names by which people say that they are called."""
    return [match[1] for m in messages if m.role == "user" for match in _INTRODUCED.finditer(m.content)]
