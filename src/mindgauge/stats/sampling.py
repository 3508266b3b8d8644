"""Estimates from what was drawn with known probabilities: a stratified part of a frame, for example a judge's lowest and some of the rest.

A subject that was drawn with probability π stands for 1/π of the frame (Horvitz and Thompson 1952), and a mean or any
other statistic is that of the weighted subjects (Hájek 1971). Intervals look at the strata, within which subjects were
drawn by lot, and at clusters, conversations, which may cross strata. Two things can be meant by them: conversations like
those of the frame, so that the frame itself is chance, or this frame alone, of which a stratum that was drawn whole
leaves nothing open.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from mindgauge.stats.correction import NOISE, CorrectedIntervals
from mindgauge.stats.interval import SAME, Interval
from mindgauge.stats.jackknife import effective
from mindgauge.stats.ratio import ratio
from mindgauge.stats.stratified import borrowed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from mindgauge.stats.interval import Ends

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

FEW = "fewer than 2 drawn conversations"
PERFECT = "no interval: agreement is perfect"
_STEP = 1e-4
_BLOCK = 4_000_000
"""Weights held at once (32 MB)."""


def draw(sizes: Sequence[int], numbers: Sequence[int], seed: int) -> list[Codes]:
    """Draw subjects of each stratum by lot, without putting back; return their places within it, in order.

    The same sizes, numbers and seed draw the same; a stratum's lot does not hang on the others.

    Args:
        sizes: how many subjects each stratum holds.
        numbers: how many are drawn; all of a stratum that holds no more.
        seed: of the lot.
    """
    return [
        np.sort(np.random.default_rng([seed, place]).permutation(size)[: min(number, size)]).astype(np.intp)
        for place, (size, number) in enumerate(zip(sizes, numbers, strict=True))
    ]


class DrawnSample(NamedTuple):
    """What was drawn, and rated: n rows.

    `weight` is 1/π, `stratum` and `cluster` are codes from 0, each of shape (n,). `sizes`, shape (S,), says what the
    weights of a stratum would add up to had all that was drawn been rated and counted: its subjects in the frame. More than
    the rows carry is what does not count here, another system's replies for example. `clusters` is the effective number of
    conversations of the frame.
    """

    weight: Floats
    stratum: Codes
    cluster: Codes
    sizes: Floats
    clusters: float

    @classmethod
    def of(
        cls,
        probability: ArrayLike,
        stratum: ArrayLike,
        cluster: ArrayLike,
        sizes: ArrayLike | None = None,
        clusters: float | None = None,
    ) -> DrawnSample:
        """Make a sample of labels and probabilities.

        Args:
            probability: shape (n,), with which each row was drawn, above 0 and at most 1.
            stratum: shape (n,), labels.
            cluster: shape (n,), labels.
            sizes: shape (n,), subjects of each row's stratum in the frame, NaN where that is not known; then what the rows stand for.
            clusters: effective conversations of the frame; those of the rows if not known.

        Raises:
            ValueError: a probability is none, or the lengths differ.
        """
        weight = 1 / _probabilities(probability)
        strata, clusters_of = (np.unique(np.asarray(labels), return_inverse=True)[1] for labels in (stratum, cluster))
        if not len(weight) == len(strata) == len(clusters_of):
            raise ValueError(f"{len(weight)} probabilities, {len(strata)} strata, {len(clusters_of)} clusters")
        rows = np.bincount(strata, weight)
        named = np.zeros(len(rows)) if sizes is None else _largest(np.asarray(sizes, dtype=np.float64), strata)
        own = effective(np.bincount(clusters_of).astype(float)) if len(weight) else 0.0
        return cls(weight, strata, clusters_of, np.maximum(rows, named), max(clusters or 0.0, own))

    @property
    def effective(self) -> float:
        """Kish's effective number of conversations: of the weights, added up in each."""
        return effective(_summed(self.cluster, self.weight))

    def rows(self, mask: Mask | Codes) -> DrawnSample:
        """Return some rows, in the same strata of the same frame."""
        return self._replace(weight=self.weight[mask], stratum=self.stratum[mask], cluster=self.cluster[mask])


def _summed(group: Codes, values: Floats) -> Floats:
    """Add up values in each group, shape (G,)."""
    return np.asarray(np.bincount(group, values), dtype=np.float64)


