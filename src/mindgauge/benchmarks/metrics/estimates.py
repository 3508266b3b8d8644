"""What travels with each number: its interval, its n, and what missing ratings could change."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from mindgauge.records.errors import OwnCodeError
from mindgauge.stats import bootstrap, sampling
from mindgauge.stats.interval import SAME, Interval, tied
from mindgauge.stats.jackknife import effective
from mindgauge.stats.proportion import clopper_pearson, unanimous
from mindgauge.stats.ratio import ratio

if TYPE_CHECKING:
    from mindgauge.benchmarks.metrics.table import Codes, Floats, Items, Metric, RatingTable
    from mindgauge.stats.interval import Ends

DRAWN_IN_PARTS = "only some turns were drawn, and no dialogue is whole"


class Estimate(msgspec.Struct, frozen=True):
    """A metric's value: interval, n, how many of n are missing, and its value were those all worst or all best.

    The value pools all repeats. `mean_of_runs` and `sd` are the mean and the sample SD (n - 1 below) of the values of
    the `runs` repeats, each taken alone: None where these do not hold the same number of ratings, where one of them has
    no value, or where the metric compares repeats; `sd` also with one repeat. Of a share or a mean, the mean of the runs
    is the value; of anything else, F1 for one, it need not be. The n ratings are of `subjects` replies, or as
    many answers of a model that rates itself: several verdicts on one reply are one.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    clusters: int
    missing: int
    worst: float | None
    best: float | None
    runs: int
    mean_of_runs: float | None
    sd: float | None
    subjects: int = 0
    note: str = ""
    """Why there is no interval, or why it is not what it usually is."""
    fault: bool = False
    """Whether it is the user's own metric that failed, which `note` says."""


def estimate(metric: Metric, table: RatingTable, *, resamples: int = 2000, seed: int = 0) -> Estimate:
    """Compute a metric with everything that travels with it.

    The interval resamples clusters; a share (`exact`) gets Clopper-Pearson bounds with Kish's effective number of
    clusters as n, so that repeats of one conversation count once, and a conversation that holds most of what was rated
    does not speak for as many as there are. A mean that no resample moves, since all conversations have the same value,
    gets the exact interval on its scale (`unanimous`); any other such metric has no interval. `worst` and `best` are the
    least and most favourable of: every missing rating set to one level, for each level, or to its target. The bound of a
    share on its bad side counts missing ratings as bad: it is the bound of `worst`, which it never falls short of. What was
    drawn with known probabilities is weighted by them, and its intervals look at strata and clusters (`stats.sampling`).
    Where ratings are folded, n and `missing` count the items that they make, and a missing rating leaves open only those
    items that it could change. A metric of the user's own that fails on these ratings has no value, and `note` says why.
    """
    try:
        return _estimate(metric, table, resamples, seed)
    except OwnCodeError as error:
        unknown: Estimate = Estimate(
            None, None, None, len(table), table.clusters, int((~table.ok).sum()), None, None, len(np.unique(table.repeats)), None, None,
            table.replied, str(error), fault=True,
        )  # fmt: skip
        return unknown


def _estimate(metric: Metric, table: RatingTable, resamples: int, seed: int) -> Estimate:
    full, table = table, table.rows(metric.applies_to(table))
    rows = _rows(metric, table)
    items = rows.items
    missing = rows.number(items.first[items.missing])
    value, low, high, note = _interval(metric, table, rows, resamples, seed)
    tables = metric.fills(rows.table) if missing and not metric.of_status else ()
    fills = [_point(metric, rows._replace(table=table_)) for table_ in tables]
    bounds = [v for v in (value, *fills) if v is not None]
    lowest, highest = (min(bounds), max(bounds)) if bounds else (None, None)
    worst, best = (highest, lowest) if metric.better == "lower" else (lowest, highest)
    if metric.exact and missing and worst is not None and value is not None:
        n = effective(rows.by_cluster(items.first))
        feared = clopper_pearson(worst * n, n) if table.drawn is None else _feared(metric, table, worst)
        if metric.better == "lower":
            high = max(high or 0.0, feared.high or 0.0)
        elif metric.better == "higher":
            low = min(low or 0.0, feared.low or 0.0)
    return Estimate(
        value, low, high, rows.number(items.first), table.clusters, missing, worst, best,
        *_by_run(metric, table, full.repeats, rows, value), table.replied, note,
    )  # fmt: skip


class _MetricRows(NamedTuple):
    """What a metric is computed on: ratings, or one row for all that are alike."""

    table: RatingTable
    weights: Floats
    """What each row counts, shape (1, n)."""
    items: Items
    """What of them the metric counts."""
    counts: Floats | None = None
    """How many such ratings each cluster has, shape (C, n); None where each row is one rating."""

    def number(self, places: Codes) -> int:
        """Count the ratings of some rows."""
        return len(places) if self.counts is None else int(self.weights[0, places].sum())

    def by_cluster(self, places: Codes) -> Floats:
        """Count the ratings of some rows in each cluster."""
        if self.counts is None:
            return np.bincount(self.table.cluster[places]).astype(np.float64)
        return np.asarray(self.counts[:, places].sum(axis=1))


def _rows(metric: Metric, table: RatingTable) -> _MetricRows:
    if not metric.additive or table.drawn is not None or not len(table):
        return _MetricRows(table, table.weights, metric.items(table))
    rows, counts = table.per_cluster(metric.tags)
    return _MetricRows(rows, counts.sum(axis=0)[None], metric.items(rows), counts)


