"""Whether a judge's quotes stand in what it judged, and where."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Self

from mindgauge.records import Evidence
from mindgauge.records.regex import regex
from mindgauge.records.text import compatible, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

REPLY, DIALOGUE = "reply", "dialogue"
FEWEST = 4
"""Letters or digits that a quote needs to prove anything, a Chinese one counting twice: shorter ones are found anywhere."""
MOST = 16
"""Quotes of one verdict that are looked up; two are asked for."""
_ASIDE = re.compile(r"[\W_]+")
_ASIDE_OF_ASCII = str.maketrans("", "", "".join(c for c in map(chr, range(128)) if not c.isalnum()))
_LEFT_OUT = re.compile(r"\[?(?:…+|\.{3,})\]?")
_HAN = regex("[\u3400-\u9fff\U00020000-\U0003ffff]")


class QuoteText(NamedTuple):
    """A text that quotes may come from, as it is and folded."""

    name: str
    text: str
    folded: str


class QuoteSource(NamedTuple):
    """A dialogue and the reply to it, folded once for all quotes that claim to come from them."""

    reply: QuoteText
    dialogue: QuoteText

    @classmethod
    def of(cls, dialogue: str, reply: str) -> Self:
        """Fold both texts."""
        return cls(QuoteText(REPLY, reply, fold(reply)), QuoteText(DIALOGUE, dialogue, fold(dialogue)))

    def check(self, quotes: Sequence[str]) -> tuple[Evidence, ...]:
        """Look each quote up, in the reply first; letter case, width, blanks, punctuation and what nobody sees aside.

        Of a quote with something left out (`…`), all parts have to stand in one of the two, in their order. Beyond `MOST`
        quotes are left out.
        """
        return tuple(_found(quote, self) for quote in quotes[:MOST])


@lru_cache(maxsize=64)
def _found(quote: str, source: QuoteSource) -> Evidence:
    """Look a quote up; repeats of one question are often answered with the same."""
    folded_quote = fold(quote)
    parts = [part for part in map(fold, _LEFT_OUT.split(quote)) if part]
    for wanted in ([folded_quote], parts) if len(parts) > 1 else ([folded_quote],):  # dots may be the text's own
        if wanted and all(len(part) + len(_HAN.findall(part)) >= FEWEST for part in wanted):
            for name, text, folded in source:
                span = _in_order(wanted, folded)
                if span is not None:
                    return Evidence(quote, True, name, *_unfolded(text, len(folded), *span))
    return Evidence(quote)


def _in_order(parts: list[str], text: str) -> tuple[int, int] | None:
    """Return where the first part begins and the last one ends; None where they do not stand there in this order."""
    begin = end = -1
    for part in parts:
        place = text.find(part, max(end, 0))
        if place < 0:
            return None
        begin, end = place if begin < 0 else begin, place + len(part)
    return begin, end


def _unfolded(text: str, letters: int, start: int, end: int) -> tuple[int | None, int | None]:
    """Return the places in a text of what stands there in its folded form; None where signs were folded together."""
    places = _places(text)
    return (places[start], places[end - 1] + 1) if len(places) == letters else (None, None)


@lru_cache(maxsize=16)
def _places(text: str) -> list[int]:
    """Return the place of every letter that is left of a text when it is folded."""
    if text.isascii():
        return [place for place, sign in enumerate(text) if sign.isalnum()]
    return [place for place, sign in enumerate(text) for _ in _folded_sign(sign)]


def fold(text: str) -> str:
    """Return the letters and digits of what is visible of a text, compatibly normalised (NFKC) and without case."""
    if text.isascii():  # the same, some twenty times as fast
        return text.translate(_ASIDE_OF_ASCII).casefold()
    return _ASIDE.sub("", compatible(visible(text)).casefold())


_folded_sign = lru_cache(maxsize=1 << 14)(fold)


def chinese(text: str) -> bool | None:
    """Whether a text is written in Chinese; None where it is too short to say."""
    letters = sum(map(str.isalpha, text))
    return None if letters < FEWEST else 2 * len(_HAN.findall(text)) > letters
