"""Ratings as columns, and what is computed of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec
import numpy as np

from mindgauge.benchmarks.metrics.metric_sentences import MetricWords
from mindgauge.records import Value
from mindgauge.records.english import words as in_words
from mindgauge.stats import sampling
from mindgauge.stats.codes import dense
from mindgauge.stats.ratio import ratio

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mindgauge.records.rounding import Kind
    from mindgauge.records.rubric import Criterion
    from mindgauge.stats.survival import Waits

Floats: TypeAlias = "NDArray[np.float64]"
Codes: TypeAlias = "NDArray[np.intp]"
Mask: TypeAlias = "NDArray[np.bool_]"
Texts: TypeAlias = "NDArray[np.str_]"
Tags: TypeAlias = "NDArray[np.object_]"
COEFFICIENT = (-1.0, 1.0)
"""The limits of a coefficient of agreement or of correlation."""


class RatingTable(msgspec.Struct, frozen=True, dict=True):
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

    @functools.cached_property
    def clusters(self) -> int:
        """How many clusters there are."""
        return _different(self.cluster)

    @functools.cached_property
    def replies(self) -> Codes:
        """What was rated, by number: of several ratings of one subject in one repeat, all have one number."""
        return np.asarray(self.subject * (int(self.repeats.max(initial=0)) + 1) + self.repeats)

    @functools.cached_property
    def replied(self) -> int:
        """How many replies were rated."""
        return _different(self.replies)

    @functools.cached_property
    def _clustered(self) -> bool:
        """Whether rows are in the order of their clusters, which are numbered without gaps."""
        steps = np.diff(self.cluster, prepend=0)
        return bool(((steps == 0) | (steps == 1)).all()) and not self.cluster[:1].any()

    @functools.cached_property
    def _kinds(self) -> dict[tuple[str, ...], tuple[RatingTable, Codes]]:
        """What `kinds` returned before, by tags."""
        return {}

    @functools.cached_property
    def _per_cluster(self) -> dict[tuple[str, ...], tuple[RatingTable, Floats]]:
        """What `per_cluster` returned before, by tags."""
        return {}

    def kinds(self, tags: tuple[str, ...] = ()) -> tuple[RatingTable, Codes]:
        """Return the first rating of each kind, K in all, and the kind of every rating, shape (n,).

        A kind is a code with a target and a status, and with a value of each of some tags.
        """
        if tags not in self._kinds:
            q = len(self.levels) + 1
            key = (self.code + 1) * q + self.target + 1
            for column in (self.status, *(self.tags[name].astype(str) for name in tags)):
                if (column == column[:1]).all():
                    continue
                values = np.unique(column, return_inverse=True)[1]
                key = dense(key * (values.max() + 1) + values)[1]
            kind = dense(key)[1]
            first = np.empty(kind.max(initial=-1) + 1, dtype=np.intp)
            first[kind[::-1]] = np.arange(len(kind))[::-1]
            self._kinds[tags] = self.at(first), kind
        return self._kinds[tags]

    def counted(self, group: Codes, groups: int, tags: tuple[str, ...] = ()) -> tuple[RatingTable, Floats]:
        """Return the first rating of each kind, and how many of each kind each group has, shape (groups, K)."""
        rows, kind = self.kinds(tags)
        counts = np.bincount(group * len(rows) + kind, minlength=groups * len(rows))
        return rows, counts.reshape(groups, len(rows)).astype(np.float64)

    def per_cluster(self, tags: tuple[str, ...] = ()) -> tuple[RatingTable, Floats]:
        """Return the first rating of each kind, and how many of each kind each cluster has, shape (C, K)."""
        if tags not in self._per_cluster:
            self._per_cluster[tags] = self.counted(self.cluster, self.clusters, tags)
        return self._per_cluster[tags]

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
        if self._clustered and mask.all():
            return self
        selected = self
        if not mask.all() or (np.diff(self.cluster) < 0).any():
            places = np.flatnonzero(mask)
            selected = self.at(places[np.argsort(self.cluster[places], kind="stable")])
        return msgspec.structs.replace(
            selected, cluster=np.cumsum(np.diff(selected.cluster, prepend=selected.cluster[:1]) > 0)
        )

    def filled(self, code: int | None) -> RatingTable:
        """Return the table with missing ratings set to one level, or to their target if `code` is None."""
        filling = self.target if code is None else np.full(len(self), code)
        return msgspec.structs.replace(self, code=np.where(self.ok, self.code, filling))

    def codes(self, *values: Value) -> Codes:
        """Return the codes of some levels."""
        return np.array([self.levels.index(value) for value in values], dtype=np.intp)


def _different(codes: Codes) -> int:
    return int(np.count_nonzero(np.bincount(codes)))


def _all(table: RatingTable) -> Mask:
    return np.ones(len(table), dtype=bool)


class Items(NamedTuple):
    """What a metric counts: m items, each of one rating or of several, such as the turns of a dialogue.

    Ratings of one item lie in one cluster and one repeat, so that they have one weight.
    """

    first: Codes
    """Where each stands first, shape (m,), rising."""
    missing: Mask
    """Which are not known for want of ratings, shape (m,)."""


def _filled(table: RatingTable) -> Iterator[RatingTable]:
    """Set missing ratings to each level in turn, and to their targets."""
    return (table.filled(code) for code in (*range(len(table.levels)), None))


def _any(levels: tuple[Value, ...]) -> bool:  # noqa: ARG001 - whatever they are
    return True


class Recognition(NamedTuple):
    """From the first plain sign of m dialogues to the first reply that recognises it.

    `first` is where each dialogue's first plain turn stands, `waits` has turns: 0 where the reply to that sign recognises it;
    where none does by the end, the last turn, censored. A turn without a rating ends what is known before the first
    recognition: censored at the turn before, -1 where even the first is unknown, and then `missing`.
    """

    first: Codes
    waits: Waits
    missing: Mask
    followed: int
    """The most turns that a dialogue has from its first plain sign on."""


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
    """It, and what it applies to, depend only on how many ratings of each code, target and status there are, so that equal
    ones are counted once."""
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
    limits: tuple[float, float] | None = None
    """The least and the largest value it can have, where it is neither a share nor a level and has such."""
    of_read: str = ""
    """The metric that counts a missing answer as wrong and is otherwise the same, where this one leaves it out."""
    chance: Callable[[RatingTable], float | None] | None = None
    """Its value under guessing, where all levels are options of every sample."""
    words: MetricWords = MetricWords()
    fold: Callable[[RatingTable], Items] | None = None
    """Where several ratings make one item: which items there are among the ratings that it applies to. Its n counts items
    then, and `item_score` has the shape (m,)."""
    waits: Callable[[RatingTable], Recognition] | None = None
    """Where it is a restricted mean of waits: these. Such metrics can be compared cluster by cluster."""
    expected: bool = False
    """Whether a user looks for it, since it is their own: where it is not defined, that is said, and it is not left out."""
    fills: Callable[[RatingTable], Iterator[RatingTable]] = _filled
    """The ways of filling in missing ratings, the least and the most favourable for each item among them."""

    def items(self, table: RatingTable) -> Items:
        """Return what it counts: its folded items, or else each rating that it applies to."""
        if self.fold is not None:
            return self.fold(table)
        places = np.flatnonzero(self.applies_to(table))
        return Items(places, ~table.ok[places])

    def worth(self, table: RatingTable) -> Floats:
        """Return what each of its items is worth, shape (m,), NaN where one says nothing; it is the mean of these.

        Raises:
            ValueError: it is no mean.
        """
        if self.item_score is None:
            raise ValueError(f"{self.name} is no mean of items")
        worth = self.item_score(table)
        return worth if self.fold is not None else worth[self.items(table).first]

    @property
    def part(self) -> bool:
        """Whether it is about one label of the subjects that have it, whoever answers."""
        return bool(self.label) and self.item_score is not None

    def suits(self, criterion: Criterion) -> bool:
        """Whether it is computed on a criterion."""
        return (not self.criteria or criterion.name in self.criteria) and self.supports(criterion.values)

    def titled(self, criterion: str = "", *, own_answers: bool = False) -> str:
        """Name it in a sentence, on a criterion; of a model's own answers, only where its title has a place for one."""
        title = self.words.title or f"{in_words(self.name)}{' {}' * bool(criterion and not own_answers)}"
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


