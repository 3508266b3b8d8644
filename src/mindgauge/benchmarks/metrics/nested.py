"""Means of means, where turns lie in dialogues and dialogues in topics: a long dialogue counts no more than a short one.

After the evaluation of CPsyCoun (Zhang et al. 2024, arXiv 2405.16433), which averages over turns, then over dialogues.
The topic is the tag `topic`, the dialogue is the cluster, so that dialogues are what is resampled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mindgauge.benchmarks.metrics.table import Metric, numbered, ratio

if TYPE_CHECKING:
    from mindgauge.benchmarks.metrics.table import Codes, Floats, RatingTable

TOPIC = "topic"
"""The tag that the metric looks at."""


def _mean_of_topics(table: RatingTable, weights: Floats) -> Floats:
    if not numbered(table.levels):
        return np.full(len(weights), np.nan)
    valued = np.flatnonzero(table.ok)
    valued = valued[np.argsort(table.cluster[valued], kind="stable")]
    dialogue, start, turn = np.unique(table.cluster[valued], return_index=True, return_inverse=True)
    if not len(dialogue):
        return np.full(len(weights), np.nan)
    weights, levels = weights[:, valued], np.array(table.levels, dtype=np.float64)
    inside = _member(turn, len(dialogue))
    of_dialogues = ratio(weights * levels[table.code[valued]] @ inside, weights @ inside)
    # All turns of a dialogue are drawn together: their weight is the dialogue's, however many they are.
    drawn = np.maximum.reduceat(weights, start, axis=1)
    topics, topic = np.unique(table.tags[TOPIC][valued[start]].astype(str), return_inverse=True)
    inside = _member(topic, len(topics))
    of_topics = ratio((drawn * np.nan_to_num(of_dialogues)) @ inside, drawn @ inside)
    return ratio(np.nan_to_num(of_topics).sum(axis=1), np.isfinite(of_topics).sum(axis=1))


def _member(group: Codes, groups: int) -> Floats:
    """Return who belongs to which group, shape (len(group), groups)."""
    return np.equal(group[:, None], np.arange(groups)).astype(np.float64)


mean_of_topics = Metric("mean_of_topics", _mean_of_topics, "higher", supports=numbered)
"""The mean over topics of the mean over dialogues of the mean over turns; a verdict that is missing is left out."""
