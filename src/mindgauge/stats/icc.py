"""Intraclass correlations of n subjects rated by k raters: all six forms, with exact intervals and tests.

Which form answers which question (names of McGraw and Wong 1996, then of Shrout and Fleiss 1979):

    ICC(1)    ICC(1,1)   one rating, each subject rated by other raters: rater and error cannot be told apart
    ICC(A,1)  ICC(2,1)   one rating, the same raters: do they give the same number?
    ICC(C,1)  ICC(3,1)   one rating, the same raters: do they order and space subjects alike, whatever their level?
    ICC(k)    ICC(1,k)   the same three for the mean of all k raters
    ICC(A,k)  ICC(2,k)
    ICC(C,k)  ICC(3,k)

`mean_squares` and the six functions of it work on whole batches: resamples as weights, as values, or both. `icc` adds
interval and test for one table. Estimates below 0 stay below 0.
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from mindgauge.stats.interval import tied

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

    Degrees of freedom: rows n-1, columns k-1, residual (n-1)(k-1), within subjects n(k-1). `scale` is the largest
    absolute rating: what was rounded away grows with it, so with it a difference that is nothing but rounding is told.
    """

    rows: Floats
    columns: Floats
    residual: Floats
    within: Floats
    n: Floats
    k: int
    scale: Floats


def mean_squares(x: Floats, weights: Floats | None = None) -> MeanSquares:
    """Return mean squares of subjects × raters tables, of the shape that the leading axes broadcast to.

    SSR = k Σ w (mean_i - mean)², SSC = n Σ_j (mean_j - mean)², SSE is what remains (Shrout and Fleiss 1979, table 2).
    A subject of weight 2 counts as two rows, so n = Σ w. One table under many resamples is x (n, k), weights (B, n);
    28 tables under the same resamples, x (28, 1, n, k), weights (B, n); tables that differ between resamples,
    x (B, n, k). NaN where n ≤ 1 or k = 1. Published example: the table of `icc` has 11.24, 32.49, 1.02 and 6.26.

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
        within=(raters.mean + raters.deviation) / (n * others),
        n=n,
        k=k,
        scale=scale,
    )


def one_way(ms: MeanSquares) -> Floats:
    """ICC(1) = (MSR - MSW) / (MSR + (k-1) MSW), shape (...,); the published example of `icc` gives .17."""
    return (ms.rows - ms.within) / _positive(ms.rows + (ms.k - 1) * ms.within)


def consistency(ms: MeanSquares) -> Floats:
    """ICC(C,1) = (MSR - MSE) / (MSR + (k-1) MSE), shape (...,); the published example of `icc` gives .71."""
    return (ms.rows - ms.residual) / _positive(ms.rows + (ms.k - 1) * ms.residual)


def agreement(ms: MeanSquares) -> Floats:
    """ICC(A,1) = (MSR - MSE) / (MSR + (k-1) MSE + k (MSC - MSE) / n), shape (...,); the example gives .29."""
    spread = ms.rows + (ms.k - 1 - ms.k / ms.n) * ms.residual + ms.k * ms.columns / ms.n
    return (ms.rows - ms.residual) / _positive(spread)


def average_one_way(ms: MeanSquares) -> Floats:
    """ICC(k) = (MSR - MSW) / MSR, shape (...,); the published example of `icc` gives .44."""
    return (ms.rows - ms.within) / _positive(ms.rows)


def average_consistency(ms: MeanSquares) -> Floats:
    """ICC(C,k) = (MSR - MSE) / MSR, which is Cronbach's alpha, shape (...,); the example gives .91."""
    return (ms.rows - ms.residual) / _positive(ms.rows)


def average_agreement(ms: MeanSquares) -> Floats:
    """ICC(A,k) = (MSR - MSE) / (MSR + (MSC - MSE) / n), shape (...,); the example gives .62.

    NaN where the denominator is not positive: the ratio would lie above 1 for raters who disagree.
    """
    spread = ms.rows + ms.columns / ms.n
    rounding = ROUNDING * (spread + ms.scale * np.sqrt(spread))
    return (ms.rows - ms.residual) / _positive(spread - ms.residual / ms.n, rounding)


def _positive(denominator: Floats, rounding: Floats | float = 0.0) -> Floats:
    return np.where(denominator > rounding, denominator, np.nan)


