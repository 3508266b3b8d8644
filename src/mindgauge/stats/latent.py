"""How often each rater is right where no rater is right by definition: latent-truth models of several raters.

A reply has a truth x that no rater sees; given x, raters err independently of each other:

    P(ratings of a reply) = Σ_x π(x) Π_j P_j(rating of j | x).

Two kinds of truth. *Classes* (Dawid and Skene 1979): x is one of a few classes, and each rater has a matrix of error rates.
*Quality* (Samejima's graded response model, 1969, in its normal form; Johnson and Albert 1999, chapter 5): x ~ N(0, 1), and

    P_j(level ≤ k | x) = Φ(c_jk - a_j x),

with cut points and a discrimination of each rater's own. A reply is then unsafe where people as they are here would call it
so in half of the cases: x < t with Σ_j Φ(c_ju - a_j t) = J / 2 over people j, u the worst levels that are unsafe.

Both are fitted by the marginal likelihood (Bock and Aitkin 1981) with slopes by Fisher's identity, and with a weak prior,
without which a rater who never errs has no maximum. Errors are the sandwich's over clusters (White 1982; Liang and Zeger
1986), or the information's where these are larger; intervals are made on the logit scale with Student's t.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import optimize, sparse, special

from mindgauge.stats.bootstrap import types
from mindgauge.stats.interval import Interval
from mindgauge.stats.jackknife import effective
from mindgauge.stats.proportion import share

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Model = Callable[[Floats], "_Truths"]

FEWEST, FEWEST_REPLIES, FEWEST_SHARED = 10, 5, 10
"""Clusters, replies that are unsafe and that are safe, and replies that two raters share, from which anything is said."""
COPIED = "two raters agree so much more than the others that the model takes them for the truth, as where one copied the other"
_NODES = np.linspace(-5, 5, 61)
_WEIGHTS = -0.5 * _NODES**2 - special.logsumexp(-0.5 * _NODES**2)
_INSIDE, _PARTS = np.polynomial.legendre.leggauss(48)
_STEP, _SETTLED = 1e-4, 1e-4
"""Of slopes, and the slope per reply at which the search has settled."""
_LEAST = 1e-12
"""Of a level: what is rarer has no slope that a computer can write."""
_AGREED, _COPIED = (1.6, 1.5), 15.0
"""Prior mean and SD of arsinh a, which may be negative: a rater may turn the scale round; and a beyond which nothing errs."""
_ROUNDS, _TRACE = 30, 0.01
"""Of EM, which keeps near the majority where the likelihood has several peaks; and what is added to each count there."""
_LOOSE = 1.5
"""Prior SD of the logits of error rates, and of the logs of steps between cut points."""


class LatentErrors(NamedTuple):
    """`sensitivity` and `specificity` of each rater at the unsafe cut, and the `prevalence` of unsafe replies.

    Where nothing can be said, `undefined` says why, and the lists are empty; so does that of a single rater.
    """

    sensitivity: list[Interval]
    specificity: list[Interval]
    prevalence: Interval
    undefined: str = ""


class _Truths(NamedTuple):
    """What a point of the search says of each truth, with the slopes: of Q truths, J raters, L levels, s and p parameters."""

    shares: Floats
    """log π, shape (Q,)."""
    share_slopes: Floats
    """Shape (Q, s)."""
    levels: Floats
    """log P, shape (Q, J, L)."""
    level_slopes: Floats
    """By the rater's own parameters, shape (Q, J, L, p)."""


class _Fit(NamedTuple):
    point: Floats
    information: Floats
    scores: Floats
    """Of each kind of reply, shape (kinds, parameters)."""
    posterior: Floats
    """Shape (kinds, Q)."""
    kind: Codes
    settled: bool


