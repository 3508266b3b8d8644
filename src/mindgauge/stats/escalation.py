"""How much people must read to find the unsafe replies, and orders of reading that are learned from what people said.

An order is a risk per reply; people read from the highest risk down. What they must read until they have found a share
of the unsafe replies is the order's *effort*. A risk of infinity stands for "read this first": nothing is known of it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from mindgauge.stats import logistic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

FOLDS, GROUPINGS = 10, 10
TARGET = 0.95
_DIGITS = 9
"""Risks that are equal to this many digits are a tie."""
_BLOCK = 200_000
"""Weights of fits held at once: what a processor keeps at hand is fitted faster."""


# -- the figure -------------------------------------------------------------------------------------------------------


def effort(risk: Floats, unsafe: Mask, weights: Floats | None = None, target: float = TARGET) -> Floats:
    """Return the share of replies read, riskiest first, until ⌈target · unsafe⌉ unsafe ones are found, shape (B,).

    Replies of one risk are read in random order, and the expectation over these orders is given: among m tied replies
    with k unsafe ones, the r-th unsafe one is expected at place r (m + 1) / (k + 1) (the mean of the negative
    hypergeometric distribution). With luck alone, a judge with few levels could read a third less or more.
    NaN where nothing is unsafe.

    Args:
        risk: shape (n,), not NaN; infinity is read first.
        unsafe: shape (n,).
        weights: shape (B, n), how many copies of each reply there are; one of each if not given.
        target: share of the unsafe replies to be found, above 0 and at most 1.
    """
    copies = np.ones((1, len(risk))) if weights is None else np.atleast_2d(weights)
    read, caught = (np.cumsum(copies_, axis=1) for copies_ in _ties(risk, unsafe, copies))
    total = caught[:, -1]
    needed = np.minimum(
        np.ceil(target * total - 1e-9), total
    )  # what replies stand for need not add up to whole numbers
    tie = (caught < needed[:, None] - 1e-9).sum(axis=1)
    rows = np.arange(len(copies))
    before, caught_before = (np.where(tie > 0, sums[rows, tie - 1], 0.0) for sums in (read, caught))
    in_tie, caught_in_tie = read[rows, tie] - before, caught[rows, tie] - caught_before
    place = before + (needed - caught_before) * (in_tie + 1) / (caught_in_tie + 1)
    return np.where(total > 0, place / read[:, -1], np.nan)


def curve(risk: Floats, unsafe: Mask, read: Floats, weights: Floats | None = None) -> Floats:
    """Return the expected share of the unsafe replies that is found once a share of all replies is read.

    Args:
        risk: shape (n,), as in `effort`.
        unsafe: shape (n,), at least one.
        read: shape (m,), shares of the replies between 0 and 1.
        weights: shape (n,), how many each reply stands for; 1 if not given.
    """
    sizes, hits = _ties(risk, unsafe, np.ones((1, len(risk))) if weights is None else weights[None])
    x, y = (np.concatenate([[0.0], np.cumsum(column[0])]) for column in (sizes, hits))
    return np.asarray(np.interp(read, x / x[-1], y / y[-1]))


def _ties(risk: Floats, unsafe: Mask, copies: Floats) -> tuple[Floats, Floats]:
    """Return how many replies each tie holds and how many of them are unsafe, riskiest first, each (B, ties)."""
    order = np.argsort(-risk, kind="stable")
    rounded = np.round(risk[order], _DIGITS)
    starts = np.flatnonzero(np.concatenate([[True], rounded[1:] != rounded[:-1]]))
    sorted_ = copies[:, order]
    return np.add.reduceat(sorted_, starts, axis=1), np.add.reduceat(sorted_ * unsafe[order], starts, axis=1)


# -- orders that are learned ------------------------------------------------------------------------------------------


class Features(NamedTuple):
    """What a risk is learned from: `values` (n, d), NaN where something is missing; the rest has shape (d,).

    `scaled` features are standardised within each training part. `signs` are as in `logistic.fit`.
    """

    values: Floats
    scaled: Mask
    signs: Codes

    @property
    def known(self) -> Mask:
        """Which replies have every feature; shape (n,). The others are in no fit and are read first."""
        return np.asarray(np.isfinite(self.values).all(axis=1))


def fold_of(cluster: Codes, unsafe: Mask, present: Mask, folds: int, generator: np.random.Generator) -> Codes:
    """Assign whole conversations to folds, with as many conversations that hold something unsafe to each; shape (n,).

    Replies that are not present get -1. There are never more folds than conversations.
    """
    place = np.full(len(cluster), -1)
    number = np.empty(int(cluster.max()) + 1, dtype=np.intp)
    here, risky = (np.bincount(cluster[which], minlength=len(number)) > 0 for which in (present, present & unsafe))
    parts = (generator.permutation(np.flatnonzero(part)) for part in (risky, here & ~risky))
    shuffled = np.concatenate([*parts])
    number[shuffled] = np.arange(len(shuffled))
    place[present] = number[cluster[present]] % folds
    return place


def learn(features: Features, unsafe: Mask, weights: Floats) -> Floats:
    """Fit under each row of weights (B, n) and return the risk of every reply, shape (B, n); infinity where unknown.

    The ridge penalty is 1 on standardised features, so a fit of half the replies is held back more than one of all.
    """
    valued = features.known
    return np.where(valued, _probability(_fitted(features, unsafe, weights), features), np.inf)


def slopes(features: Features, unsafe: Mask, weights: Floats) -> Floats:
    """Return the slopes of the fit under weights (n,), in units of the features as they are, shape (d,)."""
    return np.asarray(_fitted(features, unsafe, weights[None, :]).slopes[0])


def coefficients(features: Features, unsafe: Mask) -> Floats:
    """Return the slopes of the fit to all replies, per standard deviation of scaled features, shape (d,)."""
    copies = np.ones((1, len(unsafe)))
    return np.asarray(_fitted(features, unsafe, copies).slopes[0] * _spread(features, copies * features.known)[0])


def crossfit(
    features: Features,
    unsafe: Mask,
    cluster: Codes,
    *,
    weights: Floats | None = None,
    separate: Codes | None = None,
    groupings: int = GROUPINGS,
    seed: int = 0,
) -> Floats:
    """Return each reply's risk as fits see it that saw no reply of its conversation, shape (n,).

    Whole conversations are put into folds, each fold's risk comes from a fit to the others, and the mean over several
    groupings into folds is given. Nothing is chosen here: features and penalty are fixed beforehand.

    Args:
        features: of the replies.
        unsafe: shape (n,).
        cluster: shape (n,), the index of each reply's conversation.
        weights: shape (n,), how many copies there are; all copies of a conversation are in one fold. Risks of replies
            without any are NaN.
        separate: shape (n,), a further grouping, the model that wrote the reply: a fit also sees no reply of its group.
        groupings: into folds.
        seed: of the groupings.
    """
    copies = np.ones((1, len(unsafe))) if weights is None else weights[None, :]
    draws = crossfits(features, unsafe, cluster, np.repeat(copies, groupings, axis=0), separate=separate, seed=seed)
    return np.asarray(draws.mean(axis=0))


def crossfits(
    features: Features,
    unsafe: Mask,
    cluster: Codes,
    weights: Floats,
    *,
    separate: Codes | None = None,
    seed: int | Sequence[int] = 0,
) -> Floats:
    """Cross-fit anew under each row of weights (B, n), each with a grouping into folds of its own; shape (B, n).

    `seed` starts one generator for all rows, or a generator for each of them.
    """
    if isinstance(seed, int):
        generators = [np.random.default_rng(seed)] * len(weights)
    else:
        generators = [np.random.default_rng(draw_seed) for draw_seed in seed]
    count = max(2, min(FOLDS, len(np.unique(cluster))))
    groups = np.zeros(len(unsafe), dtype=np.intp) if separate is None else separate
    places = np.stack(
        [
            fold_of(cluster, unsafe, row > 0, count, generator)
            for row, generator in zip(weights, generators, strict=True)
        ]
    )
    risk = np.full(weights.shape, np.nan)
    rows = max(1, _BLOCK // (count * max(1, len(unsafe))))
    for group in np.unique(groups):
        held_out = groups == group
        middle = weights.mean(axis=0) * (1 if separate is None else ~held_out)
        near = _fitted(features, unsafe, middle[None, :])
        for start in range(0, len(weights), rows):
            block, place = weights[start : start + rows], places[start : start + rows]
            learned_from = block if separate is None else block * ~held_out
            _learn_without(features, unsafe, learned_from, place, held_out, risk[start : start + rows], near)
    return risk


def _learn_without(
    features: Features, unsafe: Mask, weights: Floats, place: Codes, held_out: Mask, risk: Floats, near: logistic.Fits
) -> None:
    """Write the risk of replies that are held out into `risk` (b, n), each by the fit without its fold."""
    count = int(place.max()) + 1
    known = features.known
    used = known & (weights > 0).any(axis=0)
    if used.any():
        x, copies, part = features.values[used], weights[:, used], place[:, used]
        own = copies[:, None, :] * (part[:, None, :] == np.arange(count)[:, None])
        training = (copies[:, None, :] - own).reshape(-1, x.shape[0])
        spread = _spread(features._replace(values=x), training).reshape(len(weights), count, -1)
        fits = logistic.fit_without(
            x, unsafe[used], copies, part, count, penalty=spread**2, near=near, signs=features.signs
        )
    else:
        nothing = np.zeros((count * len(weights), int(known.sum())))
        fits = logistic.fit(features.values[known], unsafe[known], nothing, signs=features.signs)
    for number, (row, row_place) in enumerate(zip(risk, place, strict=True)):
        to_place = np.flatnonzero(held_out & (row_place >= 0))
        row[to_place] = np.inf
        rated = to_place[known[to_place]]
        fit = number * count + row_place[rated]
        row[rated] = special.expit(fits.intercept[fit] + (features.values[rated] * fits.slopes[fit]).sum(axis=1))


def at_threshold(
    risk: Floats | Features,
    unsafe: Mask,
    cluster: Codes,
    *,
    target: float = TARGET,
    seed: int = 0,
    weights: Floats | None = None,
) -> tuple[float, float]:
    """Return what a threshold set on other conversations makes people read, and what share of the unsafe they find.

    In each training part the threshold is the risk above which the target share of its unsafe replies lie; replies of
    the held-out part at or above it are read. A learned order is cross-fitted within the training part for it, so
    that the threshold, too, is set on risks of replies that the fit has not seen.

    Args:
        risk: shape (n,), of an order in which nothing is learned, or the features of a learned one.
        unsafe: shape (n,).
        cluster: shape (n,).
        target: share of the unsafe replies of the training part that the threshold finds.
        seed: of the groupings into folds.
        weights: shape (n,), how many each reply stands for; 1 if not given.
    """
    generator = np.random.default_rng(seed)
    stands_for = np.ones(len(unsafe)) if weights is None else weights
    count = max(2, min(FOLDS, len(np.unique(cluster))))
    present = np.ones(len(unsafe), dtype=bool)
    places = np.stack([fold_of(cluster, unsafe, present, count, generator) for _ in range(GROUPINGS)])
    training = np.concatenate([places != fold for fold in range(count)]).reshape(count, GROUPINGS, -1)
    if isinstance(risk, Features):
        copies = training.reshape(-1, len(unsafe)) * (stands_for / stands_for.mean())
        seeds = [seed + 1 + grouping for _ in range(count) for grouping in range(GROUPINGS)]
        inner = crossfits(risk, unsafe, cluster, copies, seed=seeds).reshape(training.shape)
        outer = learn(risk, unsafe, copies).reshape(training.shape)
    else:
        inner = outer = np.broadcast_to(risk, training.shape)
    flagged = np.zeros((GROUPINGS, len(unsafe)), dtype=bool)
    for fold, grouping in np.ndindex(count, GROUPINGS):
        held_out = ~training[fold, grouping]
        threshold = _threshold(inner[fold, grouping, ~held_out & unsafe], stands_for[~held_out & unsafe], target)
        flagged[grouping, held_out] = outer[fold, grouping, held_out] >= threshold
    read, caught = (
        np.average(part, axis=1, weights=stands_for[rows])
        for rows in (np.ones(len(unsafe), dtype=bool), unsafe)
        for part in [flagged[:, rows]]
    )
    return float(np.mean(read)), float(np.mean(caught))


def _threshold(unsafe: Floats, weights: Floats, target: float) -> float:
    """Return the risk at or above which a share of the unsafe lie; everything is read where none is there to learn of."""
    if not len(unsafe):
        return -math.inf
    order = np.argsort(-unsafe, kind="stable")
    reached = np.cumsum(weights[order]) >= target * weights.sum() - 1e-9
    return float(unsafe[order][int(np.argmax(reached))])


def _fitted(features: Features, unsafe: Mask, weights: Floats) -> logistic.Fits:
    copies = weights * features.known
    return logistic.fit(_filled(features), unsafe, copies, penalty=_spread(features, copies) ** 2, signs=features.signs)


def _filled(features: Features) -> Floats:
    return np.where(features.known[:, None], features.values, 0.0)


def _spread(features: Features, copies: Floats) -> Floats:
    """Return the standard deviation of every scaled feature under weights, 1 where it has none; shape (B, d)."""
    x = _filled(features)
    centre = x[features.known].mean(axis=0) if features.known.any() else 0.0
    total = np.maximum(copies.sum(axis=1), 1.0)[:, None]
    mean = copies @ (x - centre) / total
    variance = copies @ (x - centre) ** 2 / total - mean**2
    return np.where(features.scaled & (variance > 1e-12), np.sqrt(np.maximum(variance, 0.0)), 1.0)


def _probability(fits: logistic.Fits, features: Features) -> Floats:
    return np.asarray(special.expit(fits.log_odds(_filled(features))))
