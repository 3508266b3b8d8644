"""From runs to a profile."""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING

from mindgauge.analysis.profile import dimensions, reading, scores
from mindgauge.analysis.profile.headlines import headline
from mindgauge.analysis.profile.records import Profile
from mindgauge.records.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mindgauge.analysis.profile.reading import ProfileMaterial
    from mindgauge.analysis.profile.records import TaskScore


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
            score for dimension in suite.dimensions for score in dimensions.scored(suite.name, dimension, by_task, models, notes)
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
