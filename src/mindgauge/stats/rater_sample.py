"""What these raters say of other raters: intervals for components of crossed effects, and what rests on them.

With two raters their variance has one degree of freedom, and every interval must show it. So intervals rest on
generalised pivotal quantities (Weerahandi 1993; for unbalanced designs Park and Burdick 2003), each of which knows its
degrees of freedom. With factor f as fixed instead of random, the rise of the error's sum of squares,

    Q_f(λ) = (r²(λ_f = λ) - r²(λ_f → ∞)) / σ²  ~  χ²(q_f - 1),

is exact at the true λ, the other factors' λ given (Wald 1947; Seely and El-Bassiouni 1983; in meta-analysis the
Q-profile of Viechtbauer 2007); Q falls with λ, so that a draw of χ² is a draw of λ. Draws of all components give those
of every function of them, and their percentiles its interval. A mean has the mixture of N(μ, Var(λ, σ²)) over them: of
k raters who rated everything, that is Student's t with k - 1 degrees of freedom.

Values on a scale are not normal. For a factor of 20 levels or more, and for the error, the degrees of freedom are
those that a variance has at the kurtosis κ of its predictions, 2 (q - 1) / (κ - 1) if κ > 3 (Box 1953). Components are
drawn apart from each other, as the mean squares of a balanced design are.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from mindgauge.stats.interval import Interval
from mindgauge.stats.ratio import ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from numpy.typing import NDArray

    from mindgauge.stats.crossed import Design, Fit

    Floats = NDArray[np.float64]

DRAWS = 8000
_GRID = np.logspace(-6, 5, 45)
_FIXED = 1e6
"""A λ at which a factor is as good as fixed."""
_KURTOTIC = 20
"""Levels from which a kurtosis can be told."""
_FEW_DRAWS = 400
_NODES = 48
_STEPS = 80
_EXACT = 1e-12
"""Of the distance between the outermost quantiles: a step so short is the last."""


class RaterSample(NamedTuple):
    """What a sample of raters says of others. SDs are in units of the scale.

    `sds` has the SD of each factor and of the `residual`; `shares` the ratio of each factor's variance to all.
    `single` is the agreement of one rater with another, ICC(A,1), of raters like these, and `mean_of` that of the mean
    of k; `mean` the mean over raters at large, `another` what the mean of k others would be; `apart` by how much at
    most the means of k and k others differ in 95 of 100 cases, and how far apart two single ratings of a subject lie.
    `severities` has each rater's effect beside raters at large, in the order of the codes.
    """

    sds: dict[str, Interval]
    shares: dict[str, Interval]
    single: Interval
    mean_of: Interval
    mean: Interval
    another: Interval
    apart: Interval
    ratings_apart: Interval
    severities: list[Interval]
    k: int


class _Draws(NamedTuple):
    """Draws of λ by factor, and of σ², shape (B,) each."""

    ratios: dict[str, Floats]
    residual: Floats

    def variance(self, name: str) -> Floats:
        return self.residual if name == "residual" else self.ratios[name] * self.residual


def sample(
    design: Design, fit: Fit, *, rater: str, subject: Collection[str], k: int = 2, level: float = 0.95, seed: int = 0
) -> RaterSample:
    """Say what fitted ratings tell of other raters.

    Args:
        design: of the ratings.
        fit: of the design.
        rater: the factor of the raters; it must not be the one with the most levels.
        subject: the factors by which what is rated differs; their variance is what raters should agree on.
        k: how many raters make a mean.
        level: of confidence.
        seed: of the draws.

    Raises:
        ValueError: the rater factor has fewer than two levels.
    """
    if design.levels[rater] < 2:
        raise ValueError("one rater is no sample of raters")
    generator = np.random.default_rng(seed)
    curves = {name: _curve(design, fit, name) for name in fit.names}
    draws = _draw(design, fit, curves, generator)
    tail = (1 - level) / 2
    names = (*fit.names, "residual")
    estimates = fit.variances

    def of(function: Callable[[dict[str, Floats]], Floats]) -> Interval:
        value = float(function({name: np.array(estimates[name]) for name in names}))
        low, high = np.quantile(function({name: draws.variance(name) for name in names}), [tail, 1 - tail])
        return Interval(value, float(low), float(high))

    def agreement(number: int) -> Interval:
        def reliability(parts: dict[str, Floats]) -> Floats:
            true = np.sum([parts[name] for name in subject], axis=0)
            error = np.sum([parts[name] for name in names if name not in subject], axis=0)
            return np.asarray(true / (true + error / number))

        return of(reliability)

    half = special.ndtri(1 - tail)
    rating_gap = of(lambda parts: half * np.sqrt(2 * (parts[rater] + parts["residual"])))
    mean_gap = of(lambda parts: half * np.sqrt(2 * parts[rater] / k))
    return RaterSample(
        {name: of(partial(_sd, name)) for name in names}, {name: of(partial(_share, name)) for name in names},
        agreement(1), agreement(k),
        *_means(design, fit, draws, rater, k, tail), mean_gap, rating_gap, _severities(design, fit, draws, rater, tail), k,
    )  # fmt: skip


def _sd(name: str, parts: dict[str, Floats]) -> Floats:
    return np.sqrt(parts[name])


def _share(name: str, parts: dict[str, Floats]) -> Floats:
    return np.asarray(parts[name] / np.sum(list(parts.values()), axis=0))


class MeanAtLarge(NamedTuple):
    """A mean over raters at large, and what the mean of another k would be."""

    mean: Interval
    another: Interval


def mean_at_large(
    design: Design, fit: Fit, *, rater: str, k: int = 2, level: float = 0.95, seed: int = 0
) -> MeanAtLarge:
    """Bound the mean of what raters say, and that of k others.

    Args:
        design: of the ratings, or of the differences between them and what they are compared with.
        fit: of the design.
        rater: the factor of the raters.
        k: how many others.
        level: of confidence.
        seed: of the draws.

    Raises:
        ValueError: there is one rater.
    """
    if design.levels[rater] < 2:
        raise ValueError("one rater is no sample of raters")
    generator = np.random.default_rng(seed)
    draws = _draw(design, fit, {name: _curve(design, fit, name) for name in fit.names}, generator)
    return _means(design, fit, draws, rater, k, (1 - level) / 2)


def component_draws(design: Design, fit: Fit, *, seed: int = 0) -> dict[str, Floats]:
    """Return draws of each factor's variance, and of `residual`, shape (B,) each: their quantiles are intervals.

    Args:
        design: of the ratings.
        fit: of the design.
        seed: of the draws.
    """
    curves = {name: _curve(design, fit, name) for name in fit.names}
    draws = _draw(design, fit, curves, np.random.default_rng(seed))
    return {name: draws.variance(name) for name in (*fit.names, "residual")}


def _means(design: Design, fit: Fit, draws: _Draws, rater: str, k: int, tail: float) -> MeanAtLarge:
    """Return the mean with the bounds of its mixture of normals, and with those of the mean of k other raters."""
    own = _mean_variance(design, fit, draws)
    halves = (_half_width(variance, tail) for variance in (own, own + draws.variance(rater) / k))
    return MeanAtLarge(*(Interval(fit.mean, fit.mean - half, fit.mean + half) for half in halves))


def _curve(design: Design, fit: Fit, name: str) -> Floats:
    """Return Q_f on the grid of λ, after Q_f(0): what is left of it where f is fixed is taken off."""
    fixed, *squares = design.absorb(_varied(fit, name, [_FIXED, 0.0, *_GRID])).squares
    rise = (np.array(squares) - fixed) / fit.residual
    return np.maximum.accumulate(np.maximum(rise, 1e-300)[::-1])[::-1]


def _varied(fit: Fit, name: str, ratios: Sequence[float] | Floats) -> Floats:
    """Return the fitted λ with others of one factor in its place, shape (B, factors)."""
    points = np.tile(fit.ratios, (len(ratios), 1))
    points[:, fit.names.index(name)] = ratios
    return points


def _solved(curve: Floats, target: Floats) -> Floats:
    """Return the λ at which Q takes some values; 0 where it never is as large."""
    heights = np.log(curve[1:])
    ratios = np.exp(np.interp(np.log(target), heights[::-1], np.log(_GRID)[::-1]))
    ratios = np.where(target < curve[-1], _GRID[-1] * curve[-1] / target, ratios)
    low = target > curve[1]
    fall = curve[0] - curve[1]
    between = np.clip(curve[0] - target, 0.0, fall) / (fall or 1.0) * _GRID[0]
    return np.where(low, between, ratios)


def _draw(design: Design, fit: Fit, curves: dict[str, Floats], generator: np.random.Generator) -> _Draws:
    """Draw σ² and each λ by a χ² of the degrees of freedom that the kurtosis leaves (see the module)."""

    def chance(freedom: float, effective: float) -> Floats:
        drawn = _chi_square_quantiles(effective)[generator.permutation(DRAWS)] * freedom / effective
        return np.maximum(drawn, 1e-12)

    freedom = float(fit.error_freedom)
    residual = fit.residual * freedom / chance(freedom, _effective(freedom, fit.residuals))
    ratios = {}
    for name in fit.names:
        degrees = design.levels[name] - 1.0
        is_sampled = design.levels[name] >= _KURTOTIC
        effective = _effective(degrees, fit.effects[name]) if is_sampled else degrees
        ratios[name] = _solved(curves[name], chance(degrees, effective) * residual / fit.residual)
    return _Draws(ratios, residual)


def _chi_square_quantiles(freedom: float) -> Floats:
    """Return the middle of each of B equal parts of a χ², in order, to twelve digits from what it is at some nodes."""
    nodes, weights = _between_nodes()
    return np.asarray(np.exp(weights @ np.log(special.chdtri(freedom, special.ndtr(-nodes)))))


@lru_cache(maxsize=1)
def _between_nodes() -> tuple[Floats, Floats]:
    """Return K normal quantiles, and with which weights, (B, K), what is known there gives the middle of each of B equal parts.

    The logarithm of a χ² is smooth in the normal quantile, so Chebyshev's nodes and barycentric weights (Berrut and
    Trefethen 2004) interpolate it.
    """
    middles = special.ndtri((np.arange(DRAWS) + 0.5) / DRAWS)
    angles = np.pi * (np.arange(_NODES) + 0.5) / _NODES
    nodes = middles[-1] * np.cos(angles)
    weights = (-1.0) ** np.arange(_NODES) * np.sin(angles) / (middles[:, None] - nodes)
    return nodes, weights / weights.sum(axis=1, keepdims=True)


def _effective(freedom: float, values: Floats) -> float:
    """Return the degrees of freedom of a variance of values as heavy-tailed as these."""
    centred = values - values.mean()
    square = float(np.mean(centred**2))
    if square <= 1e-12:
        return freedom
    kurtosis = float(np.mean(centred**4)) / square**2
    return max(2 * freedom / (max(kurtosis, 3.0) - 1), 1.0)


def _mean_variance(design: Design, fit: Fit, draws: _Draws) -> Floats:
    """Return the variance of the mean at each draw, (B,): Σ c_f σ_f² + c σ² with the weights of the estimate.

    c_f = ∂(1 / 1'V⁻¹1)/∂λ_f, since the weights of generalised least squares are those of least variance.
    """
    steps = 1e-4 * np.maximum(fit.ratios, 1e-2)
    base, *raised = 1 / design.absorb(np.concatenate([fit.ratios[None], fit.ratios + np.diag(steps)])).one_one
    slopes = (np.array(raised) - base) / steps
    share = base - float(slopes @ fit.ratios)
    variance = slopes @ np.stack([draws.variance(name) for name in fit.names])
    return np.asarray(variance + max(share, 0.0) * draws.residual)


def _half_width(variance: Floats, tail: float) -> float:
    """Return h with mean over draws of Φ(h / sd) = 1 - tail."""
    sd = np.sqrt(variance)
    return float(_quantile(np.zeros((1, 1)), sd[None], 1 - tail)[0])


def _quantile(middle: Floats, sd: Floats, share: float) -> Floats:
    """Return the quantile of mixtures of normals, one a row, shape (rows, draws) each."""
    sd = np.maximum(sd, 1e-12)
    own = middle + special.ndtri(share) * sd  # the quantile of each normal: that of the mixture lies among them
    low, high = own.min(axis=1), own.max(axis=1)
    point, reach = own.mean(axis=1), high - low
    for _ in range(_STEPS):  # Newton's, and halving where a step leaves what is known to hold the quantile
        z = (point[:, None] - middle) / sd
        excess = special.ndtr(z).mean(axis=1) - share
        low, high = np.where(excess < 0, point, low), np.where(excess < 0, high, point)
        density = (np.exp(-(z**2) / 2) / sd).mean(axis=1) / math.sqrt(2 * math.pi)
        following = point - ratio(excess, density, np.inf)
        following = np.where((following > low) & (following < high), following, (low + high) / 2)
        settled = np.abs(following - point) <= _EXACT * reach
        point = following
        if settled.all():
            break
    return np.asarray(point)


def _severities(design: Design, fit: Fit, draws: _Draws, rater: str, tail: float) -> list[Interval]:
    """Return each rater's effect: the prediction, and the mixture of predictions over draws of the raters' variance."""
    if rater not in design.dense:
        undefined = "there are as many raters as subjects"
        return [Interval(None, undefined=undefined)] * design.levels[rater]
    grid = np.concatenate([[0.0], _GRID])
    effects, errors = design.predicted(design.absorb(_varied(fit, rater, grid), errors=True), rater)
    thinned = slice(0, None, max(DRAWS // _FEW_DRAWS, 1))
    order = np.argsort(draws.ratios[rater])[thinned]
    ratio, residual = np.minimum(draws.ratios[rater][order], _GRID[-1]), draws.residual[order]
    log_ratio = np.log(ratio + _GRID[0])
    nodes = np.log(grid + _GRID[0])
    middle = np.stack([np.interp(log_ratio, nodes, row) for row in effects.T])
    # an error's variance grows as λ itself where raters are few, so it is read off in logarithms
    spread = np.stack([np.exp(np.interp(log_ratio, nodes, np.log(np.maximum(row, 1e-300)))) for row in errors.T])
    sd = np.sqrt(spread * residual)
    low, high = _quantile(middle, sd, tail), _quantile(middle, sd, 1 - tail)
    return [
        Interval(float(value), float(lower), float(upper))
        for value, lower, upper in zip(fit.effects[rater], low, high, strict=True)
    ]
