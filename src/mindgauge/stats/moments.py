"""Two raters on one interval scale: everything that follows from six weighted sums.

A row of sums is (w, Σx, Σy, Σxx, Σyy, Σxy), with x the first rater's value (the reference), y the second's, and w the
sum of the weights. A resample is a row of weights, so a statistic of B resamples is arithmetic on B rows of six
numbers, however many pairs there are; and sums of parts add up to the sums of the whole.

A pair of weight 2 is the pair twice, and n is w, which need not be whole.
Sums are taken around an `origin`: squares of numbers far from it leave no digits for their differences. For ratings
from 1 to 5 the default 0 does; for values in the millions, give something like their mean. Only `mean_first` and
`mean_second` must be told the origin again; every other statistic here is about differences and does not see it.

Results are NaN where a resample does not define them, and never a numpy warning. A variance below the rounding error
of its sums is taken as 0. With centred sums S and D = mean(y) - mean(x), three coefficients differ in what they add
to the same denominator:

    ICC(C,1)  2 Sxy / (Sxx + Syy)                                  a constant difference costs nothing
    Lin's     2 Sxy / (Sxx + Syy + n D²)                           it counts in full
    ICC(A,1)  2 Sxy / (Sxx + Syy + (n - 1) D² - Sdd / n)           less what chance adds to D²
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mindgauge.stats.ratio import ratio

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

ROUNDING = 64 * sys.float_info.epsilon
"""A sum of squared deviations below this share of its raw sum of squares is rounding error."""


def terms(x: Floats, y: Floats) -> tuple[Floats, ...]:
    """Return what the six sums add up: 1, x, y, xx, yy, xy of each pair."""
    return np.ones_like(x), x, y, x * x, y * y, x * y


def moments(x: Floats, y: Floats, weights: Floats | None = None, *, origin: float = 0.0) -> Floats:
    """Return the six sums of paired values, shape (B, 6).

    Args:
        x: shape (n,), the first rater's values, all finite; leave pairs with a missing value out, and count them.
        y: shape (n,), the second rater's.
        weights: shape (B, n); ones if not given.
        origin: what values are measured from.
    """
    rows = np.stack(terms(np.asarray(x, dtype=float) - origin, np.asarray(y, dtype=float) - origin), axis=-1)
    return np.asarray(rows.sum(axis=0, keepdims=True) if weights is None else weights @ rows)


class CentredSums(NamedTuple):
    """Around the means, each of shape (...,): sums of squares of x, y, s = x + y and d = y - x, and of products xy."""

    n: Floats
    xx: Floats
    yy: Floats
    xy: Floats
    ss: Floats
    dd: Floats
    bias: Floats


def centred(sums: Floats | CentredSums) -> CentredSums:
    """Return sums (…, 6) around their means, which every function here takes as well: for several, compute it once."""
    if isinstance(sums, CentredSums):
        return sums
    w, x, y, xx, yy, xy = np.moveaxis(np.asarray(sums, dtype=float), -1, 0)
    n = np.where(w > 0, w, np.nan)

    def around(raw: Floats, total: Floats, scale: Floats) -> Floats:
        rest = raw - total**2 / n
        return np.where(rest <= ROUNDING * scale, 0 * n, rest)

    sxx, syy = around(xx, x, xx), around(yy, y, yy)
    sss, sdd = around(xx + 2 * xy + yy, y + x, xx + yy), around(xx - 2 * xy + yy, y - x, xx + yy)
    sxy = np.where((sxx == 0) | (syy == 0), 0 * n, xy - x * y / n)
    return CentredSums(n, sxx, syy, sxy, sss, sdd, (y - x) / n)


def mean_first(sums: Floats, *, origin: float = 0.0) -> Floats:
    """Return mean(x), shape (B,), from sums (B, 6) taken around `origin`."""
    return ratio(sums[..., 1], sums[..., 0]) + origin


def mean_second(sums: Floats, *, origin: float = 0.0) -> Floats:
    """Return mean(y), shape (B,), from sums (B, 6) taken around `origin`."""
    return ratio(sums[..., 2], sums[..., 0]) + origin


def bias(sums: Floats | CentredSums) -> Floats:
    """Return mean(y - x), shape (B,): how far the second rater lies above the first.

    Published example: peak flow by two meters (Bland and Altman 1986, 17 people, first readings), large minus mini
    meter, -2.1 litres per minute.
    """
    return centred(sums).bias


def mse(sums: Floats | CentredSums) -> Floats:
    """Return mean((y - x)²), shape (B,): bias² + Var(y - x)."""
    c = centred(sums)
    return c.bias**2 + c.dd / c.n


def limits_of_agreement(sums: Floats | CentredSums, *, multiple: float = 1.96) -> tuple[Floats, Floats]:
    """Return the limits of agreement (Bland and Altman 1986), each of shape (B,): mean d ∓ multiple · SD(d).

    About 95 % of differences between two single ratings lie within them if differences are roughly normal. The
    standard deviation has the divisor n - 1; NaN where n ≤ 1. Published example: Bland and Altman 1986, peak flow,
    large minus mini meter: mean -2.1, SD 38.8; with their multiple of 2 the limits are -79.7 and 75.5 from these
    rounded numbers, -79.6 and 75.4 without rounding.
    """
    c = centred(sums)
    half = multiple * np.sqrt(ratio(c.dd, c.n - 1))
    return c.bias - half, c.bias + half


def pearson(sums: Floats | CentredSums) -> Floats:
    """Return Pearson's product-moment correlation Sxy / √(Sxx Syy), shape (B,).

    NaN where a rater does not vary. Published example: Bland and Altman 1986, peak flow: r = 0.94.
    """
    c = centred(sums)
    return np.clip(ratio(c.xy, np.sqrt(c.xx * c.yy)), -1, 1)


def concordance(sums: Floats | CentredSums) -> Floats:
    """Return Lin's concordance correlation (Lin 1989), shape (B,).

    2 Sxy / (Sxx + Syy + n D²), with variances of divisor n as in the paper. Its absolute value is at most Pearson's.
    NaN where all values are one and the same. Published example: cardiac output of four people by two methods, 18
    pairs (Bland and Altman 1999; the R package SimplyAgree's `reps`, whose manual prints 0.4791).
    """
    c = centred(sums)
    return ratio(2 * c.xy, c.xx + c.yy + c.n * c.bias**2)


def icc_consistency(sums: Floats | CentredSums) -> Floats:
    """Return ICC(C,1) of two raters (McGraw and Wong 1996), shape (B,): 2 Sxy / (Sxx + Syy).

    That is (MSR - MSE) / (MSR + MSE) of the two-way analysis of variance of an n × 2 table, since the sums of squares
    are SSR = (Sxx + 2 Sxy + Syy) / 2 and SSE = (Sxx - 2 Sxy + Syy) / 2 with n - 1 degrees of freedom each. It does not
    see a constant difference between the raters. `icc.consistency` is the form for any number of raters.
    NaN where n ≤ 1 or nobody varies.
    """
    c = centred(sums)
    return np.where(c.n > 1, ratio(2 * c.xy, c.xx + c.yy), np.nan)


def icc_agreement(sums: Floats | CentredSums) -> Floats:
    """Return ICC(A,1) of two raters (McGraw and Wong 1996), shape (B,).

    (MSR - MSE) / (MSR + MSE + 2 (MSC - MSE) / n) with MSC = n D² / 2, which is
    2 Sxy / (Sxx + Syy + (n - 1) D² - Sdd / n). `icc.agreement` is the form for any number of raters.
    NaN where n ≤ 1 or all values are one and the same.
    """
    c = centred(sums)
    spread = c.ss / 2 + (1 / 2 - 1 / c.n) * c.dd + (c.n - 1) * c.bias**2  # the same sum, but nothing cancels
    return np.where(c.n > 1, ratio(2 * c.xy, spread), np.nan)


def icc_consistency_within(sums: Floats | CentredSums) -> Floats:
    """Return ICC(C,1) of two raters pooled within groups, shape (B,); see `icc_agreement_within`.

    Args:
        sums: shape (B, groups, 6).
    """
    c = centred(sums)
    return ratio(_pooled(2 * c.xy), _pooled(c.xx + c.yy))


def icc_agreement_within(sums: Floats | CentredSums) -> Floats:
    """Return ICC(A,1) of two raters pooled within groups, shape (B,): numerator and denominator are summed over groups.

    Σ_g 2 Sxy / Σ_g (Sxx + Syy + (n_g - 1) D² - Sdd / n_g). What groups differ in counts for nothing: a rater who knows
    only which group a subject is of reaches 0. With one group it is `icc_agreement`. Where the groups are all pairs of
    k raters on the same subjects, it is ICC(A,1) of k raters (McGraw and Wong 1996), and the consistency ICC(C,1):
    sums over pairs of covariances, variances and squared differences are the mean squares of the two-way table.
    NaN where no group has two subjects that differ.

    Args:
        sums: shape (B, groups, 6).
    """
    c = centred(sums)
    spread = c.ss / 2 + (1 / 2 - 1 / c.n) * c.dd + (c.n - 1) * c.bias**2
    repeated = c.n > 1
    return ratio(_pooled(np.where(repeated, 2 * c.xy, 0.0)), _pooled(np.where(repeated, spread, 0.0)))


def _pooled(sums: Floats) -> Floats:
    """Sum over groups, of which those without subjects count for nothing."""
    return np.asarray(np.nan_to_num(sums).sum(axis=-1))
