"""From ratings of several systems to scores that can be compared in pairs: conversations × systems."""

from __future__ import annotations

import itertools
from itertools import combinations
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec
import numpy as np

from mindgauge.benchmarks.metrics import estimate
from mindgauge.benchmarks.metrics.conversations import HORIZON
from mindgauge.benchmarks.metrics.estimates import ends
from mindgauge.records.command_result import Tabular
from mindgauge.records.english import named
from mindgauge.stats import comparison, survival
from mindgauge.stats.interval import Interval
from mindgauge.stats.proportion import clopper_pearson, difference_of_shares
from mindgauge.stats.ratio import ratio
from mindgauge.stats.significance import holm

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from mindgauge.benchmarks.metrics import Metric, RatingTable
    from mindgauge.benchmarks.metrics.table import Codes, Floats, Mask, Recognition
    from mindgauge.stats.interval import Ends
    from mindgauge.stats.survival import Waits


class ComparedSystem(msgspec.Struct, frozen=True):
    """A model as one run measured it; or a constant rater (`baseline`), which belongs to no run.

    `label` is unique among the systems of a comparison: the model's name, with the run's where several have it.
    """

    label: str
    run: str
    model: str
    baseline: bool = False
    part: str = ""
    """The value of a tag by which the model's replies are parted, where parts of one model are compared."""


class Cost(msgspec.Struct, frozen=True):
    """What a thousand of a system's replies, or of its answers to a closed question, take, as its run had it.

    `cost` is in US dollars, `seconds` the time that the model takes one after the other. None where it is unknown: the
    run holds no calls, or, for the cost, one without a price. A classifier makes no calls and costs none.
    """

    benchmark: str
    system: str
    answers: int
    cost: float | None
    seconds: float | None


class SystemStanding(msgspec.Struct, frozen=True):
    """Where a system stands on one measure, on the samples that are compared; 1 is best, ties share their ranks' mean.

    `value` is the mean over conversations, each counting once, on the samples that another system answered too; a share has exact bounds on them. `rank_low` and `rank_high` bound the ranks of all systems
    at once with 95 % confidence; `best` is the share of resamples in which it was first. Of `n` replies or answers in
    `clusters` conversations, `missing` have no value. `pooled` is the value as `score` has it: over all ratings of the
    system, each counting once, also of samples that others did not answer.
    """

    system: str
    value: float | None
    low: float | None
    high: float | None
    rank: float | None
    rank_low: int | None
    rank_high: int | None
    best: float | None
    n: int
    clusters: int
    missing: int
    pooled: float | None = None


class SystemDifference(msgspec.Struct, frozen=True):
    """By how much the first system's value exceeds the second's, on what both answered.

    That are `n` samples of `clusters` conversations, each of which counts once; a conversation's difference is the mean over
    the samples of which both have a value. Where a share differs in only a few of
    them, resamples know too little and the interval is made of exact bounds, which are wide. With few
    conversations interval and p may disagree, and only both together tell two apart. `p` is of the sign-flip test, `adjusted` by Holm for all pairs of the measure. `told_apart`: the interval leaves out 0
    and `adjusted` is at most .05; None where neither can be computed. `better` names the better one of two that can be
    told apart. `worst` and `best` are the difference if all missing ratings were as bad, or as good, for the first
    as they can be; as the samples with values differ, where that is further out.
    """

    first: str
    second: str
    value: float | None
    low: float | None
    high: float | None
    p: float | None
    adjusted: float | None
    told_apart: bool | None
    better: str
    n: int
    clusters: int
    worst: float | None
    best: float | None


