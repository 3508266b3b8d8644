"""Other people's words, made safe to show: nothing invisible, nothing endless, quotes marked, a language for each."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from mindgauge.reports.content import Passage, TextSpan

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST = 6000
"""Characters of one text that are shown."""
_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_INVISIBLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def clean(text: str) -> str:
    """Show control characters, and those that turn the direction of writing, as their code points."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _INVISIBLE.sub(lambda found: f"[U+{ord(found[0]):04X}]", text)


def language_of(text: str, otherwise: str = "en") -> str:
    """Return `zh` for a text of which a tenth or more is Chinese characters; else the language it is said to be in."""
    sample = text[:2000]
    han = len(_HAN.findall(sample))
    if han * 10 >= max(len(sample), 1):
        return "zh"
    return "en" if otherwise == "zh" else otherwise


def cut(text: str, longest: int = LONGEST) -> tuple[str, int]:
    """Return a text's beginning and how many characters were left out."""
    return (text, 0) if len(text) <= longest else (text[:longest], len(text) - longest)


def passage(role: str, text: str, quotes: Iterable[str], language: str) -> Passage:
    """Make a text ready to show, with what raters quote from it marked."""
    shown, left_out = cut(text)
    shown = clean(shown)
    return Passage(role, language_of(shown, language), marked(shown, quotes), left_out)


def marked(text: str, quotes: Iterable[str]) -> list[TextSpan]:
    """Cut a text where quotes begin and end. A quote is found as raters' quotes are: letters and digits alone count."""
    folded, places = _folded(text)
    inside = [False] * len(text)
    for quote in quotes:
        wanted = _folded(clean(quote))[0]
        at = folded.find(wanted) if wanted else -1
        if at >= 0:
            first, last = places[at], places[at + len(wanted) - 1]
            inside[first : last + 1] = [True] * (last + 1 - first)
    parts: list[TextSpan] = []
    start = 0
    for i in range(1, len(text) + 1):
        if i == len(text) or inside[i] != inside[start]:
            parts.append(TextSpan(text[start:i], inside[start]))
            start = i
    return parts


def _folded(text: str) -> tuple[str, list[int]]:
    """Reduce a text to letters and digits in one case and width, and say where each one stood."""
    folded, places = [], []
    for place, character in enumerate(text):
        for letter in unicodedata.normalize("NFKC", character).casefold():
            if letter.isalnum():
                folded.append(letter)
                places.append(place)
    return "".join(folded), places
