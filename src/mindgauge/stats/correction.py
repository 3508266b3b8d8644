"""A judge's numbers, corrected by the part of them that people rated too.

The labelled part must be a random sample of what the judge rated. Where it was chosen by what a judge thought, nothing
here holds.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from mindgauge.stats import bounded
from mindgauge.stats.codes import dense
from mindgauge.stats.interval import SAME, Interval, tied

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from mindgauge.stats.interval import Ends

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

NOISE = 1e-12
"""A value that is this close to the mean, in proportion, differs from it by rounding."""


class CorrectedIntervals(NamedTuple):
    """A mean by people and judge together, beside what either says alone.

    `tuning` is λ, how far the judge is listened to: 0 not at all, 1 fully. `gain` says how many times as many labelled
    clusters people alone would need for the same precision. `unscored` of the `n` have no score of the judge.
    """

    corrected: Interval
    human_only: Interval
    judge_only: Interval
    tuning: float | None
    gain: float | None
    n: int
    labelled: int
    clusters: int
    labelled_clusters: int
    unscored: int


def prediction_powered_mean(
    judge: ArrayLike,
    human: ArrayLike,
    cluster: ArrayLike,
    *,
    tuning: float | None = None,
    level: float = 0.95,
    ends: Ends | None = None,
) -> CorrectedIntervals:
    """Estimate people's mean over all subjects from a judge's scores of all and people's of some.

    PPI++ (Angelopoulos, Duchi and Zrnic 2023, example 6.1): with y people's and f the judge's scores, L labelled and U
    the rest,

        θ(λ) = mean_L y + λ (mean_U f - mean_L f).

    Whatever the judge's bias, θ aims at people's mean; a judge that is no use gets λ near 0 and leaves people's mean as
    it is. λ minimises the variance and is clipped to 0…1. Variances are sums over clusters of the squares of

        A + λ B,  A = Σ_L (y - mean_L y) / n_L,  B = Σ_U (f - mean_U f) / n_U - Σ_L (f - mean_L f) / n_L,

    so labelled and other replies of one conversation may be mixed in any way, and λ = -Σ A B / Σ B². With clusters of
    one these are the paper's formulas. They are meant for many labels; with m labelled clusters the variance is
    multiplied by m / (m - 2) and the quantile is Student's with m - 2 degrees of freedom, as for a regression estimate,
    because λ costs one of them. In simulations (three replies a conversation, scores 1 to 5) 8 labelled clusters
    covered .93 to .96 so, against .86 to .90 by the normal quantile. λ needs three labelled clusters; with two it is 0.
    A subject without a judge's score counts with the judge's mean: any guess leaves the estimate valid.

    Args:
        judge: shape (n,), the judge's scores; NaN where there is none.
        human: shape (n,), people's scores; NaN where there is none.
        cluster: shape (n,), labels of the clusters.
        tuning: λ, if it is not to be estimated.
        level: of confidence.
        ends: of people's scale. Where they are known, intervals reckon with values that were not drawn (`bounded`).

    Raises:
        ValueError: the lengths differ.
    """
    scores, rated, codes = read_scores(judge, human, cluster)
    clusters = int(codes.max()) + 1 if len(codes) else 0
    labelled, scored = np.isfinite(rated), np.isfinite(scores)
    fewest = len(np.unique(codes[labelled]))
    counts = (len(scores), int(labelled.sum()), clusters, fewest, int((~scored).sum()))
    if not scored.any():
        undefined = Interval(None, undefined="the judge scored nothing")
        return CorrectedIntervals(undefined, undefined, undefined, None, None, *counts)
    of_judge, judge_mean = contributions(scores, scored, codes, clusters)
    judge_only = _interval(judge_mean, of_judge, clusters, 1, level, "fewer than 2 clusters")
    if not fewest:
        undefined = Interval(None, undefined="people rated nothing")
        return CorrectedIntervals(undefined, undefined, judge_only, None, None, *counts)
    of_human, human_mean = contributions(rated, labelled, codes, clusters)
    shortage = "fewer than 2 labelled clusters"
    human_only = _interval(human_mean, of_human, fewest, 1, level, shortage)
    if fewest < 2:
        return CorrectedIntervals(Interval(None, undefined=shortage), human_only, judge_only, None, None, *counts)
    of_shift, shift = _shift(np.where(scored, scores, scores[scored].mean()), labelled, codes, clusters)
    estimated = tuning is None and fewest > 2
    if tuning is None:
        tuning = _tuned(of_human, of_shift) if estimated else 0.0
    lost = 2 if estimated else 1
    together = of_human + tuning * of_shift
    corrected = _interval(human_mean + tuning * shift, together, fewest, lost, level, shortage)
    variance = float(together @ together) / (fewest - lost)
    gain = float(of_human @ of_human) / (fewest - 1) / variance if variance > 0 else None
    if ends is not None:
        values = rated[labelled]
        gaffke = bounded.interval(values, np.full(len(values), 1 / len(values)), codes[labelled], ends, level=level)
        corrected, human_only = bounded.widened(corrected, human_only, gaffke, ends)
    return CorrectedIntervals(corrected, human_only, judge_only, tuning, gain, *counts)


def _shift(scores: Floats, labelled: Mask, cluster: Codes, clusters: int) -> tuple[Floats, float]:
    """Return the judge's correction mean_U f - mean_L f, with what each cluster adds to it; 0 where all are labelled."""
    if labelled.all():
        return np.zeros(clusters), 0.0
    of_labelled, labelled_mean = contributions(scores, labelled, cluster, clusters)
    of_rest, rest_mean = contributions(scores, ~labelled, cluster, clusters)
    return of_rest - of_labelled, rest_mean - labelled_mean