class Measure(msgspec.Struct, frozen=True):
    """One metric on one slice, as one rater has it (the systems themselves where `rater` is empty).

    `unit` is `share` or `level`. `direction` says which values are better: `higher`, `lower`, or empty where neither is, and there are no ranks.
    `rate_replies` and `rank_systems` are what the rater's reliability card allows, empty where it has none. `left_out`
    samples were answered by one system alone.
    """

    benchmark: str
    name: str
    criterion: str
    slice: str
    rater: str
    unit: str
    direction: str
    rate_replies: str
    rank_systems: str
    left_out: int
    standings: list[SystemStanding]
    differences: list[SystemDifference]
    missing_as: str = ""
    """What an answer without a value counts as, `right` or `wrong`; empty where it is neither, or none is missing."""
    title: str = ""
    """What it is called in a sentence, its criterion included where others rate."""
    unused: str = ""
    """Why it may not be shown though others of this rater may: it is about the worst level alone, which the rater does not use."""
    tag: str = ""
    """The tag whose values are its systems, all of one `model`; empty where models are compared."""
    model: str = ""

    @property
    def part(self) -> bool:
        """Whether it is about one label of the subjects that have it."""
        return self.slice.startswith("label=")


class SystemComparison(Tabular, msgspec.Struct, frozen=True):
    """All systems on all measures that they have in common. `notes` says what was not compared, and why."""

    runs: list[str]
    systems: list[ComparedSystem]
    measures: list[Measure]
    costs: list[Cost]
    notes: list[str]
    headlines: dict[str, tuple[str, ...]] = {}
    """The metrics that each benchmark goes by."""
    tag: str = ""
    """The tag whose values are compared within each model; empty where models are compared."""

    @property
    def table(self) -> pl.DataFrame:
        """The differences, one row for each measure and two systems; `value` is the first's less the second's.

        The first columns are `first`, `second`, `benchmark`, `metric` (in words), `value`, `low`, `high` (95 %), `n`, `better` and
        `told_apart`.
        """
        return self._rows("differences", SystemDifference, ("first", "second"), ("better", "told_apart"))

    @property
    def standings(self) -> pl.DataFrame:
        """Where each system stands, one row for each measure and system.

        The first columns are `model`, `benchmark`, `metric` (in words), `value`, `low`, `high` (95 %), `n`, `missing` and `rank`.
        """
        return self._rows("standings", SystemStanding, ("system",), ("missing", "rank")).rename({"system": "model"})

    def _rows(self, part: str, kind: type[msgspec.Struct], who: Sequence[str], then: Sequence[str]) -> pl.DataFrame:
        """Tabulate a part of all measures: who, what, how much, and then the rest."""
        import polars as pl

        about = (
            "benchmark",
            "slice",
            "rater",
            "criterion",
            "rate_replies",
            "rank_systems",
            "name",
            "unit",
            "direction",
        )
        rows = [
            {"metric": measure.title or measure.name, **{column: getattr(measure, column) for column in about}}
            | msgspec.structs.asdict(row)
            for measure in self.measures
            for row in getattr(measure, part)
        ]
        first = (*who, "benchmark", "metric", "value", "low", "high", "n", *then)
        columns = dict.fromkeys((*first, *about, *kind.__struct_fields__))
        return pl.DataFrame(rows, [*columns], infer_schema_length=None) if rows else pl.DataFrame(schema=[*columns])

    def summary(self) -> list[str]:
        """Say what was compared; who is better is shown where it is known which judges may be believed (`reports`)."""
        return [f"{named([system.label for system in self.systems])}: {len(self.measures)} measures in .table"]

    def find(self, name: str, slice_: str = "all", **fields: str) -> list[Measure]:
        """Return the measures of this name and slice whose other fields are as given."""
        return [
            m
            for m in self.measures
            if m.name == name and m.slice == slice_ and all(getattr(m, k) == v for k, v in fields.items())
        ]


