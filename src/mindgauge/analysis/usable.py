"""No score from no answers: where too few answers or verdicts could be used, there is a reason in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from mindgauge.records.rounding import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.fitness import Unfit

MOST_LOST = 0.5
"""The share of answers without a value above which there is no score.

Where more than half are gone, what they might have been leaves more than half of the scale open, and an accuracy that
counts them as wrong says more of the format than of the model.
"""
USED = ("ok", "tie")
"""What an answer can be that was used; a tie between repeats is one."""


def too_few(lost: int, n: int, *, closed: bool) -> str:
    """Say why there is no score; empty where enough of n could be used.

    Args:
        lost: answers, or verdicts, without a value.
        n: how many were asked for.
        closed: whether the model under test itself answered.
    """
    if lost <= MOST_LOST * n:
        return ""
    return f"no usable {'answer' if closed else 'verdict'} in {count(lost)} of {count(n)}"


def of_rows(rows: pl.DataFrame, *, closed: bool) -> str:
    """Say the same of ratings by one rater on one criterion that they apply to."""
    return too_few(rows.height - int(rows["status"].is_in(USED).sum()), rows.height, closed=closed)


def answered(
    rows: pl.DataFrame, columns: Sequence[str], *, closed: bool
) -> tuple[pl.DataFrame, dict[tuple[str, ...], str]]:
    """Return ratings without the parts of them of which too few could be used, and why these are left out.

    Args:
        rows: ratings that apply.
        columns: the columns that part them.
        closed: whether models under test answered themselves.
    """
    counted = rows.lazy().group_by(columns).agg(n=pl.len(), lost=(~pl.col("status").is_in(USED)).sum()).collect()
    by_key = {tuple(key): too_few(lost, n, closed=closed) for *key, n, lost in counted.sort(columns).iter_rows()}
    reasons = {tuple(map(str, key)): reason for key, reason in by_key.items() if reason}
    if not reasons:
        return rows, reasons
    dropped = pl.DataFrame(
        [key for key, reason in by_key.items() if reason], counted.select(columns).schema, orient="row"
    )
    return rows.join(dropped, on=list(columns), how="anti", nulls_equal=True, maintain_order="left"), reasons


def trusted(rows: pl.DataFrame, unfit: Sequence[Unfit]) -> pl.DataFrame:
    """Return ratings without those by judges that cannot be used."""
    if not unfit:
        return rows
    dropped = pl.DataFrame(
        [(entry.judge, entry.criterion) for entry in unfit], {"rater": pl.String, "criterion": pl.String}, orient="row"
    )
    return rows.join(dropped, on=["rater", "criterion"], how="anti", maintain_order="left")
