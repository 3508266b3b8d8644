"""All models of a task under the same resamples of its conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mindgauge.benchmarks.metrics.table import kinds, ratio
from mindgauge.stats import bootstrap

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mindgauge.analysis.profile.headlines import MeasuredPart, TaskHeadline
    from mindgauge.benchmarks.metrics.table import Floats


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
    types, counts = bootstrap.types(sums)
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
        item_scores = metric.item_score(table)
        valued = np.isfinite(item_scores)
        sums = [np.bincount(cluster, column, clusters) for column in (np.where(valued, item_scores, 0.0), valued)]
        return _ConversationTotals(np.stack(sums, axis=1), lambda totals: ratio(totals[:, 0], totals[:, 1]))
    if not metric.additive:
        return _ConversationTotals(None, lambda weights: metric.compute(table, weights[:, cluster]))
    first, kind = kinds(table, metric.tags)
    counts = np.bincount(cluster * len(first) + kind, minlength=clusters * len(first))
    first_rows = table.at(first)
    totals = counts.reshape(clusters, len(first)).astype(np.float64)
    return _ConversationTotals(totals, lambda sums: metric.compute(first_rows, sums))
