"""A task's scores: each model's headline, its rank, and how both vary when all models meet the same resamples of conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from mindgauge.analysis.profile.reading import MeasuredPart, TaskHeadline, spelled
from mindgauge.analysis.profile.records import TaskScore
from mindgauge.benchmarks.metrics import accuracy, estimate
from mindgauge.benchmarks.metrics.estimates import ends
from mindgauge.benchmarks.metrics.options import CHANCE
from mindgauge.stats import bootstrap, rank
from mindgauge.stats.interval import Interval
from mindgauge.stats.ratio import ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from mindgauge.benchmarks.metrics.table import Floats
    from mindgauge.benchmarks.suite import Suite, Task
    from mindgauge.stats.interval import Ends


FEW = 10
"""Conversations below which resampling knows too little."""


class ScoredTask(NamedTuple):
    """A task's scores, one for each model of the profile, and of those that have one the scaled values over resamples."""

    task: Task
    scores: list[TaskScore]
    models: list[str]
    scaled: Floats
    """Shape (B, models)."""
    conversations: int
    """Of the model that has fewest."""


class _Value(NamedTuple):
    """A headline's value; `low` and `high` are exact, where it is one share, and otherwise not there."""

    value: float | None
    low: float | None
    high: float | None
    worst: float | None
    best: float | None
    undefined: tuple[str, ...]
    """The parts that are not defined on their ratings."""


NO_VALUE = _Value(None, None, None, None, None, ())


def scored(
    suite: Suite, headline: TaskHeadline, models: Sequence[str], place: int, *, resamples: int, seed: int
) -> ScoredTask:
    """Score a task.

    Args:
        suite: of the task.
        headline: the task's ratings.
        models: all models of the profile; those without ratings get a record that says so.
        place: of the task in the suite.
        resamples: of conversations.
        seed: of their generator.
    """
    task = headline.task
    values = {model: _value(task, parts) for model, parts in headline.models.items()}
    having = {model: parts for model, parts in headline.models.items() if values[model].value is not None}
    drawn = np.zeros((resamples, 0))
    if having:
        drawn = resampled(headline._replace(models=having), resamples, seed, place)
    points = np.array([[task.scaled(v) for model in having if (v := values[model].value) is not None]])
    scaled = _scaled(task, drawn)
    point_ranks = averaged(points) if having else points
    conversations = min((_conversations(parts) for parts in having.values()), default=0)
    places = Places.of(points[0], scaled, conversations)
    columns = {model: column for column, model in enumerate(having)}
    records = []
    for model in models:
        value, column = values.get(model, NO_VALUE), columns.get(model)
        interval = rank = Interval(None)
        if column is not None and value.value is not None:
            reach, clusters = _reach(having[model])
            interval = bootstrap.percentile_interval(value.value, drawn[:, column], ends=reach, clusters=clusters)
            rank = Interval(float(point_ranks[0, column]), *places.may_have(column))
        if value.low is not None:
            interval = Interval(value.value, value.low, value.high)
        records.append(_record(suite, headline, model, value, interval, rank))
    return ScoredTask(task, records, list(having), scaled, conversations)


def _value(task: Task, parts: Sequence[MeasuredPart]) -> _Value:
    """Return the mean over parts; of what missing ratings could make of it, too."""
    # The interval is computed elsewhere, for all models together: one resample is as good as none.
    estimates = [estimate(part.metric, part.table, resamples=1) for part in parts]
    lowest = _mean([None if e.worst is None or e.best is None else min(e.worst, e.best) for e in estimates])
    highest = _mean([None if e.worst is None or e.best is None else max(e.worst, e.best) for e in estimates])
    worst, best = (highest, lowest) if task.better == "lower" else (lowest, highest)
    exact = estimates[0] if len(estimates) == 1 and parts[0].metric.exact else None
    low, high = (exact.low, exact.high) if exact else (None, None)
    undefined = tuple(
        f"{part.metric.name} of {spelled(part.part)}"
        for part, e in zip(parts, estimates, strict=True)
        if e.value is None
    )
    return _Value(_mean([e.value for e in estimates]), low, high, worst, best, undefined)


def _reach(parts: Sequence[MeasuredPart]) -> tuple[Ends | None, int]:
    """Return between which ends the mean over parts lies, if each is a mean, and the fewest conversations behind one."""
    reaches = [ends(part.metric, part.table) for part in parts]
    valued = [reach for reach in reaches if reach is not None]
    if not valued or len(valued) < len(reaches):
        return None, 0
    low, high = (float(np.mean(side)) for side in zip(*valued, strict=True))
    return (low, high), min(
        len(
            np.unique(
                part.table.cluster[part.metric.items(part.table).first[np.isfinite(part.metric.worth(part.table))]]
            )
        )
        for part in parts
        if part.metric.item_score is not None
    )


