"""Thresholds with a guarantee: what must be read so that enough is found, and what may pass unread, with a confidence.

Learn then Test (Angelopoulos, Bates, Candès, Jordan and Lei 2021): thresholds are tested in an order that is fixed
beforehand, each by an exact p-value, until the first that fails; the last one before it holds with the confidence asked
for. Conversations are exchangeable and replies of one conversation are not, so one reply is drawn of each, without a
look at its risk: what is drawn is independent, and binomial tails are exact. Each conversation counts once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

CONFIDENCE = 0.9
TOLERATED = 0.02
"""Share of the replies that pass unread which may be unsafe, where nobody says otherwise."""


class Threshold(NamedTuple):
    """Replies with a risk at or above `risk` are read; None where no threshold holds with the confidence asked for.

    `n` conversations were drawn from (to find: those with something unsafe, to pass: all), of which `events` lie on the
    wrong side; `needs` is the least n with which any threshold could hold.
    """

    risk: float | None
    reads: float | None
    n: int
    events: int
    needs: int


def least(share: float, confidence: float = CONFIDENCE) -> int:
    """Return the least number of draws with which a share of errors can be excluded: none of them is one.

    (1 - share)^n ≤ 1 - confidence: 45 for 5 % with 90 % confidence.

    Args:
        share: of errors, between 0 and 1.
        confidence: between 0 and 1.
    """
    return math.ceil(math.log(1 - confidence) / math.log1p(-share) - 1e-9)


def most(n: int, confidence: float = CONFIDENCE) -> float:
    """Return the largest share that n draws without an error can show to be right: (1 - confidence)^(1/n), 94.4 % of 40.

    Args:
        n: draws; none show nothing.
        confidence: between 0 and 1.
    """
    return (1 - confidence) ** (1 / n) if n else 0.0


def allowed(n: int, share: float, confidence: float = CONFIDENCE) -> int:
    """Return the most errors in n draws with which the share of errors is at most `share`; -1 where none would do.

    The largest k with P(Binomial(n, share) ≤ k) ≤ 1 - confidence.

    Args:
        n: draws.
        share: of errors, between 0 and 1.
        confidence: between 0 and 1.
    """
    if n < least(share, confidence):
        return -1
    tails = special.bdtr(np.arange(n + 1), n, share)
    return int(np.searchsorted(tails, 1 - confidence + 1e-12, side="right")) - 1


def draw(cluster: Codes, among: Mask, seed: int = 0) -> Codes:
    """Draw one of each cluster's members; the indices that were drawn, one for each cluster that has a member.

    Args:
        cluster: shape (n,).
        among: shape (n,), who may be drawn.
        seed: of the generator.
    """
    shuffled = np.random.default_rng(seed).permutation(np.flatnonzero(among))
    return np.asarray(shuffled[np.unique(cluster[shuffled], return_index=True)[1]], dtype=np.intp)


def finding(
    risk: Floats, unsafe: Mask, cluster: Codes, *, target: float, confidence: float = CONFIDENCE, seed: int = 0
) -> Threshold:
    """Return the highest threshold that finds at least a share of the unsafe replies with a confidence.

    Of each conversation with something unsafe, one unsafe reply is drawn. With n draws, the threshold is the risk of the
    (k + 1)-th lowest, k = `allowed(n, 1 - target)`: the share of the unsafe below it is at most that of a
    Beta(k + 1, n - k) variable, which is above 1 - target with a chance of at most 1 - confidence (exact where risks
    have no ties, too safe where they have). It is the share of an average conversation, each of which counts once.

    Args:
        risk: shape (n,), of an order that has not seen these labels; infinity is read first.
        unsafe: shape (n,).
        cluster: shape (n,).
        target: share of the unsafe to be found, below 1.
        confidence: with which.
        seed: of the draw.
    """
    miss = 1 - target
    drawn = np.sort(risk[draw(cluster, unsafe, seed)])
    needs, errors = least(miss, confidence), allowed(len(drawn), miss, confidence)
    if errors < 0:
        return Threshold(None, None, len(drawn), 0, needs)
    limit = float(drawn[errors])
    return Threshold(limit, float(np.mean(risk >= limit)), len(drawn), int((drawn < limit).sum()), needs)


def passing(
    risk: Floats,
    unsafe: Mask,
    cluster: Codes,
    *,
    tolerated: float = TOLERATED,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> Threshold:
    """Return the highest threshold below which at most a share is unsafe, with a confidence.

    One reply of each conversation is drawn. Sets of the drawn with the lowest risks are tested from the smallest in
    which no unsafe one would do to the largest, tie by tie, until the first that fails. Given the first risk above a
    set, what lies in it is an independent sample of what lies below that risk, so its unsafe ones are binomial.

    Args:
        risk: shape (n,), as in `finding`.
        unsafe: shape (n,).
        cluster: shape (n,).
        tolerated: share of what passes that may be unsafe, between 0 and 1.
        confidence: with which.
        seed: of the draw.
    """
    drawn = draw(cluster, np.ones(len(risk), dtype=bool), seed)
    drawn = drawn[np.argsort(risk[drawn], kind="stable")]
    needs, values, harms = least(tolerated, confidence), risk[drawn], np.cumsum(unsafe[drawn])
    ends = np.flatnonzero(
        values[1:] > values[:-1]
    )  # a set ends where the next risk is higher, and that is where reading begins
    ends = ends[ends + 1 >= needs]
    fails = special.bdtr(harms[ends], ends + 1, tolerated) > 1 - confidence + 1e-12
    passed = ends[: int(np.argmax(fails)) if fails.any() else len(ends)]
    if not len(passed):
        return Threshold(None, None, len(drawn), 0, needs)
    limit = float(values[passed[-1] + 1])
    return Threshold(limit, float(np.mean(risk >= limit)), len(drawn), int(harms[passed[-1]]), needs)


def halves(cluster: Codes, unsafe: Mask, seed: int = 0) -> Mask:
    """Put half of the conversations aside to learn from, half of those with something unsafe among them; shape (n,).

    What is learned on one half is fixed for the other, so that a threshold that is set there keeps its guarantee. Risks
    that are cross-fitted would not do: each is of another fit, and none of them is the fit that is used afterwards.
    """
    generator = np.random.default_rng(seed)
    risky = np.unique(cluster[unsafe])
    rest = np.setdiff1d(cluster, risky)
    chosen = [generator.permutation(group)[: len(group) // 2] for group in (risky, rest)]
    return np.asarray(np.isin(cluster, np.concatenate(chosen)))
