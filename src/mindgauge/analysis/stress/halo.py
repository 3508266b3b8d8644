"""Halo: criteria that are asked together are rated more alike than when they are asked one at a time."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mindgauge.analysis.stress.design import INAPPLICABLE
from mindgauge.analysis.stress.gaps import portions
from mindgauge.stats import jackknife

if TYPE_CHECKING:
    from mindgauge.analysis.stress import design
    from mindgauge.analysis.stress.design import Floats
    from mindgauge.stats.interval import Interval


class Halo(NamedTuple):
    """Mean correlation between criteria, asked together minus apart; `n` pairs of verdicts in `clusters` conversations."""

    excess: Interval
    p: float | None
    n: int
    missing: int
    clusters: int


def halo(found: design.Halo, values: Floats, conversations: int, flips: int, seed: int) -> Halo | None:
    """Compare the correlations between criteria; None where there are fewer than two criteria.

    p is that of a randomisation test: were the way of asking of no account, each conversation's two sets of verdicts
    could be exchanged. Each way's means are taken off first, so that a shift alone is no halo.

    Args:
        found: where the verdicts stand.
        values: shape (N, K).
        conversations: G.
        flips: how many exchanges are drawn.
        seed: of their generator.
    """
    if found.together.shape[1] < 2:
        return None
    given = np.where(values == INAPPLICABLE, np.nan, values).mean(axis=1)
    both = [given[found.together], given[found.apart]]
    asked = int(np.size(both[0]))
    holes = ~np.isfinite(both[0] + both[1])
    both = [np.where(holes, np.nan, way) - _column_means(np.where(holes, np.nan, way)) for way in both]
    together, apart = (_sums(way, found.conversation, conversations) for way in both)
    whole = _excess(together.sum(axis=0)[None], apart.sum(axis=0)[None])[0]
    there = np.flatnonzero(together[:, :, 0].sum(axis=1) > 0)
    left_out = _excess(together.sum(axis=0) - together[there], apart.sum(axis=0) - apart[there])
    excess = jackknife.student(float(whole), left_out, np.ones(len(there), dtype=np.intp))
    p = None
    if np.isfinite(whole):
        p = _exchanged(together, apart, abs(float(whole)), flips, seed)
    return Halo(excess, p, asked - int(holes.sum()), int(holes.sum()), len(there))


def _exchanged(together: Floats, apart: Floats, observed: float, flips: int, seed: int) -> float:
    """Return how often the excess is as large when conversations' two sets of verdicts are exchanged by chance."""
    conversations, *shape = together.shape
    first, second = together.reshape(conversations, -1), apart.reshape(conversations, -1)
    chance, hits = np.random.default_rng([seed, 2]), 0
    for rows in portions(flips, max(conversations, first.shape[1])):
        swapped = chance.integers(0, 2, size=(rows, conversations)).astype(np.float64)
        here = swapped @ (first - second)
        drawn = _excess(
            (second.sum(axis=0) + here).reshape(rows, *shape), (first.sum(axis=0) - here).reshape(rows, *shape)
        )
        hits += int((np.abs(drawn) >= observed - 1e-9).sum())
    return (1 + hits) / (flips + 1)


def _column_means(way: Floats) -> Floats:
    there = np.isfinite(way)
    return np.asarray(np.nansum(way, axis=0) / np.maximum(there.sum(axis=0), 1))


def _sums(way: Floats, conversation: design.Codes, conversations: int) -> Floats:
    """Return each conversation's sums for each pair of criteria, shape (G, P, 6): n, x, y, xx, yy, xy."""
    rows = []
    for a, b in combinations(range(way.shape[1]), 2):
        there = np.isfinite(way[:, a] + way[:, b])
        x, y = np.where(there, way[:, a], 0.0), np.where(there, way[:, b], 0.0)
        parts = (there.astype(np.float64), x, y, x * x, y * y, x * y)
        rows.append([np.bincount(conversation, part, minlength=conversations) for part in parts])
    return np.moveaxis(np.array(rows), 2, 0)


def _excess(together: Floats, apart: Floats) -> Floats:
    """Return the mean over pairs of criteria of the difference of correlations, shape (B,); NaN where none has both."""
    difference = _correlations(together) - _correlations(apart)
    there = np.isfinite(difference)
    counts = there.sum(axis=1)
    total = np.where(there, difference, 0.0).sum(axis=1)
    return np.asarray(np.divide(total, counts, out=np.full(len(counts), np.nan), where=counts > 0))


def _correlations(sums: Floats) -> Floats:
    """Return Pearson's correlation from sums of shape (B, P, 6); NaN where one side does not vary."""
    n, x, y, xx, yy, xy = np.moveaxis(sums, 2, 0)
    spread = (n * xx - x * x) * (n * yy - y * y)
    return np.asarray(
        np.divide(n * xy - x * y, np.sqrt(np.maximum(spread, 0)), out=np.full(n.shape, np.nan), where=spread > 1e-9)
    )
