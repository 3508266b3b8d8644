"""A dimension: the mean of its tasks that all its models have, and who stands where in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mindgauge.analysis.profile import scores
from mindgauge.analysis.profile.records import DimensionScore
from mindgauge.stats import bootstrap
from mindgauge.stats.interval import AGREED, SAME, Interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mindgauge.analysis.profile.records import TaskScore
    from mindgauge.analysis.profile.scores import ScoredTask
    from mindgauge.benchmarks.metrics.table import Floats
    from mindgauge.benchmarks.suite import Dimension


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
    places: scores.Places
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
        places = scores.Places.of(points, drawn, min(part.conversations for part in common))
        return cls(models, values, scores.averaged(points[None, :])[0], places, task_ranks.mean(axis=0))


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
        rank_of_mean_rank=float(scores.least(standing.mean_ranks)[place]),
    )


def _none(suite: str, dimension: str, model: str, lacking: tuple[str, ...]) -> DimensionScore:
    return DimensionScore(suite, dimension, model, None, None, None, (), lacking, None, None, None, (), None, None)
