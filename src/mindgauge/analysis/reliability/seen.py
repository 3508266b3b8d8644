"""Whether a judge may have seen the labels that correct it: what is known of dates, and what shows without them.

A judge that was written, tuned or chosen on labels agrees with people better there than elsewhere, and its corrected mean
is wrong: nothing in the correction can tell. So a corrected mean says what speaks for it, beside people's own mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from mindgauge.records.rounding import decimal
from mindgauge.stats import labelling
from mindgauge.stats.jackknife import student
from mindgauge.stats.ratio import ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from mindgauge.analysis.reliability.correction import SubjectMeans
    from mindgauge.store.run import Store

    Floats = NDArray[np.float64]

OLDER = "the labels are older than their last verdicts"
UNDATED = "nothing says whether the labels are younger"
PUBLIC = "the labels are public"
_CHANCE = 0.01
"""With which chance a judge that has not seen the labels shows any sign of it."""
_SIGNS = 4
_LEAST = 0.25
"""Standard deviations from which labelled and other replies differ."""
_FEWEST = 10
"""Conversations with two people from which a judge is held against people's own errors."""

_DATES = """
SELECT rater, min(json_extract(provenance, '$.at')), max(json_extract(provenance, '$.at')) FROM ratings
WHERE subject IN (SELECT subject FROM ratings WHERE rater_kind = 'person') GROUP BY rater"""


class Dates(NamedTuple):
    """When a rater gave its first and its last value, in seconds since 1970."""

    first: float
    last: float


def dates(store: Store) -> dict[str, Dates]:
    """Return when raters rated what people rated, as far as a run knows it."""
    return {
        rater: Dates(float(first), float(last)) for rater, first, last in store.select(_DATES) if first is not None
    }  # fmt: skip


def together(parts: Iterable[Mapping[str, Dates]]) -> dict[str, Dates]:
    """Put the dates of several runs together."""
    merged: dict[str, Dates] = {}
    for rater, (first, last) in (item for dated in parts for item in dated.items()):
        own = merged.get(rater, Dates(first, last))
        merged[rater] = Dates(min(first, own.first), max(last, own.last))
    return merged


def doubt(
    judge: str,
    people: Sequence[str],
    dated: Mapping[str, Dates],
    *,
    public: bool,
    evidence: Callable[[], Iterable[str]],
) -> str:
    """Say why it cannot be excluded that a judge has seen the labels; empty where they are younger than all of its verdicts.

    Args:
        judge: a rater.
        people: whose labels they are.
        dated: when raters rated.
        public: whether the labels were released.
        evidence: finds what `signs` yields; asked for only where labels are not younger.
    """
    reason = OLDER
    if public:
        reason = PUBLIC
    elif judge not in dated or any(person not in dated for person in people):
        reason = UNDATED
    elif all(dated[person].first > dated[judge].last for person in people):
        return ""
    return "; ".join([reason, *evidence()])


def signs(means: SubjectMeans, judge_rows: pl.DataFrame, others: pl.DataFrame, people: pl.DataFrame) -> Iterator[str]:
    """Yield what a judge that has seen the labels may show; one that has not shows none of it in 99 of 100 cases.

    Without a label of the others: how far the judge is from itself where it was asked again, from other judges, and
    from its mean of a system. And with two people: a judge that knows nothing of their errors correlates with each of
    them at most by the square root of their own correlation (Spearman 1904).

    Args:
        means: of the subjects that the judge was given.
        judge_rows: its rows: subject, number.
        others: other judges' rows: subject, rater, number.
        people: each person's first value of a subject: subject, cluster, rater, number.
    """
    yield from _compared(means, judge_rows, others)
    yield from _beyond(means, people)


def _compared(means: SubjectMeans, judge_rows: pl.DataFrame, others: pl.DataFrame) -> Iterator[str]:
    number = pl.col("number")
    own = judge_rows.drop_nulls("number").group_by("subject").agg(spread=number.std())
    other = others.group_by("subject", "rater").agg(number.mean()).group_by("subject").agg(number.mean())
    scored = np.isfinite(means.judge)
    counts = np.bincount(means.system[scored], minlength=int(means.system.max(initial=-1)) + 1)
    typical = ratio(np.bincount(means.system[scored], means.judge[scored], len(counts)), counts)
    for target, distance in (
        ("its own repeats", _placed(means, own, "spread")),
        ("other judges", np.abs(means.judge - _placed(means, other, "number"))),
        ("its mean of a model", np.abs(means.judge - typical[means.system])),
    ):
        finite = np.isfinite(distance)
        part = means.at(finite)
        gaps = labelling.gaps(
            distance[finite], part.labelled, part.cluster, part.system, least=_LEAST, alpha=_CHANCE / _SIGNS
        )
        for gap in gaps[:1]:
            yield f"it is {decimal(gap.labelled)} from {target} on labelled replies and {decimal(gap.others)} elsewhere"


def _placed(means: SubjectMeans, rows: pl.DataFrame, column: str) -> Floats:
    """Return a number for each of the subjects, NaN where there is none."""
    placed = pl.DataFrame({"subject": means.subject}).join(
        rows.with_columns(pl.col("subject").cast(pl.Int64)), on="subject", how="left", maintain_order="left"
    )
    return placed[column].cast(pl.Float64).fill_null(np.nan).to_numpy()


def _beyond(means: SubjectMeans, people: pl.DataFrame) -> Iterator[str]:
    """Yield that a judge shares people's errors, where c² / (var(f) t) is surely above 1: c with a person, t of two people."""
    judge = pl.DataFrame({"subject": means.subject, "system": means.system, "judge": means.judge}).filter(
        pl.col("judge").is_finite()
    )
    rated = people.select(pl.col("subject").cast(pl.Int64), "cluster", "rater", "number").join(judge, on="subject")
    rated = rated.filter(pl.len().over("subject") > 1)
    if rated["cluster"].n_unique() < _FEWEST:
        return
    rated = rated.with_columns(pl.col("number") - pl.col("number").mean().over("system", "rater"))
    by_subject = rated.with_columns(pl.col("judge") - pl.col("judge").mean().over("system")).group_by("subject").agg(
        pl.col("cluster", "judge").first(), k=pl.len().cast(pl.Float64), total=pl.col("number").sum(), square=pl.col("number").pow(2).sum()
    )  # fmt: skip
    k, total, f = (by_subject[name].to_numpy() for name in ("k", "total", "judge"))
    pairs = (total**2 - by_subject["square"].to_numpy()) / (k * (k - 1))
    _, cluster = np.unique(by_subject["cluster"].to_numpy(), return_inverse=True)
    sums = np.stack([np.bincount(cluster, values) for values in (f * total / k, f * f, pairs)])
    total_sums = sums.sum(axis=1)
    if total_sums.min() <= 0:
        return
    left_out = np.log(np.maximum(np.abs(total_sums[:, None] - sums), 1e-300))
    interval = student(
        float(2 * np.log(total_sums[0]) - np.log(total_sums[1]) - np.log(total_sums[2])), 2 * left_out[0] - left_out[1] - left_out[2],
        np.ones(sums.shape[1], dtype=np.intp), level=1 - 2 * _CHANCE / _SIGNS,
    )  # fmt: skip
    if interval.low is not None and interval.low > 0:
        yield "it agrees with people better than their own agreement allows a judge that does not know their errors"
