"""Verdicts on several criteria taken together, where a benchmark has a score over all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from mindgauge.benchmarks import Benchmark


def together(rows: pl.DataFrame, benchmark: Benchmark) -> pl.DataFrame:
    """Return the ratings on criteria that are taken together once more, under the name that they have together.

    Each verdict counts once, so a criterion that applies to more dialogues weighs more; all of a cluster stay in it. Whoever
    rated a model on some of the criteria only has no score over all.
    """
    key = ["model", "rater", "rater_kind"]
    pooled = [rows.clear()]
    for name, parts in benchmark.pooled.items():
        own = rows.filter(pl.col("criterion").is_in(parts))
        rated = own.group_by(key).agg(pl.col("criterion").n_unique()).filter(pl.col("criterion") == len(parts))
        complete = own.join(rated.select(key), on=key, how="semi", maintain_order="left")
        pooled.append(complete.with_columns(criterion=pl.lit(name)))
    return pl.concat(pooled)
