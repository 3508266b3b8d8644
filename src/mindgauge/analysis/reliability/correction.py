"""A judge's mean score, corrected by the subjects that people rated too (prediction-powered inference)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from mindgauge.analysis.reliability.card import Bound, Corrected
from mindgauge.stats import correction

if TYPE_CHECKING:
    from mindgauge.analysis.reliability.cards import Criterion
    from mindgauge.stats.interval import Interval


def corrected(judged: pl.DataFrame, rated: pl.DataFrame, criterion: Criterion, *, selected: str) -> list[Corrected]:
    """Correct the judge's mean of each system, and of all where there are several.

    People's ratings must be of a random part of what the judge rated; where they were selected by what a judge thought,
    nothing is corrected.

    Args:
        judged: the judge's valued rows: subject, cluster, system, number.
        rated: people's valued rows: the same.
        criterion: whose systems are named.
        selected: why people rated what they rated, if it depended on a judge.
    """
    if selected or not criterion.scale.ordered:
        return []
    scores = judged.group_by("subject", maintain_order=True).agg(
        pl.col("cluster").first(), pl.col("system").first(), judge=pl.col("number").mean()
    )
    people = rated.group_by("subject", maintain_order=True).agg(people=pl.col("number").mean())
    both = scores.join(people, on="subject", how="left", maintain_order="left")
    present = both["system"].unique().sort().to_list()
    parts = [(criterion.systems[i], both.filter(pl.col("system") == i)) for i in present]
    if len(parts) > 1:
        parts.append(("", both))
    return [_corrected(name, rows) for name, rows in parts]


def _corrected(name: str, rows: pl.DataFrame) -> Corrected:
    theirs = rows["people"].to_numpy()
    found = correction.prediction_powered_mean(rows["judge"].to_numpy(), theirs, rows["cluster"].to_numpy())
    return Corrected(
        name, len(rows), len(rows) - rows["people"].null_count(), _bound(found.judge_only), _bound(found.human_only),
        _bound(found.corrected), found.gain,
    )  # fmt: skip


def _bound(found: Interval) -> Bound:
    return Bound(found.value, found.low, found.high, found.undefined)