def _probabilities(values: ArrayLike) -> Floats:
    probability = np.asarray(values, dtype=np.float64)
    if not ((probability > 0) & (probability <= 1)).all():
        raise ValueError("a probability of being drawn is above 0 and at most 1")
    return probability


def _largest(values: Floats, group: Codes) -> Floats:
    largest = np.zeros(int(group.max(initial=-1)) + 1)
    np.maximum.at(largest, group, np.nan_to_num(values))
    return largest


class Weighted(NamedTuple):
    """An estimate for the frame: of conversations like its own, and `frame`, of these alone."""

    interval: Interval
    frame: Interval


def statistic(
    compute: Callable[[Floats], Floats],
    sample: DrawnSample,
    *,
    level: float = 0.95,
    ends: Ends | None = None,
    correlation: bool = False,
) -> Weighted:
    """Estimate a statistic of weighted rows, with Student's interval.

    Each stratum's conversations are left out one at a time, and the rest of the stratum then stands for all of it: the
    jackknife of a stratified sample (Rust and Rao 1996; Wolter 2007, chapter 4), in which what a conversation adds in
    several strata is added up before it is squared. The frame is itself drawn from conversations: with μ_h what one more
    subject of stratum h adds, Σ W_h μ_h² / C, C its conversations, stands for that (two-phase sampling, Särndal, Swensson and
    Wretman 1992, chapter 9). For a mean of single replies the sum is
    Σ W_h² s_h² / n_h + Σ W_h (ȳ_h - ȳ)² / N, what a sample of all is uncertain by. For the frame alone replies are left
    out one at a time, each stratum's part is multiplied by 1 - n_h / N_h (Cochran 1977, section 5.3), and the frame is no
    chance. A stratum in which few vary less than elsewhere borrows, as in `stratified`.

    Degrees of freedom are Kish's effective number of conversations (of weights, added up in each) less the strata.

    Args:
        compute: from weights (B, n) to values (B,); it must not hang on their scale.
        sample: of the n rows.
        level: of confidence.
        ends: the lowest and the highest value, where it is a mean on a scale.
        correlation: whether it lies between -1 and 1, as agreement coefficients do; then bounds are set on Fisher's z scale.
    """
    value = float(compute(sample.weight[None])[0]) if len(sample.weight) else math.nan
    if not math.isfinite(value):
        undefined = Interval(None, undefined="not defined on what was drawn")
        return Weighted(undefined, undefined)
    clusters, strata = len(np.unique(sample.cluster)), len(np.unique(sample.stratum))
    if clusters < 2:
        return Weighted(Interval(value, undefined=FEW), Interval(value, undefined=FEW))
    no_fraction = np.zeros(len(sample.sizes))
    variance = _variance(compute, value, sample, sample.cluster, no_fraction) + _of_frame(compute, value, sample)
    freedom = sample.effective - strata
    own = _student(value, variance, freedom, level, ends, correlation=correlation)
    drawn = np.bincount(sample.stratum, minlength=len(no_fraction))
    weights = np.bincount(sample.stratum, sample.weight, minlength=len(no_fraction))
    share = ratio(drawn, weights, 0.0)  # n_h / N_h
    finite = _variance(compute, value, sample, np.arange(len(sample.weight)), share)
    open_ = share[sample.stratum] < 1
    if not open_.any():
        whole_frame = weights.sum() >= sample.sizes.sum() * (1 - NOISE)
        return Weighted(own, Interval(value, value, value) if whole_frame else own)
    freedom = effective(sample.weight[open_]) - len(np.unique(sample.stratum[open_]))
    return Weighted(own, _student(value, finite, freedom, level, ends, correlation=correlation))


def _student(
    value: float, variance: float, freedom: float, level: float, ends: Ends | None = None, *, correlation: bool = False
) -> Interval:
    """Return Student's interval; of a mean on a scale with known ends, wide enough for a few that lie far from one.

    Near an end a mean's error is skewed, and what a bound fears was met too seldom. Distances from the end are taken to vary as
    exponential ones do, of which k as uncertain ones have the exact bound d k / G(α/2; k), with k = d² / variance and G the
    quantile of the gamma distribution (Epstein and Sobel 1953, on mean times). In the middle of a scale this is Student's interval.
    """
    if not freedom > 0:
        return Interval(value, undefined=FEW)
    if not math.isfinite(variance):
        return Interval(value, undefined="no interval: without one conversation it is not defined")
    if variance <= (NOISE * max(1.0, abs(value))) ** 2:
        return Interval(value, undefined=SAME)
    half = float(special.stdtrit(freedom, (1 + level) / 2)) * math.sqrt(variance)
    if correlation:
        return _of_correlation(value, half)
    if ends is None:
        return Interval(value, value - half, value + half)
    spread = (half / float(special.ndtri((1 + level) / 2))) ** 2
    low = min(value - half, ends[1] - _far(ends[1] - value, spread, level))
    high = max(value + half, ends[0] + _far(value - ends[0], spread, level))
    return Interval(value, max(low, ends[0]), min(high, ends[1]))