def mean_of_items(
    name: str,
    items: Callable[[RatingTable], Codes],
    item_score: Callable[[RatingTable], Floats],
    better: str,
    *,
    exact: bool = False,
    supports: Callable[[tuple[Value, ...]], bool] = _any,
    criteria: tuple[str, ...] = (),
    fills: Callable[[RatingTable], Iterator[RatingTable]] = _filled,
    words: MetricWords = MetricWords(),  # noqa: B008 - frozen
) -> Metric:
    """Return the metric that is the mean over items of several ratings each, such as dialogues; each counts once.

    Args:
        name: of the metric.
        items: the item of each rating, shape (n,), 0 to m-1 in the order of their first ratings; -1 for ratings of none.
        item_score: of each item, shape (m,); NaN where missing ratings leave it open.
        better: `higher`, `lower` or empty.
        exact: each is worth 0 or 1, so that the mean is a share.
        supports: which levels it has something to say of.
        criteria: that it is computed on; all, if none is named.
        fills: the ways of filling in missing ratings; each level everywhere, if not given.
        words: of it.
    """

    def known(table: RatingTable) -> Floats:
        return item_score(table) if supports(table.levels) else np.full(len(first_of(items(table))), np.nan)

    def fold(table: RatingTable) -> Items:
        return Items(first_of(items(table)), np.isnan(known(table)))

    def compute(table: RatingTable, weights: Floats) -> Floats:
        values, drawn = known(table), weights[:, first_of(items(table))]
        return ratio(drawn @ np.nan_to_num(values), drawn @ np.isfinite(values).astype(float))

    return Metric(
        name, compute, better, lambda table: items(table) >= 0, exact, item_score=known, supports=supports, criteria=criteria,
        words=words, fold=fold, fills=fills,
    )  # fmt: skip


def first_of(item: Codes) -> Codes:
    """Return where each item stands first, shape (m,), of the item of each rating, -1 for ratings of none."""
    numbers, first = np.unique(item, return_index=True)
    return first[numbers >= 0]


@functools.cache
def numbered(levels: tuple[Value, ...]) -> bool:
    """Say whether levels are numbers."""
    return all(isinstance(level, int | float) for level in levels)


def level_numbers(table: RatingTable) -> Floats:
    """Return the level of each rating, where levels are numbers, shape (n,); NaN where it is missing."""
    levels = np.array([float(level) for level in table.levels])
    return np.where(table.ok, levels[table.code], np.nan)
