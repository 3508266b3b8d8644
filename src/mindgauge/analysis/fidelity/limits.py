"""The limits that clients have to keep within, from `limits.toml`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec


class Enough(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """From how many dialogues and personas on the value decides."""

    dialogues: int
    personas: int


class Most(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An upper limit."""

    most: float


class Least(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A lower limit."""

    least: float


class FidelityLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a client is fit for its part; `people` is how long their turns are, by language."""

    enough: Enough
    failures: Most
    role: Most
    leaks: Most
    recovery: Least
    length: Most
    repetition: Most
    people: dict[str, float]


@cache
def limits() -> FidelityLimits:
    """Read the limits."""
    return msgspec.toml.decode((Path(__file__).parent / "limits.toml").read_bytes(), type=FidelityLimits)
