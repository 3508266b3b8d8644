"""Numbers as a reader meets them: whole counts, whole percents, means with one or two decimals, units always."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.records import Value

FEW = 5
"""Below this many conversations a bootstrap interval is not drawn: it would look far too narrow."""
SMALL = 30
"""Below this many conversations the text says that intervals are wide."""
NONE = "–"
_MINUS = re.compile(r"(?<![\w.)-])-(?=\d)")
_LANGUAGES = {"en": "English", "zh": "Chinese", "de": "German", "es": "Spanish", "fr": "French"}


def count(n: int) -> str:
    """Write a count, thousands apart."""
    return f"{n:,}"


def plural(n: int, one: str, many: str = "") -> str:
    """Write a count with its noun."""
    return f"{count(n)} {one if n == 1 else many or one + 's'}"


def percent(share: float | None) -> str:
    """Write a share as a whole percent; what is neither none nor all never rounds to either."""
    if share is None:
        return NONE
    if 0 < share <= 0.005:
        return "<1 %"
    if 0.995 <= share < 1:
        return ">99 %"
    return f"{share * 100:.0f} %"


def precise(share: float | None) -> str:
    """Write a share as a percent with one decimal."""
    return NONE if share is None else f"{share * 100:.1f} %"


def decimal(value: float | None, digits: int = 2) -> str:
    """Write a mean or a coefficient, with a true minus sign."""
    return NONE if value is None else f"{value:.{digits}f}".replace("-", "−")


def interval(low: float | None, high: float | None, kind: str = "level") -> str:
    """Write an interval; where there is none, say so."""
    if low is None or high is None:
        return NONE
    write = percent if kind == "share" else decimal
    return f"{write(low).removesuffix(' %')} to {write(high)}" if kind == "share" else f"{write(low)} to {write(high)}"


def words(label: Value | str) -> str:
    """Write a label or a slice in words: `self-harm`, `risk taking behaviours`, `language: English`."""
    text = str(label)
    tag, equals, value = text.partition("=")
    if not equals:
        return text.replace("_", " ")
    if tag in {"category", "label"}:
        return value.replace("_", " ")
    return f"{tag.replace('_', ' ')}: {_LANGUAGES.get(value, value).replace('_', ' ')}"


def named(items: Sequence[str], joined: str = "and", most: int = 3) -> str:
    """Join names as in a sentence; of many, the first ones and how many more."""
    if len(items) > most + 1:
        return f"{', '.join(items[:most])} {joined} {len(items) - most} more"
    return f" {joined} ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


def first_sentence(text: str) -> str:
    """Return a text's first sentence."""
    head, dot, _ = text.partition(". ")
    return head + "." if dot else text


def ended(text: str) -> str:
    """End a text with a full stop, unless it ends already."""
    return text if text.endswith((".", "?", "!")) else f"{text}."


def lowered(text: str) -> str:
    """Write what begins a sentence as it stands inside one."""
    return f"{text[:1].lower()}{text[1:]}"


def sentence(text: str) -> str:
    """Write a clause with numbers in it as a sentence, with true minus signs."""
    text = _MINUS.sub("−", text)
    return f"{text[:1].upper()}{text[1:].removesuffix('.')}."