class PairedScores(NamedTuple):
    """Mean scores of S systems in C conversations, shape (C, S).

    `value` is NaN where a value is missing; `lowest` and `highest` take missing ratings for worth the least, or the most,
    that they can be. A system's score of a conversation is the mean over its samples that another system answered too, a
    sample's the mean over its repeats. Each two systems are compared on the samples of which both have a value (`gaps`).
    """

    value: Floats
    lowest: Floats
    highest: Floats
    present: Mask
    conversation: Codes
    """Which conversation each row is, as the table numbers them, shape (C,)."""
    samples: Codes
    """How many samples with answers of two systems or more each conversation holds, shape (C,)."""
    replies: Codes
    """How many replies, answers or dialogues of each system went in, shape (S,): several verdicts on one are one."""
    missing: Codes
    """How many of them have no value, shape (S,)."""
    missing_as: str
    """What a missing rating is worth: the `least` or the `most` that it can be; empty where neither holds, or none is missing."""
    pooled: Floats
    """Each system's mean over all its ratings, each counting once, those of samples that are left out too; shape (S,)."""
    ends: Ends | None
    """The least and the most that any score can be; None where there is but one."""
    left_out: int
    """Samples that one system alone answered."""
    by_sample: Floats | None = None
    """`value`, `lowest` and `highest` of single samples, shape (3, S, N); None where all present have values of the same ones."""
    row: Codes = np.zeros(0, dtype=np.intp)
    """The row of each of these samples, shape (N,)."""

    def of(self, systems: Codes) -> PairedScores:
        """Return the scores of some systems, in that order."""
        value, lowest, highest = (scores[:, systems] for scores in (self.value, self.lowest, self.highest))
        present, replies, missing = self.present[:, systems], self.replies[systems], self.missing[systems]
        return PairedScores(
            value, lowest, highest, present, self.conversation, self.samples, replies, missing, self.missing_as, self.pooled[systems],
            self.ends, self.left_out, None if self.by_sample is None else self.by_sample[:, systems], self.row,
        )  # fmt: skip

    def gaps(self, first: int, second: int) -> tuple[Floats, Floats, Floats, int]:
        """Return the first system's score less the second's, the least and the most it can be, each (C,), and of how many samples.

        The difference is that on the samples of which both have a value, and may lie outside of its bounds, which are on all
        that both answered; NaN where there are none.
        """
        scores = (self.value.T, self.lowest.T, self.highest.T) if self.by_sample is None else self.by_sample
        gaps = differences(*([matrix[system] for matrix in scores] for system in (first, second)))
        valued = np.isfinite(gaps[0])
        if self.by_sample is None:
            return gaps[0], gaps[1], gaps[2], int(self.samples[valued].sum())
        means = by_conversation(gaps, self.row, len(self.samples)).T
        return means[0], means[1], means[2], int(valued.sum())


def differences(first: Sequence[Floats], second: Sequence[Floats]) -> Floats:
    """Return by how much one exceeds the other in each sample, and the least and the most it can be, shape (3, n).

    Args:
        first: values, NaN where one is missing, and the least and the most that they can be, each of shape (n,).
        second: those of the other.
    """
    return np.stack([first[0] - second[0], first[1] - second[2], first[2] - second[1]])


def pair(metric: Metric, table: RatingTable, system: Codes, sample: Codes) -> PairedScores:
    """Score each system on the samples that it shares with another.

    Args:
        metric: one that says what each rating is worth.
        table: ratings of all systems together.
        system: shape (n,), the system of each rating, 0 to S-1.
        sample: shape (n,), the sample of each rating, 0 to N-1.
    """
    systems, samples = int(system.max()) + 1, int(sample.max()) + 1
    conversation = np.zeros(samples, dtype=np.intp)
    conversation[sample] = table.cluster
    items = metric.items(table)
    system, sample = system[items.first], sample[items.first]
    cell = system * samples + sample

    def summed(values: Floats | None = None) -> Floats:
        return np.bincount(cell, values, systems * samples).reshape(systems, samples).astype(np.float64)

    item_scores = metric.worth(table)
    lowest, highest = bounds(metric, table)
    total, valued = summed(), summed(np.isfinite(item_scores).astype(float))
    shared = (total > 0).sum(axis=0) > 1
    pooled = ratio(summed(np.nan_to_num(item_scores)).sum(axis=1), valued.sum(axis=1))
    used, row = np.unique(conversation[shared], return_inverse=True)
    by_sample = np.stack(
        [
            ratio(summed(np.nan_to_num(values)), counts)[:, shared]
            for values, counts in ((item_scores, valued), (lowest, total), (highest, total))
        ]
    )
    value, low, high = (by_conversation(means, row, len(used)) for means in by_sample)
    equality = np.array_equal(np.isfinite(by_sample[0]), np.isfinite(low).T[:, row])
    missing = summed(items.missing.astype(float))
    return PairedScores(
        value, low, high, np.isfinite(low), used, np.bincount(row, minlength=len(used)),
        _different(systems, system, table.replies[items.first], shared[sample]), missing[:, shared].sum(axis=1).astype(np.intp),
        _missing_as(items.missing, item_scores, lowest, highest), pooled, ends(metric, table),
        int(((total > 0).any(axis=0) & ~shared).sum()), None if equality else by_sample, row,
    )  # fmt: skip


