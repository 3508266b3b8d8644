"""From runs to a profile: a dimension is the mean of its tasks that all its models have, and says who stands where in it."""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from mindgauge.analysis.profile import reading
from mindgauge.analysis.profile.reading import MeasuredPart, TaskHeadline, headline, spelled
from mindgauge.analysis.profile.records import DimensionScore, Profile, TaskScore
from mindgauge.benchmarks.metrics import accuracy, estimate
from mindgauge.benchmarks.metrics.estimates import ends
from mindgauge.benchmarks.metrics.variants import CHANCE
from mindgauge.records.errors import UsageError
from mindgauge.stats import bootstrap, rank
from mindgauge.stats.interval import AGREED, SAME, Interval
from mindgauge.stats.ratio import ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mindgauge.analysis.profile.reading import ProfileMaterial
    from mindgauge.benchmarks.metrics.table import Floats
    from mindgauge.benchmarks.suite import Dimension, Suite, Task
    from mindgauge.stats.interval import Ends

    _Block = tuple[Floats | None, Callable[[Floats], Floats]]


def profile(folders: Sequence[Path], *, judge: str | None = None, resamples: int = 10_000, seed: int = 0) -> Profile:
    """Profile the models of some runs over the dimensions of a suite.

    Every task has one score, its headline, on the samples that all its models have; a model's repeats are pooled. It is
    scaled to [0, 1], 1 best, and a dimension is the mean of the scaled scores of the tasks that all its models have.
    Nothing is imputed. One bootstrap of all tasks gives the intervals: within a task the same conversations are drawn
    for all models, over tasks independently; so ranks have intervals, and differences are paired. Of a task that is
    one share, the interval of the score is exact (Clopper-Pearson); all others are percentiles.

    Args:
        folders: run directories.
        judge: whose ratings of replies count; if not given, the judge that the runs name first.
        resamples: of conversations.
        seed: of their generator.

    Raises:
        UsageError: there is no run in a folder, no task of a suite in any, or no rating by that judge.
    """
    material = reading.read(folders)
    suite, models, notes = material.suite, material.models, material.notes
    chosen = _judge(material, judge)
    notes += [
        f"{first} and {second}: one model in two spellings? They are profiled as two" for first, second in alike(models)
    ]
    by_task = {
        task.name: dimension_scores(
            suite,
            headline(task, material.rated[task.name], chosen, notes),
            models,
            place,
            resamples=resamples,
            seed=seed,
        )
        for place, task in enumerate(suite.tasks)
        if task.name in material.rated
    }
    tasks = [score for task_scores in by_task.values() for score in task_scores.scores]
    notes += _remarks(tasks)
    return Profile(
        suite=suite.name,
        runs=[str(folder) for folder in folders],
        models=models,
        judge=chosen,
        tasks=tasks,
        dimensions=[
            score for dimension in suite.dimensions for score in scored(suite.name, dimension, by_task, models, notes)
        ],
        lacking=reading.lacking(material),
        notes=list(dict.fromkeys(notes)),
    )  # fmt: skip


def _judge(material: ProfileMaterial, wanted: str | None) -> str:
    """Choose whose ratings of replies count, and say so where there are others; empty where nobody judged."""
    if wanted is not None and wanted not in material.raters:
        names = ", ".join(material.raters) or "nobody"
        raise UsageError(f"no ratings of replies by {wanted} in these runs; there is {names}")
    chosen = wanted or next(iter(material.raters), "")
    others = [rater for rater in material.raters if rater != chosen]
    if others:
        material.notes.append(f"replies are scored as {chosen} rated them; {', '.join(others)} rated, too (--judge)")
    return chosen


def _remarks(tasks: Sequence[TaskScore]) -> list[str]:
    """Say why there are scores that are not there, and of which tasks scores are to be read with care."""
    missing: dict[tuple[str, str], list[str]] = {}
    doubtful: dict[str, dict[str, None]] = {}
    for score in tasks:
        if score.value is None:
            missing.setdefault((score.title, score.note), []).append(score.model)
        elif score.note:
            doubtful.setdefault(score.note, {})[score.title] = None
    return [
        *(f"{title}: no score of {', '.join(models)}: {note}" for (title, note), models in missing.items()),
        *(f"{', '.join(titles)}: {note}" for note, titles in doubtful.items()),
    ]


