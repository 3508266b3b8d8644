"""From runs to a profile: a dimension is the mean of its tasks that all its models have, and says who stands where in it."""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mindgauge.analysis.profile import reading, scores
from mindgauge.analysis.profile.reading import headline
from mindgauge.analysis.profile.records import DimensionScore, Profile
from mindgauge.records.errors import UsageError
from mindgauge.stats import bootstrap
from mindgauge.stats.interval import AGREED, SAME, Interval

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from mindgauge.analysis.profile.reading import ProfileMaterial
    from mindgauge.analysis.profile.records import TaskScore
    from mindgauge.analysis.profile.scores import ScoredTask
    from mindgauge.benchmarks.metrics.table import Floats
    from mindgauge.benchmarks.suite import Dimension


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
        task.name: scores.scored(
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
