"""Generalizability theory: how much of the variance of ratings is systems, conversations, raters, and what is left.

The design is crossed: every system answers every conversation, every rater rates every answer, and each facet is a
random sample of its kind (Brennan 2001, chapters 3 and 4). The G-study splits the variance of one rating into seven
components; the D-study says what a mean over n_c conversations and n_r raters is worth for telling systems apart:

    σ²(δ) = σ²(sc)/n_c + σ²(sr)/n_r + σ²(scr,e)/(n_c n_r)           errors that change the order of systems
    σ²(Δ) = σ²(δ) + σ²(c)/n_c + σ²(r)/n_r + σ²(cr)/(n_c n_r)        with those that move all systems alike
    Eρ² = σ²(s) / (σ²(s) + σ²(δ))        generalizability, of the order
    Φ   = σ²(s) / (σ²(s) + σ²(Δ))        dependability, of the number itself

With one system the design is conversations × raters, and what is measured is the conversation's reply:
σ²(δ) = σ²(cr,e)/n_r and σ²(Δ) = σ²(δ) + σ²(r)/n_r. For the raters at hand Eρ² and Φ are ICC(C,k) and ICC(A,k).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mindgauge.stats import bootstrap
from mindgauge.stats.icc import squares
from mindgauge.stats.interval import Interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class Components(NamedTuple):
    """Variance components of one rating, in squared units of the scale; None where the design cannot tell.

    They stand as estimated: a component near 0 may come out negative. With one system, those that need several are
    None, and `residual` is conversation × rater with error.
    """

    system: float | None
    conversation: float | None
    rater: float | None
    system_conversation: float | None
    system_rater: float | None
    conversation_rater: float | None
    residual: float | None

    @property
    def used(self) -> Components:
        """The components as every D-study here uses them: negative estimates set to 0 (Brennan 2001)."""
        return Components(*(None if value is None else max(value, 0.0) for value in self))


class Study(NamedTuple):
    """A G-study with the D-study for the numbers of conversations and raters at hand.

    `low` and `high` bound each component, `generalizability` is Eρ², `dependability` Φ. `systems`, `conversations`
    and `raters` count what the components rest on; `left_out` counts conversations with a missing rating. `needs` says
    what would bring Φ to the target; with one system, conversations are what is measured, and their number matters not.
    """

    components: Components
    low: Components
    high: Components
    generalizability: Interval
    dependability: Interval
    systems: int
    conversations: int
    raters: int
    left_out: int
    needs: Needs | None
    undefined: str = ""


def variance_components(x: Floats, weights: Floats | None = None) -> Floats:
    """Return the components in the order of `Components`, shape (B, 7), by expected mean squares (Brennan 2001).

    σ²(scr,e) = MS_scr, σ²(sc) = (MS_sc - MS_scr) / n_r, …, σ²(s) = (MS_s - MS_sc - MS_sr + MS_scr) / (n_c n_r), …
    For one system σ²(cr,e) = MS_cr, σ²(c) = (MS_c - MS_cr) / n_r, σ²(r) = (MS_r - MS_cr) / n_c; the others are NaN.

    A resample of conversations holds their sampling error once more, so mean squares of resamples are put right before
    they are used: with f = 1 - 1/n_c a mean square with c comes out f times too small, and one without c too large by
    f times the one with it (E*[MS_s] = MS_s + f MS_sc); Tong and Brennan (2007) correct to the same end.

    Published example: Brennan 2001, synthetic data set no. 3 (10 persons, 4 items, 2 occasions): .5528, .4417, .0074,
    .5750, .1009, .1565, .9352 for p, i, o, pi, po, io, pio.

    Args:
        x: shape (s, c, r) with c and r at least 2, finite.
        weights: shape (B, c), how often each conversation was drawn; rows add up to c. One row of the data as they
            are if not given.
    """
    s, c, r = x.shape
    table = np.moveaxis(np.asarray(x, dtype=float), 1, 0)
    mean = table.mean(axis=(1, 2), keepdims=True)
    of_system = table.mean(axis=2, keepdims=True) - mean
    of_rater = table.mean(axis=1, keepdims=True) - mean
    rest = table - mean - of_system - of_rater

    def pair(contrasts: Floats, cells: int, freedom: int) -> tuple[Floats, Floats]:
        """Return the mean squares of an effect and of its interaction with conversations."""
        split = squares(contrasts.reshape(c, -1), weights, scale=np.abs(x).max())
        alone, crossed = cells * split.mean / freedom, cells * split.deviation / (freedom * (c - 1))
        return (alone, crossed) if weights is None else (alone - crossed, crossed * c / (c - 1))

    _, ms_c = pair(mean, s * r, 1)
    ms_r, ms_cr = pair(of_rater, s, r - 1)
    if s == 1:
        missing = np.full_like(ms_c, np.nan)
        parts = [missing, (ms_c - ms_cr) / r, (ms_r - ms_cr) / c, missing, missing, missing, ms_cr]
    else:
        ms_s, ms_sc = pair(of_system, r, s - 1)
        ms_sr, ms_scr = pair(rest, 1, (s - 1) * (r - 1))
        parts = [
            (ms_s - ms_sc - ms_sr + ms_scr) / (c * r),
            (ms_c - ms_sc - ms_cr + ms_scr) / (s * r),
            (ms_r - ms_sr - ms_cr + ms_scr) / (s * c),
            (ms_sc - ms_scr) / r,
            (ms_sr - ms_scr) / c,
            (ms_cr - ms_scr) / s,
            ms_scr,
        ]
    return np.stack([np.atleast_1d(component) for component in parts], axis=-1)


class _Error(NamedTuple):
    """σ² of what is measured, and what its error has per conversation, per rater, and per pair of the two."""

    measured: Floats
    conversation: Floats
    rater: Floats
    pair: Floats


def _error(components: Floats, *, absolute: bool) -> _Error:
    s, c, r, sc, sr, cr, e = np.moveaxis(np.maximum(components, 0), -1, 0)
    if np.isnan(s).any():
        return _Error(c, 0 * c, e + absolute * r, 0 * c)
    return _Error(s, sc + absolute * c, sr + absolute * r, e + absolute * cr)


def coefficient(components: Floats, conversations: int, raters: int, *, absolute: bool) -> Floats:
    """Return Φ (`absolute`) or Eρ² of a mean over N conversations and raters, of components of shape (..., 7)."""
    error = _error(components, absolute=absolute)
    total = (
        error.measured
        + error.conversation / conversations
        + error.rater / raters
        + error.pair / (conversations * raters)
    )
    return error.measured / np.where(total > 0, total, np.nan)


def _components(values: Floats) -> Components:
    return Components(*(None if np.isnan(value) else float(value) for value in values))


_MOST = 10**5
"""More raters or conversations than that are no answer."""


def least(measured: Floats, shrinking: Floats, fixed: Floats, target: float) -> Floats:
    """Solve measured / (measured + fixed + shrinking / n) ≥ target for the least whole n; infinite where none does."""
    if not 0 < target < 1:
        raise ValueError(f"target {target} does not lie between 0 and 1")
    room = measured * (1 - target) / target - fixed
    rounding = 1e-12 * (measured + fixed)
    never = ~(measured > 0) | (room < -rounding) | ((room <= rounding) & (shrinking > 0))
    free = ~never & (shrinking == 0)
    with np.errstate(over="ignore"):  # so many are no answer
        n = np.divide(shrinking, room, out=np.ones_like(room), where=~never & ~free)
    n = np.maximum(np.ceil(n * (1 - 1e-12)), 1.0)
    return np.where(never | (n > _MOST), np.inf, np.where(free, 1.0, n))


def needed(
    components: Floats, conversations: int, raters: int, target: float, *, absolute: bool = True
) -> tuple[Floats, Floats]:
    """Return how many raters, and how many conversations, bring Φ (or Eρ²) to a target, all else as it is; see `least`."""
    error = _error(components, absolute=absolute)
    by_rater, by_conversation = error.rater, error.conversation
    return (
        least(error.measured, by_rater + error.pair / conversations, by_conversation / conversations, target),
        least(error.measured, by_conversation + error.pair / raters, by_rater / raters, target),
    )


class DesignNeeded(NamedTuple):
    """A number that is needed, with its interval; None where no number is enough, of `high` where that may be so."""

    value: int | None
    low: int | None
    high: int | None


class Needs(NamedTuple):
    """How many raters, and how many conversations, would bring dependability to a target, all else as it is."""

    raters: DesignNeeded
    conversations: DesignNeeded


def _needs(drawn: Floats, values: Floats, sizes: tuple[int, int, int], target: float, seed: int, level: float) -> Needs:
    """Return both with intervals from resamples of conversations, in each of which raters are drawn, too.

    The raters who would be added are others. So few of them tell little of how raters vary: in each resample σ²(r) is
    divided by χ²/(n_r - 1), σ²(sr) by χ²/((n_s - 1)(n_r - 1)), as in generalized intervals of variance components
    (Weerahandi 1993; normal effects). Systems stay as they are.

    Args:
        drawn: components over resamples, shape (B, 7).
        values: components, shape (7,).
        sizes: systems, conversations and raters at hand.
        target: of Φ.
        seed: of the generator.
        level: of confidence.
    """
    systems, conversations, raters = sizes
    generator = np.random.default_rng([seed, 2])
    varied = drawn.copy()
    varied[:, 2] /= generator.chisquare(raters - 1, len(drawn)) / (raters - 1)
    if systems > 1:
        freedom = (systems - 1) * (raters - 1)
        varied[:, 4] /= generator.chisquare(freedom, len(drawn)) / freedom

    results = []
    for value, column in zip(*(needed(part, conversations, raters, target) for part in (values, varied)), strict=True):
        ends = (
            np.quantile(column, (1 - level) / 2, method="lower"),
            np.quantile(column, (1 + level) / 2, method="higher"),
        )
        results.append(DesignNeeded(*(int(n) if np.isfinite(n) else None for n in (value, *ends))))
    return Needs(*results)


def study(
    ratings: Floats,
    *,
    target: float = 0.8,
    resamples: int = 2000,
    seed: int = 0,
    level: float = 0.95,
) -> Study:
    """Return a G-study and its D-study, with percentile bootstrap intervals over conversations.

    A conversation in which any rating is missing is left out whole, and counted: estimates from unequal cells would
    rest on assumptions about why they are missing. The intervals resample conversations and hold systems and raters
    as they are, so they say nothing about other systems or other raters; with a handful of those, that is the larger
    uncertainty.

    Args:
        ratings: shape (systems, conversations, raters), or (conversations, raters) for one system; NaN is missing.
        target: of Φ, for what is needed.
        resamples: how many.
        seed: of the bootstrap.
        level: of confidence.
    """
    table = np.asarray(ratings, dtype=float)
    table = table[None] if table.ndim == 2 else table
    complete = np.isfinite(table).all(axis=(0, 2))
    x = table[:, complete]
    s, c, r = x.shape
    left_out = len(complete) - c
    reasons = {"no system": s < 1, "fewer than 2 raters": r < 2, "fewer than 2 conversations with all ratings": c < 2}
    hindrance = next((reason for reason, holds in reasons.items() if holds), "")
    if hindrance:
        no_components, no_value = Components(*[None] * 7), Interval(None, undefined=hindrance)
        return Study(
            no_components, no_components, no_components, no_value, no_value, s, c, r, left_out, None, hindrance
        )

    def estimate(weights: Floats | None) -> Floats:
        parts = variance_components(x, weights)
        coefficients = [coefficient(parts, c, r, absolute=absolute) for absolute in (False, True)]
        return np.concatenate([parts, np.stack(coefficients, axis=-1)], axis=-1)

    values = estimate(None)[0]
    drawn = bootstrap.distribution(estimate, np.arange(c), resamples, seed)
    # A component is a variance: what resamples estimate below 0 is cut to 0, as in the coefficients.
    parts = [
        bootstrap.percentile_interval(float(value), np.maximum(column, 0.0), level)
        for value, column in zip(values[:7], drawn.T, strict=False)
    ]

    def interval(place: int) -> Interval:
        if np.isnan(values[place]):
            return Interval(None, undefined="neither a difference nor an error to measure")
        return bootstrap.percentile_interval(float(values[place]), drawn[:, place], level)

    return Study(
        _components(values[:7]),
        Components(*(part.low for part in parts)),
        Components(*(part.high for part in parts)),
        interval(7),
        interval(8),
        s,
        c,
        r,
        left_out,
        _needs(drawn[:, :7], values[:7], (s, c, r), target, seed, level),
    )