def _missing_as(missing: Mask, item_scores: Floats, lowest: Floats, highest: Floats) -> str:
    """Return what missing ratings are worth, where that is the same for all of them."""
    if not missing.any() or np.array_equal(lowest[missing], highest[missing]):
        return ""
    if np.array_equal(item_scores[missing], lowest[missing]):
        return "least"
    return "most" if np.array_equal(item_scores[missing], highest[missing]) else ""


def _different(systems: int, system: Codes, reply: Codes, counted: Mask) -> Codes:
    """Count the different replies of each system among some ratings, shape (S,)."""
    occurs = np.zeros((systems, int(reply.max(initial=-1)) + 1), dtype=bool)
    occurs[system[counted], reply[counted]] = True
    return np.asarray(occurs.sum(axis=1), dtype=np.intp)


def bounds(metric: Metric, table: RatingTable) -> tuple[Floats, Floats]:
    """Return the least and the most that each item can be worth: a missing rating might have any level, or its target."""
    if table.ok.all():
        item_scores = metric.worth(table)
        return item_scores, item_scores
    fills = [metric.worth(filled) for filled in metric.fills(table)]
    return np.fmin.reduce(fills), np.fmax.reduce(fills)


def by_conversation(means: Floats, row: Codes, rows: int) -> Floats:
    """Average each row of `means` (S, N) over the samples of a conversation that have a value, shape (C, S)."""
    counts, sums = (
        np.stack([np.bincount(row, weights, rows) for weights in parts], axis=1)
        for parts in (np.isfinite(means), np.nan_to_num(means))
    )
    return ratio(sums, counts)


ALPHA = 0.05
FLIPS_PER_PAIR = 40
"""So that a p-value can be small enough to pass Holm's adjustment for all pairs."""