def raters(
    ratings: Floats, cluster: Codes, people: NDArray[np.bool_], cut: int, *, ordered: bool = True, level: float = 0.95
) -> LatentErrors:
    """Estimate how much of what is unsafe each rater calls so, and how much of what is safe.

    Args:
        ratings: shape (n, J, L), how often each rater gave a reply each level, the worst first; 0 where it was not rated.
        cluster: shape (n,), the conversation of each reply.
        people: shape (J,), who are people: what is unsafe is what they would call so.
        cut: how many levels are unsafe.
        ordered: whether levels have an order; if not, the truth is one of two classes.
        level: of confidence.
    """
    linked, lone = _linked(ratings)
    rated = ratings[:, linked].any(axis=(1, 2))
    ratings, cluster = ratings[rated], cluster[rated]
    clusters = np.unique(cluster, return_inverse=True)[1]
    worth = effective(np.bincount(clusters).astype(float))
    reason = (
        lone
        if linked.sum() < 3 or (linked & people).sum() < 2
        else _hindrance(ratings[:, linked & people, :cut], worth)
    )
    if reason:
        return LatentErrors([], [], Interval(None), reason)
    ratings, own = ratings[:, linked], people[linked]
    if ordered:
        fit = _fit(ratings, _quality(ratings.shape[1:], cut), *_quality_start(ratings, cut))
    else:
        ratings, cut = np.stack([ratings[:, :, :cut].sum(axis=2), ratings[:, :, cut:].sum(axis=2)], axis=2), 1
        fit = _fit(ratings, _classes(ratings.shape[1], 2), *_classes_start(ratings))

    def logits(point: Floats) -> Floats:
        shares = _at_the_cut(point, own, ratings.shape[2], cut) if ordered else _of_two(point, len(own))
        return np.asarray(special.logit(np.clip(shares, _LEAST, 1 - _LEAST)))

    values = logits(fit.point)
    prevalence = float(special.expit(values[-1]))
    reasons = {
        "the search for the best fit did not settle": not fit.settled,
        COPIED: ordered and np.abs(_cuts(fit.point, ratings.shape[1:], cut)[0]).max() > _COPIED,
        f"by the model fewer than {FEWEST_REPLIES} replies are unsafe, or safe": min(prevalence, 1 - prevalence) * len(ratings) < FEWEST_REPLIES,
    }  # fmt: skip
    if any(reasons.values()):
        return LatentErrors([], [], Interval(None), next(reason for reason, holds in reasons.items() if holds))
    sums = sparse.csr_array((np.ones(len(cluster)), (clusters, fit.kind))) @ fit.scores
    sums -= sums.mean(axis=0)
    slopes = _slopes(logits, fit.point)
    lever = np.linalg.solve(fit.information, slopes.T)
    squares = np.square(sums @ lever).sum(axis=0) * len(sums) / (len(sums) - 1)
    # At an end, where a rater misses nothing, the sandwich sees no error; then the curvature of the fit counts.
    reach = float(special.stdtrit(worth - 1, (1 + level) / 2)) * np.sqrt(
        np.maximum(squares, (slopes.T * lever).sum(axis=0))
    )
    bounds = [Interval(*special.expit([v, v - r, v + r]).tolist()) for v, r in zip(values, reach, strict=True)]
    sensitivity, specificity = ([Interval(None, undefined=lone)] * len(people) for _ in range(2))
    share_called = ratings[:, :, :cut].sum(axis=(0, 2)) / ratings.sum(axis=(0, 2))
    for i, place in enumerate(np.flatnonzero(linked)):
        sensitivity[place], specificity[place] = bounds[i], bounds[len(own) + i]
        if share_called[i] in (0, 1):  # a rater who calls all alike has no error that a model could see
            sensitivity[place] = share(float(share_called[i]), float(prevalence * worth))
            specificity[place] = share(float(1 - share_called[i]), float((1 - prevalence) * worth))
    return LatentErrors(sensitivity, specificity, bounds[-1])


def _hindrance(unsafe_calls: Floats, worth: float) -> str:
    """Say why people's unsafe calls, shape (n, people, levels), are too few, or conversations are."""
    if (unsafe_calls.sum(axis=(0, 2)) > 0).sum() < 2:
        return "fewer than two people call any reply unsafe"
    if worth < FEWEST:
        return f"the replies are worth {math.floor(worth)} equally large conversations, at least {FEWEST} are needed"
    return ""


def _linked(ratings: Floats) -> tuple[NDArray[np.bool_], str]:
    """Return who of the raters shares replies with two who share some, too, and what is to be said of the others.

    Of two raters one sees how often they differ, and not who errs; of three, each two beside the third say so.
    """
    rated = (ratings.sum(axis=2) > 0).astype(float)
    shared = (rated.T @ rated >= FEWEST_SHARED).astype(float)
    np.fill_diagonal(shared, 0)
    triangle = np.diag(shared @ shared @ shared) > 0
    return triangle, (
        f"it takes three raters of whom each two rated {FEWEST_SHARED} of the same replies: with fewer, nothing says who errs"
    )


