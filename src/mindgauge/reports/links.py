"""Addresses within the reader: which lines it shows. A page without a reader beside it has none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

if TYPE_CHECKING:
    from collections.abc import Sequence

_TAGS = {"category", "label", "language", "persona"}
"""The tags of samples that the reader filters by."""


def lines(**wanted: str | Sequence[str]) -> str:
    """Return the address of the lines that have all of some properties, of several values of one property any of them.

    Properties are system (its label), benchmark, category, language, label, answer, persona, rater, sign (`signs.Sign`, in
    small letters), criterion, level, by (who gave it) and q (a text that is searched for).
    """
    pairs = [
        (name, value)
        for name, values in wanted.items()
        for value in ([values] if isinstance(values, str) else values)
        if value
    ]
    return f"#{urlencode(pairs, quote_via=quote)}"


def of_slice(part: str, **wanted: str | Sequence[str]) -> str:
    """Return the address of the lines of a slice (`category=suicide`); empty where the reader has no such filter."""
    tag, equals, value = part.partition("=")
    if part == "all":
        return lines(**wanted)
    return lines(**wanted, **{tag: value}) if equals and tag in _TAGS else ""
