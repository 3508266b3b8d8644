"""Ranks: 1 is best."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mindgauge.stats import rank

if TYPE_CHECKING:
    from numpy.typing import NDArray

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


class Places(NamedTuple):
    """The ranks that models may have, and whom each cannot be told from, for all models at once; None if unknown."""

    models: int
    ranges: list[tuple[int, int]] | None
    better: NDArray[np.bool_] | None

    @classmethod
    def of(cls, scores: Floats, over: Floats, conversations: int) -> Places:
        """Compare models' scores, of which more is better, shape (M,), and over resamples of conversations (B, M)."""
        better = rank.surely_better(scores, over, conversations)
        return cls(len(scores), None if better is None else rank.ranges(better), better)

    def may_have(self, place: int) -> tuple[int, int] | tuple[None, None]:
        """Return the best and the worst rank that a model may have."""
        return (None, None) if self.ranges is None else self.ranges[place]

    def untold(self, place: int) -> list[int]:
        """Return the models that cannot be told from one: all others where nothing is known."""
        if self.better is None:
            return [other for other in range(self.models) if other != place]
        told = self.better[place] | self.better[:, place]
        return [other for other, apart in enumerate(told) if other != place and not apart]


def _compared(scores: Floats, model: int) -> Floats:
    """Return where each model is better (1), equal (0) or worse (-1) than one, shape (B, M)."""
    gaps = scores - scores[:, [model]]
    return np.sign(np.where(np.abs(gaps) < NOISE, 0.0, gaps))
