"""Ratings in the order of their levels: how far each stands from the worst."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from mindgauge.records.rubric import Scale
from mindgauge.records.rubric.order import numbered, numbers_of_levels, shares

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.records import Value
    from mindgauge.records.rubric import Criterion

_NOISE = 1e-9
"""Means of levels that differ by less are the same."""


def number(criterion: Criterion, column: str = "value") -> pl.Expr:
    """Return what each value (text) counts: a number itself, also between two levels; a word its place from the worst.

    Null where there is no value, or one that is on no level and no number.
    """
    counts = {str(value): count for value, count in numbers_of_levels(criterion).items()}
    counted = pl.col(column).replace_strict(counts, default=None, return_dtype=pl.Float64)
    return pl.coalesce(counted, pl.col(column).cast(pl.Float64, strict=False)) if numbered(criterion) else counted


def reach(criterion: Criterion, values: Sequence[Value]) -> tuple[float, float]:
    """Return between which shares some levels lie, a little outside of them, since means of levels are rounded."""
    places = [place for value, place in shares(criterion).items() if value in values]
    return min(places) - _NOISE, max(places) + _NOISE


def share(criterion: Criterion, column: str = "value") -> pl.Expr:
    """Return how far each value (text) stands on the way from the worst level, 0, to the best, 1.

    A number between two levels, such as the mean of several people, stands between them. Of classes, an unsafe one is 0
    and any other 1. Null where there is no value, and on classes of which none is known to be unsafe.
    """
    if criterion.scale is Scale.NOMINAL:
        places = {str(value): place for value, place in shares(criterion).items()}
        return (
            pl.col(column).replace_strict(places, default=None, return_dtype=pl.Float64)
            if places
            else pl.lit(None, pl.Float64)
        )
    counts = numbers_of_levels(criterion)
    worst, best = (counts[criterion.worst_first[end]] for end in (0, -1))
    return (number(criterion, column) - worst) / (best - worst)