def _fit(ratings: Floats, model: Model, start: Floats, centre: Floats, precision: Floats) -> _Fit:
    """Find the peak of the likelihood with a normal prior around a centre."""
    table = types(sparse.csr_array(ratings.reshape(len(ratings), -1)))
    flat, shape = sparse.csr_array(table.rows).toarray(), ratings.shape[1:]

    def posterior(truths: _Truths) -> tuple[Floats, Floats]:
        joint = truths.shares + flat @ truths.levels.reshape(len(truths.shares), -1).T
        total = special.logsumexp(joint, axis=1)
        return total, np.exp(joint - total[:, None])

    def loss(point: Floats) -> tuple[float, Floats]:
        truths, deviation = model(point), point - centre
        total, chances = posterior(truths)
        weighted = chances * table.counts[:, None]
        expected = (weighted.T @ flat).reshape(-1, *shape)
        own = np.einsum("qjl,qjlp->jp", expected, truths.level_slopes).ravel()
        slope = np.concatenate([weighted.sum(axis=0) @ truths.share_slopes, own])
        return float(precision @ deviation**2 / 2 - table.counts @ total), precision * deviation - slope

    search = optimize.minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 2000, "maxfun": 3000, "ftol": 1e-13, "gtol": 1e-6})  # fmt: skip
    point = np.asarray(search.x)
    information = _slopes(lambda near: loss(near)[1], point)
    information = (information + information.T) / 2
    truths = model(point)
    chances = posterior(truths)[1]
    slopes = (chances @ truths.level_slopes.reshape(len(truths.shares), -1)).reshape(len(flat), *shape, -1)
    own = (slopes * flat.reshape(len(flat), *shape, 1)).sum(axis=2)
    scores = np.hstack([chances @ truths.share_slopes, own.reshape(len(flat), -1)])
    settled = bool(np.abs(search.jac).max() < _SETTLED * len(ratings)) and bool(np.linalg.eigvalsh(information)[0] > 0)
    return _Fit(point, information, scores, chances, table.kind, settled)


def _slopes(function: Callable[[Floats], Floats], point: Floats) -> Floats:
    """Return the slopes of a function, shape (values, parameters), by central differences."""
    steps = _STEP * np.eye(len(point))
    return np.stack([(function(point + step) - function(point - step)) / (2 * _STEP) for step in steps], axis=1)


# -- classes ----------------------------------------------------------------------------------------------------------


def _classes(j: int, k: int) -> Model:
    """Return the model of K classes: logits of shares beside class 0, and of each rater's levels beside level 0."""

    def model(point: Floats) -> _Truths:
        shares = special.log_softmax(np.append(0.0, point[: k - 1]))
        logits = point[k - 1 :].reshape(j, k, k - 1)
        levels = special.log_softmax(np.concatenate([np.zeros((j, k, 1)), logits], axis=2), axis=2).swapaxes(0, 1)
        slopes = np.zeros((k, j, k, k, k - 1))
        unit = np.eye(k)[:, 1:]
        for truth in range(k):
            slopes[truth, :, :, truth] = unit - np.exp(levels[truth])[:, None, 1:]
        return _Truths(shares, unit - np.exp(shares[1:]), levels, slopes.reshape(k, j, k, -1))

    return model


