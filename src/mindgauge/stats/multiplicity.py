"""Adjusted p-values for many tests at once.

An adjusted p-value is the smallest level at which the procedure rejects the hypothesis. NaN stands for a test that
could not be made: it stays NaN and does not count among the tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def holm(p: Floats) -> Floats:
    """Return p-values adjusted for the chance of any false rejection (Holm 1979), in the order given.

    With p sorted upwards, adjusted(i) = max over j ≤ i of (m - j + 1) p(j), at most 1. Never less powerful than
    Bonferroni's m p, and as free of assumptions: for claims. Published example: of the 15 tests of Neuhaus et al. 1992
    (in Benjamini and Hochberg 1995, section 3.2) it rejects 3 at .05.

    Args:
        p: shape (m,), between 0 and 1; NaN for a test that could not be made.

    Raises:
        ValueError: a value is outside 0 to 1.
    """
    valued = np.flatnonzero(~np.isnan(p))
    order = valued[np.argsort(p[valued], kind="stable")]
    values = p[order]
    if len(values) and not 0 <= values[0] <= values[-1] <= 1:
        raise ValueError("p-values must lie between 0 and 1")
    adjusted = np.full(len(p), np.nan)
    adjusted[order] = np.minimum(np.maximum.accumulate(values * np.arange(len(values), 0, -1)), 1.0)
    return adjusted
