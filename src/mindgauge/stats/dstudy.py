"""D-studies of designs that are not crossed in full: nested, unbalanced, crossed in part.

With variance components σ_f² of crossed effects (`crossed`), and w_sl the share of the ratings of s, what is measured,
that belongs to level l of factor f, the error of a mean of s has the variance (Brennan 2001, chapter 7, for unbalanced designs)

    σ²(Δ) = Σ_f σ_f² · mean over s of Σ_l w_sl²                              of its level
    σ²(δ) = Σ_f σ_f² · mean over pairs s, t of ½ Σ_l (w_sl - w_tl)²          beside another

Φ = σ²(s) / (σ²(s) + σ²(Δ)) and Eρ² with σ²(δ). In a crossed design the weights are 1/n_r, 1/n_c, 1/(n_c n_r), and what all
share (the same raters) leaves σ²(δ); where raters are nested in conversations, 1/(n_c n_r) for raters. How many raters or
conversations reach a target follows from dividing those parts that shrink with them. Intervals come from draws of the
components (`rater_sample`): they take raters, conversations and systems as samples.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from mindgauge.stats import crossed
from mindgauge.stats.generalizability import DesignNeeded, least
from mindgauge.stats.interval import Interval
from mindgauge.stats.rater_sample import component_draws

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]

RESIDUAL = "residual"
_DEPENDENT = 1e-6
"""Of the least eigenvalue of the parts' correlations: parts below it cannot be told apart."""


class NestedStudy(NamedTuple):
    """Components with intervals, Eρ² and Φ of the design at hand, and how many would bring Φ to a target."""

    components: dict[str, Interval]
    generalizability: Interval
    dependability: Interval
    raters: DesignNeeded
    conversations: DesignNeeded


def told_apart(factors: Mapping[str, Codes]) -> list[str]:
    """Return the factors, in their order, whose variances can be told from error and from those before them.

    Variances can be estimated if and only if the matrices M Z_f Z_f' M are linearly independent, with M = I - 11'/n and
    I the error's; their inner products are sums of squared counts of cells.

    Args:
        factors: levels by factor, shape (n,) each; the first ones are kept before the others.
    """
    n = len(next(iter(factors.values())))
    tables = {name: _indicator(codes) for name, codes in factors.items()} | {RESIDUAL: _indicator(np.arange(n))}
    kept = [RESIDUAL]
    for name in factors:
        gram = np.array([[_product(tables[a], tables[b]) for b in (*kept, name)] for a in (*kept, name)])
        size = np.sqrt(np.diag(gram))
        if size.min() > 1e-9 and np.linalg.eigvalsh(gram / np.outer(size, size))[0] > _DEPENDENT:
            kept.append(name)
    return kept[1:]


def _indicator(codes: Codes) -> csr_array:
    """Return Z, shape (n, levels)."""
    levels = np.unique(codes, return_inverse=True)[1]
    return sparse.csr_array((np.ones(len(codes)), (np.arange(len(codes)), levels)))


def _product(first: csr_array, second: csr_array) -> float:
    """Return tr(M A M B) of A = ZZ' and B = YY'."""
    n = int(first.shape[0])
    cells = first.T @ second
    of_first, of_second = (np.asarray(table.sum(axis=0)).ravel() for table in (first, second))
    between = float(of_first @ (cells @ of_second))
    squares = float(cells.multiply(cells).sum())
    return squares - 2 * between / n + float(of_first @ of_first) * float(of_second @ of_second) / n**2


def study(
    values: Floats,
    factors: Mapping[str, Codes],
    *,
    measured: Sequence[str],
    groups: Codes,
    by_rater: Collection[str],
    by_conversation: Collection[str],
    raters: int,
    conversations: int,
    target: float = 0.8,
    level: float = 0.95,
    seed: int = 0,
) -> NestedStudy:
    """Return the D-study of a design.

    Args:
        values: shape (n,).
        factors: levels by factor, shape (n,) each, that can be told apart.
        measured: the factors whose variance is what is measured.
        groups: shape (n,), the levels of what is measured.
        by_rater: the parts, `residual` among them, that shrink with the number of raters; empty where that is not known.
        by_conversation: those that shrink with the number of conversations.
        raters: how many there are.
        conversations: how many there are.
        target: of Φ.
        level: of confidence.
        seed: of the draws.

    Raises:
        ValueError: the values do not vary, nothing is left for the error, or the raters are a crowd.
    """
    crossed.require_few(raters, conversations)
    design = crossed.Design(values, factors)
    fit = crossed.fit(design)
    draws = component_draws(design, fit, seed=seed)
    estimates = {name: np.array([value]) for name, value in fit.variances.items()}
    rows = np.arange(len(values))
    weights = {
        name: _weights(groups, rows if name == RESIDUAL else factors[name])
        for name in estimates
        if name not in measured
    }
    tail = (1 - level) / 2

    def parts(components: Mapping[str, Floats]) -> tuple[Floats, dict[str, Floats], dict[str, Floats]]:
        true = np.sum([components[name] for name in measured], axis=0)
        return (
            np.asarray(true),
            {name: components[name] * weights[name][0] for name in weights},
            {name: components[name] * weights[name][1] for name in weights},
        )

    def coefficient(place: int) -> Interval:
        def of(components: Mapping[str, Floats]) -> Floats:
            true, *errors = parts(components)
            total = true + np.sum(list(errors[place].values()), axis=0)
            return np.asarray(true / np.where(total > 0, total, np.nan))

        value, spread = float(of(estimates)[0]), of(draws)
        if math.isnan(value):
            return Interval(None, undefined="neither a difference nor an error to measure")
        low, high = np.nanquantile(spread, [tail, 1 - tail])
        return Interval(value, float(low), float(high))

    def needed(shrinking: Collection[str], number: int) -> DesignNeeded:
        def of(components: Mapping[str, Floats]) -> Floats:
            true, absolute, _ = parts(components)
            zero = np.zeros_like(true)
            smaller = zero + np.sum([zero, *(absolute[name] for name in weights if name in shrinking)], axis=0)
            fixed = zero + np.sum([zero, *(absolute[name] for name in weights if name not in shrinking)], axis=0)
            return least(true, smaller * number, fixed, target)

        spread = of(draws)
        ends = (np.quantile(spread, tail, method="lower"), np.quantile(spread, 1 - tail, method="higher"))
        return DesignNeeded(*(int(n) if np.isfinite(n) else None for n in (of(estimates)[0], *ends)))

    def component(name: str) -> Interval:
        low, high = np.quantile(draws[name], [tail, 1 - tail])
        return Interval(float(estimates[name][0]), float(low), float(high))

    unknown = DesignNeeded(None, 1, None)
    return NestedStudy(
        {name: component(name) for name in estimates}, coefficient(1), coefficient(0), needed(by_rater, raters) if by_rater else unknown,
        needed(by_conversation, conversations),
    )  # fmt: skip


def _weights(groups: Codes, levels: Codes) -> tuple[float, float]:
    """Return the mean over groups of Σ_l w², and over pairs of groups of ½ Σ_l (w - w')²."""
    table = (_indicator(groups).T @ _indicator(levels)).tocsr()
    size = np.asarray(table.sum(axis=1)).ravel()
    shares = sparse.diags_array(1 / size) @ table
    squares = float(shares.multiply(shares).sum())
    number = shares.shape[0]
    absolute = squares / number
    if number < 2:
        return absolute, absolute
    together = np.asarray(shares.sum(axis=0)).ravel()
    shared = (float(together @ together) - squares) / (number * (number - 1))
    return absolute, absolute - shared
