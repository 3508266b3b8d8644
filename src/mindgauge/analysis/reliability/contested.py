"""Subjects on which people disagree with each other, or the judge with all of them. Disagreement is data: it is listed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from mindgauge.analysis.reliability.card import Contested

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.reliability.scale import Scale

LISTED = 20
"""Contested subjects that a card names; the others are counted."""
HALF = 0.5
"""A distance of at least this share of the scale is a contest: two levels from 1 to 5. Any two classes are one."""


def contested(
    judged: pl.DataFrame, rated: pl.DataFrame, scale: Scale, systems: Sequence[str]
) -> tuple[list[Contested], int]:
    """Return the most contested subjects, most first, and how many there are in all.

    Args:
        judged: the judge's valued rows: subject, number.
        rated: people's valued rows: subject, name, system, category, rater, number.
        scale: of the values.
        systems: names by index.
    """
    number = pl.col("number")
    limit = HALF * (scale.high - scale.low) if scale.ordered else 1.0
    spread, usual = (number.max() - number.min(), number.mean()) if scale.ordered else (number.n_unique() - 1.0, number.mode().min())  # fmt: skip
    people = rated.group_by("subject").agg(spread=spread, people=usual)
    both = people.join(judged.group_by("subject").agg(judge=usual), on="subject", how="left")
    gap = pl.col("judge") - pl.col("people")
    distance = gap.abs() if scale.ordered else (gap != 0).cast(pl.Float64)
    both = both.with_columns(distance=distance.fill_null(0.0))
    found = both.filter((pl.col("spread") >= limit) | (pl.col("distance") >= limit))
    first = found.sort(-(pl.col("spread") + pl.col("distance")), pl.col("subject")).head(LISTED)
    judged, rated = (rows.filter(pl.col("subject").is_in(first["subject"].implode())) for rows in (judged, rated))
    return [_one(row, judged, rated, scale, systems) for row in first.iter_rows(named=True)], len(found)


def _one(
    row: dict[str, float], judged: pl.DataFrame, rated: pl.DataFrame, scale: Scale, systems: Sequence[str]
) -> Contested:
    here = pl.col("subject") == row["subject"]
    theirs = rated.filter(here)
    values: dict[str, list[float | str]] = {}
    for rater, number in theirs.select("rater", "number").iter_rows():
        values.setdefault(rater, []).append(scale.word(number))
    first = theirs.row(0, named=True)
    own = [scale.word(number) for number in judged.filter(here)["number"]]
    return Contested(
        first["name"],
        systems[first["system"]],
        first["category"] or "",
        values,
        own,
        float(row["spread"]),
        float(row["distance"]),
    )
