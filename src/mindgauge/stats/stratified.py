"""A judge's mean over several systems, of each of which people rated another share.

Where people rated a twentieth of one system and nearly all of another, the labelled subjects of all systems together are
no random part of the judged ones; those of each system are. So each system is a stratum, and enters with its share of
the judged subjects. A conversation that several systems answered is one cluster in all of them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from mindgauge.stats import bounded
from mindgauge.stats.codes import dense
from mindgauge.stats.correction import NOISE, CorrectedIntervals, read_scores
from mindgauge.stats.interval import SAME, Interval
from mindgauge.stats.ratio import ratio

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from mindgauge.stats.interval import Ends

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]


BORROWED = 2
"""Degrees of freedom with which what all strata vary by counts for one whose own few labelled replies vary less."""


def borrowed(variances: Floats, counts: Floats) -> Floats:
    """Return by how much each stratum's mean varies more than its own units show, with `BORROWED` degrees of freedom of all.

    With v the variances, f = m - 1 and p the mean of v weighted by f: max((f v + b p) / (f + b) - v, 0) / m, shape (S,).

    Args:
        variances: shape (S,), of a unit in each stratum.
        counts: shape (S,), the units m of each, above 0.
    """
    freedom = counts - 1
    pooled = float(freedom @ variances) / max(float(freedom.sum()), 1.0)
    steadied = (freedom * variances + BORROWED * pooled) / (freedom + BORROWED)
    return np.maximum(steadied - variances, 0.0) / counts


class _Mean(NamedTuple):
    """A weighted mean of strata's means.

    `adds`, shape (S, C), is what each cluster adds to each stratum's mean; `weights`, shape (S,), add up to 1; `counts`,
    shape (S,), are each stratum's clusters; `freedom` is that of the variance.
    """

    value: float
    adds: Floats
    weights: Floats
    counts: Floats
    freedom: float

    @property
    def variance(self) -> float:
        """The mean's variance, with what strata of few replies, which may all be alike, borrow from the others."""
        together = self.weights @ self.adds
        squares = (self.adds**2).sum(axis=1) * self.counts
        return float(together @ together + self.weights**2 @ borrowed(squares, self.counts))

    def interval(self, level: float, lost: float = 0.0) -> Interval:
        """Return Student's interval; `lost` further degrees of freedom went into λ, which also narrows the residuals."""
        freedom = self.freedom - lost
        if not freedom > 0:
            return Interval(self.value, undefined="too few labelled clusters for an interval")
        if not self.adds.any():
            return Interval(self.value, undefined=SAME)
        half = float(special.stdtrit(freedom, (1 + level) / 2)) * math.sqrt(self.variance * self.freedom / freedom)
        return Interval(self.value, self.value - half, self.value + half)


