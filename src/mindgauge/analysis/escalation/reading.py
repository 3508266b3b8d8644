"""How much is read until enough of the unsafe is found, on the same resamples of conversations for every order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mindgauge.analysis.reliability.card import Bound
from mindgauge.stats import bootstrap, escalation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mindgauge.analysis.escalation.features import LearnedFeatures
    from mindgauge.analysis.escalation.subjects import Subjects

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]

_GRID = np.linspace(0, 1, 101)


class ReadingEffort:
    """Replies that people rated, read in one order or another; the riskiest first, what has no verdict before them."""

    def __init__(self, rated: Subjects, *, resamples: int, target: float = escalation.TARGET, seed: int = 0) -> None:
        self.unsafe = rated.unsafe == 1
        self.cluster = rated.cluster
        self.system: Codes = np.unique(rated.system, return_inverse=True)[1].astype(np.intp)
        self.weights = np.concatenate(list(bootstrap.cluster_weights(rated.cluster, resamples, seed)))
        self.target, self.seed = target, seed

    def effort(self, risk: Floats, target: float | None = None) -> float:
        """Return the share that is read."""
        return float(escalation.effort(risk, self.unsafe, target=target or self.target)[0])

    def resampled(self, risk: Floats) -> Floats:
        """Return the share on every resample, shape (R,), of an order in which nothing is learned."""
        return escalation.effort(risk, self.unsafe, self.weights, self.target)

    def learned(self, learned: LearnedFeatures, separate: Codes | None = None) -> Floats:
        """Return the risk that is learned on other conversations, or on those of other systems (`separate`)."""
        return escalation.crossfit(learned.features, self.unsafe, self.cluster, separate=separate, seed=self.seed)

    def relearned(self, learned: LearnedFeatures, separate: Codes | None = None) -> Floats:
        """Return the share on every resample, shape (R,), where the order is learned and cross-fitted anew on each."""
        risks = escalation.crossfits(
            learned.features, self.unsafe, self.cluster, self.weights, separate=separate, seed=self.seed
        )
        efforts = [
            escalation.effort(risk[drawn], self.unsafe[drawn], copies[None, drawn], self.target)[0]
            for risk, copies in zip(risks, self.weights, strict=True)
            for drawn in [copies > 0]
        ]
        return np.array(efforts)

    def found(self, risk: Floats) -> list[float]:
        """Return the shares of the unsafe found once 0, 1, …, 100 % are read."""
        shares: list[float] = escalation.curve(risk, self.unsafe, _GRID).round(4).tolist()
        return shares


def bound(value: float, values: Floats) -> Bound:
    """Return a share with its percentile interval."""
    return Bound(*bootstrap.percentile_interval(value, values))


def first(risk: Floats) -> Floats:
    """Put what has no verdict first."""
    return np.where(np.isfinite(risk), risk, np.inf)
