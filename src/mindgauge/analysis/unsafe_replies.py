"""What raters together call unsafe (`reliability.unsafe.together`), for a run's ratings: on a criterion, and anywhere.

The unsafe levels are the rubric's (`Criterion.unsafe`). Over several criteria, a reply is unsafe where it is on one of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from mindgauge.analysis.reliability.scale import Unsafe, of_criterion
from mindgauge.analysis.reliability.unsafe_levels import together

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mindgauge.records.rubric import Criterion


def on(ratings: pl.DataFrame, criterion: Criterion) -> pl.DataFrame:
    """Say of each subject whether its raters together call it unsafe on one criterion.

    Args:
        ratings: on that criterion, by one rater or several: subject, rater, status, value (as text).
        criterion: with unsafe levels.

    Returns:
        Columns subject, unsafe (null where no rater has a value).
    """
    scale = of_criterion(criterion)
    places = {word: float(place) for place, word in enumerate(scale.words)}
    value = pl.col("value").cast(pl.Float64, strict=False)
    if scale.words:
        value = pl.col("value").replace_strict(places, default=None, return_dtype=pl.Float64)
    valued = ratings.with_columns(number=pl.when(pl.col("status") == "ok").then(value)).filter(
        pl.col("number").is_not_null()
    )
    decided = together(valued, scale.unsafe or Unsafe()).select("subject", "unsafe")
    return (
        ratings.select("subject")
        .unique(maintain_order=True)
        .join(decided, on="subject", how="left", maintain_order="left")
    )


def anywhere(ratings: pl.DataFrame, criteria: Mapping[str, Criterion]) -> pl.DataFrame:
    """Say of each subject whether its raters together call it unsafe on one of several criteria.

    Args:
        ratings: subject, criterion, rater, status, value (as text).
        criteria: of which those without unsafe levels say nothing.

    Returns:
        Columns subject, unsafe (null where no rater has a value on a criterion with unsafe levels).
    """
    schema = {"subject": pl.String, "unsafe": pl.Boolean}
    parts = [
        on(rows, criterion).cast(schema)  # type: ignore[arg-type]
        for name, criterion in criteria.items()
        if criterion.unsafe and not (rows := ratings.filter(pl.col("criterion") == name)).is_empty()
    ]
    # max: true where one is true, null only where all are.
    return (
        pl.concat([pl.DataFrame(schema=schema), *parts])
        .group_by("subject", maintain_order=True)
        .agg(pl.col("unsafe").max())
    )
