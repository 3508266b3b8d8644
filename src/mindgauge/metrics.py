"""A metric is a function of weighted ratings: `compute(table, weights) -> (B,)`, one row of weights per resample.

So every metric, a newcomer's too, gets clustered intervals, slices and bounds for missing ratings from the framework.
Metric names say their direction.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from mindgauge.records import Status, Value
from mindgauge.stats import agreement, bootstrap
from mindgauge.stats.interval import Interval
from mindgauge.stats.proportion import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Sequence

    Floats = NDArray[np.float64]
    Codes = NDArray[np.intp]
    Mask = NDArray[np.bool_]


class Table(msgspec.Struct, frozen=True):
    """Ratings of one rater on one criterion, as columns of length n.

    Codes are indices into `levels`, the rubric's values in their order; -1 stands for a missing rating or target.
    """

    levels: tuple[Value, ...]
    code: Codes
    target: Codes
    cluster: Codes
    subject: Codes
    status: NDArray[np.object_]

    def __len__(self) -> int:
        return len(self.code)

    @property
    def ok(self) -> Mask:
        """Where there is a value."""
        return self.code >= 0

    def rows(self, mask: Mask) -> Table:
        """Return the table reduced to some rows, in the order of their clusters, which are numbered anew."""
        kept = np.flatnonzero(mask)
        kept = kept[np.argsort(self.cluster[kept], kind="stable")]
        columns = (self.code, self.target, self.cluster, self.subject)
        code, target, cluster, subject = (column[kept] for column in columns)
        renumbered = np.unique(cluster, return_inverse=True)[1]
        return Table(self.levels, code, target, renumbered, subject, self.status[kept])

    def filled(self, code: int | None) -> Table:
        """Return the table with missing ratings set to one level, or to their target if `code` is None."""
        filling = self.target if code is None else np.full(len(self), code)
        return msgspec.structs.replace(self, code=np.where(self.ok, self.code, filling))

    def codes(self, *values: Value) -> Codes:
        """Return the codes of some levels."""
        return np.array([self.levels.index(value) for value in values], dtype=np.intp)


class Metric(msgspec.Struct, frozen=True):
    """A named statistic of ratings.

    `concerns` picks the rows it is about (its n); `exact` marks a share, which gets exact bounds on conversations
    instead of a bootstrap; `label` says which level it is about, if one; `better` is `higher`, `lower` or empty.
    """

    name: str
    compute: Callable[[Table, Floats], Floats]
    better: str = ""
    concerns: Callable[[Table], Mask] = lambda table: np.ones(len(table), dtype=bool)
    exact: bool = False
    missing_is_outcome: bool = False
    """A missing rating counts in the denominator: the metric itself says what it is worth."""
    label: str = ""


class Estimate(msgspec.Struct, frozen=True):
    """A metric's value: interval, n, how many of n are missing, and its value were those all worst or all best."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    clusters: int
    missing: int
    worst: float | None
    best: float | None


def estimate(metric: Metric, table: Table, *, resamples: int = 2000, seed: int = 0) -> Estimate:
    """Compute a metric with everything that travels with it.

    The interval resamples clusters; a share (`exact`) gets Clopper-Pearson bounds with the clusters as n, so that
    repeats of one conversation count once. `worst` and `best` are the least and most favourable of: every missing
    rating set to one level, for each level, or to its target.
    """
    table = table.rows(metric.concerns(table))
    missing = int((~table.ok).sum())
    clusters = len(np.unique(table.cluster))
    value, low, high, _ = _interval(metric, table, resamples, seed)
    fills = [_point(metric, table.filled(code)) for code in (*range(len(table.levels)), None)] if missing else []
    bounds = [v for v in (value, *fills) if v is not None]
    least, most = (min(bounds), max(bounds)) if bounds else (None, None)
    worst, best = (most, least) if metric.better == "lower" else (least, most)
    return Estimate(value, low, high, len(table), clusters, missing, worst, best)


def _point(metric: Metric, table: Table) -> float | None:
    value = float(metric.compute(table, np.ones((1, len(table))))[0]) if len(table) else np.nan
    return value if np.isfinite(value) else None


def _interval(metric: Metric, table: Table, resamples: int, seed: int) -> Interval:
    if not metric.exact:
        return bootstrap.interval(partial(metric.compute, table), table.cluster, resamples=resamples, seed=seed)
    value = _point(metric, table)
    if value is None:
        return Interval(None, undefined="the share is not defined on these ratings")
    used = table.cluster if metric.missing_is_outcome else table.cluster[table.ok]
    n = len(np.unique(used))
    return Interval(value, *clopper_pearson(value * n, n)[1:])


