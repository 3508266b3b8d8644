"""Sentences of English and Chinese text, so that a reply can be written anew without a changed word."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_ABBREVIATION = re.compile(
    r"(?:\b(?:Dr|Mr|Mrs|Ms|Prof|St|vs|etc|No|approx)|\b(?:e\.g|i\.e|a\.m|p\.m)|\b[A-Z])\.$", re.IGNORECASE
)
_LONGEST_ABBREVIATION = 8
"""Characters, the one before it included."""
_SIGN = re.compile(r"[。！？…!?.\n]")
_END = re.compile(r"[。！？…]++[”’」』）)]*+|\n++")
_ENGLISH = re.compile(r"[.!?…]++[\"'”’)\]]*+(?P<end>\s|\Z)?")
HAN = re.compile("[\u3400-\u9fff]")


def split(text: str) -> list[str]:
    """Split a text into sentences, without the blanks between them; nothing else is lost.

    A line ends a sentence; the full stop of an abbreviation or an initial does not.
    """
    sentences, start = [], 0
    for end in _ends(text):
        sentences.append(text[start:end].strip())
        start = end
    return [sentence for sentence in (*sentences, text[start:].strip()) if sentence]


def _ends(text: str) -> Iterator[int]:
    """Yield where sentences end, in linear time: a run of signs that ends none is looked at once."""
    start = place = unmatched_until = 0
    while sign := _SIGN.search(text, place):
        first = sign.start()
        if end := _END.match(text, first):
            place = end.end()
        elif first < unmatched_until or not (end := _ENGLISH.match(text, first)):
            place = first + 1
            continue
        elif end["end"] is None:
            place, unmatched_until = first + 1, end.end()
            continue
        else:
            place = end.start("end")
            before = max(start, first - _LONGEST_ABBREVIATION)
            if sign[0] == "." and _ABBREVIATION.search(text, before, first + 1):
                continue
        start = place
        yield place


def join(parts: list[str]) -> str:
    """Put sentences behind each other: with a blank, but none behind a Chinese one."""
    joined, last = [], ""
    for part in parts:
        blank = " " if last and not (HAN.search(last) or last[-1] in "。！？…：”」』）") else ""
        joined.append(blank + part)
        last = (last + joined[-1])[-2:]
    return "".join(joined)


def middle(text: str) -> int:
    """Return where the sentence ends that ends nearest to the middle; the end where there is only one."""
    ends, place = [], 0
    for sentence in split(text):
        place = text.index(sentence, place) + len(sentence)
        ends.append(place)
    return min(ends[:-1] or [len(text)], key=lambda end: abs(end - len(text) / 2))
