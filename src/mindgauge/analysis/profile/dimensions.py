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
    from mindgauge.analysis.profile.scores import Scored
    from mindgauge.metrics.table import Floats
    from mindgauge.suite import Dimension


def scored(
    suite: str, dimension: Dimension, found: Mapping[str, Scored], models: Sequence[str], notes: list[str]
) -> list[DimensionScore]:
    """Score a dimension for every model of a profile.

    A model that has no task of it takes no part; the others are compared on the tasks that they all have.

    Args:
        suite: its name.
        dimension: of the suite.
        found: its tasks' scores by task, as far as there are any.
        models: of the profile.
        notes: gets a line for tasks that only some models have.
    """
    there = [found[task.name] for task in dimension.tasks if task.name in found and found[task.name].models]
    compared = [model for model in models if any(model in one.models for one in there)]
    common = [one for one in there if set(compared) <= set(one.models)]
    for one in there:
        if one not in common:
            without = ", ".join(model for model in compared if model not in one.models)
            notes.append(f"{dimension.name}: without {one.task.title}, where there is no score of {without}")
    tasks = tuple(one.task.name for one in common)
    lacking = tuple(task.name for task in dimension.tasks if task.name not in tasks)
    if not common:
        return [_none(suite, dimension.name, model, lacking) for model in models]
    standing = _Standing.of(common, compared)
    everything = tuple(task.name for task in dimension.tasks)
    return [
        _score(suite, dimension.name, tasks, lacking, standing, model)
        if model in compared
        else _none(suite, dimension.name, model, everything)
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
    def of(cls, common: Sequence[Scored], models: Sequence[str]) -> _Standing:
        of = [{score.model: score for score in one.scores} for one in common]
        points = np.array([[its[m].scaled for m in models] for its in of], dtype=np.float64).mean(axis=0)
        task_ranks = np.array([[its[m].rank for m in models] for its in of], dtype=np.float64)
        over = np.mean([one.scaled[:, [one.models.index(m) for m in models]] for one in common], axis=0)
        if len(common) == 1:  # of one share the exact bounds
            alone = [of[0][m] for m in models]
            values = [Interval(score.scaled, score.scaled_low, score.scaled_high) for score in alone]
        else:
            values = [
                _interval(float(point), over[:, i], [its[model] for its in of])
                for i, (model, point) in enumerate(zip(models, points, strict=True))
            ]
        places = scores.Places.of(points, over, min(one.conversations for one in common))
        return cls(models, values, scores.averaged(points[None, :])[0], places, task_ranks.mean(axis=0))


def _interval(value: float, over: Floats, tasks: Sequence[TaskScore]) -> Interval:
    """Return the interval of a dimension; where no resample moves it, the mean of its tasks' own, if all have one."""
    found = bootstrap.percentile_interval(value, over)
    bounds = [(task.scaled_low, task.scaled_high) for task in tasks]
    lows, highs = ([end for end in side if end is not None] for side in zip(*bounds, strict=True))
    if found.low is not None or not found.undefined.startswith(SAME) or len(lows) < len(tasks):
        return found
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
