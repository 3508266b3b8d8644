"""Is a rater as good as a left-out one? What others call so, does it call so as often as one of themselves?

Each of the others j who calls a subject so is the measure once, and whoever else rated it, k people i ≠ j, and the rater
under test are held against that call. With u of m people calling subject s so (m ≥ 2), and a = 1 where the rater does,

    d(s) = u a - u (u - 1) / (m - 1),    weight u,    Δ = Σ d / Σ u:

the share of others' calls that the rater shares, less the share that a left-out person shares. The rater is no worse by a
margin ε where the lower bound of Δ reaches -ε (non-inferiority; Tango 1998 for paired shares).

Bounds are Student's from leaving out one cluster at a time (Tukey 1958). Where all agree that would have no width, so its
variance is at least ε (1 - ε) / n, that of the losses at the limit itself, and its reach at least 1 - .05^(1/n), the exact
bound of no loss in n (Clopper and Pearson 1934): who shares every call must share 29 before one loss in ten is excluded.

`exchanged` asks the opposite: does a rater miss the gravest subjects more often than one of the others would? Were it one
of them, it could have changed places with any of them on each subject (an exact test by exchange; Fisher 1935).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from mindgauge.stats.codes import dense
from mindgauge.stats.interval import Interval
from mindgauge.stats.jackknife import effective

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

LEVEL = 0.95
"""With which each bound holds, one-sided: both hold together with 90 %."""
DRAWS = 1_999
_BLOCK = 1 << 22
"""Contributions that are held at once."""


class SharedCalls(NamedTuple):
    """A rater beside a left-out person: the shares of others' calls that each shares, and their difference.

    `n` subjects were called so by at least one of two people or more, in `clusters` clusters in effect; `absent` of them
    have no verdict of the rater, which shares no call. `spare` is how many more verdicts the rater may lose, those that
    weigh most first, before it could be worse by more than the margin; 0 where it may be so already.
    """

    rater: float | None
    person: float | None
    difference: Interval
    n: int
    clusters: float
    absent: int
    spare: int


def left_out(
    shares: Floats, called: Floats, clusters: Codes, margin: float, weights: Floats | None = None, level: float = LEVEL
) -> SharedCalls:
    """Hold a rater against each person left out, on what the others call so.

    Args:
        shares: shape (S,), 1 where the rater calls the subject so, 0 where it does not, NaN where it has no verdict.
        called: shape (S, P), the same of each person; NaN where a person did not rate the subject.
        clusters: shape (S,), the cluster of each subject.
        margin: ε, between 0 and 1, fixed beforehand.
        weights: shape (S,), for how many each subject counts; one if not given.
        level: with which each bound holds, one-sided.

    Raises:
        ValueError: ε does not lie between 0 and 1, or shapes differ.
    """
    if not 0 < margin < 1:
        raise ValueError(f"the margin must lie between 0 and 1, not {margin}")
    if called.ndim != 2 or len(shares) != len(called) or len(clusters) != len(called):
        raise ValueError(f"shapes {shares.shape}, {called.shape} and {clusters.shape} do not fit together")
    people = np.isfinite(called).sum(axis=1)
    calls = np.nansum(called, axis=1)
    counted = np.flatnonzero((people > 1) & (calls > 0))
    if not len(counted):
        return SharedCalls(
            None, None, Interval(None, undefined="no call of one person that another could share"), 0, 0.0, 0, 0
        )
    people, calls, verdict = people[counted], calls[counted], shares[counted]
    weight = calls * (1.0 if weights is None else weights[counted])
    person = (calls - 1) / (people - 1)
    rater = np.nan_to_num(verdict)
    codes = dense(clusters[counted])[1]
    difference = _difference(rater - person, weight, codes, margin, level)
    total = float(weight.sum())
    return SharedCalls(
        float(weight @ rater) / total,
        float(weight @ person) / total,
        difference,
        len(counted),
        effective(np.bincount(codes, weight).astype(float)),
        int(np.isnan(verdict).sum()),
        _spare(rater, person, weight, codes, margin, level)
        if difference.low is not None and difference.low >= -margin
        else 0,
    )


def _difference(gap: Floats, weight: Floats, codes: Codes, margin: float, level: float) -> Interval:
    """Return the weighted mean of gaps, shape (n,), with one-sided bounds of a level each."""
    sizes, sums = (np.bincount(codes, part).astype(float) for part in (weight, weight * gap))
    total, number = float(sizes.sum()), effective(sizes)
    value = float(sums.sum()) / total
    if number < 2 - 1e-9:
        return Interval(value, undefined="no interval: fewer than two conversations")
    means = (sums.sum() - sums) / (total - sizes)
    count = len(sizes)
    jackknife = (count - 1) / count * float(((means - means.mean()) ** 2).sum())
    reach = float(special.stdtrit(number - 1, level)) * math.sqrt(max(jackknife, margin * (1 - margin) / number))
    reach = max(reach, -math.expm1(math.log(1 - level) / number))
    return Interval(value, max(value - reach, -1.0), min(value + reach, 1.0))


def _spare(rater: Floats, person: Floats, weight: Floats, codes: Codes, margin: float, level: float) -> int:
    """Return how many shared calls, the heaviest first, could be lost with the lower bound still at the margin."""
    shared = np.flatnonzero(rater > 0)
    order = shared[np.argsort(-weight[shared], kind="stable")]

    def holds(lost: int) -> bool:
        calls = rater.copy()
        calls[order[:lost]] = 0.0
        low = _difference(calls - person, weight, codes, margin, level).low
        return low is not None and low >= -margin

    few, many = 0, len(order) + 1
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (middle, many) if holds(middle) else (few, middle)
    return few


class Losses(NamedTuple):
    """Of n subjects near the gravest, at `near`: who `rated` each, and what each rater misses more than others would.

    All but `near` have shape (n, K), with K the most raters of a subject, the rater under test first: `loss` is summed over the others against whom a rater is held, `against` counts
    these, and `own` is what the rater misses itself.
    """

    near: Codes
    rated: Mask
    loss: Floats
    against: Floats
    own: Floats


def losses(missed: Floats, gravest: Floats) -> Losses:
    """Hold each rater against every other on what all who remain call gravest; arguments as of `exchanged`."""
    rated = np.isfinite(missed)
    rated[:, 0] = True
    grave = np.nan_to_num(gravest)
    present, graves = rated.sum(axis=1), grave.sum(axis=1)
    # Of a subject with k raters, k - 2 are the others of two; so many graves but one or two must there be at least.
    near = np.flatnonzero((present > 2) & (graves >= present - 2))
    # Only who rated a subject matters there, so of a crowd each subject keeps its own raters, the rater under test first.
    kept = np.argsort(~rated[near], axis=1, kind="stable")[:, : int(present[near].max(initial=1))]
    missed, grave, rated = (np.take_along_axis(part[near], kept, axis=1) for part in (missed, grave, rated))
    missed, present, graves = np.nan_to_num(missed, nan=1.0), present[near], graves[near]
    # All but the two of a pair call it gravest if these two are all who do not: one beside any, or the one other who does not.
    mild = rated & (grave == 0)
    lacking = (present - graves)[:, None] - mild
    anybody, another = lacking <= 0, lacking == 1
    itself = anybody | (another & mild)
    number, misses = (
        np.where(anybody, (rated * part).sum(axis=1, keepdims=True), another * (mild * part).sum(axis=1, keepdims=True))
        - itself * part
        for part in (np.ones(missed.shape), missed)
    )
    against = rated * number
    own = against * missed
    return Losses(near, rated, own - rated * misses, against, own)


class Exchanged(NamedTuple):
    """What a rater and a left-out person miss of the subjects that all others call gravest, and the p of the difference.

    `n` subjects are called so by all others of some person; shares are over persons left out. `p` is one-sided, that the
    rater misses no more than a person would; None where no subject can tell.
    """

    rater: float | None
    person: float | None
    n: int
    p: float | None


def exchanged(missed: Floats, gravest: Floats, clusters: Codes, *, draws: int = DRAWS, seed: int = 0) -> Exchanged:
    """Test whether a rater misses what all others call gravest more often than one of them does.

    Args:
        missed: shape (S, 1 + P), whether the rater (first column) and each person misses the subject: 1 or 0, NaN where
            a person did not rate it. A missing verdict of the rater is a miss.
        gravest: the same shape, whether each calls it gravest.
        clusters: shape (S,); all subjects of a cluster are exchanged with the same person, where the same rated them.
        draws: of exchanges.
        seed: of their generator.
    """
    near, rated, loss, against, own = losses(missed, gravest)
    present, codes = rated.sum(axis=1), dense(clusters[near])[1]
    pairs = float(against[:, 0].sum())
    n = int((against[:, 0] > 0).sum())
    if not pairs or not np.ptp(np.where(rated, loss, loss[:, :1]), axis=1).any():
        return Exchanged(None, None, n, None) if not pairs else _shares(own, loss, pairs, n, 1.0)
    order = np.argsort(~rated, axis=1, kind="stable")  # those present first
    choices = np.take_along_axis(loss, order, axis=1)
    observed = float(loss[:, 0].sum())
    generator = np.random.default_rng(seed)
    clusters_here, reached, done = int(codes.max()) + 1, 0, 0
    while done < draws:
        size = min(draws - done, max(1, _BLOCK // len(near)))
        place = generator.random((size, clusters_here))[:, codes]
        drawn = choices[np.arange(len(near)), (place * present).astype(np.intp)].sum(axis=1)
        reached += int((drawn >= observed - 1e-9).sum())
        done += size
    return _shares(own, loss, pairs, n, (1 + reached) / (1 + draws))


def _shares(own: Floats, loss: Floats, pairs: float, n: int, p: float) -> Exchanged:
    rater = float(own[:, 0].sum()) / pairs
    return Exchanged(rater, rater - float(loss[:, 0].sum()) / pairs, n, p)