def _of_correlation(value: float, half: float) -> Interval:
    """Return tanh(atanh θ ± h / (1 - θ²)): with h half the interval of θ, that on Fisher's z scale (Fisher 1921), which has no ends."""
    if not abs(value) < 1:
        return Interval(value, undefined=PERFECT)
    centre, reach = math.atanh(value), half / (1 - value**2)
    return Interval(value, math.tanh(centre - reach), math.tanh(centre + reach))


def _far(distance: float, variance: float, level: float) -> float:
    """Return how far from an end a mean may lie whose distances from it vary as exponential ones do."""
    if not distance > 0:
        return 0.0
    shape = distance**2 / variance
    quantile = float(special.gammaincinv(shape, (1 - level) / 2))
    return distance * shape / quantile if quantile > 0 else math.inf


def _variance(
    compute: Callable[[Floats], Floats], value: float, sample: DrawnSample, unit: Codes, share: Floats
) -> float:
    """Return the variance by leaving out units of strata; `share` of each stratum is no chance.

    What of a stratum does not count here is made of units, too, that add nothing: leaving one out makes the rest count more.
    """
    weight, stratum, sizes = sample.weight, sample.stratum, sample.sizes
    key = stratum * (int(unit.max(initial=0)) + 1) + unit
    _, first, cell = np.unique(key, return_index=True, return_inverse=True)
    cell_weight = np.bincount(cell, weight)
    home, owner = stratum[first], unit[first]
    carried = np.bincount(stratum, weight, minlength=len(sizes))
    cells = np.bincount(home, minlength=len(sizes)).astype(float)
    typical = ratio(carried, cells, 1.0)
    idle = np.maximum(sizes - carried, 0.0) / typical
    idle[(idle < 1e-6) | (cells == 0)] = 0.0
    counts = cells + idle
    moves = np.zeros(len(cell_weight))
    removable = (sizes[home] - cell_weight > NOISE * sizes[home]) & (counts[home] > 1)
    for rows in np.array_split(np.flatnonzero(removable), max(1, math.ceil(removable.sum() * len(weight) / _BLOCK))):
        weights = np.repeat(weight[None], len(rows), axis=0)
        factor = sizes[home[rows]] / (sizes[home[rows]] - cell_weight[rows])
        weights *= np.where(stratum[None] == home[rows][:, None], factor[:, None], 1.0)
        weights[cell[None] == rows[:, None]] = 0.0
        moves[rows] = value - compute(weights)
    idle_moves = np.zeros(len(sizes))
    for place in np.flatnonzero((idle > 0) & (sizes > typical)):
        grown = np.where(stratum == place, weight * sizes[place] / (sizes[place] - typical[place]), weight)
        idle_moves[place] = value - float(compute(grown[None])[0])
    scale = np.sqrt(np.maximum(counts - 1, 0.0) / np.maximum(counts, 1.0) * (1 - share))
    adds = np.bincount(owner, moves * scale[home])
    silent = float(idle @ (idle_moves * scale) ** 2)
    own = np.bincount(home, (moves * scale[home]) ** 2, minlength=len(sizes)) + idle * (idle_moves * scale) ** 2
    return float(adds @ adds) + silent + _lacking(own, counts, sizes, share)


def _lacking(squares: Floats, counts: Floats, sizes: Floats, share: Floats) -> float:
    """Return what strata lack whose few units vary less than all do: near the end of a scale they are easily all alike."""
    weights = sizes / sizes.sum()
    present = (counts > 0) & (share < 1)
    if not present.any():
        return 0.0
    weights, counts, free = weights[present], counts[present], 1 - share[present]
    units = squares[present] / free / weights**2 * counts
    return float((weights**2 * free) @ borrowed(units, counts))


