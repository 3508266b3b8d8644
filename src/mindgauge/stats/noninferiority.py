"""Is a new system no worse than another by more than a margin, on several measures of the same conversations?

Two mistakes are bounded apart. *Passing* a system that is worse than the margin allows on some measure takes that all
measures pass, so that each may be tested at the full level (intersection-union test; Berger 1982). *Failing* one that is
not worse on any measure takes only one of many, so that these p-values are adjusted together.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from mindgauge.stats import betting, bootstrap
from mindgauge.stats.proportion import FEW, bounds_of_difference, clopper_pearson, difference_of_shares

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mindgauge.stats.interval import Interval

    Floats = NDArray[np.float64]

FLIPS = 9_999
"""Flips of signs, where there are more than can be tried."""
_TRIED = 12
"""Conversations that differ of which all flips are tried: 4,096."""
_BLOCK = 1 << 23
"""Signs that are held at once."""
_ROUNDING = 1e-9
_MOST = 1_000_000
"""More conversations than that are no plan."""


def interval(worsening: Floats, width: float, *, exact: bool, resamples: int = 2000, seed: int = 0) -> Interval:
    """Bound by how much a system is worse, with 95 % confidence: its bounds hold with 97.5 % each.

    Args:
        worsening: shape (C,), by how much it is worse in each conversation.
        width: the most that it can be.
        exact: whether these are differences of shares, which get exact bounds where few conversations differ, and resampled
            ones elsewhere. Differences of means get those of `stats.betting`, which know what few far falls can do.
        resamples: of conversations.
        seed: of their generator.
    """
    if not exact and len(worsening) and bounded(worsening, width):
        return betting.interval(worsening, (-width, width))
    mean = bootstrap.interval_of_sums(
        lambda sums: sums[:, 0] / sums[:, 1],
        np.stack([worsening, np.ones(len(worsening))], axis=1),
        resamples=resamples, seed=seed, ends=(-width, width),
    )  # fmt: skip
    return difference_of_shares(worsening, mean) if exact else mean


def bounded(worsening: Floats, width: float) -> bool:
    """Say whether no conversation is worse, or better, by more than it can be: a censored wait's part of a mean may be."""
    return bool(np.abs(worsening).max(initial=0.0) <= width * (1 + _ROUNDING))


def adjusted(worsening: Floats, *, flips: int = FLIPS, seed: int = 0) -> Floats:
    """Return one-sided p-values that a system is worse on no measure, adjusted for all measures together, shape (R,).

    Were it no worse, each conversation's differences could as well have had the other sign (Fisher 1935, section 21).
    Signs are flipped by conversation, on all measures at once, and p-values adjusted by the distribution of their least,
    step by step (Westfall and Young 1993, algorithm 2.8): measures that go together, or on which too few conversations
    differ for any to be rare, cost the others little.

    Args:
        worsening: shape (C, R), by how much the system is worse in each conversation by each measure; 0 where a
            conversation has no part in one.
        flips: how many are drawn, where not all can be tried.
        seed: of their generator.
    """
    differing = worsening[np.abs(worsening).max(axis=1, initial=0.0) > 0]
    if not differing.size:
        return np.ones(worsening.shape[1])
    sums = np.concatenate([differing.sum(axis=0)[None], *_flipped(differing, flips, seed)])
    p = _ranked(sums)
    order = np.argsort(p[0], kind="stable")
    least = np.minimum.accumulate(p[:, order[::-1]], axis=1)[:, ::-1]
    stepwise = (least <= p[0, order] * (1 + _ROUNDING)).mean(axis=0)
    result = np.empty(len(order))
    result[order] = np.maximum.accumulate(stepwise)
    return result


def part(night: int) -> float:
    """Return which part of the false alarms a night of a series has: 1/2, 1/6, 1/12, …, which are 1 together.

    Args:
        night: from 1.
    """
    return 1 / (night * (night + 1))


def over_nights(worsening: Floats, means: Floats, width: float, night: int, *, level: float, tests: int = 1) -> float:
    """Return a p-value that a build is not worse, which is at most `level` on *any* night of a series with that chance.

    Half of the level is for the night alone: the capital against "not worse" (`stats.betting`) of each night has a mean of
    1, and whatever nights have in common, such as the baseline, it is above 1/α with a chance of α; nights share that by
    `part`. The other half is for all nights: the capital of the mean over nights of each conversation. If builds are equal
    it is a martingale in reverse order, for a mean of t nights is what one expects given that of t + 1, and the capital
    is linear in each conversation's. Doob's inequality bounds the largest value on all nights (Ville's, read backwards).

    Args:
        worsening: shape (C,), by how much the build is worse tonight in each conversation.
        means: shape (C,), the mean of that over the nights so far.
        width: the most that it can be; values that lie outside tell nothing, and leave p as it is.
        night: which it is, from 1.
        level: of false alarms, of all tests and nights.
        tests: that share the level (Bonferroni).
    """
    p = 1.0
    for values, share in ((worsening, part(night) / 2 / tests), (means, 0.5 / tests)):
        if not bounded(values, width):
            continue
        won = betting.e_value(values, (-width, width), 0.0, at_least=False, alpha=level * share)
        p = min(p, 1 / (won * share)) if won else p
    return p