class Coefficient(NamedTuple):
    """One intraclass correlation with its exact interval and the F test of "it is 0".

    `undefined` says why there is no value or no interval. Beside a value without it, a bound of None means that no
    value on that side is excluded. Where no error is left at all, `f` is infinite, `p` is 0 and there is no interval:
    normal theory would have the point 1, and on a scale of few levels perfect agreement proves less than that.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    f: float | None = None
    df1: int | None = None
    df2: int | None = None
    p: float | None = None
    undefined: str = ""


class Icc(NamedTuple):
    """The six forms, with n subjects used, k raters, and how many subjects were left out for a missing rating."""

    one_way: Coefficient
    agreement: Coefficient
    consistency: Coefficient
    average_one_way: Coefficient
    average_agreement: Coefficient
    average_consistency: Coefficient
    n: int
    k: int
    left_out: int


def icc(ratings: Floats, level: float = 0.95) -> Icc:
    """Return all six intraclass correlations of one table, with exact F intervals and tests (McGraw and Wong 1996).

    F = MSR / MSW for the one-way forms, MSR / MSE for the others. With F(p; a, b) the p-quantile, the bounds of a form
    are its formula with MSR times F(α/2; df, n-1) and times F(1-α/2; df, n-1), which is all of theirs in one line.
    The agreement forms have a sum of two mean squares as error; their df is Satterthwaite's at the estimate ρ:
    v = (a MSC + b MSE)² / ((a MSC)² / (k-1) + (b MSE)² / ((n-1)(k-1))), a = kρ / (n(1-ρ)), b = 1 + a (n-1).
    A ρ below 0 is taken as 0 in v only: a negative share of MSC can leave no degrees of freedom at all.

    The intervals take subjects as a random sample and errors as normal; they know nothing of the ends of a scale.

    Published example: 6 subjects, 4 raters (Shrout and Fleiss 1979, table 2): .17, .29, .71 for one rating, .44, .62,
    .91 for the mean of four; the R package psych prints the intervals -.13 to .72, .02 to .76, .34 to .95, -.88 to
    .91, .07 to .93 and .68 to .99.

    Args:
        ratings: shape (n, k), NaN where a rating is missing; subjects without all k ratings are left out.
        level: of confidence.
    """
    ratings = np.asarray(ratings, dtype=float)
    complete = np.isfinite(ratings).all(axis=1)
    x = ratings[complete]
    n, k = x.shape
    left_out = len(ratings) - n
    ms = mean_squares(x)
    reasons = {
        "fewer than 2 raters": k < 2,
        "fewer than 2 subjects with all ratings": n < 2,
        "all ratings are equal": not (ms.rows > 0 or ms.within > 0),
    }
    hindrance = next((reason for reason, holds in reasons.items() if holds), "")
    if hindrance:
        undefined = Coefficient(None, undefined=hindrance)
        return Icc(undefined, undefined, undefined, undefined, undefined, undefined, n, k, left_out)
    within_df, residual = n * (k - 1), (n - 1) * (k - 1)
    mixed = _satterthwaite(ms, residual)

    def form(estimate: Callable[[MeanSquares], Floats], error: Floats, df: int, error_df: float) -> Coefficient:
        value = float(estimate(ms))
        if math.isnan(value):
            reason = (
                "subjects do not differ"
                if ms.rows == 0
                else "the estimated variance of the mean rating is not positive"
            )
            return Coefficient(None, undefined=reason)
        if ms.rows == 0:
            return Coefficient(value, undefined="subjects do not differ, so there is no interval")
        quantiles = special.fdtri(error_df, n - 1, [(1 - level) / 2, (1 + level) / 2])
        low, high = (None if np.isnan(b) else float(b) for b in estimate(ms._replace(rows=ms.rows * quantiles)))
        f = float(ms.rows / error) if error > 0 else math.inf
        if low is not None and high is not None and tied(low, high):  # raters who never differ say nothing of others
            reason = "there is no error to measure, so there is no interval"
            return Coefficient(value, None, None, f, n - 1, df, float(special.fdtrc(n - 1, df, f)), reason)
        return Coefficient(value, low, high, f, n - 1, df, float(special.fdtrc(n - 1, df, f)))

    return Icc(
        one_way=form(one_way, ms.within, within_df, within_df),
        agreement=form(agreement, ms.residual, residual, mixed),
        consistency=form(consistency, ms.residual, residual, residual),
        average_one_way=form(average_one_way, ms.within, within_df, within_df),
        average_agreement=form(average_agreement, ms.residual, residual, mixed),
        average_consistency=form(average_consistency, ms.residual, residual, residual),
        n=n,
        k=k,
        left_out=left_out,
    )


def _satterthwaite(ms: MeanSquares, residual_df: int) -> float:
    rho = min(max(float(np.nan_to_num(agreement(ms))), 0.0), 1.0)
    # both shares times n (1 - ρ), so that ρ = 1 needs no exception
    of_columns = float(ms.columns) * ms.k * rho
    of_residual = float(ms.residual) * (ms.n * (1 - rho) + ms.k * rho * (ms.n - 1))
    both = of_columns**2 / (ms.k - 1) + of_residual**2 / residual_df
    return float((of_columns + of_residual) ** 2 / both) if both > 0 else float(residual_df)
