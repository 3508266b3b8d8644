"""The source's rule for judges: a class from the width of one interval alone, that of ICC(C,1) over systems.

Its limits are the terciles of its own 28 printed widths, so a third of them is good whatever the judges do.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from mindgauge.benchmarks.mentalbench.released import ORIGINAL
from mindgauge.stats import bootstrap, icc

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LIMITS = {"GR": 0.355, "MR": 0.560}
"""The widest interval of each class, to three digits: good, moderate; above both poor (PR)."""
RESAMPLES = 1000


def interval(means: Floats) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """Return the authors' intervals of ICC(C,1), and how many of their 1,000 resamples of systems they keep.

    Args:
        means: people's and the judge's mean of each system, shape (attributes, systems, 2).
    """
    weights = _weights(means.shape[1])
    values = icc.consistency(icc.mean_squares(means[:, None], weights))
    usable = np.isfinite(values) & (values >= 0) & (values <= 1)
    ends = np.array([bootstrap.percentile(of_attribute) for of_attribute in np.where(usable, values, np.nan)])
    return ends[:, 0], ends[:, 1], usable.sum(axis=1)


@functools.cache
def _weights(systems: int) -> Floats:
    """Return how often each of the authors' resamples draws each system; their script seeds every one anew."""
    seeds = np.random.RandomState(42).randint(0, 100_000, RESAMPLES)
    drawn = np.array([np.random.RandomState(seed).choice(systems, systems) for seed in seeds])
    weights: Floats = (drawn[:, :, None] == np.arange(systems)).sum(axis=1).astype(np.float64)
    return weights


def classify(width: float) -> str:
    """Return the class for an interval of this width."""
    return next((name for name, limit in LIMITS.items() if round(width, 3) <= limit), "PR")


def counted(own: Collection[str], systems: Sequence[str]) -> list[int]:
    """Return the places of the systems that count for a judge, all but its own, in the order in which the authors resample them."""
    places = [place for place, name in enumerate(systems) if name not in own]
    return sorted(places, key=lambda place: (systems[place] != ORIGINAL, systems[place]))
