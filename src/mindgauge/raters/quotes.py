"""Whether a judge's quotes stand in what it judged, and where."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple, Self

from mindgauge.records import Evidence
from mindgauge.visible import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

REPLY, DIALOGUE = "reply", "dialogue"
FEWEST = 4
"""Letters or digits that a quote needs to prove anything, a Chinese one counting twice: shorter ones are found anywhere."""
_ASIDE = re.compile(r"[\W_]+")
_ASIDE_OF_ASCII = str.maketrans("", "", "".join(c for c in map(chr, range(128)) if not c.isalnum()))
_LEFT_OUT = re.compile(r"\[?(?:…+|\.{3,})\]?")
_HAN = re.compile("[\u3400-\u9fff\U00020000-\U0003ffff]")


class Source(NamedTuple):
    """A dialogue and the reply to it, folded once for all quotes that claim to come from them."""

    reply: str
    dialogue: str

    @classmethod
    def of(cls, dialogue: str, reply: str) -> Self:
        """Fold both texts."""
        return cls(fold(reply), fold(dialogue))

    def check(self, quotes: Sequence[str]) -> tuple[Evidence, ...]:
        """Look each quote up, in the reply first; letter case, width, blanks, punctuation and what nobody sees aside.

        Of a quote with something left out (`…`), all parts have to stand in one of the two, in their order.
        """
        return tuple(self._found(quote) for quote in quotes)

    def _found(self, quote: str) -> Evidence:
        told = fold(quote)
        parts = [part for part in map(fold, _LEFT_OUT.split(quote)) if part]
        for wanted in ([told], parts):  # dots may be the text's own
            if wanted and all(len(part) + len(_HAN.findall(part)) >= FEWEST for part in wanted):
                where = REPLY if _in_order(wanted, self.reply) else DIALOGUE if _in_order(wanted, self.dialogue) else ""
                if where:
                    return Evidence(quote, found=True, source=where)
        return Evidence(quote)


def _in_order(parts: list[str], text: str) -> bool:
    place = 0
    for part in parts:
        place = text.find(part, place) + len(part)
        if place < len(part):
            return False
    return True


def fold(text: str) -> str:
    """Return the letters and digits of what is visible of a text, compatibly normalised (NFKC) and without case."""
    if text.isascii():  # the same, some twenty times as fast
        return text.translate(_ASIDE_OF_ASCII).casefold()
    return _ASIDE.sub("", unicodedata.normalize("NFKC", visible(text)).casefold())


def chinese(text: str) -> bool | None:
    """Whether a text is written in Chinese; None where it is too short to say."""
    letters = sum(map(str.isalpha, text))
    return None if letters < FEWEST else 2 * len(_HAN.findall(text)) > letters
