"""Sentences of English and Chinese text, so that a reply can be written anew without a changed word."""

from __future__ import annotations

import re

_ABBREVIATION = re.compile(
    r"(?:\b(?:Dr|Mr|Mrs|Ms|Prof|St|vs|etc|No|approx)|\b(?:e\.g|i\.e|a\.m|p\.m)|\b[A-Z])\.$", re.IGNORECASE
)
_END = re.compile(r"(?P<zh>[。！？…]+[”’」』）)]*)|(?P<en>[.!?…]+[\"'”’)\]]*)(?=\s|$)|\n+")
HAN = re.compile("[\u3400-\u9fff]")


def split(text: str) -> list[str]:
    """Split a text into sentences, without the blanks between them; nothing else is lost.

    A line ends a sentence; the full stop of an abbreviation or an initial does not.
    """
    found, start = [], 0
    for end in _END.finditer(text):
        if end["en"] and end["en"].startswith(".") and _ABBREVIATION.search(text[start : end.start() + 1]):
            continue
        found.append(text[start : end.end()].strip())
        start = end.end()
    return [sentence for sentence in (*found, text[start:].strip()) if sentence]


def join(parts: list[str]) -> str:
    """Put sentences behind each other: with a blank, but none behind a Chinese one."""
    text = ""
    for part in parts:
        blank = " " if text and not (HAN.search(text[-2:]) or text[-1] in "。！？…：”」』）") else ""
        text += blank + part
    return text


def middle(text: str) -> int:
    """Return where the sentence ends that ends nearest to the middle; the end where there is only one."""
    ends, place = [], 0
    for sentence in split(text):
        place = text.index(sentence, place) + len(sentence)
        ends.append(place)
    return min(ends[:-1] or [len(text)], key=lambda end: abs(end - len(text) / 2))