def _of_frame(compute: Callable[[Floats], Floats], value: float, sample: DrawnSample) -> float:
    """Return how far the strata's own shares, which are those of chance conversations, make the value uncertain."""
    places = np.unique(sample.stratum)
    if len(places) < 2 or not sample.clusters > 0:
        return 0.0
    weights = np.stack([np.where(sample.stratum == place, 1 + _STEP, 1.0) * sample.weight for place in places])
    slopes = (compute(weights) - value) / _STEP
    shares = sample.sizes[places] / sample.sizes.sum()
    return float((slopes**2 / shares).sum() / sample.clusters)


def share(events: ArrayLike, sample: DrawnSample, *, level: float = 0.95) -> Interval:
    """Return a weighted share with bounds that know of rare events that nobody met.

    With E the weights of events and U those of the rest, added up in each conversation, the share is E / (E + U). Both sums
    are compared with gamma distributions of their mean and variance, to which the side that a bound fears adds one conversation
    of events of the largest weight (Fay and Feuer 1997, for weighted sums of counts); the bounds are quantiles of
    G_E / (G_E + G_U), as two exact intervals are melded (Fay, Proschan and Brittain 2015). With equal weights they are those of Clopper and Pearson: 81 of
    263 gives .2527 to .3676. A sample in which the random part shows no event still has an upper bound: 0 of 50, each for 20,
    are up to 7 % of what they stand for. Kish's effective number would take what was flagged, and found, for all there is.

    Args:
        events: shape (n,), 1 or 0; NaN where a row says nothing.
        sample: of the n rows.
        level: of confidence.
    """
    happened = np.asarray(events, dtype=np.float64)
    valued = np.isfinite(happened)
    if not valued.any():
        return Interval(None, undefined="no observations")
    weight, cluster = sample.weight[valued], np.unique(sample.cluster[valued], return_inverse=True)[1]
    event_weight = _summed(cluster, weight * happened[valued])
    other_weight = _summed(cluster, weight * (1 - happened[valued]))
    cluster_sizes = np.bincount(sample.cluster).astype(float)
    largest = float(sample.weight.max() * (cluster_sizes @ cluster_sizes) / cluster_sizes.sum())
    low = 1 - _upper(other_weight, event_weight, largest, level)
    return Interval(
        float(event_weight.sum() / (event_weight.sum() + other_weight.sum())),
        low,
        _upper(event_weight, other_weight, largest, level),
    )


def _upper(feared: Floats, rest: Floats, largest: float, level: float) -> float:
    """Return the upper bound of Σ feared / Σ (feared + rest); of no rest it is 1."""
    if not rest.any():
        return 1.0
    total, square = float(feared.sum()) + largest, float(feared @ feared) + largest**2
    others, of_others = float(rest.sum()), float(rest @ rest)
    quantile = float(special.betaincinv(total**2 / square, others**2 / of_others, (1 + level) / 2))
    if quantile >= 1:
        return 1.0
    odds = quantile / (1 - quantile) * (square / total) / (of_others / others)
    return odds / (1 + odds)


