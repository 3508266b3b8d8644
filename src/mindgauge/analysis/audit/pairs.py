"""How often two raters give the same verdict."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import polars as pl

SHARED = 30
"""Two raters need so many subjects in common before their likeness is evidence."""
VARIED = 5
"""So many verdicts must differ from the most frequent one, or agreement costs nothing."""


class RaterPair(NamedTuple):
    """How often two raters give the same value to the same subject."""

    first: str
    second: str
    criterion: str
    n: int
    equal: int
    varied: bool


def pairs(rated: pl.DataFrame) -> list[RaterPair]:
    """Compare every two raters on every criterion, by each subject's most frequent value (a tie is none)."""
    value = pl.coalesce(pl.col("number").cast(pl.String), pl.col("value").str.strip_chars())
    unit = pl.coalesce("subject", pl.col("row").cast(pl.String))
    keys = ["unit", "rater"]
    compared = []
    for criterion in rated["criterion"].unique(maintain_order=True):
        rows = rated.filter(pl.col("criterion") == criterion).select("rater", unit=unit, value=value)
        modes = rows.group_by(*keys, "value").len().filter(pl.col("len") == pl.col("len").max().over(keys))
        wide = modes.filter(pl.len().over(keys) == 1).pivot("rater", index="unit", values="value")
        for first, second in itertools.combinations(sorted(set(wide.columns) - {"unit"}), 2):
            both = wide.select(first, second).drop_nulls()
            n, equal = both.height, int((both[first] == both[second]).sum())
            common = int(both[first].value_counts()["count"].max() or 0) if n else 0  # type: ignore[arg-type]
            compared.append(RaterPair(first, second, criterion, n, equal, n - common >= VARIED))
    return compared
