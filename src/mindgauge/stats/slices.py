"""In which slices of some replies are events commoner than elsewhere? One test over all slices at once, by permutation."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

_EXACT = 200
"""Events up to which the statistic is exact; above that the normal distribution is as good."""
_PERMUTATIONS, _FEWEST, _VALUES = 1999, 499, 400_000
"""Permutations, their least number where there are many replies, and values that are permuted in all."""
_ROUNDING = 1e-9


class SliceTests(NamedTuple):
    """One-sided p of each slice, shape (S,): by itself, and adjusted for all slices."""

    p: Floats
    adjusted: Floats


def worse_slices(events: Mask, inside: Mask, stratum: Codes, cluster: Codes, seed: int = 0) -> SliceTests:
    """Test of each slice that events are no commoner in it than elsewhere among replies of the same stratum.

    The statistic of a slice is the p of the exact conditional test of several 2×2 tables (Mehta, Patel and Gray 1985): given
    each table's margins, the events inside are a sum of hypergeometric numbers, one of each stratum. With one stratum it is
    Fisher's. The adjusted p is the single-step minP of Westfall and Young (1993, section 2.3): the share of permutations
    whose smallest p over all slices is at most this one, (1 + hits) / (1 + permutations). Slices may overlap.

    Events are permuted within strata. Where clusters hold several replies they are permuted as blocks: the replies of each
    stratum in random order of the clusters are laid on those in the given order. With a reply per cluster that is exact.

    Args:
        events: shape (n,).
        inside: shape (n, S), which replies are in which slice.
        stratum: shape (n,), from 0.
        cluster: shape (n,), from 0.
        seed: of the permutations.
    """
    total = int(events.sum())
    if not total or not inside.shape[1]:
        return SliceTests(np.ones(inside.shape[1]), np.ones(inside.shape[1]))
    order = np.lexsort((cluster, stratum))
    events, inside, stratum, cluster = events[order], inside[order], stratum[order], cluster[order]
    tails = _tails(events, inside, stratum)
    members = inside.astype(np.float32)
    generator = np.random.default_rng(seed)
    number = max(_FEWEST, min(_PERMUTATIONS, _VALUES // len(events)))
    smallest = np.empty(number)
    slices = np.arange(inside.shape[1])

    def p_of(happened: NDArray[np.bool_]) -> Floats:
        counts = np.rint(happened.astype(np.float32) @ members).astype(np.intp)
        return np.asarray(tails[slices, counts])

    size = max(1, _VALUES // len(events))
    for start in range(0, number, size):
        rows = min(size, number - start)
        keys = generator.random((rows, int(cluster.max()) + 1))[:, cluster]
        keys += stratum + _ROUNDING * generator.random((rows, len(events)))  # replies of a cluster in random order
        smallest[start : start + rows] = p_of(events[np.argsort(keys, axis=1)]).min(axis=1)
    p = p_of(events)
    hits = (smallest[:, None] <= p * (1 + _ROUNDING)).sum(axis=0)
    return SliceTests(p, (1 + hits) / (1 + number))


def _tails(events: Mask, inside: Mask, stratum: Codes) -> Floats:
    """Return the chance of at least k events in each slice, shape (S, total + 1)."""
    total = int(events.sum())
    replies = np.bincount(stratum).astype(float)
    happened = np.bincount(stratum, events)
    members = np.stack([np.bincount(stratum, column, len(replies)) for column in inside.T])
    if total > _EXACT:
        mean = members @ (happened / np.maximum(replies, 1))
        spread = happened * (replies - happened) / np.maximum(replies**2 * (replies - 1), 1)
        deviation = np.sqrt((members * (replies - members)) @ spread)
        z = (np.arange(total + 1) - 0.5 - mean[:, None]) / np.maximum(deviation, _ROUNDING)[:, None]
        return np.asarray(special.ndtr(-z))
    chance = np.ones((len(members), 1))
    for n, m, size in zip(replies, happened, members.T, strict=True):
        k = np.arange(int(m) + 1.0)
        rest = size[:, None] - k
        possible = (rest >= 0) & (rest <= n - m)
        logs = _choose(m, k) + _choose(n - m, np.where(possible, rest, 0)) - _choose(n, size[:, None])
        ways = np.where(possible, np.exp(logs), 0.0)
        summed = np.zeros((len(members), chance.shape[1] + int(m)))
        for events_here in range(int(m) + 1):
            summed[:, events_here : events_here + chance.shape[1]] += chance * ways[:, [events_here]]
        chance = summed
    return np.minimum(np.cumsum(chance[:, ::-1], axis=1)[:, ::-1], 1.0)


def _choose(n: float, k: Floats) -> Floats:
    return np.asarray(special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1))
