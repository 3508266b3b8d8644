"""People and a judge who see the same quality, as coverage.py draws them: two raters on a scale of five levels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from mindgauge.stats import moments

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

VALUES = np.arange(1.0, 6.0)
SHAPES = {
    "even": (0.2, 0.4, 0.6, 0.8),
    "85 % at 5": (0.02, 0.05, 0.09, 0.15),
    "90 % at 5": (0.015, 0.035, 0.06, 0.1),
    "95 % at 5": (0.007, 0.017, 0.03, 0.05),
    "97 % at 5": (0.005, 0.01, 0.02, 0.03),
}
"""Shares of people's ratings at or below level 1, 2, 3 and 4."""
TOGETHER = 0.3
"""Correlation between two replies of one conversation, in what they deserve and in each rater's error."""


class Raters(NamedTuple):
    """People and judge see the same quality plus an error of their own, all normal, and cut at the same points."""

    correlation: float
    """Between the two before cutting."""
    shape: str
    bias: float = 0.1
    """By how much the judge is too mild, in standard deviations."""
    quality: float = 0.0
    """Of the system, in standard deviations."""

    def cuts(self) -> Floats:
        """Return where people's scale is cut, shape (4,), for a system of quality 0."""
        return np.asarray(ndtri(SHAPES[self.shape]))

    def joint(self) -> Floats:
        """Return the probability of each pair of levels, shape (5, 5), by quadrature over the quality they share."""
        quality = np.linspace(-9, 9, 6001)
        weight = np.exp(-(quality**2) / 2)
        each = [self._levels(quality, shift) for shift in (self.quality, self.quality + self.bias)]
        return np.asarray((each[0] * (weight / weight.sum())[:, None]).T @ each[1])

    def _levels(self, quality: Floats, shift: float) -> Floats:
        at_most = ndtr(
            (self.cuts() - shift - math.sqrt(self.correlation) * quality[:, None]) / math.sqrt(1 - self.correlation)
        )
        return np.diff(at_most, prepend=0, append=1, axis=1)

    def means(self) -> tuple[float, float]:
        """Return people's and the judge's true mean."""
        joint = self.joint()
        return float(joint.sum(axis=1) @ VALUES), float(joint.sum(axis=0) @ VALUES)

    def rate(self, latent: Floats) -> tuple[Floats, Floats]:
        """Return people's and the judge's ratings of replies from three standard normal numbers each, (3, ...)."""
        shared, *own = latent
        scores = [math.sqrt(self.correlation) * shared + math.sqrt(1 - self.correlation) * error for error in own]
        people = np.searchsorted(self.cuts() - self.quality, scores[0])
        judge = np.searchsorted(self.cuts() - self.quality - self.bias, scores[1])
        return VALUES[people], VALUES[judge]


def latent(generator: np.random.Generator, conversations: int, replies: int) -> Floats:
    """Draw quality and both errors, shape (3, conversations, replies)."""
    common = generator.normal(size=(3, conversations, 1))
    own = generator.normal(size=(3, conversations, replies))
    return math.sqrt(TOGETHER) * common + math.sqrt(1 - TOGETHER) * own


def moments_of_joint(joint: Floats, values: Floats, *, origin: float = 0.0) -> Floats:
    """Return the six sums of a table of counted pairs, shape (B, 6); the same as those of the pairs themselves.

    Args:
        joint: shape (B, q, q), how often the first rater gave the row's value and the second the column's.
        values: shape (q,).
        origin: what values are measured from.
    """
    q = len(values)
    return moments.moments(np.repeat(values, q), np.tile(values, q), np.reshape(joint, (-1, q * q)), origin=origin)


def tuned(statistic: Callable[[Floats], Floats], target: float, shape: str, bias: float = 0.1) -> Raters:
    """Find the raters whose statistic of six sums has a true value."""

    def miss(correlation: float) -> float:
        joint = 1e9 * Raters(correlation, shape, bias).joint()[None]
        return float(statistic(moments_of_joint(joint, VALUES))[0]) - target

    return Raters(brentq(miss, 1e-6, 0.9999), shape, bias)