def prediction_powered_mean(
    judge: ArrayLike,
    human: ArrayLike,
    cluster: ArrayLike,
    sample: DrawnSample,
    *,
    level: float = 0.95,
    ends: Ends | None = None,
) -> CorrectedIntervals:
    """Estimate people's mean over a frame from a judge's scores of all of it and people's of a drawn part.

        θ(λ) = λ mean f + Σ_L w (y - λ f) / Σ_L w,

    the difference estimator of a sample with known probabilities (Särndal, Swensson and Wretman 1992, section 6.3) with λ
    as in PPI++ (Angelopoulos, Duchi and Zrnic 2023; Fisch et al. 2024 for strata): chosen so that the variance is least,
    over clusters, and clipped to 0…1. What a cluster adds is summed over the whole frame and the drawn part before it is squared; within
    strata values are taken from the stratum's mean, and what strata's means and shares add is as in `statistic`. Where
    weights do not add up to the strata's sizes, since only some of what was drawn counts, the strata are one.

    Args:
        judge: shape (N,), the judge's scores of the frame; NaN where there is none, which counts with the judge's mean.
        human: shape (N,), people's scores; NaN where there is none.
        cluster: shape (N,), labels.
        sample: of the n rows with people's scores, in their order.
        level: of confidence.
        ends: of people's scale.

    Raises:
        ValueError: the lengths differ.
    """
    scores, rated = np.asarray(judge, dtype=np.float64), np.asarray(human, dtype=np.float64)
    codes = np.unique(np.asarray(cluster), return_inverse=True)[1]
    labelled, scored = np.isfinite(rated), np.isfinite(scores)
    if not len(scores) == len(rated) == len(codes) or int(labelled.sum()) != len(sample.weight):
        raise ValueError(
            f"{len(scores)} scores, {len(rated)} labels, {len(codes)} clusters, {len(sample.weight)} drawn"
        )
    clusters = int(codes.max(initial=-1)) + 1
    fewest = len(np.unique(codes[labelled]))
    counts = (len(scores), int(labelled.sum()), clusters, fewest, int((~scored).sum()))
    if not scored.any() or not fewest:
        undefined = Interval(None, undefined="people rated nothing" if scored.any() else "the judge scored nothing")
        return CorrectedIntervals(undefined, undefined, undefined, None, None, *counts)
    scores = np.where(scored, scores, scores[scored].mean())
    centred = (scores - scores.mean()) / len(scores)
    everywhere = np.bincount(codes, centred, minlength=clusters)
    frame_clusters = effective(np.bincount(codes).astype(float))
    judge_only = _student(
        float(scores.mean()), float(everywhere @ everywhere) * clusters / max(clusters - 1, 1), clusters - 1, level
    )
    y, f, home = rated[labelled], scores[labelled], codes[labelled]
    sample = sample._replace(clusters=max(sample.clusters, frame_clusters))
    carried = np.bincount(sample.stratum, sample.weight, minlength=len(sample.sizes))
    if not np.allclose(carried, sample.sizes, rtol=0.01):
        sample = sample._replace(stratum=np.zeros(len(y), dtype=np.intp), sizes=np.array([sample.weight.sum()]))
    of_people, of_judge = (_adds(values, sample, home, clusters) for values in (y, f))
    shift = everywhere - of_judge.sum(axis=0)
    square = float(shift @ shift)
    tuning = min(max(-float(of_people.sum(axis=0) @ shift) / square, 0.0), 1.0) if square > 0 else 0.0
    weight = sample.weight / sample.weight.sum()
    freedom = effective(_summed(home, sample.weight)) - len(np.unique(sample.stratum))
    variances = []
    for part in (0.0, tuning):
        residual = y - part * f
        adds = of_people - part * of_judge
        together = adds.sum(axis=0) + part * everywhere
        counted = np.array([len(np.unique(home[sample.stratum == h])) for h in range(len(sample.sizes))], dtype=float)
        lacking = _lacking((adds**2).sum(axis=1), counted, sample.sizes, np.zeros(len(sample.sizes)))
        variances.append(float(together @ together) + lacking + _between(residual, part * f, sample))
    human_value = float(weight @ y)
    value = human_value + tuning * float(scores.mean() - weight @ f)
    lost = 1.0 if tuning > 0 else 0.0
    human_only = _student(human_value, variances[0], freedom, level, ends)
    corrected = _student(value, variances[1], freedom - lost, level, ends)
    gain = variances[0] * (freedom - lost) / freedom / variances[1] if variances[1] > 0 and freedom > lost else None
    return CorrectedIntervals(corrected, human_only, judge_only, tuning, gain, *counts)


def _adds(values: Floats, sample: DrawnSample, cluster: Codes, clusters: int) -> Floats:
    """Return what each cluster adds to the weighted mean in each stratum, shape (S, C), taken from the stratum's mean."""
    total = sample.weight.sum()
    adds = np.zeros((len(sample.sizes), clusters))
    for place in np.unique(sample.stratum):
        rows = sample.stratum == place
        residual = values[rows] - np.average(values[rows], weights=sample.weight[rows])
        count = len(np.unique(cluster[rows]))
        inflation = math.sqrt(count / (count - 1)) if count > 1 else 1.0
        adds[place] = np.bincount(cluster[rows], sample.weight[rows] * residual, minlength=clusters) * inflation / total
    return adds


def _between(residual: Floats, judged: Floats, sample: DrawnSample) -> float:
    """Return what the strata's shares add beside the judge's own mean; never less than nothing."""
    weight = sample.weight / sample.weight.sum()
    shares = np.bincount(sample.stratum, weight, minlength=len(sample.sizes))
    means, of_judge = (
        ratio(np.bincount(sample.stratum, weight * v, minlength=len(shares)), shares, 0.0) for v in (residual, judged)
    )
    deviation = means - weight @ residual
    return (
        max(0.0, float(shares @ deviation**2 + 2 * shares @ (deviation * (of_judge - weight @ judged))))
        / sample.clusters
    )
