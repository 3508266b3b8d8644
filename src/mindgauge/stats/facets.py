"""Many facets of an ordinal rating: how severe a rater is, how hard a criterion, in logits (Linacre 1989).

    log P(x = k) / P(x = k - 1) = θ_subject - δ_criterion - ρ_rater - τ_k

Linacre's rating scale model with raters, by marginal maximum likelihood: θ ~ N(0, σ²) is integrated out (Bock and
Aitkin 1981), since joint estimation of all θ spreads the rest too far where a subject has few ratings. Σδ = Σρ = 0.
Ratings of a subject are not independent given θ, least of all one rater's on several criteria; so errors are the
sandwich's over clusters (White 1982; Liang and Zeger 1986), with Student's t at clusters less one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import optimize, sparse, special

from mindgauge.stats.bootstrap import types
from mindgauge.stats.interval import Interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]

FEWEST = 10
"""Clusters from which anything is said."""
_NODES = np.linspace(-5, 5, 101)
_WEIGHTS = -0.5 * _NODES**2 - np.log(np.exp(-0.5 * _NODES**2).sum())
_BOUND = 15.0
_STEP = 1e-5


class Facets(NamedTuple):
    """Logits: `severity` by rater and `difficulty` by criterion, in the order of their codes; `spread` is σ.

    A value high up means that the rater gives low levels, or that low levels are given on the criterion. `thresholds`
    are τ between the levels that occur. Where nothing can be said, `undefined` says why, and lists are empty.
    """

    severity: list[Interval]
    difficulty: list[Interval]
    thresholds: list[float]
    spread: float | None
    n: int
    subjects: int
    clusters: int
    undefined: str = ""


class _RatingCounts(NamedTuple):
    """Ratings as counts: `level_counts` (kinds, cells x levels), `cells` (kinds, cells); a cell is a rater on a criterion.

    Subjects that were rated alike are of one kind: `kind` (subjects,) says of which, `times` (kinds,) how many are of each.
    """

    level_counts: sparse.csr_array
    cells: sparse.csr_array
    kind: Codes
    times: Codes
    raters: int
    criteria: int
    levels: int


def facets(
    subject: Codes, rater: Codes, criterion: Codes, values: Floats, cluster: Codes, level: float = 0.95
) -> Facets:
    """Estimate severities and difficulties.

    Args:
        subject: shape (n,), of each rating.
        rater: shape (n,), from 0 without gaps.
        criterion: shape (n,), from 0 without gaps; all of one scale, on which a high value is a mild one.
        values: shape (n,).
        cluster: shape (n,).
        level: of confidence.
    """
    sizes = int(rater.max()) + 1, int(criterion.max()) + 1
    clusters = len(np.unique(cluster))
    ends = _at_an_end(rater, values, sizes[0])
    varied = ~np.isin(rater, list(ends))
    subject, values, cluster = subject[varied], values[varied], cluster[varied]
    varied_raters = np.unique(rater[varied])
    rater, criterion = np.searchsorted(varied_raters, rater[varied]), criterion[varied]
    present = np.unique(criterion)
    reasons = {
        "fewer than two raters used more than one end of the scale": len(varied_raters) < 2,
        f"{clusters} conversations, at least {FEWEST} are needed": len(np.unique(cluster)) < FEWEST,
    }
    reason = next((text for text, holds in reasons.items() if holds), "")
    if reason:
        return Facets([], [], [], None, len(values), len(np.unique(subject)), clusters, reason)
    table = _tabled(subject, rater, np.searchsorted(present, criterion), values)
    start = np.zeros(table.raters + table.criteria - 2 + table.levels - 1 + 1)
    point, _, _ = optimize.fmin_l_bfgs_b(
        lambda point: _loss(table, point), start, bounds=[(-_BOUND, _BOUND)] * len(start),
        maxiter=500, factr=1e-13 / np.finfo(float).eps, pgtol=1e-6,
    )  # fmt: skip
    first = np.unique(subject, return_index=True)[1]
    errors = _errors(table, point, cluster[first])
    severity, difficulty, thresholds, spread = _parts(table, point)
    quantile = float(special.stdtrit(clusters - 1, (1 + level) / 2))
    own, hard = (_bounds(values, errors, offset, quantile) for values, offset in ((severity, 0), (difficulty, table.raters - 1)))  # fmt: skip
    full = [Interval(None, undefined=ends.get(i, "")) for i in range(sizes[0])]
    for place, interval in zip(varied_raters, own, strict=True):
        full[int(place)] = interval
    hardness = [Interval(None, undefined="no rating is left") for _ in range(sizes[1])]
    for place, interval in zip(present, hard, strict=True):
        hardness[int(place)] = interval
    return Facets(full, hardness, thresholds.tolist(), spread, len(values), len(first), clusters)


def _at_an_end(rater: Codes, values: Floats, raters: int) -> dict[int, str]:
    """Return the raters all of whose values are the lowest, or the highest: their severity has no bound."""
    low, high = values.min(), values.max()
    reasons = {}
    for place in range(raters):
        own = values[rater == place]
        if len(own) and np.ptp(own) == 0 and own[0] in (low, high):
            reasons[place] = f"all values are at the {'lowest' if own[0] == low else 'highest'} level that occurs"
    return reasons


def _tabled(subject: Codes, rater: Codes, criterion: Codes, values: Floats) -> _RatingCounts:
    levels, x = np.unique(values, return_inverse=True)
    rows = np.unique(subject, return_inverse=True)[1]
    raters, criteria, n = int(rater.max()) + 1, int(criterion.max()) + 1, int(rows.max()) + 1
    cell = rater * criteria + criterion
    unit = np.ones(len(values))
    shape = (n, raters * criteria * len(levels))
    kinds = types(sparse.csr_array((unit, (rows, cell * len(levels) + x)), shape=shape))
    cells = sparse.kron(sparse.eye_array(raters * criteria), np.ones((len(levels), 1)), format="csr")
    return _RatingCounts(kinds.rows, kinds.rows @ cells, kinds.kind, kinds.counts, raters, criteria, len(levels))


def _parts(table: _RatingCounts, point: Floats) -> tuple[Floats, Floats, Floats, float]:
    """Return severities, difficulties, thresholds and σ of a point of the search."""
    cuts = np.cumsum([table.raters - 1, table.criteria - 1, table.levels - 1])
    severity, difficulty, thresholds, spread = np.split(point, cuts)
    return _closed(severity), _closed(difficulty), thresholds, float(np.exp(spread[0]))


def _closed(part: Floats) -> Floats:
    """Add the last value of a facet, by which it adds up to 0."""
    return np.append(part, -part.sum())


def _chances(table: _RatingCounts, point: Floats) -> Floats:
    """Return log P of each level, by cell and node: shape (cells, levels, nodes)."""
    severity, difficulty, thresholds, spread = _parts(table, point)
    shift = (severity[:, None] + difficulty).ravel()
    steps = np.arange(table.levels)
    fixed = np.append(0.0, np.cumsum(thresholds))
    logit = steps[:, None] * (spread * _NODES - shift[:, None, None]) - fixed[:, None]
    return np.asarray(logit - _log_sum(logit))


def _log_sum(logs: Floats) -> Floats:
    """Return log Σ exp over the second axis, which stays, to the last digit as scipy's, whose care for infinities costs twice that.

    The errors are slopes over tiny steps, so digits count: the largest terms are taken out of the sum.
    """
    top = logs.max(axis=1, keepdims=True)
    is_top = logs == top
    ties = is_top.sum(axis=1, keepdims=True, dtype=float)
    rest = np.exp(np.where(is_top, -np.inf, logs) - top).sum(axis=1, keepdims=True)
    return np.asarray(np.log1p(rest / ties) + np.log(ties) + top)


def _posterior(table: _RatingCounts, logs: Floats) -> tuple[float, Floats]:
    """Return the log-likelihood, and how likely each node is for a subject of each kind, shape (kinds, nodes)."""
    joint = table.level_counts @ logs.reshape(-1, len(_NODES)) + _WEIGHTS
    total = _log_sum(joint)
    return float(table.times @ total[:, 0]), np.exp(joint - total)


def _loss(table: _RatingCounts, point: Floats) -> tuple[float, Floats]:
    """Return minus the log-likelihood and its slope."""
    logs = _chances(table, point)
    likelihood, likely = _posterior(table, logs)
    likely *= table.times[:, None]
    chances = np.exp(logs)
    shape = (table.raters * table.criteria, table.levels, len(_NODES))
    excess = (table.level_counts.T @ likely).reshape(shape) - (table.cells.T @ likely)[:, None, :] * chances
    steps = np.arange(table.levels)
    gain = np.einsum("k,ckq->cq", steps, excess)
    cells = -gain.sum(axis=1).reshape(table.raters, table.criteria)
    by_rater, by_criterion = cells.sum(axis=1), cells.sum(axis=0)
    exceedance = excess.sum(axis=(0, 2))[::-1].cumsum()[::-1][1:]
    spread = _parts(table, point)[3] * float(gain.sum(axis=0) @ _NODES)
    slope = np.concatenate([by_rater[:-1] - by_rater[-1], by_criterion[:-1] - by_criterion[-1], -exceedance, [spread]])
    return -likelihood, -slope


def _scores(table: _RatingCounts, point: Floats) -> Floats:
    """Return the slope of a subject's log-likelihood by its kind, shape (kinds, parameters)."""
    logs = _chances(table, point)
    likely = _posterior(table, logs)[1]
    chances = np.exp(logs)
    n, cells = table.cells.shape
    steps = np.arange(table.levels)
    level_counts = table.level_counts.toarray().reshape(n, cells, table.levels)
    count = table.cells.toarray()
    mean = np.einsum("k,ckq->cq", steps, chances)
    gain = (level_counts @ steps - count * (likely @ mean.T)).reshape(n, table.raters, table.criteria)
    by_rater, by_criterion = -gain.sum(axis=2), -gain.sum(axis=1)
    excess = np.stack(
        [
            level_counts[:, :, level].sum(axis=1) - (count * (likely @ chances[:, level].T)).sum(axis=1)
            for level in steps
        ],
        axis=1,
    )
    exceedance = excess[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]
    scores = (level_counts @ steps).sum(axis=1)[:, None] - count @ mean
    spread = _parts(table, point)[3] * ((likely * scores) @ _NODES)
    return np.concatenate(
        [
            by_rater[:, :-1] - by_rater[:, -1:],
            by_criterion[:, :-1] - by_criterion[:, -1:],
            -exceedance,
            spread[:, None],
        ],
        axis=1,
    )


