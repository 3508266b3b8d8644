"""What travels with each number: its interval, its n, and what missing ratings could change."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from mindgauge.benchmarks.metrics.table import ratio
from mindgauge.stats import bootstrap, sampling
from mindgauge.stats.interval import SAME, Interval, tied
from mindgauge.stats.jackknife import effective
from mindgauge.stats.proportion import clopper_pearson, unanimous

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.benchmarks.metrics.table import Codes, Floats, Metric, RatingTable
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
    items that it could change.
    """
    full, table = table, table.rows(metric.applies_to(table))
    items = metric.items(table)
    missing = int(items.missing.sum())
    clusters = _different(table.cluster)
    value, low, high, note = _interval(metric, table, resamples, seed)
    fills = [_point(metric, filled) for filled in metric.fills(table)] if missing and not metric.of_status else []
    bounds = [v for v in (value, *fills) if v is not None]
    lowest, highest = (min(bounds), max(bounds)) if bounds else (None, None)
    worst, best = (highest, lowest) if metric.better == "lower" else (lowest, highest)
    if metric.exact and missing and worst is not None and value is not None:
        n = _conversations(table.cluster[items.first])
        feared = clopper_pearson(worst * n, n) if table.drawn is None else _feared(metric, table, worst)
        if metric.better == "lower":
            high = max(high or 0.0, feared.high or 0.0)
        elif metric.better == "higher":
            low = min(low or 0.0, feared.low or 0.0)
    return Estimate(
        value, low, high, len(items.first), clusters, missing, worst, best, *_by_run(metric, table, full.repeats, value),
        _different(replies(table)), note,
    )  # fmt: skip


def _point(metric: Metric, table: RatingTable) -> float | None:
    value = float(metric.compute(table, table.weights)[0]) if len(table) else np.nan
    return value if np.isfinite(value) else None


def _interval(metric: Metric, table: RatingTable, resamples: int, seed: int) -> Interval:
    if table.drawn is not None and len(table):
        return Interval(None, undefined=DRAWN_IN_PARTS) if metric.fold else _weighted(metric, table, table.drawn)
    if metric.exact:
        return _exact(metric, table)
    if metric.fold is not None and metric.item_score is not None and len(table):
        return _of_items(metric, table, resamples, seed)
    if not metric.additive or not len(table):
        return bootstrap.interval(partial(metric.compute, table), table.cluster, resamples=resamples, seed=seed)
    counted, counts = _counted(table, metric.tags)
    valued = (
        np.isfinite(metric.item_score(counted)) if metric.item_score is not None else np.zeros(len(counted), dtype=bool)
    )
    return bootstrap.interval_of_sums(
        partial(metric.compute, counted), counts, resamples=resamples, seed=seed,
        ends=ends(metric, counted), valued=int(counts[:, valued].any(axis=1).sum()),
    )  # fmt: skip


