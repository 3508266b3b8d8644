"""Rank correlations of two raters, of many resamples at once, and the ranks that systems may have.

**Tables.** Ratings take few values, so how often the first rater gave value i and the second value j, a table of shape
(u, v) in ascending order of the values, says all there is about ranks: no sorting, and a resample is a table of weights.
Items of weight 2 are the item twice. **Columns** are for a few values that differ in every resample, such as systems'
means.

Both are 1 only where the orders agree, ties included, and NaN where one of the raters never varies.

Shapes: B tables or resamples, n items.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

DIGITS = 9
"""Decimals by which values are told apart: means that differ by less differ by rounding."""


def spearman(joint: Floats) -> Floats:
    """Return Spearman's rank correlation (Spearman 1904), shape (B,): Pearson's of the ranks, ties sharing their mean.

    Published example: IQ and hours of television of ten people (English Wikipedia, "Spearman's rank correlation
    coefficient"): -29/165 = -.1758.

    Args:
        joint: shape (B, u, v), weights of pairs of values in ascending order.
    """
    n = joint.sum(axis=(1, 2))
    x, y = (_centred_ranks(joint.sum(axis=axis)) for axis in (2, 1))
    return _correlation(
        np.einsum("bij,bi,bj->b", joint, x, y),
        np.einsum("bi,bi->b", joint.sum(axis=2), x * x),
        np.einsum("bj,bj->b", joint.sum(axis=1), y * y),
        n**3,
    )


def kendall_tau_b(joint: Floats) -> Floats:
    """Return Kendall's tau-b (Kendall 1945), shape (B,): (C - D) / √((P - Tx) (P - Ty)).

    Of P pairs of items, C stand in the same order to both raters, D in opposite orders, Tx and Ty are tied to the first
    and to the second. Published example: 12 2 1 12 2 against 1 4 7 1 0 (scipy's `kendalltau`): -.4714.

    Args:
        joint: shape (B, u, v), weights of pairs of values in ascending order.
    """
    cumulated = np.cumsum(np.cumsum(joint, axis=1), axis=2)
    before = np.zeros_like(joint)
    before[:, 1:, 1:] = cumulated[:, :-1, :-1]
    right = np.cumsum(np.cumsum(joint, axis=1), axis=2)[:, :, -1:] - cumulated
    against = np.zeros_like(joint)
    against[:, 1:, :] = right[:, :-1, :]
    n = joint.sum(axis=(1, 2))
    first, second = ((n**2 - (joint.sum(axis=axis) ** 2).sum(axis=1)) / 2 for axis in (2, 1))
    return _correlation((joint * (before - against)).sum(axis=(1, 2)), first, second, n**2)


def spearman_of_columns(x: Floats, y: Floats) -> Floats:
    """Return Spearman's rank correlation of each row, shape (B,).

    Args:
        x: shape (B, n); NaN for an item that is not there.
        y: shape (B, n).
    """
    x, y, valid = _cleaned(x, y)
    n = valid.sum(axis=1).astype(float)
    first, second = (np.where(valid, _signs(values, valid).sum(axis=2) / 2, 0.0) for values in (x, y))
    return _correlation((first * second).sum(axis=1), (first**2).sum(axis=1), (second**2).sum(axis=1), n**3)


def kendall_of_columns(x: Floats, y: Floats) -> Floats:
    """Return Kendall's tau-b of each row, shape (B,); see `spearman_of_columns`."""
    x, y, valid = _cleaned(x, y)
    n = valid.sum(axis=1).astype(float)
    first, second = _signs(x, valid), _signs(y, valid)
    product, first_squares, second_squares = (
        (a * b).sum(axis=(1, 2)) for a, b in ((first, second), (first, first), (second, second))
    )
    return _correlation(product, first_squares, second_squares, n**2)


def pearson_of_columns(x: Floats, y: Floats) -> Floats:
    """Return Pearson's correlation of each row, shape (B,); see `spearman_of_columns`."""
    x, y, valid = _cleaned(x, y)
    n = np.maximum(valid.sum(axis=1, keepdims=True), 1)
    a, b = (np.where(valid, v - np.where(valid, v, 0.0).sum(axis=1, keepdims=True) / n, 0.0) for v in (x, y))
    scale = (np.where(valid, x * x, 0.0) + np.where(valid, y * y, 0.0)).sum(axis=1)
    return _correlation((a * b).sum(axis=1), (a * a).sum(axis=1), (b * b).sum(axis=1), scale)


def _centred_ranks(counts: Floats) -> Floats:
    """Return mean ranks of values less the mean of all, shape (B, u): half of how many stand below less above."""
    lower = np.cumsum(counts, axis=1) - counts
    higher = counts.sum(axis=1, keepdims=True) - lower - counts
    return np.asarray((lower - higher) / 2)


def _cleaned(x: Floats, y: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    return np.round(x, DIGITS), np.round(y, DIGITS), np.isfinite(x) & np.isfinite(y)


def _signs(values: Floats, valid: NDArray[np.bool_]) -> Floats:
    """Return the sign of each difference between two items of a row that are there, shape (B, n, n)."""
    filled = np.where(valid, values, 0.0)
    both = valid[:, :, None] & valid[:, None, :]
    return np.where(both, np.sign(filled[:, :, None] - filled[:, None, :]), 0.0)


def _correlation(product: Floats, first: Floats, second: Floats, scale: Floats) -> Floats:
    """Divide a product by the root of two squares; NaN where one of them is nothing but rounding error."""
    varies = (first > 1e-12 * scale) & (second > 1e-12 * scale)
    return np.clip(product / np.sqrt(np.where(varies, first * second, np.nan)), -1, 1)


# -- ranks that systems may have --------------------------------------------------------------------------------------


def ranges(better: Mask) -> list[tuple[int, int]]:
    """Return the best and the worst rank of each system: behind all that are surely better, before all that are worse.

    Args:
        better: shape (S, S), whether the first system is surely better than the second.
    """
    systems = len(better)
    return [(1 + int(better[:, s].sum()), systems - int(better[s].sum())) for s in range(systems)]


def sign_test_rejects(clusters: NDArray[np.intp] | int, pairs: int, level: float) -> NDArray[np.bool_] | bool:
    """Whether a difference that is the same in every cluster is surely one, were signs flipped and all pairs looked at."""
    return np.exp2(1.0 - clusters) * pairs <= 1 - level


def surely_better(values: Floats, resampled: Floats, clusters: int, level: float = 0.95) -> Mask | None:
    """Return which of several systems are better than which, shape (S, S), for all pairs at once; None if unknown.

    Of every pair the difference is d ± q se, with se that of the resamples times √(C / (C - 1)) and q the quantile of
    the largest |d* - d| / se over resamples (Mogstad, Romano, Shaikh and Wilhelm 2024, without the stepwise refinement
    and without a resample's own error, which not every metric has). q is taken from the normal to Student's distribution
    with C - 1 degrees of freedom, at the same level of a single pair: with 10 conversations percentiles are too narrow
    by a third. No interval is shorter than Student's for its pair alone. Percentiles of ranks are no intervals where systems are close (Hall and Miller 2009).

    Args:
        values: shape (S,), more is better.
        resampled: shape (B, S), over resamples of clusters; NaN where not defined.
        clusters: C.
        level: of confidence, that no pair is called better that is not.
    """
    first, second = np.triu_indices(len(values), 1)
    drawn = resampled[np.isfinite(resampled).all(axis=1)]
    if clusters < 2 or not np.isfinite(values).all() or not len(drawn) or 2 * len(drawn) < len(resampled):
        return None
    better = np.zeros((len(values), len(values)), dtype=bool)
    if not len(first):
        return better
    gap, deviation = values[first] - values[second], drawn[:, first] - drawn[:, second]
    deviation -= gap
    inflation = np.sqrt(clusters / (clusters - 1))
    error = np.sqrt((deviation**2).mean(axis=0)) * inflation
    varies = error > 10.0**-DIGITS
    largest = np.divide(np.abs(deviation), error, out=np.zeros_like(deviation), where=varies).max(axis=1)
    reach = float(np.quantile(largest, level, method="higher")) * inflation
    reach = max(
        float(special.stdtrit(clusters - 1, special.ndtr(reach))), float(special.stdtrit(clusters - 1, (1 + level) / 2))
    )
    same = sign_test_rejects(clusters, len(gap), level)
    distinct = np.where(varies, np.abs(gap) > reach * error, same & (np.abs(gap) > 10.0**-DIGITS))
    better[first, second], better[second, first] = distinct & (gap > 0), distinct & (gap < 0)
    return better
