"""Ratings as columns, what is computed of them, and what travels with each number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import numpy as np

from mindgauge.benchmarks.metrics.sentences import MetricWords
from mindgauge.records import Value
from mindgauge.records.english import words as in_words
from mindgauge.stats import bootstrap, sampling
from mindgauge.stats.interval import SAME, Ends, Interval, tied
from mindgauge.stats.proportion import clopper_pearson, unanimous

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mindgauge.records.rounding import Kind
    from mindgauge.records.rubric import Criterion

Floats: TypeAlias = "NDArray[np.float64]"
Codes: TypeAlias = "NDArray[np.intp]"
Mask: TypeAlias = "NDArray[np.bool_]"
Texts: TypeAlias = "NDArray[np.str_]"
Tags: TypeAlias = "NDArray[np.object_]"


class RatingTable(msgspec.Struct, frozen=True):
    """Ratings of one rater on one criterion, as columns of length n.

    Codes are indices into `levels`, the rubric's values in their order; -1 stands for a missing rating or target.
    """

    levels: tuple[Value, ...]
    code: Codes
    target: Codes
    cluster: Codes
    subject: Codes
    status: Texts
    run: Codes | None = None
    """Which repeat each rating belongs to; None where nothing was repeated."""
    tags: dict[str, Tags] = {}
    """The tags of each rating's sample that the benchmark's metrics look at; empty strings where it has none."""
    drawn: sampling.DrawnSample | None = None
    """With which probabilities the subjects were drawn, where only some were: each counts for as many as it stands for."""

    @property
    def weights(self) -> Floats:
        """What each rating counts, shape (1, n)."""
        return np.ones((1, len(self))) if self.drawn is None else self.drawn.weight[None]

    def __len__(self) -> int:
        return len(self.code)

    @property
    def ok(self) -> Mask:
        """Where there is a value."""
        return self.code >= 0

    @property
    def repeats(self) -> Codes:
        """Which repeat each rating belongs to."""
        return np.zeros(len(self), dtype=np.intp) if self.run is None else self.run

    def at(self, places: Codes) -> RatingTable:
        """Return the rows at some places, in that order."""
        code, target, cluster, subject = (c[places] for c in (self.code, self.target, self.cluster, self.subject))
        tags = {name: values[places] for name, values in self.tags.items()}
        drawn = None if self.drawn is None else self.drawn.rows(places)
        return RatingTable(
            self.levels, code, target, cluster, subject, self.status[places], self.repeats[places], tags, drawn
        )

    def rows(self, mask: Mask) -> RatingTable:
        """Return the table reduced to some rows, in the order of their clusters, which are numbered anew."""
        selected = self
        if not mask.all() or (np.diff(self.cluster) < 0).any():
            places = np.flatnonzero(mask)
            selected = self.at(places[np.argsort(self.cluster[places], kind="stable")])
        return msgspec.structs.replace(
            selected, cluster=np.cumsum(np.diff(selected.cluster, prepend=selected.cluster[:1]) > 0)
        )

    def by_cluster(self) -> RatingTable:
        """Return the table in the order of its clusters, in which `rows` copies nothing where all rows are asked for."""
        return self.rows(_all(self))

    def filled(self, code: int | None) -> RatingTable:
        """Return the table with missing ratings set to one level, or to their target if `code` is None."""
        filling = self.target if code is None else np.full(len(self), code)
        return msgspec.structs.replace(self, code=np.where(self.ok, self.code, filling))

    def codes(self, *values: Value) -> Codes:
        """Return the codes of some levels."""
        return np.array([self.levels.index(value) for value in values], dtype=np.intp)


def _all(table: RatingTable) -> Mask:
    return np.ones(len(table), dtype=bool)


def _any(levels: tuple[Value, ...]) -> bool:  # noqa: ARG001 - whatever they are
    return True


class Metric(msgspec.Struct, frozen=True):
    """A named statistic of ratings.

    `applies_to` picks the rows it is about (its n); `exact` marks a share, which gets exact bounds on conversations
    instead of a bootstrap; `label` says which level it is about, if one; `better` is `higher`, `lower` or empty.
    """

    name: str
    compute: Callable[[RatingTable, Floats], Floats]
    better: str = ""
    applies_to: Callable[[RatingTable], Mask] = _all
    exact: bool = False
    missing_is_outcome: bool = False
    """A missing rating counts in the denominator: the metric itself says what it is worth."""
    label: str = ""
    of_status: bool = False
    """It looks at what became of ratings and at no value, so whatever a missing one might have been changes nothing."""
    additive: bool = False
    """It depends only on how many ratings of each code, target and status there are, so that equal ones are counted once."""
    tags: tuple[str, ...] = ()
    """Tags that it also depends on, where it is additive: equal ratings are counted once for each of their values."""
    across_runs: bool = False
    """It compares repeats with each other, so there is no value of one repeat."""
    item_score: Callable[[RatingTable], Floats] | None = None
    """Where it is the mean of what each rating is worth, on subjects that do not depend on the answers: that worth, shape
    (n,), NaN where a rating says nothing. Such metrics can be compared subject by subject."""
    supports: Callable[[tuple[Value, ...]], bool] = _any
    """Which levels, worst to best, it has something to say of; of others its value is not defined."""
    criteria: tuple[str, ...] = ()
    """The criteria that it is computed on; where none is named, all whose levels it supports."""
    of_level: bool = False
    """Its value is a level, so which values are better is for the criterion to say, not for the metric."""
    of_read: str = ""
    """The metric that counts a missing answer as wrong and is otherwise the same, where this one leaves it out."""
    chance: Callable[[RatingTable], float | None] | None = None
    """Its value under guessing, where all levels are options of every sample."""
    words: MetricWords = MetricWords()

    @property
    def part(self) -> bool:
        """Whether it is about one label of the subjects that have it, whoever answers."""
        return bool(self.label) and self.item_score is not None

    def suits(self, criterion: Criterion) -> bool:
        """Whether it is computed on a criterion."""
        return (not self.criteria or criterion.name in self.criteria) and self.supports(criterion.values)

    def titled(self, criterion: str = "") -> str:
        """Name it in a sentence, on a criterion."""
        title = self.words.title or f"{in_words(self.name)}{' {}' * bool(criterion)}"
        return title.format(in_words(criterion))

    @property
    def unit(self) -> Kind:
        """What its value is: a `share`, or else a `level`: a mean, a coefficient, a difference."""
        return "share" if self.exact else "level"

    def directed(self, better: str) -> Metric:
        """Return it as it reads on a criterion of which `higher` or `lower` numbers are better."""
        return msgspec.structs.replace(self, better=better) if self.of_level and better else self


def mean_of(
    name: str,
    item_score: Callable[[RatingTable], Floats],
    better: str = "",
    applies_to: Callable[[RatingTable], Mask] = _all,
    *,
    exact: bool = False,
    missing_is_outcome: bool = False,
    label: str = "",
    supports: Callable[[tuple[Value, ...]], bool] = _any,
    of_level: bool = False,
) -> Metric:
    """Return the metric that is the mean of what each rating is worth.

    Args:
        name: of the metric.
        item_score: of each rating of a table, shape (n,); NaN where it says nothing.
        better: `higher`, `lower` or empty.
        applies_to: which ratings it is about; it may look at targets, not at answers.
        exact: each is worth 0 or 1, so that the mean is a share.
        missing_is_outcome: a missing rating is worth something, too.
        label: the level it is about, if one.
        supports: which levels it has something to say of.
        of_level: the worth is the level itself.
    """

    def known(table: RatingTable) -> Floats:
        return (
            np.where(applies_to(table), item_score(table), np.nan)
            if supports(table.levels)
            else np.full(len(table), np.nan)
        )

    def compute(table: RatingTable, weights: Floats) -> Floats:
        values = known(table)
        return ratio(weights @ np.nan_to_num(values), weights @ np.isfinite(values).astype(float))

    return Metric(
        name, compute, better, applies_to, exact, missing_is_outcome, label, additive=True, item_score=known, supports=supports,
        of_level=of_level,
    )  # fmt: skip


def numbered(levels: tuple[Value, ...]) -> bool:
    """Say whether levels are numbers."""
    return all(isinstance(level, int | float) for level in levels)


def level_numbers(table: RatingTable) -> Floats:
    """Return the level of each rating, where levels are numbers, shape (n,); NaN where it is missing."""
    levels = np.array([float(level) for level in table.levels])
    return np.where(table.ok, levels[table.code], np.nan)


def ratio(part: Floats, total: Floats) -> Floats:
    """Divide, NaN where there is nothing to divide by."""
    return np.asarray(np.divide(part, total, out=np.full(np.shape(total), np.nan), where=total > 0))


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

    The interval resamples clusters; a share (`exact`) gets Clopper-Pearson bounds with the clusters as n, so that
    repeats of one conversation count once. A mean that no resample moves, since all conversations have the same value,
    gets the exact interval on its scale (`unanimous`); any other such metric has no interval. `worst` and `best` are the
    least and most favourable of: every missing rating set to one level, for each level, or to its target. The bound of a
    share on its bad side counts missing ratings as bad: it is the bound of `worst`, which it never falls short of. What was
    drawn with known probabilities is weighted by them, and its intervals look at strata and clusters (`stats.sampling`).
    """
    full, table = table, table.rows(metric.applies_to(table))
    missing = int((~table.ok).sum())
    clusters = _different(table.cluster)
    value, low, high, note = _interval(metric, table, resamples, seed)
    fills = (
        [_point(metric, table.filled(code)) for code in (*range(len(table.levels)), None)]
        if missing and not metric.of_status
        else []
    )
    bounds = [v for v in (value, *fills) if v is not None]
    lowest, highest = (min(bounds), max(bounds)) if bounds else (None, None)
    worst, best = (highest, lowest) if metric.better == "lower" else (lowest, highest)
    if metric.exact and missing and worst is not None and value is not None:
        feared = clopper_pearson(worst * clusters, clusters) if table.drawn is None else _feared(metric, table, worst)
        if metric.better == "lower":
            high = max(high or 0.0, feared.high or 0.0)
        elif metric.better == "higher":
            low = min(low or 0.0, feared.low or 0.0)
    return Estimate(
        value, low, high, len(table), clusters, missing, worst, best, *_by_run(metric, table, full.repeats),
        _different(replies(table)), note,
    )  # fmt: skip