_PIECE = re.compile(r"\d+|[^\W\d_]+")
SHORTEST = 4
"""Words with fewer letters that differ in one are names of different things: `a` and `b`, `pro` and `air`."""


def alike(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of names that differ only in case and punctuation, or beyond that in one letter of one word."""
    pieces = {name: _PIECE.findall(name.casefold()) for name in names}
    for first, second in combinations(names, 2):
        if "".join(pieces[first]) == "".join(pieces[second]) or _one_letter_off(pieces[first], pieces[second]):
            yield first, second


def _one_letter_off(first: list[str], second: list[str]) -> bool:
    if len(first) != len(second):
        return False
    differing = [(a, b) for a, b in zip(first, second, strict=True) if a != b]
    return len(differing) == 1 and _near(*differing[0])


def _near(first: str, second: str) -> bool:
    """Say whether one letter was changed, added, left out, or swapped with the next; numbers are never near."""
    short, long = sorted((first, second), key=len)
    if len(short) < SHORTEST or short.isdigit() or long.isdigit():
        return False
    start = next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if len(long) > len(short):
        return short[start:] == long[start + 1 :]
    swapped = short[start + 1 : start + 2] + short[start : start + 1] + short[start + 2 :]
    return len(short) == len(long) and (short[start + 1 :] == long[start + 1 :] or swapped == long[start:])


# A dimension: the mean of its tasks that all its models have, and who stands where in it.


def scored(
    suite: str, dimension: Dimension, by_task: Mapping[str, ScoredTask], models: Sequence[str], notes: list[str]
) -> list[DimensionScore]:
    """Score a dimension for every model of a profile.

    A model that has no task of it takes no part; the others are compared on the tasks that they all have.

    Args:
        suite: its name.
        dimension: of the suite.
        by_task: its tasks' scores by task, as far as there are any.
        models: of the profile.
        notes: gets a line for tasks that only some models have.
    """
    parts = [by_task[task.name] for task in dimension.tasks if task.name in by_task and by_task[task.name].models]
    compared = [model for model in models if any(model in part.models for part in parts)]
    common = [part for part in parts if set(compared) <= set(part.models)]
    for part in parts:
        if part not in common:
            absent = ", ".join(model for model in compared if model not in part.models)
            notes.append(f"{dimension.name}: without {part.task.title}, where there is no score of {absent}")
    tasks = tuple(part.task.name for part in common)
    lacking = tuple(task.name for task in dimension.tasks if task.name not in tasks)
    if not common:
        return [_none(suite, dimension.name, model, lacking) for model in models]
    standing = _Standing.of(common, compared)
    task_names = tuple(task.name for task in dimension.tasks)
    return [
        _score(suite, dimension.name, tasks, lacking, standing, model)
        if model in compared
        else _none(suite, dimension.name, model, task_names)
        for model in models
    ]


class _Standing(NamedTuple):
    """Where the models of a dimension stand: ranks and mean ranks have shape (M,)."""

    models: Sequence[str]
    values: list[Interval]
    ranks: Floats
    places: Places
    mean_ranks: Floats

    @classmethod
    def of(cls, common: Sequence[ScoredTask], models: Sequence[str]) -> _Standing:
        by_part = [{score.model: score for score in part.scores} for part in common]
        points = np.array([[by_model[m].scaled for m in models] for by_model in by_part], dtype=np.float64).mean(axis=0)
        task_ranks = np.array([[by_model[m].rank for m in models] for by_model in by_part], dtype=np.float64)
        drawn = np.mean([part.scaled[:, [part.models.index(m) for m in models]] for part in common], axis=0)
        if len(common) == 1:  # of one share the exact bounds
            alone = [by_part[0][m] for m in models]
            values = [Interval(score.scaled, score.scaled_low, score.scaled_high) for score in alone]
        else:
            values = [
                _interval(float(point), drawn[:, i], [by_model[model] for by_model in by_part])
                for i, (model, point) in enumerate(zip(models, points, strict=True))
            ]
        places = Places.of(points, drawn, min(part.conversations for part in common))
        return cls(models, values, averaged(points[None, :])[0], places, task_ranks.mean(axis=0))


def _interval(value: float, drawn: Floats, tasks: Sequence[TaskScore]) -> Interval:
    """Return the interval of a dimension; where no resample moves it, the mean of its tasks' own, if all have one."""
    interval = bootstrap.percentile_interval(value, drawn)
    bounds = [(task.scaled_low, task.scaled_high) for task in tasks]
    lows, highs = ([end for end in side if end is not None] for side in zip(*bounds, strict=True))
    if interval.low is not None or not interval.undefined.startswith(SAME) or len(lows) < len(tasks):
        return interval
    return Interval(value, float(np.mean(lows)), float(np.mean(highs)), AGREED)


def _score(
    suite: str, dimension: str, tasks: tuple[str, ...], lacking: tuple[str, ...], standing: _Standing, model: str
) -> DimensionScore:
    place = standing.models.index(model)
    value = standing.values[place]
    low, high = standing.places.may_have(place)
    return DimensionScore(
        suite=suite,
        dimension=dimension,
        model=model,
        value=value.value,
        low=value.low,
        high=value.high,
        tasks=tasks,
        lacking=lacking,
        rank=float(standing.ranks[place]),
        rank_low=low,
        rank_high=high,
        indistinguishable=tuple(standing.models[other] for other in standing.places.untold(place)),
        mean_rank=float(standing.mean_ranks[place]),
        rank_of_mean_rank=float(least(standing.mean_ranks)[place]),
    )


def _none(suite: str, dimension: str, model: str, lacking: tuple[str, ...]) -> DimensionScore:
    return DimensionScore(suite, dimension, model, None, None, None, (), lacking, None, None, None, (), None, None)


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


def dimension_scores(
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
    columns = [totals for totals, _ in flat if totals is not None]
    by_weights = any(totals is None for totals, _ in flat)
    sums = np.hstack([*([np.eye(len(names))] if by_weights else []), *columns])
    types, counts, _ = bootstrap.types(sums)
    rows = max(len(part.table) for parts in headline.models.values() for part in parts)
    # A seed sequence of its own for each task, so that no two tasks are drawn alike.
    drawn = bootstrap.draw(counts, resamples, np.random.SeedSequence([seed, place]), columns=max(rows, sums.shape[1]))
    values = [_values(np.asarray(weights @ types), blocks, len(names) if by_weights else 0) for weights in drawn]
    return np.concatenate(values)


def _values(totals: Floats, blocks: Sequence[Sequence[_Block]], start: int) -> Floats:
    """Return the mean over parts of each model, shape (B, models), from the totals of all blocks side by side."""
    means = []
    weights = totals[:, :start]
    for parts in blocks:
        values = []
        for own, compute in parts:
            if own is None:
                values.append(compute(weights))
                continue
            end = start + own.shape[1]
            values.append(compute(totals[:, start:end]))
            start = end
        means.append(np.mean(values, axis=0))
    return np.stack(means, axis=1)


def _block(part: MeasuredPart, numbers: dict[str, int]) -> _Block:
    """Return each conversation's totals (C, K), and what computes values (B,) from totals (B, K).

    A metric that is no function of totals has none, and is computed from the weights of conversations themselves.
    """
    metric, table, clusters = part.metric, part.table, len(numbers)
    cluster = np.array([numbers[name] for name in part.rows["cluster"]], dtype=np.intp)
    if metric.item_score is not None:
        item_scores, own = metric.worth(table), cluster[metric.items(table).first]
        valued = np.isfinite(item_scores)
        sums = [np.bincount(own, column, clusters) for column in (np.where(valued, item_scores, 0.0), valued)]
        return np.stack(sums, axis=1), lambda totals: ratio(totals[:, 0], totals[:, 1])
    if not metric.additive:
        return None, lambda weights: metric.compute(table, weights[:, cluster])
    rows, totals = table.counted(cluster, clusters, metric.tags)
    return totals, lambda sums: metric.compute(rows, sums)