def _classes_start(ratings: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the point to which some rounds of EM lead from the majority, and the centre and the precision of the prior."""
    _, j, k = ratings.shape
    votes = ratings.sum(axis=1)
    posterior = votes / votes.sum(axis=1, keepdims=True)
    for _ in range(_ROUNDS):
        errors, shares = np.einsum("nq,njl->jql", posterior, ratings) + _TRACE, posterior.sum(axis=0) + _TRACE
        rates = np.log(errors / errors.sum(axis=2, keepdims=True))
        posterior = special.softmax(np.log(shares) + np.einsum("njl,jql->nq", ratings, rates), axis=1)
    start = np.concatenate([np.log(shares[1:] / shares[0]), np.log(errors[:, :, 1:] / errors[:, :, :1]).ravel()])
    right = np.tile(special.logit(0.75) * (np.eye(k)[:, 1:] - np.eye(k)[:, :1]), (j, 1, 1))
    centre = np.concatenate([np.zeros(k - 1), right.ravel()])
    precision = np.concatenate([np.zeros(k - 1), np.full(right.size, _LOOSE**-2)])
    return start, centre, precision


def _of_two(point: Floats, j: int) -> Floats:
    """Return sensitivities, specificities and the prevalence of two classes, of which the first is unsafe."""
    truths = _classes(j, 2)(point)
    return np.asarray(np.exp(np.concatenate([truths.levels[0, :, 0], truths.levels[1, :, 1], truths.shares[:1]])))


# -- quality ----------------------------------------------------------------------------------------------------------


def _cuts(point: Floats, shape: tuple[int, ...], cut: int) -> tuple[Floats, Floats]:
    """Return discriminations and cut points: parameters are arsinh a and, over √(1 + a²), the unsafe cut and logs of steps from it."""
    parameters = point.reshape(shape)
    steps = np.exp(parameters[:, 2:])
    middle = parameters[:, 1:2]
    worse = middle - steps[:, : cut - 1][:, ::-1].cumsum(axis=1)[:, ::-1]
    better = middle + steps[:, cut - 1 :].cumsum(axis=1)
    marginal = np.concatenate([worse, middle, better], axis=1)
    return np.sinh(parameters[:, 0]), np.cosh(parameters[:, :1]) * marginal


def _quality(shape: tuple[int, ...], cut: int) -> Model:
    levels = shape[1]
    place = np.arange(levels - 1)
    step = np.delete(place, cut - 1)
    # Which cut points a step moves, and where to: those outside of it.
    moved = np.where(step < cut - 1, -(place[:, None] <= step).astype(float), (place[:, None] >= step).astype(float))

    def model(point: Floats) -> _Truths:
        discrimination, cuts = _cuts(point, shape, cut)
        reach = discrimination[:, None] * _NODES[:, None, None]
        spread = np.hypot(1, discrimination)[:, None]
        turn = spread * _NODES[:, None, None] - cuts * (discrimination[:, None] / spread)
        at_most = cuts - reach
        density = np.exp(-0.5 * at_most**2) / math.sqrt(2 * math.pi)
        by_step = (density * spread)[..., None] * moved * np.exp(point.reshape(shape)[:, None, 2:])
        slopes = np.concatenate([(-density * turn)[..., None], (density * spread)[..., None], by_step], axis=3)
        chance = np.maximum(np.diff(special.ndtr(at_most), prepend=0, append=1, axis=2), _LEAST)
        slopes = np.diff(slopes, prepend=0, append=0, axis=2) / chance[..., None]
        return _Truths(_WEIGHTS, np.zeros((len(_NODES), 0)), np.log(chance), slopes)

    return model


def _quality_start(ratings: Floats, cut: int) -> tuple[Floats, Floats, Floats]:
    """Return the point that each rater's own shares give, and the centre and the precision of the prior."""
    counts = ratings.sum(axis=0) + 0.5
    mean, sd = _AGREED
    cuts = special.ndtri(counts.cumsum(axis=1) / counts.sum(axis=1, keepdims=True))[:, :-1]  # fmt: skip
    steps = np.log(np.maximum(np.diff(cuts, axis=1), 0.05))
    start = np.column_stack([np.full(len(counts), mean), cuts[:, cut - 1], steps])
    centre, precision = np.zeros_like(start), np.full_like(start, _LOOSE**-2)
    centre[:, 0], precision[:, 0] = mean, sd**-2
    precision[:, 1] = (2 * _LOOSE) ** -2
    return start.ravel(), centre.ravel(), precision.ravel()


def _at_the_cut(point: Floats, people: NDArray[np.bool_], levels: int, cut: int) -> Floats:
    """Return sensitivities, specificities and the prevalence where half of people's calls are unsafe."""
    discrimination, cuts = _cuts(point, (len(people), levels), cut)
    unsafe = cuts[:, cut - 1]

    def excess(t: float) -> float:
        return float(special.ndtr(unsafe - discrimination * t)[people].mean()) - 0.5

    low, high = float(_NODES[0]), float(_NODES[-1])
    limit = low if excess(low) <= 0 else high if excess(high) >= 0 else float(optimize.brentq(excess, low, high))
    prevalence = float(special.ndtr(limit))
    nodes = (_INSIDE + 1) / 2
    calls = [
        _PARTS / 2 @ special.ndtr(unsafe - discrimination * quality[:, None])
        for quality in (special.ndtri(nodes * prevalence), -special.ndtri(nodes * (1 - prevalence)))
    ]
    return np.concatenate([calls[0], 1 - calls[1], [prevalence]])