def _point(metric: Metric, table: RatingTable) -> float | None:
    value = float(metric.compute(table, table.weights)[0]) if len(table) else np.nan
    return value if np.isfinite(value) else None


def _interval(metric: Metric, table: RatingTable, resamples: int, seed: int) -> Interval:
    if table.drawn is not None and len(table):
        return _weighted(metric, table, table.drawn)
    if metric.exact:
        return _exact(metric, table)
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
    for code in (*range(len(table.levels)), None):
        filled = table.filled(code)
        if _point(metric, filled) == worst:
            return _interval(metric, filled, 1, 0)
    return Interval(worst)


def ends(metric: Metric, table: RatingTable) -> Ends | None:
    """Return the least and the most that a rating of these subjects can be worth, whatever the answers.

    None where the metric is no mean, or where there is but one worth.
    """
    if metric.item_score is None or not len(table):
        return None
    rows = table.at(kinds(table, metric.tags)[0])
    codes = [rows.code, *(np.full(len(rows), code) for code in range(len(rows.levels)))]
    worth = np.concatenate([metric.item_score(msgspec.structs.replace(rows, code=code)) for code in codes])
    if not np.isfinite(worth).any():
        return None
    lowest, highest = float(np.nanmin(worth)), float(np.nanmax(worth))
    return None if tied(lowest, highest) else (lowest, highest)


def _exact(metric: Metric, table: RatingTable) -> Interval:
    value = _point(metric, table)
    if value is None:
        return Interval(None, undefined="the share is not defined on these ratings")
    used = table.cluster if metric.missing_is_outcome else table.cluster[table.ok]
    n = _different(used)
    return Interval(value, *clopper_pearson(value * n, n)[1:])


def replies(table: RatingTable) -> Codes:
    """Number what was rated: of several ratings of one subject in one repeat, all have one number."""
    return np.asarray(table.subject * (int(table.repeats.max(initial=0)) + 1) + table.repeats)


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


def _by_run(metric: Metric, table: RatingTable, repeats: Codes) -> tuple[int, float | None, float | None]:
    """Return how many repeats there are, and the mean and sample SD of what the metric says of each alone."""
    counts = np.bincount(repeats)
    runs, sizes = np.flatnonzero(counts), counts[counts > 0]
    if metric.across_runs or not len(table) or sizes.min() != sizes.max():
        return len(runs), None, None
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
