"""English: names as words, lists and clauses as a sentence has them. Numbers: `rounding`."""

from __future__ import annotations

import difflib
import re
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from mindgauge.records.records import Value

_MINUS = re.compile(r"(?<![\w.)-])-(?=\d)")
LANGUAGES = {"en": "English", "zh": "Chinese", "de": "German", "es": "Spanish", "fr": "French"}


def words(label: Value | str) -> str:
    """Write a label or a slice in words: `self-harm`, `risk taking behaviours`, `language: English`."""
    text = str(label)
    tag, equals, value = text.partition("=")
    if not equals:
        return text.replace("_", " ")
    if tag in {"category", "label"}:
        return value.replace("_", " ")
    return f"{tag.replace('_', ' ')}: {LANGUAGES.get(value, value).replace('_', ' ')}"


def named(items: Sequence[str], joined: str = "and", limit: int = 3) -> str:
    """Join names as in a sentence; of many, the first ones and how many more."""
    if len(items) > limit + 1:
        return f"{', '.join(items[:limit])} {joined} {len(items) - limit} more"
    return f" {joined} ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


def ranges(numbers: Sequence[int]) -> str:
    """Write rising numbers, those that follow each other as a range: 1–3, 5."""
    runs = [list(run) for _, run in groupby(enumerate(numbers), lambda place: place[1] - place[0])]
    return ", ".join(f"{run[0][1]}–{run[-1][1]}" if len(run) > 1 else str(run[0][1]) for run in runs)


def nearest(name: str, names: Collection[str], otherwise: str, least: float = 0.6) -> str:
    """Ask whether the nearest of some names was meant; `otherwise` where none is as near as `least`, of 1."""
    near = difflib.get_close_matches(name, names, 1, least)
    return f"did you mean {near[0]}?" if near else otherwise


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


def raised(text: str) -> str:
    """Write what stands inside a sentence as its beginning."""
    return f"{text[:1].upper()}{text[1:]}"


def sentence(text: str) -> str:
    """Write a clause with numbers in it as a sentence, with true minus signs."""
    text = _MINUS.sub("−", text)
    return f"{raised(text).removesuffix('.')}."