def prediction_powered_mean(
    judge: ArrayLike,
    human: ArrayLike,
    cluster: ArrayLike,
    stratum: ArrayLike,
    *,
    tuning: float | None = None,
    level: float = 0.95,
    ends: Ends | None = None,
) -> CorrectedIntervals:
    """Estimate people's mean over all subjects where another share of each stratum is labelled.

    With w_s the share of stratum s in all subjects, y people's and f the judge's scores, L_s the labelled,

        θ(λ) = Σ_s w_s (mean_L_s y + λ (mean_s f - mean_L_s f)),

    the combined regression estimator of a stratified sample (Cochran 1977, section 7.10), with λ chosen and clipped as in
    PPI++ (Angelopoulos, Duchi and Zrnic 2023): λ = -Σ A B / Σ B² over clusters, A and B being what a cluster adds to the
    first and to the second mean, summed over the strata that it crosses. Within a stratum this is their formula with λ
    in the place of their λ n / n_U; so that one λ serves strata of any labelled share.

    Each stratum's part is multiplied by √(m_s / (m_s - 1)), m_s its labelled clusters. A stratum whose few labelled
    replies vary less than those of all strata is taken to vary as a mixture of both, as with `BORROWED` replies of the
    others: near the end of a scale five replies are easily all alike. The degrees of freedom are those
    of equally variable replies (Satterthwaite 1946): with v_c = (Σ_s w_s × cluster c's share of L_s)², (Σ v)² / Σ v²,
    less 1 for the means and 1 for λ. A few labelled replies that carry a large stratum leave few, however many are
    labelled elsewhere. bench/results/coverage.md has the coverage.

    Args:
        judge: shape (n,), the judge's scores; NaN where there is none, which counts with the stratum's mean.
        human: shape (n,), people's scores; NaN where there is none.
        cluster: shape (n,), labels of the clusters, which may cross the strata.
        stratum: shape (n,), labels of the strata.
        tuning: λ, if it is not to be estimated.
        level: of confidence.
        ends: of people's scale; see `correction.prediction_powered_mean`.

    Raises:
        ValueError: the lengths differ.
    """
    scores, rated, codes = read_scores(judge, human, cluster)
    strata, place = _strata(stratum, len(scores))
    clusters = int(codes.max()) + 1 if len(codes) else 0
    scored, labelled = np.isfinite(scores), np.isfinite(rated)
    labelled_clusters = len(np.unique(codes[labelled]))
    counts = (len(scores), int(labelled.sum()), clusters, labelled_clusters, int((~scored).sum()))
    scored_subjects = np.bincount(place[scored], minlength=strata)
    if not strata or not scored_subjects.all():
        undefined = Interval(
            None, undefined="the judge scored nothing of one stratum" if strata else "there is nothing"
        )
        return CorrectedIntervals(undefined, undefined, undefined, None, None, *counts)
    means = np.bincount(place[scored], scores[scored], strata) / scored_subjects
    scores = np.where(scored, scores, means[place])
    weights = np.bincount(place).astype(np.float64)
    by_judge = _mean(scores, place, scored, weights, codes, clusters)
    judge_only = by_judge.interval(level)
    occurs = np.zeros((strata, clusters), dtype=bool)
    occurs[place[labelled], codes[labelled]] = True
    fewest = int(occurs.sum(axis=1).min())
    if fewest < 2:
        reason = "fewer than 2 labelled clusters in one stratum" if fewest else "people rated nothing of one stratum"
        undefined = Interval(None, undefined=reason)
        return CorrectedIntervals(undefined, undefined, judge_only, None, None, *counts)
    by_people = _mean(rated, place, labelled, weights, codes, clusters)
    by_judge_there = _mean(scores, place, labelled, weights, codes, clusters)
    everywhere = _mean(scores, place, np.ones_like(labelled), weights, codes, clusters, counts=by_people.counts)
    shifts = everywhere.adds - by_judge_there.adds
    estimated = tuning is None
    if tuning is None:
        people, shift = by_people.weights @ by_people.adds, by_people.weights @ shifts
        square = float(shift @ shift)
        tuning = min(max(-float(people @ shift) / square, 0.0), 1.0) if square > 0 else 0.0
    value = by_people.value + tuning * (everywhere.value - by_judge_there.value)
    together = by_people._replace(value=value, adds=by_people.adds + tuning * shifts)
    lost = 1.0 if estimated else 0.0
    variance, freedom = together.variance, together.freedom
    defined = variance > 0 and freedom > lost
    gain = by_people.variance * (freedom - lost) / freedom / variance if defined else None
    corrected, human_only = together.interval(level, lost), by_people.interval(level)
    if ends is not None:
        own, home = rated[labelled], place[labelled]
        share = by_people.weights[home] / np.bincount(home)[home]
        means = np.bincount(home, own) / np.bincount(home)
        values = by_people.value + own - means[home]  # strata that differ are no chance
        gaffke = bounded.interval(values, share, codes[labelled], ends, level=level)
        corrected, human_only = bounded.widened(corrected, human_only, gaffke, ends)
    return CorrectedIntervals(corrected, human_only, judge_only, tuning, gain, *counts)


def _strata(stratum: ArrayLike, n: int) -> tuple[int, Codes]:
    """Return how many strata there are, and the place of each score's, shape (n,)."""
    if np.shape(stratum) != (n,):
        raise ValueError(f"stratum has shape {np.shape(stratum)}, but there are {n} scores")
    names, place = dense(stratum)
    return len(names), place


def _mean(
    values: Floats,
    stratum: Codes,
    part: Mask,
    weights: Floats,
    cluster: Codes,
    clusters: int,
    counts: Floats | None = None,
) -> _Mean:
    """Return the weighted mean of the means of some rows of each stratum.

    Args:
        values: shape (n,).
        stratum: shape (n,), the place of each row's.
        part: shape (n,), the rows that count.
        weights: of the strata, shape (S,).
        cluster: shape (n,).
        clusters: C.
        counts: of each stratum's clusters, by which each part is inflated, if not its own.
    """
    place, scores, shares = stratum[part], values[part], weights / weights.sum()
    number = np.bincount(place, minlength=len(weights))
    means = np.bincount(place, scores, len(weights)) / number
    residual = scores - means[place]
    residual[np.abs(residual) <= NOISE * np.maximum(1.0, np.abs(means))[place]] = 0.0
    cell, shape = place * clusters + cluster[part], (len(weights), clusters)
    sums = np.bincount(cell, residual, shape[0] * clusters).reshape(shape) / number[:, None]
    rows = np.bincount(cell, minlength=shape[0] * clusters).reshape(shape)
    counts = (rows > 0).sum(axis=1).astype(np.float64) if counts is None else counts
    inflation = np.sqrt(ratio(counts, counts - 1, 1.0))
    v = (shares @ (rows / number[:, None])) ** 2
    return _Mean(float(shares @ means), sums * inflation[:, None], shares, counts, float(v.sum() ** 2 / (v @ v)) - 1)
