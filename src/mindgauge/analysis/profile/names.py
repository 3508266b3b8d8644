"""Names of models that may be one model spelled in two ways: said, never merged."""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PIECE = re.compile(r"\d+|[^\W\d_]+")
SHORTEST = 4
"""Words with fewer letters that differ in one are names of different things: `a` and `b`, `pro` and `air`."""


def alike(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of names that differ only in case and punctuation, or beyond that in one letter of one word."""
    pieces = {name: _PIECE.findall(name.casefold()) for name in names}
    for first, second in combinations(names, 2):
        if "".join(pieces[first]) == "".join(pieces[second]) or _one_letter_off(pieces[first], pieces[second]):
            yield first, second


def _one_letter_off(first: list[str], second: list[str]) -> bool:
    if len(first) != len(second):
        return False
    differing = [(a, b) for a, b in zip(first, second, strict=True) if a != b]
    return len(differing) == 1 and _near(*differing[0])


def _near(first: str, second: str) -> bool:
    """Say whether one letter was changed, added, left out, or swapped with the next; numbers are never near."""
    short, long = sorted((first, second), key=len)
    if len(short) < SHORTEST or short.isdigit() or long.isdigit():
        return False
    start = next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if len(long) > len(short):
        return short[start:] == long[start + 1 :]
    swapped = short[start + 1 : start + 2] + short[start : start + 1] + short[start + 2 :]
    return len(short) == len(long) and (short[start + 1 :] == long[start + 1 :] or swapped == long[start:])
