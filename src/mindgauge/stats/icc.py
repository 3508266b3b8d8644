"""Intraclass correlations of n subjects rated by the same k raters, with exact intervals.

Which form answers which question (names of McGraw and Wong 1996, then of Shrout and Fleiss 1979):

    ICC(A,1)  ICC(2,1)   do raters give the same number?
    ICC(C,1)  ICC(3,1)   do they order and space subjects alike, whatever their level?

`mean_squares` and the two functions of it work on whole batches: resamples as weights, as values, or both. `icc` adds
the intervals for one table. Estimates below 0 stay below 0.
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from mindgauge.stats.interval import Interval, tied

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

ROUNDING = 64 * sys.float_info.epsilon
"""A sum of squared deviations below this share of what it is a difference of is rounding error."""


class Squares(NamedTuple):
    """The sum of squares of n weighted vectors, split: n |mean|² and Σ w |vector - mean|²; n is Σ w."""

    n: Floats
    mean: Floats
    deviation: Floats


def squares(vectors: Floats, weights: Floats | None = None, *, scale: Floats | float = 0.0) -> Squares:
    """Split a sum of squares into that of the mean vector and that around it; each result has shape (...,).

    Every mean square of a balanced design is one of the two for some contrasts of its cells (row means, differences
    between raters, …), times a constant. A sum that is within rounding error is 0, so that equal values do not vary.

    Args:
        vectors: shape (..., n, d), finite.
        weights: shape (..., n), how often each vector counts; ones if not given. Leading axes broadcast.
        scale: shape (...,), the largest absolute value of the data that the vectors are differences of.
    """
    centre = vectors.sum(axis=-2, keepdims=True) / max(vectors.shape[-2], 1)
    centred = vectors - centre
    terms = np.concatenate([np.ones_like(centred[..., :1]), (centred**2).sum(axis=-1, keepdims=True), centred], axis=-1)
    if weights is None:
        sums = terms.sum(axis=-2)
    elif terms.ndim == 2:
        sums = weights @ terms
    else:
        sums = (weights[..., None, :] @ terms)[..., 0, :]
    n = np.where(sums[..., 0] > 0, sums[..., 0], np.nan)
    raw, mean = sums[..., 1], sums[..., 2:] / n[..., None]
    of_mean = n * ((mean + centre[..., 0, :]) ** 2).sum(axis=-1)
    spread = raw - n * (mean**2).sum(axis=-1)
    floor = n * vectors.shape[-1] * (ROUNDING * np.asarray(scale)) ** 2
    return Squares(n, np.where(of_mean <= floor, 0, of_mean), np.where(spread <= floor + ROUNDING * raw, 0, spread))


class MeanSquares(NamedTuple):
    """The two-way analysis of variance of n subjects by k raters: mean squares of shape (...,), with n and k.

    Degrees of freedom: rows n-1, columns k-1, residual (n-1)(k-1).
    """

    rows: Floats
    columns: Floats
    residual: Floats
    n: Floats
    k: int


def mean_squares(x: Floats, weights: Floats | None = None) -> MeanSquares:
    """Return mean squares of subjects × raters tables, of the shape that the leading axes broadcast to.

    SSR = k Σ w (mean_i - mean)², SSC = n Σ_j (mean_j - mean)², SSE is what remains (Shrout and Fleiss 1979, table 2).
    A subject of weight 2 counts as two rows, so n = Σ w. One table under many resamples is x (n, k), weights (B, n);
    28 tables under the same resamples, x (28, 1, n, k), weights (B, n); tables that differ between resamples,
    x (B, n, k). NaN where n ≤ 1 or k = 1. Published example: the table of `icc` has 11.24, 32.49 and 1.02.

    Args:
        x: shape (..., n, k), finite.
        weights: shape (..., n); ones if not given.
    """
    k = x.shape[-1]
    scale = np.abs(x).max(axis=(-2, -1), initial=0.0)
    row_mean = x.mean(axis=-1, keepdims=True)
    rows, raters = (squares(part, weights, scale=scale) for part in (row_mean, x - row_mean))
    n, others = rows.n, np.nan if k == 1 else float(k - 1)
    freedom = np.where(n > 1, n - 1, np.nan)
    return MeanSquares(
        rows=k * rows.deviation / freedom,
        columns=raters.mean / others,
        residual=raters.deviation / (freedom * others),
        n=n,
        k=k,
    )


def consistency(ms: MeanSquares) -> Floats:
    """ICC(C,1) = (MSR - MSE) / (MSR + (k-1) MSE), shape (...,); the published example of `icc` gives .71."""
    return (ms.rows - ms.residual) / _positive(ms.rows + (ms.k - 1) * ms.residual)


def agreement(ms: MeanSquares) -> Floats:
    """ICC(A,1) = (MSR - MSE) / (MSR + (k-1) MSE + k (MSC - MSE) / n), shape (...,); the example gives .29."""
    spread = ms.rows + (ms.k - 1 - ms.k / ms.n) * ms.residual + ms.k * ms.columns / ms.n
    return (ms.rows - ms.residual) / _positive(spread)


def _positive(denominator: Floats) -> Floats:
    return np.where(denominator > 0, denominator, np.nan)


class Icc(NamedTuple):
    """Both forms of one table.

    A value without `undefined` whose bound is None has no value excluded on that side. Where no error is left at all, there
    is no interval: normal theory would have the point 1, and on a scale of few levels perfect agreement proves less.
    """

    agreement: Interval
    consistency: Interval


def icc(ratings: Floats) -> Icc:
    """Return both intraclass correlations of one table, with exact F intervals of 95 % (McGraw and Wong 1996).

    With F(p; a, b) the p-quantile, the bounds of a form are its formula with MSR times F(α/2; df, n-1) and times
    F(1-α/2; df, n-1), which is all of theirs in one line.
    The agreement form has a sum of two mean squares as error; its df is Satterthwaite's at the estimate ρ:
    v = (a MSC + b MSE)² / ((a MSC)² / (k-1) + (b MSE)² / ((n-1)(k-1))), a = kρ / (n(1-ρ)), b = 1 + a (n-1).
    A ρ below 0 is taken as 0 in v only: a negative share of MSC can leave no degrees of freedom at all.

    The intervals take subjects as a random sample and errors as normal; they know nothing of the ends of a scale.

    Published example: 6 subjects, 4 raters (Shrout and Fleiss 1979, table 2): .29 and .71; the R package psych prints the
    intervals .02 to .76 and .34 to .95.

    Args:
        ratings: shape (n, k), NaN where a rating is missing; subjects without all k ratings are left out.
    """
    ratings = np.asarray(ratings, dtype=float)
    complete = np.isfinite(ratings).all(axis=1)
    x = ratings[complete]
    n, k = x.shape
    ms = mean_squares(x)
    reasons = {
        "fewer than 2 raters": k < 2,
        "fewer than 2 subjects with all ratings": n < 2,
        "all ratings are equal": not (ms.rows > 0 or ms.columns > 0 or ms.residual > 0),
    }
    hindrance = next((reason for reason, holds in reasons.items() if holds), "")
    if hindrance:
        return Icc(*[Interval(None, undefined=hindrance)] * 2)

    def form(estimate: Callable[[MeanSquares], Floats], error_df: float) -> Interval:
        value = float(estimate(ms))
        if math.isnan(value):
            return Interval(None, undefined="subjects do not differ")
        if ms.rows == 0:
            return Interval(value, undefined="subjects do not differ, so there is no interval")
        quantiles = special.fdtri(error_df, n - 1, [0.025, 0.975])
        low, high = (None if np.isnan(b) else float(b) for b in estimate(ms._replace(rows=ms.rows * quantiles)))
        if low is not None and high is not None and tied(low, high):  # raters who never differ say nothing of others
            return Interval(value, undefined="there is no error to measure, so there is no interval")
        return Interval(value, low, high)

    residual = (n - 1) * (k - 1)
    return Icc(form(agreement, _satterthwaite(ms, residual)), form(consistency, residual))


def _satterthwaite(ms: MeanSquares, residual_df: int) -> float:
    rho = min(max(float(np.nan_to_num(agreement(ms))), 0.0), 1.0)
    # both shares times n (1 - ρ), so that ρ = 1 needs no exception
    of_columns = float(ms.columns) * ms.k * rho
    of_residual = float(ms.residual) * (ms.n * (1 - rho) + ms.k * rho * (ms.n - 1))
    both = of_columns**2 / (ms.k - 1) + of_residual**2 / residual_df
    return float((of_columns + of_residual) ** 2 / both) if both > 0 else float(residual_df)
