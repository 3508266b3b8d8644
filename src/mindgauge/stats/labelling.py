"""Whether labelled subjects are like the others in a judge's scores: a permutation test of which conversations were labelled.

Near the end of a scale most scores are the same, and an error that is estimated from the few others is far too small:
Student's t gives false alarms in up to a third of studies. Permutations need no such estimate.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mindgauge.stats.codes import dense
from mindgauge.stats.correction import NOISE, read_scores
from mindgauge.stats.ratio import ratio

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

FEWEST = 5
"""Labelled conversations below which nothing is said: a mean is not corrected by fewer either."""
HANDFUL = 10
"""Conversations with unlabelled subjects below which nothing is said."""
REST = 0.05
"""Share of unlabelled subjects below which nothing is said: what they are like moves a mean by less than a twentieth of the scale."""


class LabellingGap(NamedTuple):
    """By how much the judge's scores of labelled subjects exceed its scores of others.

    `stratum` is the place of its label in order, None over all. `labelled` and `others` are the means of both, weighted
    alike over strata; `size` is the gap in standard deviations within strata and sides, `p` two-sided, for all gaps
    together. `n` counts the others.
    """

    stratum: int | None
    labelled: float
    others: float
    size: float
    p: float
    n: int


class _Scores(NamedTuple):
    """A judge's scores, shape (n,), and their places; `present`, shape (C, S), counts a conversation's replies in each stratum."""

    score: Floats
    cluster: Codes
    stratum: Codes
    present: NDArray[np.intp]
    group: Codes
    """Shape (C,): conversations of one group have replies in the same strata."""

    @classmethod
    def of(cls, score: Floats, cluster: Codes, stratum: Codes) -> _Scores:
        shape = (int(cluster.max()) + 1, int(stratum.max()) + 1)
        present = np.bincount(cluster * shape[1] + stratum, minlength=shape[0] * shape[1]).reshape(shape)
        group = np.unique(present > 0, axis=0, return_inverse=True)[1].ravel()
        return cls(score, cluster, stratum, present, group)

    def permuted(self, labelled: Mask, generator: np.random.Generator) -> Mask:
        """Draw what else might be labelled: other conversations in place of these, and other replies of each."""
        cell = self.cluster * self.present.shape[1] + self.stratum
        share = np.bincount(cell, labelled, minlength=self.present.size).reshape(self.present.shape)
        moved = np.empty_like(share)
        order = np.lexsort([generator.random(len(self.group)), self.group])
        moved[np.argsort(self.group, kind="stable")] = ratio(share, self.present, 0.0)[order]
        # a share of a conversation of another length is rounded up or down by chance
        number = np.floor(np.round(moved * self.present, 9) + generator.random(share.shape))
        if self.present.max() <= 1:
            return np.asarray(number.ravel()[cell] > 0)
        ranking = np.lexsort([generator.random(len(cell)), cell])
        rank = np.empty(len(cell))
        rank[ranking] = np.arange(len(cell)) - (np.cumsum(self.present) - self.present.ravel())[cell[ranking]]
        return np.asarray(rank < number.ravel()[cell])

    def sums(self, labelled: Mask) -> tuple[Floats, Floats]:
        """Return what labelled scores of each stratum add up to, and the weights n_L n_U / (n_L + n_U)."""
        n = self.present.sum(axis=0).astype(np.float64)
        labels = np.bincount(self.stratum, labelled, len(n))
        sums: Floats = np.bincount(self.stratum, self.score * labelled, len(n)).astype(np.float64)
        return sums, labels * (n - labels) / n

    def sufficient(self, labelled: Mask) -> bool:
        """Whether anything can be said of labelled scores and the others."""
        labels, others = (len(np.unique(self.cluster[side])) for side in (labelled, ~labelled))
        return labels >= FEWEST and others >= HANDFUL and float(np.mean(~labelled)) >= REST


def gaps(
    judge: ArrayLike,
    labelled: ArrayLike,
    cluster: ArrayLike,
    stratum: ArrayLike,
    *,
    least: float,
    alpha: float,
    seed: int = 0,
) -> list[LabellingGap]:
    """Return where labelled subjects' scores differ from others' of the same stratum: over all strata first, then in each.

    Were labels chance, any conversations might have been labelled in place of others that have replies in the same
    strata, and any replies of a conversation in place of its others. So labels are permuted, and each gap is compared
    with the largest of all gaps, in standard errors, of each permutation (max-T; Westfall and Young 1993): alpha is the
    chance that anything is returned where chance chose. Where conversations are not equally long, one takes on the share
    that is labelled of another.

    Nothing is said where fewer than `FEWEST` conversations have labels, fewer than `HANDFUL` have other replies, or less
    than `REST` of the replies are unlabelled.

    Args:
        judge: shape (n,), the judge's scores.
        labelled: shape (n,), whether people rated the subject.
        cluster: shape (n,), labels of the conversations.
        stratum: shape (n,), labels of the strata.
        least: standard deviations from which a gap counts.
        alpha: chance of a false alarm.
        seed: of the permutations.

    Raises:
        ValueError: the lengths differ.
    """
    scores, mask, codes = read_scores(judge, labelled, cluster)
    if np.shape(stratum) != (len(scores),):
        raise ValueError(f"stratum has shape {np.shape(stratum)}, but there are {len(scores)} scores")
    if not len(scores):
        return []
    labels, place = mask == 1, dense(stratum)[1]
    n = np.bincount(place)
    centred = scores - (np.bincount(place, scores) / n)[place]
    centred[np.abs(centred) <= NOISE * np.maximum(1.0, np.abs(scores))] = 0.0
    read = _Scores.of(centred, codes, place)
    spread = np.bincount(place, centred**2) / n
    parts = [np.ones(len(n), dtype=bool), *np.eye(len(n), dtype=bool)][: None if len(n) > 1 else 1]
    eligible = np.array([read._replace(cluster=codes[part[place]]).sufficient(labels[part[place]]) for part in parts])
    membership = np.array(parts)[eligible]
    candidates = [
        gap._replace(stratum=int(i) - 1 if i else None)
        for i in np.flatnonzero(eligible)
        if (gap := _gap(scores, labels, place, parts[i])) is not None and abs(gap.size) >= least
    ]
    if not candidates:
        return []

    def standardised(label: Mask) -> Floats:
        adds, weights = read.sums(label)
        return np.asarray(np.abs(membership @ adds) / np.sqrt(np.maximum(membership @ (weights * spread), 1e-300)))

    observed = dict(zip(np.flatnonzero(eligible), standardised(labels), strict=True))
    reached = np.array([observed[0 if gap.stratum is None else gap.stratum + 1] for gap in candidates]) * (1 - 1e-9)
    permutations = math.ceil(max(2 / alpha, 1000))
    generator = np.random.default_rng(seed)
    times = np.ones(len(candidates))
    for _ in range(permutations - 1):
        times += standardised(read.permuted(labels, generator)).max() >= reached
        if (times > alpha * permutations).all():
            return []
    return [gap._replace(p=float(p)) for gap, p in zip(candidates, times / permutations, strict=True) if p <= alpha]


def _gap(scores: Floats, labelled: Mask, stratum: Codes, part: Mask) -> LabellingGap | None:
    """Return the gap of some strata, None where it is none; each has the weight with which a difference of means varies least."""
    sides = [part[stratum] & side for side in (labelled, ~labelled)]
    counts = np.stack([np.bincount(stratum[side], minlength=len(part)) for side in sides])
    weights = ratio(counts.prod(axis=0), counts.sum(axis=0), 0.0)
    if not weights.any():
        return None
    means = [
        ratio(np.bincount(stratum[side], scores[side], len(part)), number, 0.0)
        for side, number in zip(sides, counts, strict=True)
    ]
    both = weights > 0
    squares = sum(
        float(((scores[side] - mean[stratum[side]])[both[stratum[side]]] ** 2).sum())
        for side, mean in zip(sides, means, strict=True)
    )
    labels, others = (float(weights @ mean / weights.sum()) for mean in means)
    spread, gap = math.sqrt(squares / float(counts[:, both].sum())), labels - others
    if abs(gap) <= NOISE * max(1.0, abs(labels)):
        return None
    size = gap / spread if spread > NOISE else math.copysign(math.inf, gap)
    return LabellingGap(None, labels, others, size, 1.0, int(counts[1, both].sum()))
