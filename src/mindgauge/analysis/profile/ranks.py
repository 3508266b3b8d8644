"""Ranks: 1 is best."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mindgauge.stats import bootstrap

if TYPE_CHECKING:
    from mindgauge.metrics.table import Floats

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


def untold(values: Floats, place: int, clusters: int) -> list[int]:
    """Return the models that cannot be told from one: the interval of their paired difference holds 0, or there is none.

    Args:
        values: over resamples, shape (B, M), between 0 and 1.
        place: of the model.
        clusters: conversations behind the values; where all differ alike, they bound how many others may not.
    """
    return [
        other
        for other in range(values.shape[1])
        if other != place and not _apart(values[:, place] - values[:, other], clusters)
    ]


def _apart(gaps: Floats, clusters: int) -> bool:
    """Say whether the interval of a difference leaves out 0."""
    known = gaps[np.isfinite(gaps)]
    middle = float(np.median(known)) if len(known) else np.nan
    _, low, high, _ = bootstrap.percentile_interval(middle, gaps, ends=(-1.0, 1.0), clusters=clusters)
    return low is not None and high is not None and (low > NOISE or high < -NOISE)


def _compared(scores: Floats, model: int) -> Floats:
    """Return where each model is better (1), equal (0) or worse (-1) than one, shape (B, M)."""
    gaps = scores - scores[:, [model]]
    return np.sign(np.where(np.abs(gaps) < NOISE, 0.0, gaps))