def _share(hits: Mask, of: Mask, weights: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((weights @ (hits & of).astype(float)) / (weights @ of.astype(float)))


def _has_target(table: Table) -> Mask:
    return table.target >= 0


# -- closed questions: the rating beside a target ---------------------------------------------------------------------

accuracy = Metric(
    "accuracy",
    lambda table, weights: _share(table.code == table.target, _has_target(table), weights),
    "higher",
    _has_target,
    exact=True,
    missing_is_outcome=True,
)


def _confusion(table: Table, weights: Floats) -> Floats:
    return agreement.confusion(table.target, table.code, len(table.levels), weights)


def _f1(table: Table, weights: Floats) -> Floats:
    counts = _confusion(table, weights)
    hits = np.diagonal(counts[:, :, :-1], axis1=1, axis2=2)
    support, called = counts.sum(axis=2), counts[:, :, :-1].sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        f1 = np.where(support > 0, 2 * hits / (support + called), np.nan)
    return np.asarray(np.nanmean(f1, axis=1))


macro_f1 = Metric("macro_f1", _f1, "higher", _has_target)
"""Mean F1 over the labels that occur as targets (in a resample: that occur there)."""

cohen_kappa = Metric(
    "cohen_kappa",
    lambda table, weights: agreement.cohen_kappa(_confusion(table, weights)),
    "higher",
    _has_target,
)


def _repeats(table: Table, weights: Floats) -> Floats:
    subjects, first, inverse = np.unique(table.subject, return_index=True, return_inverse=True)
    counts = np.zeros((len(subjects), len(table.levels)))
    np.add.at(counts, (inverse[table.ok], table.code[table.ok]), 1.0)
    return agreement.fleiss_kappa(counts, weights[:, first])


fleiss_kappa = Metric("fleiss_kappa", _repeats, "higher")
"""Agreement between the repeats of one rater, or between several raters put in one table."""


def recall(label: Value) -> Metric:
    """Return the share of this label's samples that were given it; its n is their number."""
    return Metric(
        "recall",
        lambda table, weights: _share(table.code == table.target, table.target == table.codes(label), weights),
        "higher",
        lambda table: table.target == table.codes(label),
        exact=True,
        missing_is_outcome=True,
        label=str(label),
    )


def precision(label: Value) -> Metric:
    """Return the share of the samples given this label that have it; its n is how often it was given."""
    return Metric(
        "precision",
        lambda table, weights: _share(table.code == table.target, table.code == table.codes(label), weights),
        "higher",
        lambda table: _has_target(table) & (table.code == table.codes(label)),
        exact=True,
        label=str(label),
    )


def call_rate(name: str, *, of: Sequence[Value], as_: Sequence[Value]) -> Metric:
    """Return the share of samples with one of the targets `of` that were called one of `as_`; lower is better."""
    return Metric(
        name,
        lambda table, weights: _share(
            np.isin(table.code, table.codes(*as_)), np.isin(table.target, table.codes(*of)), weights
        ),
        "lower",
        lambda table: np.isin(table.target, table.codes(*of)),
        exact=True,
        missing_is_outcome=True,
    )


# -- scores: the rating's own level -----------------------------------------------------------------------------------


def _numbers(table: Table) -> Floats:
    levels = np.array([float(level) for level in table.levels])
    return np.where(table.ok, levels[table.code], 0.0)


def _mean(table: Table, weights: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((weights @ _numbers(table)) / (weights @ table.ok.astype(float)))


mean_level = Metric("mean", _mean, "higher")


def share_at_most(level: int) -> Metric:
    """Return the share of ratings at this level or below; lower is better."""
    return Metric(
        f"share_at_most_{level}",
        lambda table, weights: _share(_numbers(table) <= level, table.ok, weights),
        "lower",
        exact=True,
    )


def share_of(value: Value) -> Metric:
    """Return the share of ratings with this value."""
    return Metric(
        f"share_{value}",
        lambda table, weights: _share(np.isin(table.code, table.codes(value)), table.ok, weights),
        exact=True,
    )


# -- what went wrong --------------------------------------------------------------------------------------------------


def status_rate(status: Status | str) -> Metric:
    """Return the share of ratings that ended in this status."""
    return Metric(
        f"{status}_rate",
        lambda table, weights: _share(table.status == str(status), np.ones(len(table), dtype=bool), weights),
        "lower",
        exact=True,
        missing_is_outcome=True,
    )


STATUS_RATES = tuple(status_rate(s) for s in (Status.UNPARSABLE, Status.REFUSED, Status.FILTERED, Status.FAILED))
