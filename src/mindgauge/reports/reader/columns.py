"""Columns of the reader's files: whole numbers in as few bytes as they need, names by their places in a list."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING

import msgspec
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

_WIDTHS = ((1, pl.UInt8), (2, pl.UInt16), (4, pl.UInt32))


class PackedColumn(msgspec.Struct, frozen=True):
    """Whole numbers from 0, `bytes` wide each, the lowest byte first, in base 64."""

    bytes: int
    data: str


class NamedColumn(msgspec.Struct, frozen=True):
    """Names by their places in a list, from 1; 0 is none."""

    names: list[str]
    places: PackedColumn


class SetColumn(msgspec.Struct, frozen=True):
    """Sets of numbers by their places in a list of sets; the first of these is empty."""

    sets: list[list[int]]
    places: PackedColumn


def packed(numbers: pl.Series) -> PackedColumn:
    """Pack whole numbers from 0; nothing counts as 0."""
    highest = int(numbers.max() or 0)  # type: ignore[arg-type]
    width, kind = next((width, kind) for width, kind in _WIDTHS if highest < 2 ** (8 * width))
    values = numbers.fill_null(0).cast(kind).to_numpy()
    return PackedColumn(width, b64encode(values.astype(values.dtype.newbyteorder("<")).tobytes()).decode())


def named(texts: pl.Series) -> NamedColumn:
    """Pack texts, each of which is kept once, in the order in which they first stand; nothing and an empty text are none."""
    names = texts.drop_nulls().unique(maintain_order=True)
    names = names.filter(names != "")
    places = {name: place for place, name in enumerate(names.to_list(), 1)}
    return NamedColumn(list(places), packed(texts.replace_strict(places, default=0, return_dtype=pl.Int64)))


def sets(lines: pl.Series, members: pl.Series, length: int) -> SetColumn:
    """Pack which numbers stand beside each line.

    Args:
        lines: the line of each number; a line may have several, or none.
        members: the numbers.
        length: how many lines there are.
    """
    own = pl.DataFrame({"line": lines, "member": members}).unique().sort("line", "member")
    joined = own.group_by("line", maintain_order=True).agg(pl.col("member").cast(pl.String).str.join(","))
    at_lines = pl.DataFrame({"line": pl.int_range(length, eager=True)}).join(
        joined.cast({"line": pl.Int64}), on="line", how="left", maintain_order="left"
    )
    column = named(at_lines["member"])
    return SetColumn([[], *([int(member) for member in name.split(",")] for name in column.names)], column.places)


def keys(values: Sequence[bytes]) -> str:
    """Pack keys of one length behind each other."""
    return b64encode(b"".join(values)).decode()
