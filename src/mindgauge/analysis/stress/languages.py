"""Whether a judge is harsher in one language than in the other, where no reply is there in both."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from mindgauge.analysis.stress.design import INAPPLICABLE
from mindgauge.analysis.stress.gaps import by_conversation, portions
from mindgauge.stats.interval import SAME, TIE, Interval

if TYPE_CHECKING:
    from mindgauge.analysis.stress.design import Floats, Languages


class Severity(NamedTuple):
    """How much kinder a judge is to Chinese replies than to English ones written for the same level."""

    kinder: Interval
    p: float | None
    n: int
    missing: int
    clusters: int


def severity(found: Languages, values: Floats, flips: int, seed: int) -> Severity:
    """Compare a judge's distance from the authors' levels between languages, level by level.

    The interval of the difference of two means over conversations is Welch's (1947). p is that of a permutation test:
    were the language of no account, it could as well be another conversation's.

    Args:
        found: which replies, in which language, at which level.
        values: the verdicts, shape (N, K).
        flips: how many permutations are drawn.
        seed: of their generator.
    """
    given = np.where(values == INAPPLICABLE, np.nan, values)[found.place]
    there = np.isfinite(given).any(axis=1)
    distance = np.full(len(given), np.nan)
    distance[there] = np.nanmean(given[there], axis=1) - found.known[there]
    # Levels at the ends of a scale can be missed to one side only, and may come up more often in one language.
    for level in np.unique(found.known):
        same = (found.known == level) & there
        distance[same] -= distance[same].mean() if same.any() else 0.0
    units = 1 + int(found.conversation.max(initial=-1))
    each = [
        by_conversation(np.where(side, distance, np.nan), found.conversation, units)
        for side in (found.chinese, ~found.chinese)
    ]
    chinese, english = (side[np.isfinite(side)] for side in each)
    n, clusters = len(distance), len(chinese) + len(english)
    missing = int((~there).sum())
    if min(len(chinese), len(english)) < 2:
        return Severity(
            Interval(None, undefined="fewer than 2 conversations in a language"), None, n, missing, clusters
        )
    value = float(chinese.mean() - english.mean())
    parts = np.array([side.var(ddof=1) / len(side) for side in (chinese, english)])
    p = _permuted(np.concatenate([chinese, english]), len(chinese), abs(value), flips, seed)
    interval = Interval(value, undefined=SAME)
    if parts.sum() > TIE:
        freedom = parts.sum() ** 2 / (parts**2 / [len(chinese) - 1, len(english) - 1]).sum()
        half = float(special.stdtrit(freedom, 0.975) * np.sqrt(parts.sum()))
        interval = Interval(value, value - half, value + half)
    return Severity(interval, p, n, missing, clusters)


def _permuted(each: Floats, chinese: int, observed: float, flips: int, seed: int) -> float:
    """Return how often two groups of these sizes differ as much when the conversations are dealt out anew."""
    chance, hits = np.random.default_rng([seed, 3]), 0
    for rows in portions(flips, len(each)):
        order = chance.permuted(np.tile(each, (rows, 1)), axis=1)
        drawn = np.abs(order[:, :chinese].mean(axis=1) - order[:, chinese:].mean(axis=1))
        hits += int((drawn >= observed - 1e-12).sum())
    return (1 + hits) / (flips + 1)