def read_scores(judge: ArrayLike, human: ArrayLike, cluster: ArrayLike) -> tuple[Floats, Floats, Codes]:
    """Return the scores as numbers and the clusters as codes from 0.

    Raises:
        ValueError: the lengths differ.
    """
    scores, rated = np.asarray(judge, dtype=np.float64), np.asarray(human, dtype=np.float64)
    labels = np.asarray(cluster)
    if not scores.shape == rated.shape == labels.shape or scores.ndim != 1:
        raise ValueError(f"shapes differ: judge {scores.shape}, human {rated.shape}, cluster {labels.shape}")
    return scores, rated, dense(labels)[1]


def contributions(values: Floats, rows: Mask, cluster: Codes, clusters: int) -> tuple[Floats, float]:
    """Return what each cluster adds to the mean of some rows, shape (C,), and the mean; zeros where there is none.

    The squares of what clusters add sum up to the mean's variance, but for a factor m / (m - 1) of its m clusters.
    """
    if not rows.any():
        return np.zeros(clusters), 0.0
    mean = float(values[rows].mean())
    residual = values[rows] - mean
    residual[np.abs(residual) <= NOISE * max(1.0, abs(mean))] = 0.0
    return np.bincount(cluster[rows], residual, minlength=clusters) / rows.sum(), mean


def _tuned(of_human: Floats, of_shift: Floats) -> float:
    square = float(of_shift @ of_shift)
    return min(max(-float(of_human @ of_shift) / square, 0.0), 1.0) if square > 0 else 0.0


def _interval(value: float, influence: Floats, clusters: int, lost: int, level: float, shortage: str) -> Interval:
    """Return the interval by Student's t; `lost` degrees of freedom went into what was estimated."""
    if clusters < 2:
        return Interval(float(value), undefined=shortage)
    if not influence.any():
        return Interval(float(value), undefined=SAME)
    variance = float(influence @ influence) * clusters / (clusters - lost)
    half = float(special.stdtrit(clusters - lost, (1 + level) / 2)) * math.sqrt(variance)
    if tied(float(value) - half, float(value) + half):
        return Interval(float(value), undefined=SAME)
    return Interval(float(value), float(value) - half, float(value) + half)
