"""Agreement between raters on categories, as functions of weighted observations.

Weights have shape (B, n), one row per resample; results have shape (B,). A weight of 1 throughout gives the estimate.
Where a coefficient is not defined (no observation, or chance agreement of 1) the result is NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]


def confusion(first: Codes, second: Codes, labels: int, weights: Floats | None = None) -> Floats:
    """Count pairs of labels, shape (B, labels, labels + 1); the last column holds `second` = -1, no label.

    Args:
        first: shape (n,), codes 0 to labels-1; pairs whose first is -1 are left out.
        second: shape (n,), codes -1 to labels-1.
        labels: how many labels there are.
        weights: shape (B, n); ones if not given.
    """
    weights = np.ones((1, len(first))) if weights is None else weights
    cells = labels * (labels + 1)
    known = first >= 0
    cell = first[known] * (labels + 1) + np.where(second[known] < 0, labels, second[known])
    one_hot = np.zeros((int(known.sum()), cells))
    one_hot[np.arange(len(cell)), cell] = 1.0
    return np.asarray(weights[:, known] @ one_hot).reshape(-1, labels, labels + 1)


def cohen_kappa(first: Codes, second: Codes, labels: int, weights: Floats | None = None) -> Floats:
    """Cohen's kappa for two raters (Cohen 1960): (p_o - p_e) / (1 - p_e), p_e = Σ_c p_1c p_2c.

    A missing second label (-1) stays in n and agrees with nothing. Published example: the
    proportions of Cohen 1968, table 1 (.44 .05 .01; .07 .20 .03; .09 .05 .06) give 0.492.

    Args:
        first: shape (n,), codes of the reference; -1 is left out.
        second: shape (n,), codes of the other rater; -1 is a missing label.
        labels: how many labels there are.
        weights: shape (B, n).
    """
    table = confusion(first, second, labels, weights)
    total = table.sum(axis=(1, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = np.trace(table[:, :, :labels], axis1=1, axis2=2) / total
        chance = (table.sum(axis=2) * table[:, :, :labels].sum(axis=1)).sum(axis=1) / total**2
        kappa = (observed - chance) / (1 - chance)
    return np.where(chance < 1, kappa, np.nan)


def fleiss_kappa(counts: Floats, weights: Floats | None = None) -> Floats:
    """Fleiss' kappa for r ratings of each item (Fleiss 1971).

    P_i = (Σ_c n_ic² - r) / (r (r-1)), P_e = Σ_c p_c², kappa = (mean P - P_e) / (1 - P_e). Items may differ in r; those
    with fewer than two ratings say nothing about agreement and are left out. Published example: Fleiss 1971, table 1
    (30 patients, 6 raters, 5 categories) gives 0.430.

    Args:
        counts: shape (n, labels), how many raters gave an item each label.
        weights: shape (B, n).
    """
    weights = np.ones((1, len(counts))) if weights is None else weights
    ratings = counts.sum(axis=1)
    use = ratings >= 2
    counts, ratings, weights = counts[use], ratings[use], weights[:, use]
    if not len(counts):
        return np.full(len(weights), np.nan)
    per_item = ((counts**2).sum(axis=1) - ratings) / (ratings * (ratings - 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = weights @ per_item / weights.sum(axis=1)
        shares = weights @ counts
        shares = shares / shares.sum(axis=1, keepdims=True)
        chance = (shares**2).sum(axis=1)
        kappa = (observed - chance) / (1 - chance)
    return np.where(chance < 1, kappa, np.nan)
