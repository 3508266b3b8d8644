"""A judge's numbers, corrected by the part of them that people rated too.

The labelled part must be a random sample of what the judge rated. Where it was chosen by what a judge thought, nothing
here holds.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from mindgauge.stats.interval import SAME, Interval, tied
from mindgauge.stats.proportion import clopper_pearson

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

NOISE = 1e-12
"""A value that is this close to the mean, in proportion, differs from it by rounding."""


# -- prediction-powered inference -------------------------------------------------------------------------------------


class CorrectedIntervals(NamedTuple):
    """A mean, or a difference of means, by people and judge together, beside what either says alone.

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


class _Parts(NamedTuple):
    """People's mean, the judge's correction to it and the judge's own mean, with what each cluster adds to them.

    The last three have shape (C,) and sum to 0; the squares of their sums over clusters are variances.
    """

    human: float
    shift: float
    judge: float
    of_human: Floats
    of_shift: Floats
    of_judge: Floats


def prediction_powered_mean(
    judge: ArrayLike, human: ArrayLike, cluster: ArrayLike, *, tuning: float | None = None, level: float = 0.95
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

    Raises:
        ValueError: the lengths differ.
    """
    scores, rated, codes = read_scores(judge, human, cluster)
    all_rows = np.ones(len(scores), dtype=bool)
    return _corrected(scores, rated, codes, [all_rows], tuning, level)


def prediction_powered_difference(
    judge: ArrayLike,
    human: ArrayLike,
    cluster: ArrayLike,
    first: ArrayLike,
    *,
    tuning: float | None = None,
    level: float = 0.95,
) -> CorrectedIntervals:
    """Estimate by how much people's mean of one system exceeds that of another; see `prediction_powered_mean`.

    Both systems share one λ, chosen for the difference. Clusters are conversations that both answered, so what both
    have in common cancels. m is the smaller of the two numbers of labelled clusters.

    Args:
        judge: shape (n,), the judge's scores of both systems; NaN where there is none.
        human: shape (n,), people's scores; NaN where there is none.
        cluster: shape (n,), labels of the clusters.
        first: shape (n,), true for the first system's rows, false for the second's.
        tuning: λ, if it is not to be estimated.
        level: of confidence.

    Raises:
        ValueError: the lengths differ.
    """
    scores, rated, codes = read_scores(judge, human, cluster)
    of_first = np.asarray(first, dtype=bool)
    if of_first.shape != scores.shape:
        raise ValueError(f"first has shape {of_first.shape}, but there are {len(scores)} scores")
    return _corrected(scores, rated, codes, [of_first, ~of_first], tuning, level)


def read_scores(judge: ArrayLike, human: ArrayLike, cluster: ArrayLike) -> tuple[Floats, Floats, Codes]:
    """Return the scores as numbers and the clusters as codes from 0.

    Raises:
        ValueError: the lengths differ.
    """
    scores, rated = np.asarray(judge, dtype=np.float64), np.asarray(human, dtype=np.float64)
    labels = np.asarray(cluster)
    if not scores.shape == rated.shape == labels.shape or scores.ndim != 1:
        raise ValueError(f"shapes differ: judge {scores.shape}, human {rated.shape}, cluster {labels.shape}")
    return scores, rated, np.unique(labels, return_inverse=True)[1]


def _corrected(
    judge: Floats, human: Floats, cluster: Codes, systems: list[Mask], tuning: float | None, level: float
) -> CorrectedIntervals:
    """Correct the mean of one system, or the difference of two."""
    clusters = int(cluster.max()) + 1 if len(cluster) else 0
    labelled = np.isfinite(human)
    scored = np.isfinite(judge)
    fewest = min(len(np.unique(cluster[labelled & rows])) for rows in systems)
    suffix = "" if len(systems) == 1 else " of one system"
    counts = (len(judge), int(labelled.sum()), clusters, len(np.unique(cluster[labelled])), int((~scored).sum()))
    if not all((scored & rows).any() for rows in systems):
        undefined = Interval(None, undefined=f"the judge scored nothing{suffix}")
        return CorrectedIntervals(undefined, undefined, undefined, None, None, *counts)
    parts = [_parts(judge, human, cluster, rows, clusters) for rows in systems]
    sign = (1.0, -1.0)[: len(parts)]
    human_mean, shift, judge_mean, of_human, of_shift, of_judge = (
        sum(s * value for s, value in zip(sign, column, strict=True)) for column in zip(*parts, strict=True)
    )
    labelled_clusters = min(len(np.unique(cluster[rows])) for rows in systems)
    judge_only = _interval(judge_mean, of_judge, labelled_clusters, 1, level, "fewer than 2 clusters")
    if not fewest:
        undefined = Interval(None, undefined=f"people rated nothing{suffix}")
        return CorrectedIntervals(undefined, undefined, judge_only, None, None, *counts)
    shortage = "fewer than 2 labelled clusters"
    human_only = _interval(human_mean, of_human, fewest, 1, level, shortage)
    if fewest < 2:
        return CorrectedIntervals(Interval(None, undefined=shortage), human_only, judge_only, None, None, *counts)
    estimated = tuning is None and fewest > 2
    if tuning is None:
        tuning = _tuned(of_human, of_shift) if estimated else 0.0
    lost = 2 if estimated else 1
    together = of_human + tuning * of_shift
    corrected = _interval(human_mean + tuning * shift, together, fewest, lost, level, shortage)
    variance = float(together @ together) / (fewest - lost)
    gain = float(of_human @ of_human) / (fewest - 1) / variance if variance > 0 else None
    return CorrectedIntervals(corrected, human_only, judge_only, tuning, gain, *counts)


def _parts(judge: Floats, human: Floats, cluster: Codes, rows: Mask, clusters: int) -> _Parts:
    scored = np.isfinite(judge) & rows
    judge = np.where(scored, judge, judge[scored].mean())
    labelled = np.isfinite(human) & rows
    rest = rows & ~labelled
    of_human, human_mean = contributions(human, labelled, cluster, clusters)
    of_labelled, labelled_mean = contributions(judge, labelled, cluster, clusters)
    of_rest, rest_mean = contributions(judge, rest, cluster, clusters)
    of_judge, judge_mean = contributions(judge, scored, cluster, clusters)
    if not rest.any():
        return _Parts(human_mean, 0.0, judge_mean, of_human, np.zeros(clusters), of_judge)
    return _Parts(human_mean, rest_mean - labelled_mean, judge_mean, of_human, of_rest - of_labelled, of_judge)


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


# -- a binary verdict -------------------------------------------------------------------------------------------------


class Prevalence(NamedTuple):
    """How common something is, corrected for a verdict that is sometimes wrong, and what it was computed from.

    `truncated` says that the formula gave a value outside 0 to 1. `missing` subjects have no verdict of the judge.
    """

    prevalence: Interval
    apparent: Interval
    sensitivity: Interval
    specificity: Interval
    truncated: bool
    missing: int = 0


class _Share(NamedTuple):
    """Events among observations; n need not be whole."""

    events: float
    n: float


def rogan_gladen(
    apparent: float,
    n: float,
    true_positives: float,
    positives: float,
    true_negatives: float,
    negatives: float,
    *,
    level: float = 0.95,
) -> Prevalence:
    """Correct an apparent prevalence for estimated sensitivity and specificity (Rogan and Gladen 1978).

        prevalence = (p + Sp - 1) / (Se + Sp - 1)

    with p = called / n, truncated to 0…1 and marked so. Its interval takes Se and Sp for the estimates they are (Lang
    and Reiczigel 2014, equations 6, 7, 16 and 17): p' = p after adding z²/2 of n + z², Se' and Sp' after adding 1 of 2,

        prevalence' + shift ± z √(p'(1-p')/n' + prevalence'² V(Se') + (1-prevalence')² V(Sp')) / (Se' + Sp' - 1)
        shift = 2 z² (prevalence' V(Se') - (1 - prevalence') V(Sp')),   V(s) = s (1 - s) / n

    It takes the three shares as independent; where the labelled subjects are among the n, use `prevalence`.
    Published examples: 23 of 150 at Se .96 and Sp .89 are .051 (epiR's handbook); 50 of 3,330 with Se 130 of 157 and
    Sp 3,308 of 3,324 are .012, interval .007 to .018 (Bendavid et al. 2021, by another approximation).

    Args:
        apparent: verdicts that are positive.
        n: verdicts.
        true_positives: positive verdicts among those that people labelled positive.
        positives: what people labelled positive.
        true_negatives: negative verdicts among those that people labelled negative.
        negatives: what people labelled negative.
        level: of confidence.

    Raises:
        ValueError: more events than observations.
    """
    shares = _Share(apparent, n), _Share(true_positives, positives), _Share(true_negatives, negatives)
    return _prevalence(*shares, np.zeros((3, 3)), level)


def _prevalence(yes_share: _Share, positive: _Share, negative: _Share, covariance: Floats, level: float) -> Prevalence:
    """Correct an apparent prevalence; of the shares' `covariance` (3, 3) only what is off the diagonal is used."""
    apparent, sensitivity, specificity = (clopper_pearson(*share, level) for share in (yes_share, positive, negative))
    value, truncated = Interval(None, undefined="no verdicts"), False
    if sensitivity.value is None or specificity.value is None:
        side = "positive" if sensitivity.value is None else "negative"
        value = Interval(None, undefined=f"people labelled nothing {side}")
    elif apparent.value is not None:
        youden = sensitivity.value + specificity.value - 1
        if youden <= 0:
            value = Interval(None, undefined=f"the verdicts do not tell the two apart (Youden's J {youden:.2g})")
        else:
            raw = (apparent.value + specificity.value - 1) / youden
            truncated = not 0 <= raw <= 1
            low, high, reason = _lang_reiczigel(yes_share, positive, negative, covariance, level)
            value = Interval(min(max(raw, 0.0), 1.0), low, high, reason)
    return Prevalence(value, apparent, sensitivity, specificity, truncated)


def _lang_reiczigel(
    yes_share: _Share, positive: _Share, negative: _Share, covariance: Floats, level: float
) -> tuple[float | None, float | None, str]:
    z = float(special.ndtri((1 + level) / 2))
    p, n = (yes_share.events + z**2 / 2) / (yes_share.n + z**2), yes_share.n + z**2
    se, n_se = (positive.events + 1) / (positive.n + 2), positive.n + 2
    sp, n_sp = (negative.events + 1) / (negative.n + 2), negative.n + 2
    youden = se + sp - 1
    if youden <= 0:
        return None, None, "too few labels for an interval"
    estimate = (p + sp - 1) / youden
    of_se, of_sp = se * (1 - se) / n_se, sp * (1 - sp) / n_sp
    slope = np.array([1.0, -estimate, 1 - estimate])
    variance = p * (1 - p) / n + estimate**2 * of_se + (1 - estimate) ** 2 * of_sp
    variance += slope @ covariance @ slope - slope**2 @ np.diagonal(covariance)
    centre = estimate + 2 * z**2 * (estimate * of_se - (1 - estimate) * of_sp)
    half = z * math.sqrt(max(variance, 0.0)) / youden
    if centre + half <= 0 or centre - half >= 1:
        return None, None, "the interval lies outside 0 to 1: the labels do not fit the verdicts"
    return max(centre - half, 0.0), min(centre + half, 1.0), ""


def prevalence(judge: ArrayLike, human: ArrayLike, cluster: ArrayLike, *, level: float = 0.95) -> Prevalence:
    """Correct how often a judge says yes by the subjects that people labelled too, with clusters; see `rogan_gladen`.

    Each share enters with its effective number of observations, p (1 - p) over its variance between clusters (Rao and
    Scott 1992: divide counts by the design effect), at most the number it has. Where a share is 0 or 1 its variance
    says nothing, and the number of clusters is taken. The labelled subjects are among those that are counted, so the
    three shares go up and down together; the variance has their covariances between clusters, from the same influences
    as in `prediction_powered_mean`. In simulations (100 to 300 clusters, 20 to 200 labelled) it covered .95 to .98.

    Args:
        judge: shape (n,), 1 for a positive verdict, 0 for a negative one, NaN where there is none.
        human: shape (n,), people's labels, the same.
        cluster: shape (n,), labels of the clusters.
        level: of confidence.

    Raises:
        ValueError: the lengths differ, or a value is none of 0, 1 and NaN.
    """
    verdict, label, codes = read_scores(judge, human, cluster)
    for values in (verdict, label):
        if not np.isin(values[~np.isnan(values)], (0, 1)).all():
            raise ValueError("verdicts and labels must be 0, 1 or NaN")
    valued = ~np.isnan(verdict)
    clusters = int(codes.max()) + 1 if len(codes) else 0
    yes_share, of_called = _effective(verdict == 1, valued, codes, clusters)
    positive, of_positive = _effective(verdict == 1, valued & (label == 1), codes, clusters)
    negative, of_negative = _effective(verdict == 0, valued & (label == 0), codes, clusters)
    influence = np.stack([of_called, of_positive, of_negative])
    result = _prevalence(yes_share, positive, negative, influence @ influence.T, level)
    return result._replace(missing=int((~valued).sum()))


def _effective(events: Mask, rows: Mask, cluster: Codes, clusters: int) -> tuple[_Share, Floats]:
    """Return the share of events among some rows as one of independent observations, and what each cluster adds."""
    influence, share = contributions(events.astype(np.float64), rows, cluster, clusters)
    n, distinct = int(rows.sum()), len(np.unique(cluster[rows]))
    variance = float(influence @ influence) * distinct / max(distinct - 1, 1)
    if distinct < 2 or share in {0.0, 1.0}:
        return _Share(share * distinct, distinct), influence
    effective = min(float(n), share * (1 - share) / variance) if variance > 0 else float(n)
    return _Share(share * effective, effective), influence