def contrasts(
    metric: Metric, systems: Sequence[str], scores: PairedScores, *, resamples: int = 2000, seed: int = 0
) -> tuple[list[SystemStanding], list[SystemDifference]]:
    """Compare the systems that have scores, the best first.

    Args:
        metric: what the scores are of.
        systems: S names.
        scores: of these systems.
        resamples: of conversations, and of signs; more are drawn where many pairs are compared.
        seed: of their generators.
    """
    present = np.flatnonzero(scores.present.any(axis=0))
    better: Literal["higher", "lower"] = "lower" if metric.better == "lower" else "higher"
    order = present[_best_first(scores.value[:, present], better)]
    scores, names = scores.of(order), [systems[i] for i in order]
    draws = max(resamples, FLIPS_PER_PAIR * len(names) * (len(names) - 1) // 2)
    gaps = None if scores.by_sample is None else np.stack([scores.gaps(*pair)[0] for pair in combinations(range(len(names)), 2)], axis=1)  # fmt: skip
    result = comparison.compare(scores.value, better=better, resamples=draws, seed=seed, ends=scores.ends, gaps=gaps)
    standings = [_standing(metric, names, scores, place, item) for place, item in enumerate(result.standings)]
    return standings, [_difference(metric, names, scores, item) for item in result.differences]


def _best_first(scores: Floats, better: str) -> Codes:
    valued = np.isfinite(scores)
    counts = valued.sum(axis=0)
    sums = np.where(valued, scores, 0.0).sum(axis=0)
    means = ratio(sums, counts, np.inf if better == "lower" else -np.inf)
    return np.argsort(means if better == "lower" else -means, kind="stable")


def _standing(
    metric: Metric, names: list[str], scores: PairedScores, place: int, standing: comparison.MeanRank
) -> SystemStanding:
    ranked = metric.better != "" and standing.certain is not None
    low, high = standing.certain if ranked and standing.certain else (None, None)
    mean = (
        _share(metric, scores, place, standing) if metric.exact and standing.mean.value is not None else standing.mean
    )
    return SystemStanding(
        names[place], *mean[:3], standing.rank if ranked else None, low, high, standing.best if ranked else None,
        int(scores.replies[place]), standing.n, int(scores.missing[place]),
        float(scores.pooled[place]) if np.isfinite(scores.pooled[place]) else None,
    )  # fmt: skip


def _share(metric: Metric, scores: PairedScores, place: int, standing: comparison.MeanRank) -> Interval:
    """Bound a share exactly, conversations as n; its bound on the bad side counts missing ratings as bad."""
    value = standing.mean.value or 0.0
    _, low, high, _ = clopper_pearson(value * standing.n, standing.n)
    present = scores.present[:, place]
    if scores.missing[place] and metric.better:
        feared = _mean((scores.highest if metric.better == "lower" else scores.lowest)[present, place]) or 0.0
        bound = clopper_pearson(feared * present.sum(), float(present.sum()))
        low, high = (low, bound.high) if metric.better == "lower" else (bound.low, high)
    return Interval(value, low, high)


def _difference(
    metric: Metric, names: list[str], scores: PairedScores, difference: comparison.MeanDifference
) -> SystemDifference:
    first, second = difference.first, difference.second
    gaps, floors, ceilings, n = scores.gaps(first, second)
    value, low, high, _ = (
        difference_of_shares(gaps[np.isfinite(gaps)], difference.difference) if metric.exact else difference.difference
    )
    told_apart, better = None, ""
    if value is not None and low is not None and high is not None and difference.adjusted is not None:
        told_apart = not low <= 0 <= high and difference.adjusted <= ALPHA
        if told_apart and metric.better:
            better = names[first if (value > 0) == (metric.better == "higher") else second]
    # The mean over what has values may be none that all could have: the bounds hold it as well.
    lowest, highest = (_mean(bound[np.isfinite(bound)]) for bound in (floors, ceilings))
    if value is not None and lowest is not None and highest is not None:
        lowest, highest = min(lowest, value), max(highest, value)
    worst, best = (highest, lowest) if metric.better == "lower" else (lowest, highest)
    return SystemDifference(
        names[first], names[second], value, low, high, difference.p, difference.adjusted, told_apart, better,
        n, difference.n, worst, best,
    )  # fmt: skip


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if len(values) else None


def wait_contrasts(
    metric: Metric, names: Sequence[str], table: RatingTable, system: Codes, *, resamples: int = 2000, seed: int = 0
) -> tuple[list[SystemStanding], list[SystemDifference]]:
    """Compare systems in pairs on the personas that both have waits of; the quickest first, without ranks.

    Args:
        metric: of waits.
        names: of the S systems.
        table: ratings of all systems together.
        system: shape (n,), the system of each rating, 0 to S-1.
        resamples: of personas, and swaps.
        seed: of their generators.
    """
    assert metric.waits is not None
    tables = {
        place: table.at(np.flatnonzero(system == place)) for place in range(len(names)) if (system == place).any()
    }
    followed = {place: metric.waits(own) for place, own in tables.items()}
    followed = {place: waits for place, waits in followed.items() if (waits.waits.time >= 0).any()}
    standings = [_wait_standing(metric, names[place], tables[place], resamples, seed) for place in followed]
    pairs = [
        (a, b, between)
        for a, b in itertools.combinations(followed, 2)
        if (between := _between(followed[a], followed[b], resamples, seed)) is not None
    ]
    adjusted = iter(holm(np.array([between.p for *_, between in pairs if between.p is not None], dtype=np.float64)))
    found = []
    for first, second, between in pairs:
        value, low, high, *_ = between.difference
        p = float(next(adjusted)) if between.p is not None else None
        apart = None if p is None or low is None or high is None else bool(p <= ALPHA and not low <= 0 <= high)
        better = (names[first] if (value or 0) < 0 else names[second]) if apart else ""
        n = sum(int((followed[place].waits.time >= 0).sum()) for place in (first, second))
        systems, clusters = (names[first], names[second]), between.clusters
        found.append(SystemDifference(*systems, value, low, high, between.p, p, apart, better, n, clusters, None, None))
    return sorted(standings, key=lambda standing: np.inf if standing.value is None else standing.value), found


def _wait_standing(metric: Metric, name: str, table: RatingTable, resamples: int, seed: int) -> SystemStanding:
    figure = estimate(metric, table, resamples=resamples, seed=seed)
    return SystemStanding(
        name, figure.value, figure.low, figure.high, None, None, None, None, figure.n, figure.clusters, figure.missing
    )


def _between(first: Recognition, second: Recognition, resamples: int, seed: int) -> survival.WaitDifference | None:
    """Compare the waits of two systems with the personas that both have; None where there is none."""
    sides = _of_both([first, second])
    if sides is None:
        return None
    return survival.difference(*sides, _horizon([first, second]), resamples=resamples, seed=seed)


def _horizon(sides: Sequence[Recognition]) -> float:
    return float(min(HORIZON, *(side.followed for side in sides)))


def _of_both(sides: Sequence[Recognition]) -> tuple[Waits, Waits] | None:
    """Return the waits of two systems with the personas of which something is known on both sides; None without any."""
    first, second = (side.waits.rows(side.waits.time >= 0) for side in sides)
    both = np.intersect1d(first.cluster, second.cluster)
    if not len(both):
        return None
    return first.rows(np.isin(first.cluster, both)), second.rows(np.isin(second.cluster, both))


def pair_waits(metric: Metric, table: RatingTable, system: Codes) -> PairedScores | None:
    """Give each of two systems a wait for each persona that both talked with; None where there is none.

    A persona's wait is what it says of the restricted mean (`survival.cluster_means`), so that means over personas are the
    restricted means, censored dialogues and all. Missing ratings are bounded with yes throughout and with no throughout.

    Args:
        metric: of waits.
        table: ratings of both systems together.
        system: shape (n,), the system of each rating, 0 or 1.
    """
    assert metric.waits is not None
    tables = [table.at(np.flatnonzero(system == place)) for place in (0, 1)]
    sides = [metric.waits(own) for own in tables]
    personas = np.intersect1d(sides[0].waits.cluster, sides[1].waits.cluster)
    if not len(personas):
        return None
    horizon = _horizon(sides)
    value = _by_persona(_of_both(sides), personas, horizon)
    fills = [[metric.waits(filled) for filled in metric.fills(own)] for own in tables]
    filled = [_by_persona(_of_both(both), personas, horizon) for both in zip(*fills, strict=True)]
    bounds = np.stack([value, *filled])
    # Where a turn is not there at all, nothing can be filled in: the wait may be any.
    lowest, highest = np.nan_to_num(np.fmin.reduce(bounds)), np.nan_to_num(np.fmax.reduce(bounds), nan=horizon)
    own = [np.isin(side.waits.cluster, personas) for side in sides]
    dialogues = np.bincount(np.searchsorted(personas, sides[0].waits.cluster[own[0]]))
    return PairedScores(
        value, lowest, highest, np.ones(value.shape, dtype=bool), personas, dialogues,
        np.array([mask.sum() for mask in own]), np.array([side.missing[mask].sum() for side, mask in zip(sides, own, strict=True)]),
        "", _by_system(value), (0.0, horizon), 0,
    )  # fmt: skip


def _by_system(value: Floats) -> Floats:
    of_both = value[np.isfinite(value).all(axis=1)]
    return np.asarray(of_both.mean(axis=0)) if len(of_both) else np.full(value.shape[1], np.nan)


def _by_persona(sides: tuple[Waits, Waits] | None, personas: Codes, horizon: float) -> Floats:
    """Return a wait for each persona and side, shape (C, 2); NaN where nothing is known of one on either side."""
    result = np.full((len(personas), 2), np.nan)
    for column, waits in enumerate(sides or ()):
        clusters, means = survival.cluster_means(waits, horizon)
        result[np.searchsorted(personas, clusters), column] = means
    return result
