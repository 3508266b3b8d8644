"""Whether a judge says the same when it is asked again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from mindgauge.analysis.judging.result import Stability
from mindgauge.analysis.reliability.card import Bound
from mindgauge.stats import proportion

if TYPE_CHECKING:
    from collections.abc import Sequence

_SAID = ("ok", "not_applicable")


def stability(rows: pl.DataFrame, judge: str, criteria: Sequence[str]) -> Stability:
    """Compare a judge's runs with each other.

    Args:
        rows: the judge's ratings: subject, cluster, criterion, run, value, status.
        judge: its name.
        criteria: those that it was asked about; composites follow from them.
    """
    rows = rows.filter(pl.col("criterion").is_in(criteria))
    runs = rows["run"].n_unique()
    answered = pl.col("status").is_in(_SAID)
    vectors = rows.group_by("subject", "run", maintain_order=True).agg(
        pl.col("cluster").first(),
        vector=pl.coalesce("value", "status").sort_by("criterion").str.join("\0"),
        complete=answered.all() & (pl.col("status") == "ok").any(),
    )
    subjects = vectors.group_by("subject", maintain_order=True).agg(
        pl.col("cluster").first(),
        whole=pl.col("complete").all() & (pl.len() == runs),
        kinds=pl.col("vector").n_unique(),
    )
    complete_subjects = subjects.filter("whole")
    flips = {name: _flips(rows.filter((pl.col("criterion") == name) & answered)) for name in criteria}
    if runs < 2:
        undefined = Bound(None, note="judged once; --judge-runs 3 asks again")
        return Stability(judge, runs, 0, 0, 0, undefined, {})
    identical = share(complete_subjects.select("cluster", share=(pl.col("kinds") == 1).cast(pl.Float64)))
    clusters = complete_subjects["cluster"].n_unique()
    return Stability(
        judge, runs, len(complete_subjects), len(subjects) - len(complete_subjects), clusters, identical, flips
    )


def _flips(rows: pl.DataFrame) -> Bound:
    """Return the chance that two runs of a subject differ, each subject weighing the same."""
    counts = rows.group_by("subject", pl.coalesce("value", "status").alias("said"), maintain_order=True).agg(
        pl.col("cluster").first(), n=pl.len().cast(pl.Float64)
    )
    n = pl.col("n")
    subjects = counts.group_by("subject", maintain_order=True).agg(
        pl.col("cluster").first(), runs=n.sum(), same=(n * (n - 1)).sum() / (n.sum() * (n.sum() - 1))
    )
    return share(subjects.filter(pl.col("runs") > 1).select("cluster", share=1 - pl.col("same")))


def share(rows: pl.DataFrame) -> Bound:
    """Return the mean of shares with exact bounds that take conversations as n.

    Args:
        rows: columns cluster and share.
    """
    if rows.is_empty():
        return Bound(None, note="no subject has two readable verdicts")
    value, clusters = float(rows["share"].mean()), rows["cluster"].n_unique()  # type: ignore[arg-type]  # of numbers
    return Bound(*proportion.share(value, clusters))
