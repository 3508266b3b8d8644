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
        """Look each quote up, in the reply first; letter case, width, blanks, punctuation and what nobody sees aside."""
        return tuple(self._found(quote) for quote in quotes)

    def _found(self, quote: str) -> Evidence:
        wanted = fold(quote)
        long_enough = len(wanted) + len(_HAN.findall(wanted)) >= FEWEST
        where = REPLY if wanted in self.reply else DIALOGUE if wanted in self.dialogue else ""
        return Evidence(quote, found=True, source=where) if long_enough and where else Evidence(quote)


def fold(text: str) -> str:
    """Return the letters and digits of what is visible of a text, compatibly normalised (NFKC) and without case."""
    return _ASIDE.sub("", unicodedata.normalize("NFKC", visible(text)).casefold())


def chinese(text: str) -> bool | None:
    """Whether a text is written in Chinese; None where it is too short to say."""
    letters = sum(map(str.isalpha, text))
    return None if letters < FEWEST else 2 * len(_HAN.findall(text)) > letters