def _mean(values: Sequence[float | None]) -> float | None:
    valued = [value for value in values if value is not None]
    return float(np.mean(valued)) if valued and len(valued) == len(values) else None


def _scaled(task: Task, values: Floats) -> Floats:
    share = np.clip((values - task.low) / (task.high - task.low), 0.0, 1.0)
    return 1.0 - share if task.better == "lower" else share


def _record(
    suite: Suite, headline: TaskHeadline, model: str, value: _Value, interval: Interval, rank: Interval
) -> TaskScore:
    task, parts = headline.task, headline.models.get(model, ())
    dimension = next(d.name for d in suite.dimensions if task in d.tasks)
    counted = _counted(parts)
    bounds = [None if v is None else task.scaled(v) for v in (interval.low, interval.high)]
    low, high = reversed(bounds) if task.better == "lower" else bounds
    guessed = _mean([_guessed(measured) for measured in parts])
    return TaskScore(
        suite=suite.name,
        dimension=dimension,
        task=task.name,
        title=task.title,
        benchmark=task.benchmark,
        model=model,
        rater=headline.rater,
        metric=" + ".join(dict.fromkeys(part.metric for part in headline.parts)),
        criterion=" + ".join(dict.fromkeys(map(spelled, headline.parts))),
        better=task.better,
        value=value.value,
        low=interval.low,
        high=interval.high,
        scaled=None if value.value is None else task.scaled(value.value),
        scaled_low=low,
        scaled_high=high,
        chance=None if guessed is None else task.scaled(guessed),
        n=len(counted),
        clusters=counted["cluster"].n_unique(),
        missing=int(counted["missing"].sum()),
        worst=value.worst,
        best=value.best,
        defined=task.defined,
        rank=rank.value,
        rank_low=rank.low,
        rank_high=rank.high,
        note=_note(headline, model, value, counted) or interval.undefined,
    )


def _counted(parts: Sequence[MeasuredPart]) -> pl.DataFrame:
    """Return each answer or reply behind a headline once, with its conversation and whether a rating of it is missing."""
    key = {"subject": pl.String, "run": pl.Int64, "cluster": pl.String, "missing": pl.Boolean}
    rows = [part.rows.select("subject", "run", "cluster", missing=pl.col("status") != "ok") for part in parts]
    return (
        pl.concat([pl.DataFrame(schema=key), *rows]).group_by("subject", "run", "cluster").agg(pl.col("missing").any())
    )


def _conversations(parts: Sequence[MeasuredPart]) -> int:
    return int(_counted(parts)["cluster"].n_unique())


def _note(headline: TaskHeadline, model: str, value: _Value, counted: pl.DataFrame) -> str:
    if model not in headline.models:
        return headline.reasons.get(model, "not in these runs")
    if counted.is_empty():
        return "no sample that it could be computed of"
    if value.undefined:
        return f"{', '.join(value.undefined)} cannot be computed of these ratings"
    clusters = counted["cluster"].n_unique()
    if clusters < FEW:
        hint = ": no interval" if clusters < 2 else ": the interval is likely too narrow" if value.low is None else ""
        return f"only {clusters} conversation{'s' * (clusters > 1)}{hint}"
    return ""


def _guessed(measured: MeasuredPart) -> float | None:
    """Return what a part's value would be under guessing, in its own unit; None where that is not known."""
    if measured.part.chance is not None:
        return measured.part.chance
    metric, table = measured.metric, measured.table
    if not len(table):  # texts without targets
        return None
    own = next((m for m in measured.question.metrics if m.name == CHANCE), None)
    if metric.name == accuracy.name and own is not None:
        value = float(own.compute(table, np.ones((1, len(table))))[0])
        return value if np.isfinite(value) else None
    criterion = measured.part.criterion
    if criterion in measured.question.benchmark.composites or measured.question.criterion.options:
        return None
    return metric.chance(table) if metric.chance is not None else None


NOISE = 1e-9
"""Scores that differ by less differ by rounding."""


def averaged(scores: Floats) -> Floats:
    """Return the ranks of scores of which more is better, shape (B, M); ties share the mean of their ranks.

    NaN throughout a row in which one score is not defined, since nobody's rank among all is known then.
    """
    ranks = [_compared(scores, model).sum(axis=1) for model in range(scores.shape[1])]
    return np.asarray((scores.shape[1] + 1) / 2 + np.stack(ranks, axis=1) / 2)


def least(means: Floats) -> Floats:
    """Return the ranks of means of which less is better, shape (M,); ties all have the better rank."""
    return np.asarray(1.0 + (means[None, :] < means[:, None] - NOISE).sum(axis=1))


