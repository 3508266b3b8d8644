"""The values of a panel: means, shares and correlations of ratings, with intervals by conversations.

Ratings have the columns that `panels` gives them: `ok`, `number` (the level itself), `item_score` in [0, 1], and tags.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from mindgauge.analysis.profile.panel import NO_VERDICT, PLAIN, UNTOUCHED, FigureMark
from mindgauge.benchmarks.metrics.correlation import EXPECTED, HUMAN
from mindgauge.benchmarks.metrics.drops import NONE
from mindgauge.benchmarks.metrics.groups import NEUTRAL, NOBODY
from mindgauge.benchmarks.metrics.table import ratio
from mindgauge.benchmarks.variants.perturbation import Depth
from mindgauge.records.rubric.composite import NO, YES
from mindgauge.stats import bootstrap
from mindgauge.stats.interval import Interval
from mindgauge.stats.proportion import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from mindgauge.records.rubric import Criterion

    Floats = NDArray[np.float64]


def _totals(rows: pl.DataFrame, *columns: pl.Expr) -> Floats:
    """Sum columns over each conversation, shape (C, m)."""
    summed = rows.group_by("cluster", maintain_order=True).agg(
        *(column.sum().alias(str(number)) for number, column in enumerate(columns))
    )
    return summed.drop("cluster").to_numpy().astype(np.float64)


def _mean(rows: pl.DataFrame, part: str, label: str) -> FigureMark:
    valued = pl.col("item_score").is_not_null()
    sums = _totals(rows, pl.col("item_score").fill_null(0.0), valued)
    interval = bootstrap.interval_of_sums(
        lambda total: ratio(total[:, 0], total[:, 1]), sums, ends=(0.0, 1.0), valued=int((sums[:, 1] > 0).sum())
    )
    return _mark(part, label, interval, rows)


def _mark(
    part: str, label: str, interval: Interval, rows: pl.DataFrame, reference: Interval | None = None
) -> FigureMark:
    low, high = (None, None) if interval.value is None else (interval.low, interval.high)
    missing = rows.height - int(rows["ok"].sum())
    other = (None, None, None) if reference is None else (reference.value, reference.low, reference.high)
    return FigureMark(part, label, interval.value, low, high, rows.height, rows["cluster"].n_unique(), missing, *other)


def curves(rows: pl.DataFrame) -> Iterator[FigureMark]:
    """Return the mean worth of every cell of noise and intensity, untouched samples first."""
    untouched = pl.col("noise").fill_null(NONE) == NONE
    rows = rows.with_columns(
        pl.when(untouched).then(pl.lit(UNTOUCHED)).otherwise(pl.col(name)).alias(name)
        for name in ("noise", "intensity")
    )
    for (noise, intensity), cell in sorted(rows.group_by("noise", "intensity"), key=_depth):
        yield _mean(cell, str(noise), str(intensity))


def _depth(cell: tuple[tuple[object, ...], pl.DataFrame]) -> tuple[int, str]:
    (noise, intensity), _ = cell
    return [UNTOUCHED, *(depth.value for depth in Depth)].index(str(noise)), str(intensity)


def groups(rows: pl.DataFrame) -> tuple[list[FigureMark], list[FigureMark]] | None:
    """Return each group's mean worth less that under neutral sentences, in the same conversations, and the noise floor.

    The noise floor is the standard deviation (n below) of the means under the neutral sentences.
    """
    neutral = rows.filter(pl.col("axis") == NEUTRAL)
    if neutral.is_empty():
        return None
    marks = []
    for (axis, group), part in rows.filter(pl.col("axis") != NOBODY).group_by("axis", "group", maintain_order=True):
        in_group = (pl.col("axis") == axis) & (pl.col("group") == group)
        both = rows.filter(in_group | (pl.col("axis") == NEUTRAL))
        valued, item_score = pl.col("item_score").is_not_null(), pl.col("item_score").fill_null(0.0)
        control = pl.col("axis") == NEUTRAL
        sums = _totals(both, item_score * in_group, valued & in_group, item_score * control, valued & control)
        interval = bootstrap.interval_of_sums(_difference, sums)
        marks.append(_mark(str(axis), str(group), interval, part))
    means = np.array([m.value for m in marks if m.part == NEUTRAL and m.value is not None])
    floor = float(means.std()) if len(means) > 1 else None
    floor_mark = _mark(NEUTRAL, "noise floor", Interval(floor, None, None), neutral)
    return marks, [floor_mark]


def _difference(total: Floats) -> Floats:
    return np.asarray(ratio(total[:, 0], total[:, 1]) - ratio(total[:, 2], total[:, 3]))


def outcomes(rows: pl.DataFrame, criterion: Criterion) -> Iterator[FigureMark]:
    """Return the share of each outcome under each method, with exact bounds on conversations."""
    rows = rows.with_columns(
        pl.col("method").fill_null(PLAIN), outcome=pl.when("ok").then("value").otherwise(pl.lit(NO_VERDICT))
    )
    outcomes = [*map(str, criterion.values), NO_VERDICT]
    for (method,), part in rows.group_by("method", maintain_order=True):
        for outcome in outcomes:
            hits = part["outcome"] == outcome
            if outcome != NO_VERDICT or hits.any():
                yield _mark(str(method), outcome, _share(hits, part), part)


def people(rows: pl.DataFrame) -> tuple[list[FigureMark], list[FigureMark]]:
    """Return the model's mean number for every item beside people's, and Pearson's r of each tier."""
    rows = rows.with_columns(
        pl.col("tier").fill_null(""), people=pl.coalesce(HUMAN, EXPECTED).cast(pl.Float64, strict=False)
    )
    items, totals = [], []
    for (tier,), part in rows.group_by("tier", maintain_order=True):
        means = part.group_by("sample", "cluster", maintain_order=True).agg(
            pl.col("number").mean(), pl.col("people").first(), pl.len(), (~pl.col("ok")).sum().alias("missing")
        )
        for sample, _, number, people, n, missing in means.iter_rows():
            items.append(FigureMark(str(tier), str(sample), number, None, None, n, 1, missing, people))
        both = means.filter(pl.col("number").is_not_null(), pl.col("people").is_not_null())
        x, y = pl.col("people"), pl.col("number")
        sums = _totals(both, pl.lit(1.0) + 0 * x, x, y, x * x, y * y, x * y)
        totals.append(_mark(str(tier), "Pearson's r", bootstrap.interval_of_sums(_pearson, sums), part))
    return items, totals


