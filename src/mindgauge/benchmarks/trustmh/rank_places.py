"""Where a run's models come in the paper's table of ranks: among the models whose outputs are stored, with an interval.

A model is compared on the items that it and all of these answered. Items are drawn with replacement, the same for all models:
whole stories, and an item of privacy awareness in both of its forms; its first tier is drawn apart. Each draw gives a place.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from mindgauge.benchmarks.metrics.correlation import HUMAN, pearson
from mindgauge.benchmarks.released import RankPlace
from mindgauge.benchmarks.suite import Suite
from mindgauge.benchmarks.trustmh.reproduce import PUBLISHED, RESAMPLES
from mindgauge.records.english import named
from mindgauge.records.errors import DataError
from mindgauge.records.rounding import count, plural
from mindgauge.stats import bootstrap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mindgauge.benchmarks import Benchmark
    from mindgauge.benchmarks.released import RatedAnswer
    from mindgauge.records import Sample

Key: TypeAlias = tuple[str, str]
"""A part of the score (a tier; a question with what is measured of it) and the item that is drawn."""
Cells: TypeAlias = dict[Key, float]


class _Score(NamedTuple):
    """By what models are ordered: who reads it from replies (the model's own number if empty), and of which criteria.

    `stated` says whether the paper says what the ranks rest on.
    """

    words: str
    rater: str
    criteria: tuple[str, ...]
    better: int = 1
    stated: bool = True


_SCORES = {
    "trustmh/ethics": _Score("accuracy", "rule/choice", ("choice",)),
    "trustmh/privacy_awareness": _Score(
        "the mean correlation with people over the three tiers", "", ("sensitivity", "appropriateness")
    ),
    "trustmh/privacy_leakage": _Score(
        "the mean of the authors' eight measures without the proxy model", "rule/substrings",
        ("name_mention", "missing_knower", "outsider_listed", "list_error", "control_error"), -1, stated=False,
    ),
}  # fmt: skip
_RANKED = {
    "gpt-5.1": "GPT-5.1", "gpt-4o-mini": "4o-mini", "claude-sonnet-4-5-20250929": "Claude",
    "qwen3-235b-a22b-instruct-2507": "Qwen3", "SoulChat2": "SoulChat2", "Meditron-8B": "Med3-8B", "Medtron3-70B": "Med3-70B",
}  # fmt: skip
"""The names of models in stored outputs, and in the table of ranks."""
FEWEST = 10
"""Fewer items say nothing of what others would give."""
_SAME = 1e-9


def rank_places(benchmark: Benchmark, data: Path, rated: Sequence[RatedAnswer]) -> Iterator[RankPlace]:
    """Place each model of a run in the benchmark's row of the table, or say why that cannot be done.

    Args:
        benchmark: a task of the table.
        data: a copy of the released files.
        rated: the run's ratings.
    """
    tasks = Suite.load(Path(__file__).parent).tasks
    row = next((task.published for task in tasks if task.benchmark == benchmark.name), benchmark.name)
    score = _SCORES.get(benchmark.name)
    if score is None or benchmark.load is None:
        yield RankPlace(row, "", note="The authors released no outputs of their models for this task")
        return
    try:
        samples = benchmark.read(data)
        by_id = {s.id: s for s in samples}
        for reader in benchmark.readers.values():
            by_id |= {other.id: s for other, s in zip(reader(data), samples, strict=True)}
        released = benchmark.load(data)
    except DataError as error:
        yield RankPlace(row, "", note=str(error))
        return
    replies = {reply.id: (reply.model, reply.sample) for reply in released.replies}
    stored = _cells(
        score, by_id, ((*replies.get(r.subject, (r.rater, r.subject)), r.rater, r.criterion, r.value) for r in released.ratings)
    )  # fmt: skip
    own = _cells(score, by_id, rated)
    people = {s.cluster: float(s.tags[HUMAN]) for s in samples if HUMAN in s.tags}
    for model in sorted({*own} or {model for model, *_ in rated}):
        others = {name: cells for name, cells in stored.items() if name != model}
        yield _placed(row, model, score, own.get(model, {}), others, people)


def _cells(score: _Score, by_id: Mapping[str, Sample], answers: Iterable[RatedAnswer]) -> dict[str, Cells]:
    """Return what each model has for each part of the score and item; of repeats the mean. A choice that cannot be read is wrong."""
    values: dict[str, dict[Key, list[float]]] = defaultdict(lambda: defaultdict(list))
    for model, sample_id, rater, criterion, value in answers:
        sample = by_id.get(sample_id)
        if sample is None or criterion not in score.criteria or rater != (score.rater or model):
            continue
        if criterion == "choice":
            part, number = "", float(value == sample.target)
        elif value is None:
            continue
        elif score.rater:
            part, number = f"{sample.tags['question']} {criterion}", float(value in ("yes", "named"))
        else:
            part, number = sample.tags["tier"], float(str(value))
        values[model][part, sample.cluster].append(number)
    return {model: {key: fmean(numbers) for key, numbers in cells.items()} for model, cells in values.items()}


def _placed(
    row: str, model: str, score: _Score, own: Cells, stored: Mapping[str, Cells], people: Mapping[str, float]
) -> RankPlace:
    shared = set.intersection(*map(set, stored.values())) if stored else set()
    keys = sorted(shared & own.keys())
    if not keys:
        lacking = (
            f"This run has no value of the {count(len(shared))} that the models are compared by; a run --as-published reads them"
            if shared
            else "These files have no stored outputs of the paper's models on the same items"
        )
        return RankPlace(row, model, note=lacking)
    cells = [own, *stored.values()]
    scores = score.better * _resampled(keys, np.array([[c[key] for c in cells] for key in keys]), people)
    places = 1 + (scores[:, 1:] > scores[:, :1] + _SAME).sum(axis=1)
    point, items = scores[0], len({item for _, item in keys})
    if not np.isfinite(point).all():
        return RankPlace(row, model, note=f"On the {plural(items, 'item')} that all have, {score.words} is not defined")
    low, high = bootstrap.percentile(np.where(np.isfinite(scores).all(axis=1), places, np.nan)[1:])
    certain = items >= FEWEST and np.isfinite(low)
    ranks = dict(zip(stored, _ranks(row, stored), strict=True))
    note, better_rank, worse_rank = _published(score, point, [*ranks.values()])
    unanswered = len(shared) - len(keys)
    if unanswered:
        note = f"{note}. It lacks {plural(unanswered, 'answer')} that all of these models have"
    return RankPlace(
        row, model, int(places[0]), int(np.floor(low)) if certain else None, int(np.ceil(high)) if certain else None,
        [*stored], score.words, float(score.better * point[0]), items, better_rank, worse_rank, note,
    )  # fmt: skip


def _resampled(
    keys: Sequence[Key], values: np.ndarray[tuple[int, ...], np.dtype[np.float64]], people: Mapping[str, float]
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return the models' scores: on the items as they are, then in each draw; the mean over the parts of the score."""
    totals = np.zeros((RESAMPLES + 1, values.shape[1]))
    parts = sorted({part for part, _ in keys})
    draws: dict[str, tuple[dict[str, int], np.ndarray[tuple[int, ...], np.dtype[np.float64]]]] = {}
    for part in parts:
        group = part[:1] if people else ""
        if group not in draws:
            items = sorted({item for other, item in keys if not people or other[:1] == group})
            drawn = np.concatenate([*bootstrap.cluster_weights(np.arange(len(items)), RESAMPLES, len(draws))])
            draws[group] = {item: n for n, item in enumerate(items)}, np.vstack([np.ones(len(items)), drawn])
        numbers, drawn = draws[group]
        rows = [n for n, key in enumerate(keys) if key[0] == part]
        weights, own = drawn[:, [numbers[keys[n][1]] for n in rows]], values[rows]
        if people:
            means = np.array([[people[keys[n][1]] for n in rows]])
            totals += np.stack([pearson(column[None], means, weights) for column in own.T], axis=1)
        else:
            with np.errstate(invalid="ignore"):  # of a draw without any item of this part there is no score
                totals += weights @ own / weights.sum(axis=1, keepdims=True)
    return totals / len(parts)


def _ranks(row: str, models: Iterable[str]) -> Iterator[int | None]:
    """Yield the published ranks of stored models; None of one that is not in the table."""
    (table,) = (t for t in tomllib.loads(PUBLISHED.read_text(encoding="utf-8"))["table"] if t["name"] == "ranks")
    ranks = dict(zip(table["columns"], table["rows"][row], strict=True))
    yield from (ranks.get(_RANKED.get(model, "")) for model in models)


def _published(
    score: _Score, point: np.ndarray[tuple[int, ...], np.dtype[np.float64]], ranks: Sequence[int | None]
) -> tuple[str, int | None, int | None]:
    """Say what the published row adds: the ranks next to the model's place, where the figures give the published order."""
    if not score.stated:
        return (
            "The paper does not say what these ranks rest on, so no place in its row of 12 can be given",
            None,
            None,
        )
    own, ranked = point[0], [(rank, value) for rank, value in zip(ranks, point[1:], strict=True) if rank is not None]
    in_order = [value for _, value in sorted(ranked, key=lambda pair: pair[0])]
    if any(second > first + _SAME for first, second in pairwise(in_order)):
        return "These models have another order in the published row, so no place in it can be given", None, None
    better_rank = max((rank for rank, value in ranked if value > own + _SAME), default=None)
    worse_rank = min((rank for rank, value in ranked if value < own - _SAME), default=None)
    next_to = named(
        [
            *([f"after rank {better_rank}"] if better_rank else []),
            *([f"before rank {worse_rank}"] if worse_rank else []),
        ]
    )
    return (
        f"These models have the published order here, so in the row of 12 it comes {next_to}",
        better_rank,
        worse_rank,
    )
