"""From paired scores to what is said of them: where each system stands, and how each two differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from mindgauge.analysis.compared import Difference, Standing
from mindgauge.stats import comparison
from mindgauge.stats.interval import Interval
from mindgauge.stats.proportion import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.pairing import Scores
    from mindgauge.metrics import Metric
    from mindgauge.metrics.table import Codes, Floats

ALPHA = 0.05
FLIPS_PER_PAIR = 40
"""So that a p-value can be small enough to pass Holm's adjustment for all pairs."""
FEW = 10
"""Conversations in which two systems must differ for the bootstrap to say anything about a share."""


def contrasts(
    metric: Metric, systems: Sequence[str], scores: Scores, *, resamples: int = 2000, seed: int = 0
) -> tuple[list[Standing], list[Difference]]:
    """Compare the systems that have scores, the best first.

    Args:
        metric: what the scores are of.
        systems: S names.
        scores: of these systems.
        resamples: of conversations, and of signs; more are drawn where many pairs are compared.
        seed: of their generators.
    """
    there = np.flatnonzero(scores.present.any(axis=0))
    better: Literal["higher", "lower"] = "lower" if metric.better == "lower" else "higher"
    order = there[_best_first(scores.value[:, there], better)]
    scores, names = scores.of(order), [systems[i] for i in order]
    draws = max(resamples, FLIPS_PER_PAIR * len(names) * (len(names) - 1) // 2)
    found = comparison.compare(scores.value, better=better, resamples=draws, seed=seed, ends=scores.ends)
    standings = [_standing(metric, names, scores, place, of) for place, of in enumerate(found.standings)]
    return standings, [_difference(metric, names, scores, of) for of in found.differences]


def _best_first(scores: Floats, better: str) -> Codes:
    valued = np.isfinite(scores)
    counts = valued.sum(axis=0)
    sums = np.where(valued, scores, 0.0).sum(axis=0)
    means = np.divide(
        sums, counts, out=np.full(len(counts), np.inf if better == "lower" else -np.inf), where=counts > 0
    )
    return np.argsort(means if better == "lower" else -means, kind="stable")


def _standing(metric: Metric, names: list[str], scores: Scores, place: int, of: comparison.Standing) -> Standing:
    ranked = metric.better != "" and of.certain is not None
    low, high = of.certain if ranked and of.certain else (None, None)
    mean = _share(metric, scores, place, of) if metric.exact and of.mean.value is not None else of.mean
    return Standing(
        names[place], *mean[:3], of.rank if ranked else None, low, high, of.best if ranked else None,
        int(scores.replies[place]), of.n, int(scores.missing[place]),
        float(scores.pooled[place]) if np.isfinite(scores.pooled[place]) else None,
    )  # fmt: skip


def _share(metric: Metric, scores: Scores, place: int, of: comparison.Standing) -> Interval:
    """Bound a share exactly, conversations as n; its bound on the bad side counts missing ratings as bad."""
    value = of.mean.value or 0.0
    _, low, high, _ = clopper_pearson(value * of.n, of.n)
    there = scores.present[:, place]
    if scores.missing[place] and metric.better:
        feared = _mean((scores.most if metric.better == "lower" else scores.least)[there, place]) or 0.0
        bound = clopper_pearson(feared * there.sum(), float(there.sum()))
        low, high = (low, bound.high) if metric.better == "lower" else (bound.low, high)
    return Interval(value, low, high)


def _difference(metric: Metric, names: list[str], scores: Scores, of: comparison.Difference) -> Difference:
    first, second = of.first, of.second
    gaps = scores.value[:, first] - scores.value[:, second]
    valued = np.isfinite(gaps)
    value, low, high, _ = _exact(gaps[valued], of.difference) if metric.exact else of.difference
    told_apart, better = None, ""
    if value is not None and low is not None and high is not None and of.adjusted is not None:
        told_apart = not low <= 0 <= high and of.adjusted <= ALPHA
        if told_apart and metric.better:
            better = names[first if (value > 0) == (metric.better == "higher") else second]
    both = scores.present[:, first] & scores.present[:, second]
    least = _mean(scores.least[both, first] - scores.most[both, second])
    most = _mean(scores.most[both, first] - scores.least[both, second])
    worst, best = (most, least) if metric.better == "lower" else (least, most)
    return Difference(
        names[first], names[second], value, low, high, of.p, of.adjusted, told_apart, better,
        int(scores.samples[valued].sum()), of.n, worst, best,
    )  # fmt: skip


def _exact(gaps: Floats, found: Interval) -> Interval:
    """Bound the difference of two shares exactly where it rests on a few conversations.

    It is the share of conversations in which only the first has it, minus that in which only the second has; each gets
    97.5 % Clopper-Pearson bounds, so that both hold together with 95 % (Bonferroni). Half an event counts half.
    """
    if found.low is None or np.count_nonzero(gaps) >= FEW:
        return found
    n = len(gaps)
    more, less = (clopper_pearson(float(np.maximum(sign * gaps, 0).sum()), n, 0.975) for sign in (1, -1))
    bounds = (more.low, more.high, less.low, less.high)
    low, high, low_less, high_less = (bound or 0.0 for bound in bounds)
    return Interval(found.value, low - high_less, high - low_less)


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if len(values) else None
