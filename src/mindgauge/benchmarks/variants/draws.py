"""Random draws that are the same on every machine and in every version of Python."""

from __future__ import annotations

import hashlib
import random
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")


def generator(*parts: object) -> random.Random:
    """Return a generator seeded with the first 8 bytes of the SHA-256 of its parts, joined by `|`.

    Only `random()` is drawn from it: of Python's generator, that sequence alone is promised never to change.
    """
    key = "|".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return random.Random(int.from_bytes(hashlib.sha256(key).digest()[:8], "big"))


def uniforms(generator: random.Random, count: int) -> list[float]:
    """Draw numbers from [0, 1)."""
    return [generator.random() for _ in range(count)]


def pick(choices: Sequence[T], draw: float) -> T:
    """Return the choice that a draw from [0, 1) falls on; all are equally likely."""
    return choices[int(draw * len(choices))]


def order(generator: random.Random, count: int) -> list[int]:
    """Draw an order of 0 … count − 1."""
    keys = uniforms(generator, count)
    return sorted(range(count), key=keys.__getitem__)
