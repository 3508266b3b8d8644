"""Has a rate passed its limit? Evidence that adds up, may be looked at at any time, and still seldom deceives.

An e-detector (Shin, Ramdas and Rinaldo 2024, "E-detectors", definition 2.2) of the kind of Shiryaev and Roberts: at each
look the evidence of all changes that may have begun by then,

    M_k = (M_{k-1} + 1) · Π_i (1 + λ (x_i - m)),

over the look's observations x_i in 0…1, with the limit m. As long as the mean is at most m, each product has the mean 1 at
most (Waudby-Smith and Ramdas 2024), so that M_k has the mean k at most, and the first look at which M ≥ a comes after a
looks or more on average, however large looks are and whenever somebody looks. How much a bet λ wins depends on the rate,
which nobody knows, so several bets are made side by side and their evidence is averaged, which keeps the bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

BETS = 8
_BOLDEST, _SHYEST = 0.8, 0.01
"""The least and the most that a bet may lose by an observation of 0, as a share of what it has."""
_MOST = 1e300


def none_yet() -> Floats:
    """Return the evidence before the first look, shape (BETS,)."""
    return np.zeros(BETS)


def added(evidence: Floats, observations: Floats, limit: float) -> Floats:
    """Return the evidence after another look, shape (BETS,).

    Args:
        evidence: before it, shape (BETS,).
        observations: of the look, independent of each other given what came before; shape (n,), 0 to 1.
        limit: which their mean must not pass, 0 to 1. At 0 any observation above it is certain evidence.
    """
    if limit <= 0:
        return np.full(BETS, _MOST) if (observations > 0).any() else evidence + 1
    bets = np.geomspace(_SHYEST, _BOLDEST, BETS) / limit
    gain = np.log1p(bets[:, None] * (observations[None, :] - limit)).sum(axis=1)
    return np.asarray(np.exp(np.minimum(np.log(evidence + 1) + gain, np.log(_MOST))))


def strength(evidence: Floats) -> float:
    """Return what is held against the number of looks between false alarms: the mean over bets."""
    return float(evidence.mean())
