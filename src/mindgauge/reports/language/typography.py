"""How Chinese stands on a page: a blank between Han and Latin letters or numbers, and full-width signs in sentences."""

from __future__ import annotations

import re

from mindgauge.records.regex import regex

HAN = "\u3400-\u9fff\uf900-\ufaff"
_BEFORE = regex(rf"(?<=[{HAN}])(?=[A-Za-z0-9$±−+<>≥≤§])")
_BEHIND = regex(rf"(?<=[A-Za-z0-9%\]])(?=[{HAN}])")
_FULL = regex(rf"[{HAN}\u3000-\u303f\uff00-\uffef]")
_CLOSED = "，。；：、？！（）「」《》“”…– \xa0\n"
_UNIT = re.compile(r"(?<=\d)[ \xa0]%")
_ENDS = {".": "。", "?": "？", "!": "！", ":": "："}


def spaced(text: str) -> str:
    """Put a blank between Han and Latin letters or numbers."""
    return _BEHIND.sub(" ", _BEFORE.sub(" ", text))


def joined(*parts: str) -> str:
    """Join parts, with a blank where Han and Latin meet, and none between Han; what stands inside a part is left as it is."""
    text = ""
    for part in parts:
        first, last = _first(part), _last(text)
        if first and last and (text[-1] == " " or part[0] == " ") and (_full(first) and _full(last)):
            text, part = text.rstrip(" "), part.lstrip(" ")  # noqa: PLW2901 - the blank between them
        elif text and part and text[-1] not in _CLOSED and part[0] not in _CLOSED and _full(first) != _full(last):
            text += " "
        text += part
    return text


def _first(text: str) -> str:
    return text.lstrip(" ")[:1]


def _last(text: str) -> str:
    return text.rstrip(" ")[-1:]


def _full(sign: str) -> bool:
    """Whether a sign is as wide as a Han one."""
    return bool(_FULL.match(sign))


def percents(text: str) -> str:
    """Write percents without a blank."""
    return _UNIT.sub("%", text)


def number(text: str) -> str:
    """Write a number with its unit."""
    text = percents(text)
    for unit, name in ((" points", " 个百分点"), (" point", " 个百分点"), (" min", " 分钟"), (" s", " 秒")):
        if text.endswith(unit):
            return text.removesuffix(unit) + name
    return text


def ended(text: str, sign: str) -> str:
    """End a sentence with the sign that stands for an English one."""
    return text + _ENDS.get(sign, sign) if sign and text and text[-1] not in "。？！：" else text
