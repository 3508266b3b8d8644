"""What is read of an authors' release: its records, and numbers recomputed from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mindgauge.records import Rating, Reply, Sample

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path, PurePosixPath


class Released(msgspec.Struct):
    """What the authors released, as records. `notes` says what was missing, doubled or damaged, one line each."""

    samples: list[Sample]
    replies: list[Reply]
    ratings: list[Rating]
    notes: list[str]


class RecomputedCell(msgspec.Struct, frozen=True):
    """A recomputed number or word, to stand beside the published one of the same table, row and column.

    `value` is None where the files it needs are missing (`note` says which). `repaired` marks our corrected figure
    for a number that the source computed wrongly. `n` counts what it was computed from, where that is known. `stated` is the published number itself, where a released file states
    it beside what it was computed from, and `tolerance` how far off is still the same.
    """

    table: str
    row: str
    column: str
    value: float | str | None
    note: str = ""
    repaired: bool = False
    stated: float | str | None = None
    tolerance: float = 0.0
    n: int = 0


def source_name(place: PurePosixPath, data: Path, folders: Collection[str]) -> str:
    """Name a released file the same wherever the user keeps the authors' `folders`."""
    parts = (*data.parts, *place.parts)
    start = max((i for i, part in enumerate(parts[:-1]) if part in folders), default=len(data.parts))
    return "/".join(parts[start:])