def _point(metric: Metric, rows: _MetricRows) -> float | None:
    value = float(metric.compute(rows.table, rows.weights)[0]) if len(rows.table) else np.nan
    return value if np.isfinite(value) else None


def _interval(metric: Metric, table: RatingTable, rows: _MetricRows, resamples: int, seed: int) -> Interval:
    if table.drawn is not None and len(table):
        return Interval(None, undefined=DRAWN_IN_PARTS) if metric.fold else _weighted(metric, table, table.drawn)
    if metric.exact:
        return _exact(metric, rows)
    if metric.fold is not None and metric.item_score is not None and len(table):
        return _of_items(metric, rows, resamples, seed)
    if rows.counts is None:
        return bootstrap.interval(partial(metric.compute, table), table.cluster, resamples=resamples, seed=seed)
    worth = np.full(len(rows.table), np.nan) if metric.item_score is None else metric.item_score(rows.table)
    return bootstrap.interval_of_sums(
        partial(metric.compute, rows.table), rows.counts, resamples=resamples, seed=seed,
        ends=ends(metric, rows.table), valued=int(rows.counts[:, np.isfinite(worth)].any(axis=1).sum()),
    )  # fmt: skip


def _of_items(metric: Metric, rows: _MetricRows, resamples: int, seed: int) -> Interval:
    """Return the cluster bootstrap interval of a mean of folded items, by the totals of each cluster."""
    table = rows.table
    worth, cluster = metric.worth(table), table.cluster[rows.items.first]
    valued, clusters = np.isfinite(worth), int(table.cluster.max()) + 1
    sums = [np.bincount(cluster, column, clusters) for column in (np.nan_to_num(worth), valued)]
    return bootstrap.interval_of_sums(
        lambda totals: ratio(totals[:, 0], totals[:, 1]), np.stack(sums, axis=1), resamples=resamples, seed=seed,
        ends=ends(metric, table), valued=len(np.unique(cluster[valued])),
    )  # fmt: skip


def _weighted(metric: Metric, table: RatingTable, drawn: sampling.DrawnSample) -> Interval:
    """Return the interval of what was drawn: of a share with bounds that know of rare events, else Student's."""
    if metric.exact and metric.item_score is not None:
        return sampling.share(metric.item_score(table), drawn)
    limits = ends(metric, table)
    found = sampling.statistic(partial(metric.compute, table), drawn, ends=limits).interval
    if found.undefined == SAME and found.value is not None and limits is not None:
        n = drawn.effective
        return unanimous(min(max(found.value, limits[0]), limits[1]), n, limits)
    if found.low is None or found.high is None:
        return found
    low, high = limits or ((0.0, 1.0) if metric.exact else (found.low, found.high))
    return found._replace(low=max(found.low, low), high=min(found.high, high))


def _feared(metric: Metric, table: RatingTable, worst: float) -> Interval:
    """Return the interval of a weighted share with missing ratings as those that make it worst."""
    for filled in metric.fills(table):
        rows = _rows(metric, filled)
        if _point(metric, rows) == worst:
            return _interval(metric, filled, rows, 1, 0)
    return Interval(worst)


def ends(metric: Metric, table: RatingTable) -> Ends | None:
    """Return the least and the most that a rating of these subjects can be worth, whatever the answers.

    None where the metric is no mean, or where there is but one worth.
    """
    if metric.item_score is None or not len(table):
        return None
    rows = table.kinds(metric.tags)[0] if metric.fold is None else table
    unrated = msgspec.structs.replace(rows, code=np.full(len(rows), -1))
    worth = np.concatenate([metric.item_score(filled) for filled in (rows, *metric.fills(unrated))])
    if not np.isfinite(worth).any():
        return None
    lowest, highest = float(np.nanmin(worth)), float(np.nanmax(worth))
    return None if tied(lowest, highest) else (lowest, highest)


def _exact(metric: Metric, rows: _MetricRows) -> Interval:
    value = _point(metric, rows)
    if value is None:
        return Interval(None, undefined="the share is not defined on these ratings")
    counted = rows.items.first if metric.missing_is_outcome else rows.items.first[~rows.items.missing]
    n = effective(rows.by_cluster(counted))
    return Interval(value, *clopper_pearson(value * n, n)[1:])


def _by_run(
    metric: Metric, table: RatingTable, repeats: Codes, rows: _MetricRows, value: float | None
) -> tuple[int, float | None, float | None]:
    """Return how many repeats there are, and the mean and sample SD of what the metric says of each alone.

    Of one repeat alone it says its `value`.
    """
    counts = np.bincount(repeats)
    runs, sizes = np.flatnonzero(counts), counts[counts > 0]
    if metric.fold is not None:
        sizes = np.bincount(table.repeats[rows.items.first], minlength=len(counts))[runs]
    if metric.across_runs or not len(table) or sizes.min() != sizes.max():
        return len(runs), None, None
    if len(runs) == 1 and table.drawn is None:
        return 1, value, None
    if metric.additive and len(runs) > 1 and table.drawn is None:  # many rows of a repeat are alike
        values = metric.compute(*table.counted(np.searchsorted(runs, table.repeats), len(runs), metric.tags))
    else:
        values = metric.compute(table, (table.repeats == runs[:, None]) * table.weights)
    if not np.isfinite(values).all():
        return len(runs), None, None
    return len(runs), float(values.mean()), float(values.std(ddof=1)) if len(runs) > 1 else None