def _of_items(metric: Metric, table: RatingTable, resamples: int, seed: int) -> Interval:
    """Return the cluster bootstrap interval of a mean of folded items, by the totals of each cluster."""
    worth, cluster = metric.worth(table), table.cluster[metric.items(table).first]
    valued, clusters = np.isfinite(worth), int(table.cluster.max()) + 1
    sums = [np.bincount(cluster, column, clusters) for column in (np.nan_to_num(worth), valued)]
    return bootstrap.interval_of_sums(
        lambda totals: ratio(totals[:, 0], totals[:, 1]), np.stack(sums, axis=1), resamples=resamples, seed=seed,
        ends=ends(metric, table), valued=_different(cluster[valued]),
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
        if _point(metric, filled) == worst:
            return _interval(metric, filled, 1, 0)
    return Interval(worst)


def ends(metric: Metric, table: RatingTable) -> Ends | None:
    """Return the least and the most that a rating of these subjects can be worth, whatever the answers.

    None where the metric is no mean, or where there is but one worth.
    """
    if metric.item_score is None or not len(table):
        return None
    rows = table.at(kinds(table, metric.tags)[0]) if metric.fold is None else table
    unrated = msgspec.structs.replace(rows, code=np.full(len(rows), -1))
    worth = np.concatenate([metric.item_score(filled) for filled in (rows, *metric.fills(unrated))])
    if not np.isfinite(worth).any():
        return None
    lowest, highest = float(np.nanmin(worth)), float(np.nanmax(worth))
    return None if tied(lowest, highest) else (lowest, highest)


def _exact(metric: Metric, table: RatingTable) -> Interval:
    value = _point(metric, table)
    if value is None:
        return Interval(None, undefined="the share is not defined on these ratings")
    items = metric.items(table)
    counted = items.first if metric.missing_is_outcome else items.first[~items.missing]
    n = _conversations(table.cluster[counted])
    return Interval(value, *clopper_pearson(value * n, n)[1:])


def replies(table: RatingTable) -> Codes:
    """Number what was rated: of several ratings of one subject in one repeat, all have one number."""
    return np.asarray(table.subject * (int(table.repeats.max(initial=0)) + 1) + table.repeats)


def _conversations(cluster: Codes) -> float:
    """Return how many equally large conversations some items are worth."""
    return effective(np.bincount(cluster).astype(np.float64))


def _different(codes: Codes) -> int:
    return int(np.count_nonzero(np.bincount(codes)))


def _counted(table: RatingTable, tags: Sequence[str] = ()) -> tuple[RatingTable, Floats]:
    """Return one row of each kind of rating, K in all, and how many of them each cluster has, shape (C, K)."""
    first, kind = kinds(table, tags)
    shape = (int(table.cluster.max()) + 1, len(first))
    counts = np.bincount(table.cluster * len(first) + kind, minlength=shape[0] * shape[1])
    return table.at(first), counts.reshape(shape).astype(np.float64)


def kinds(table: RatingTable, tags: Sequence[str] = ()) -> tuple[Codes, Codes]:
    """Return where each kind of rating stands first, shape (K,), and the kind of every rating, shape (n,).

    A kind is a code with a target and a status, and with a value of each of some tags.
    """
    q = len(table.levels) + 1
    key = (table.code + 1) * q + table.target + 1
    for column in (table.status, *(table.tags[name].astype(str) for name in tags)):
        if (column == column[:1]).all():
            continue
        values = np.unique(column, return_inverse=True)[1]
        key = np.unique(key * (values.max() + 1) + values, return_inverse=True)[1]
    _, first, kind = np.unique(key, return_index=True, return_inverse=True)
    return first, kind


def _by_run(
    metric: Metric, table: RatingTable, repeats: Codes, value: float | None
) -> tuple[int, float | None, float | None]:
    """Return how many repeats there are, and the mean and sample SD of what the metric says of each alone.

    Of one repeat alone it says its `value`.
    """
    counts = np.bincount(repeats)
    runs, sizes = np.flatnonzero(counts), counts[counts > 0]
    if metric.fold is not None:
        sizes = np.bincount(table.repeats[metric.items(table).first], minlength=len(counts))[runs]
    if metric.across_runs or not len(table) or sizes.min() != sizes.max():
        return len(runs), None, None
    if len(runs) == 1 and table.drawn is None:
        return 1, value, None
    if metric.additive and len(runs) > 1 and table.drawn is None:  # many rows of a repeat are alike
        first, kind = kinds(table, metric.tags)
        cell = np.searchsorted(runs, table.repeats) * len(first) + kind
        sums = np.bincount(cell, minlength=len(runs) * len(first)).reshape(len(runs), len(first))
        values = metric.compute(table.at(first), sums.astype(np.float64))
    else:
        values = metric.compute(table, (table.repeats == runs[:, None]) * table.weights)
    if not np.isfinite(values).all():
        return len(runs), None, None
    return len(runs), float(values.mean()), float(values.std(ddof=1)) if len(runs) > 1 else None