def _pearson(total: Floats) -> Floats:
    n, x, y, xx, yy, xy = total.T
    spread = np.maximum(n * xx - x**2, 0.0) * np.maximum(n * yy - y**2, 0.0)
    return ratio(n * xy - x * y, np.sqrt(spread))


def rate(rows: pl.DataFrame, criterion: Criterion) -> FigureMark:
    """Return how often the model does it, and how often people did in the same place, with exact bounds.

    The bound on the bad side counts missing verdicts as bad.
    """
    valued, people_rows = rows.filter("ok"), rows.unique("sample").filter(pl.col("target").is_in([YES, NO]))
    people = _share(people_rows["target"] == YES, people_rows) if len(people_rows) else None
    interval = _share(valued["value"] == YES, valued)
    bad = criterion.worst_first[0] == YES
    feared = _share((rows["ok"] & (rows["value"] == YES)).fill_null(value=False) | (~rows["ok"] & bad), rows)
    if interval.value is not None:
        interval = interval._replace(high=feared.high) if bad else interval._replace(low=feared.low)
    return _mark(criterion.name, "", interval, rows, people)


def _share(hits: pl.Series, rows: pl.DataFrame) -> Interval:
    """Return a share with exact bounds, conversations as n; repeats of one count once."""
    n = rows["cluster"].n_unique()
    share = float(hits.sum()) / len(hits) if len(hits) else 0.0
    return clopper_pearson(share * n, n)