def _errors(table: _RatingCounts, point: Floats, cluster: Codes) -> Floats:
    """Return the sandwich's covariance of the parameters."""
    hessian = np.empty((len(point), len(point)))
    for i in range(len(point)):
        shift = np.zeros(len(point))
        shift[i] = _STEP
        hessian[i] = (_loss(table, point + shift)[1] - _loss(table, point - shift)[1]) / (2 * _STEP)
    bread = np.linalg.pinv((hessian + hessian.T) / 2)
    names, place = np.unique(cluster, return_inverse=True)
    sums = np.zeros((len(names), len(point)))
    np.add.at(sums, place, _scores(table, point)[table.kind])
    return np.asarray(len(names) / (len(names) - 1) * bread @ (sums.T @ sums) @ bread)


def _bounds(values: Floats, errors: Floats, offset: int, quantile: float) -> list[Interval]:
    """Return the intervals of a facet whose values add up to 0: the last is minus the sum of the others."""
    free = len(values) - 1
    if not free:
        return [Interval(None, undefined="it is the only one")]
    block = errors[offset : offset + free, offset : offset + free]
    variances = np.append(np.diag(block), block.sum())
    half = quantile * np.sqrt(np.maximum(variances, 0.0))
    return [
        Interval(float(value), float(value - width), float(value + width))
        if width > 0 and abs(value) < _BOUND / 2
        else Interval(float(value), undefined="no interval: the estimate runs off the scale")
        for value, width in zip(values, half, strict=True)
    ]
