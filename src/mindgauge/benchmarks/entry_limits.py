"""The limits of the entry test, and of verdicts that never change, fixed in entry.toml."""

from __future__ import annotations

import functools
from enum import StrEnum
from importlib import resources

import msgspec


class EntryResult(StrEnum):
    """What an entry test says of a judge on one criterion."""

    PASSED = "passed"
    FAILED = "failed"
    UNDECIDED = "undecided"


class AnchorLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of the entry test; see entry.toml."""

    replies: int
    chance: float
    enough: float


class ConstantLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of constant verdicts; see entry.toml."""

    verdicts: int
    same: float
    known: float


class EntryLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The limits under which a judge cannot be used."""

    id: str
    version: str
    anchors: AnchorLimits
    constant: ConstantLimits

    @property
    def name(self) -> str:
        """Id and version."""
        return f"{self.id}@{self.version}"


@functools.cache
def limits() -> EntryLimits:
    """Return the fixed limits."""
    return msgspec.toml.decode(resources.files(__package__).joinpath("entry.toml").read_bytes(), type=EntryLimits)
