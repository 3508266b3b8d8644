"""In which slices of some replies are events commoner than elsewhere? One test over all slices at once, by permutation."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

_EXACT = 200
"""Events up to which the statistic is exact; above that the normal distribution is as good."""
_PERMUTATIONS, _FEWEST, _VALUES = 1999, 199, 4_000_000
"""Permutations, their least number where there is much to permute, and cells of replies × slices that are permuted in all."""
_AT_ONCE = 400_000
"""Cells that are permuted at once."""
_ROUNDING = 1e-9


class SliceTests(NamedTuple):
    """One-sided p of each slice, shape (S,): by itself, and adjusted for all slices."""

    p: Floats
    adjusted: Floats


def worse_slices(events: Mask, inside: Mask, stratum: Codes, cluster: Codes, seed: int = 0) -> SliceTests:
    """Test of each slice that events are no commoner in it than elsewhere among replies of the same stratum.

    A slice's p is that of the exact conditional test of several 2×2 tables (Mehta, Patel and Gray 1985): given each table's
    margins, the events inside are a sum of hypergeometric numbers, one of each stratum. With one stratum it is Fisher's. The
    adjusted p is single-step (Westfall and Young 1993, section 2.3): the share of permutations, 1 added to both counts, in
    which the smallest p of all slices is at most this one. Slices may overlap. Events are permuted within strata.

    Where clusters hold several replies, their events may be alike, so clusters are permuted: each takes the slices of another
    cluster, reply by reply in random order. The statistic is then the excess of events over its standard deviation under the
    same margins (Mantel and Haenszel 1959), and the largest of all slices counts. A slice's p is that of the exact test still.

    Args:
        events: shape (n,).
        inside: shape (n, S), which replies are in which slice.
        stratum: shape (n,), from 0.
        cluster: shape (n,), from 0.
        seed: of the permutations.
    """
    if not events.any() or not inside.shape[1]:
        return SliceTests(np.ones(inside.shape[1]), np.ones(inside.shape[1]))
    order = np.argsort(stratum, kind="stable")
    events, inside, stratum, cluster = events[order], inside[order], stratum[order], cluster[order]
    tails = _tails(events, inside, stratum)
    slices = np.arange(inside.shape[1])
    p = tails[slices, np.rint(events @ inside.astype(float)).astype(np.intp)]
    number = max(_FEWEST, min(_PERMUTATIONS, _VALUES // inside.size))
    generator = np.random.default_rng(seed)
    at_once = max(1, _AT_ONCE // inside.size)
    chunks = [min(at_once, number - start) for start in range(0, number, at_once)]
    if cluster.max() + 1 < len(cluster):
        moved = _moved(cluster, chunks, generator)
        own = -_excess(events, inside[None], stratum)[0]
        smallest = np.concatenate([-_excess(events, inside[rows], stratum).max(axis=1) for rows in moved])
    else:
        members, own = inside.astype(np.float32), p
        rows = (np.argsort(stratum + generator.random((size, len(events))), axis=1) for size in chunks)
        counts = (np.rint(events[places].astype(np.float32) @ members).astype(np.intp) for places in rows)
        smallest = np.concatenate([tails[slices, happened].min(axis=1) for happened in counts])
    hits = (smallest[:, None] <= own + _ROUNDING * np.abs(own)).sum(axis=0)
    return SliceTests(p, (1 + hits) / (1 + number))


def _moved(cluster: Codes, chunks: Sequence[int], generator: np.random.Generator) -> Iterator[Codes]:
    """Yield permutations of clusters, shape (permutations, n): for each reply the one whose slices it takes."""
    size = np.bincount(cluster)
    start = np.cumsum(size) - size
    by_cluster = np.argsort(cluster, kind="stable")
    place = np.empty(len(cluster), dtype=np.intp)
    place[by_cluster] = np.arange(len(cluster)) - start[cluster[by_cluster]]
    for number in chunks:
        giver = np.argsort(generator.random((number, len(size))), axis=1)[:, cluster]
        shuffled = np.argsort(generator.random((number, len(cluster))) + cluster, axis=1)
        yield np.take_along_axis(shuffled, start[giver] + place % size[giver], axis=1)


def _excess(events: Mask, inside: Mask, stratum: Codes) -> Floats:
    """Return how many standard deviations more events slices hold than by chance: `inside` has shape (B, n, S), the result (B, S)."""
    members = np.add.reduceat(inside.astype(np.float32), np.searchsorted(stratum, np.unique(stratum)), axis=1)
    replies, happened = np.bincount(stratum), np.bincount(stratum, events)
    spread = happened * (replies - happened) / np.maximum(replies**2 * (replies - 1), 1)
    variance = np.einsum("h,bhs->bs", spread, members * (replies[:, None] - members))
    excess = events.astype(np.float32) @ inside.astype(np.float32) - np.einsum("h,bhs->bs", happened / replies, members)
    return np.asarray(excess / np.sqrt(np.maximum(variance, _ROUNDING)))


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