class Places(NamedTuple):
    """The ranks that models may have, and whom each cannot be told from, for all models at once; None if unknown."""

    models: int
    ranges: list[tuple[int, int]] | None
    better: NDArray[np.bool_] | None

    @classmethod
    def of(cls, scores: Floats, drawn: Floats, conversations: int) -> Places:
        """Compare models' scores, of which more is better, shape (M,), and over resamples of conversations (B, M)."""
        better = rank.surely_better(scores, drawn, conversations)
        return cls(len(scores), None if better is None else rank.ranges(better), better)

    def may_have(self, place: int) -> tuple[int, int] | tuple[None, None]:
        """Return the best and the worst rank that a model may have."""
        return (None, None) if self.ranges is None else self.ranges[place]

    def untold(self, place: int) -> list[int]:
        """Return the models that cannot be told from one: all others where nothing is known."""
        if self.better is None:
            return [other for other in range(self.models) if other != place]
        distinct = self.better[place] | self.better[:, place]
        return [other for other, is_distinct in enumerate(distinct) if other != place and not is_distinct]


def _compared(scores: Floats, model: int) -> Floats:
    """Return where each model is better (1), equal (0) or worse (-1) than one, shape (B, M)."""
    gaps = scores - scores[:, [model]]
    return np.sign(np.where(np.abs(gaps) < NOISE, 0.0, gaps))


# All models of a task under the same resamples of its conversations.


class _ConversationTotals(NamedTuple):
    """What a part is computed of: each conversation's totals (C, K), and from totals (B, K) its values (B,).

    A metric that is no function of totals has none, and is computed from the weights of conversations themselves.
    """

    totals: Floats | None
    values: Callable[[Floats], Floats]


def resampled(headline: TaskHeadline, resamples: int, seed: int, place: int) -> Floats:
    """Return the values of a headline over resamples of conversations, shape (B, models).

    The same conversations are drawn for all models and parts. NaN where a value is not defined, and everywhere where
    there are fewer than two conversations, since then nothing is known of how much a value could differ.

    Args:
        headline: the task's parts.
        resamples: B.
        seed: of the generator.
        place: of the task in its suite; tasks are drawn independently of each other.
    """
    names = sorted(
        {name for parts in headline.models.values() for part in parts for name in part.rows["cluster"].unique()}
    )
    if len(names) < 2:
        return np.full((resamples, len(headline.models)), np.nan)
    numbers = {name: number for number, name in enumerate(names)}
    blocks = [[_block(part, numbers) for part in parts] for parts in headline.models.values()]
    flat = [block for model_blocks in blocks for block in model_blocks]
    columns = [block.totals for block in flat if block.totals is not None]
    by_weights = any(block.totals is None for block in flat)
    sums = np.hstack([*([np.eye(len(names))] if by_weights else []), *columns])
    types, counts, _ = bootstrap.types(sums)
    rows = max(len(part.table) for parts in headline.models.values() for part in parts)
    # A seed sequence of its own for each task, so that no two tasks are drawn alike.
    drawn = bootstrap.draw(counts, resamples, np.random.SeedSequence([seed, place]), columns=max(rows, sums.shape[1]))
    values = [_values(np.asarray(weights @ types), blocks, len(names) if by_weights else 0) for weights in drawn]
    return np.concatenate(values)


def _values(totals: Floats, blocks: Sequence[Sequence[_ConversationTotals]], start: int) -> Floats:
    """Return the mean over parts of each model, shape (B, models), from the totals of all blocks side by side."""
    means = []
    weights = totals[:, :start]
    for parts in blocks:
        values = []
        for block in parts:
            if block.totals is None:
                values.append(block.values(weights))
                continue
            end = start + block.totals.shape[1]
            values.append(block.values(totals[:, start:end]))
            start = end
        means.append(np.mean(values, axis=0))
    return np.stack(means, axis=1)


def _block(part: MeasuredPart, numbers: dict[str, int]) -> _ConversationTotals:
    metric, table, clusters = part.metric, part.table, len(numbers)
    cluster = np.array([numbers[name] for name in part.rows["cluster"]], dtype=np.intp)
    if metric.item_score is not None:
        item_scores, own = metric.worth(table), cluster[metric.items(table).first]
        valued = np.isfinite(item_scores)
        sums = [np.bincount(own, column, clusters) for column in (np.where(valued, item_scores, 0.0), valued)]
        return _ConversationTotals(np.stack(sums, axis=1), lambda totals: ratio(totals[:, 0], totals[:, 1]))
    if not metric.additive:
        return _ConversationTotals(None, lambda weights: metric.compute(table, weights[:, cluster]))
    rows, totals = table.counted(cluster, clusters, metric.tags)
    return _ConversationTotals(totals, lambda sums: metric.compute(rows, sums))