def _flipped(differing: Floats, flips: int, seed: int) -> list[Floats]:
    """Return the sums with other signs, in blocks of shape (b, R): all of them, or as many as are drawn."""
    conversations = len(differing)
    total = differing.sum(axis=0)
    if conversations <= _TRIED:
        signs = (np.arange(1, 1 << conversations)[:, None] >> np.arange(conversations) & 1).astype(np.float64)
        return [total - 2 * signs @ differing]
    generator = np.random.default_rng(seed)
    rows = max(1, _BLOCK // conversations)
    blocks = []
    for start in range(0, flips, rows):
        size = min(rows, flips - start)
        bits = np.frombuffer(generator.bytes(size * -(-conversations // 8)), dtype=np.uint8).reshape(size, -1)
        signs = np.unpackbits(bits, axis=1, count=conversations).astype(np.float64)
        blocks.append(total - 2 * signs @ differing)
    return blocks


def _ranked(sums: Floats) -> Floats:
    """Return the share of rows with at least as large a sum, for each row and column of (B, R)."""
    p = np.empty(sums.shape)
    for measure, column in enumerate(sums.T):
        rounded = np.round(column / (np.abs(column).max() or 1.0), 9)
        ordered = np.sort(rounded)
        p[:, measure] = (len(column) - np.searchsorted(ordered, rounded, side="left")) / len(column)
    return p


def enough(value: float, bound: float, limit: float, n: float) -> int | None:
    """Return with how many conversations a bound of a mean would reach a limit, if the mean stays; None if with none.

    The distance of a bound from its mean falls with the root of n: n ((bound - value) / (limit - value))².

    Args:
        value: the mean.
        bound: of it, on the side of the limit.
        limit: that it shall reach.
        n: conversations that the bound rests on.
    """
    room = limit - value
    if not room or (bound - value) / room < 0:
        return None
    needed = math.ceil(n * ((bound - value) / room) ** 2)
    return needed if needed <= _MOST else None


def enough_for_share(value: float, limit: float, level: float = 0.95) -> int | None:
    """Return with how many conversations the exact bound of a share reaches a limit, if the share stays; None if with none.

    Args:
        value: the share.
        limit: above it for the upper bound, below it for the lower.
        level: of the interval's confidence.
    """
    if value == limit:
        return None

    def reaches(n: int) -> bool:
        bounds = clopper_pearson(value * n, n, level)
        if value < limit:
            return bounds.high is not None and bounds.high <= limit
        return bounds.low is not None and bounds.low >= limit

    return betting.fewest(reaches)


def enough_for_difference(worsening: Floats, margin: float) -> int | None:
    """Return with how many conversations like these a difference of shares is below a margin; None if with none.

    It counts with the bound of `interval`: exact where few conversations differ, by the normal distribution elsewhere.

    Args:
        worsening: shape (C,), by how much a system is worse in each conversation.
        margin: that the upper bound is to be below.
    """
    mean, spread = float(worsening.mean()), float(worsening.std())
    if mean >= margin:
        return None
    differ, gained, lost = (
        float(values.mean()) for values in (worsening != 0, np.maximum(worsening, 0), np.maximum(-worsening, 0))
    )

    def reaches(n: int) -> bool:
        if differ * n >= FEW:
            return mean - float(special.ndtri(0.025)) * spread / math.sqrt(n) < margin
        high = bounds_of_difference(gained * n, lost * n, n).high
        return high is not None and high < margin

    return betting.fewest(reaches)


def enough_for_flips(worsening: Floats, level: float) -> int | None:
    """Return with how many conversations like these flips of signs would show a system to be worse; None if with none.

    The flipped sum is taken as normal, with Σd² as its variance; p is at least 2⁻ᵏ where k conversations differ.

    Args:
        worsening: shape (C,), by how much it is worse in each conversation.
        level: of the p-value.
    """
    mean, differ = float(worsening.mean()), float((worsening != 0).mean())
    if mean <= 0:
        return None
    by_root = float(special.ndtri(level)) ** 2 * float((worsening**2).mean()) / mean**2
    needed = math.ceil(max(by_root, -math.log2(level) / differ))
    return needed if needed <= _MOST else None


def above(count: float, n: float, limit: float) -> float:
    """Return the one-sided exact p that a share is no more than a limit: P(X ≥ count), X ~ Bin(n, limit).

    `count` need not be whole: with clusters it is the sum of the clusters' shares, as in `clopper_pearson`.

    Args:
        count: events, 0 to n.
        n: observations.
        limit: between 0 and 1.
    """
    return float(special.betainc(count, n - count + 1, limit)) if count > 0 else 1.0
