"""What noise in a person's words costs: how far a score falls from the samples without noise to those with it.

Tags say which is which: `noise` (`none`, `character`, `word`, `sentence`), `intensity` (`0.05`, …) and, for flips,
`base` (the id of the sample without noise). Each noise at one intensity is a cell. With S0 the mean score of the samples without
noise and S that of a cell, its relative drop is RD = (S0 - S) / S0. Where S0 is no better than chance, nothing can be
lost, and RD is not defined. TrustMH-Bench (arXiv 2603.03047) publishes no formula: all of this is our definition.

A rating scores 1 or 0 where it has a target, by whether it is right, and then one that is missing is wrong; elsewhere it
scores its level's share of the way from the worst to the best, and one that is missing stays missing. An estimate's n
counts the samples without noise, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mindgauge.benchmarks.metrics.table import Metric, numbered, ratio
from mindgauge.records import BASE

if TYPE_CHECKING:
    from mindgauge.benchmarks.metrics.table import Floats, Mask, RatingTable

NOISE, INTENSITY = "noise", "intensity"
"""The tags that the metrics look at, beside `base`."""
NONE = "none"
"""The noise of a sample without any; it may also have no such tag."""
_ROUNDING = 1e-12


def relative_drop_at(noise: str, intensity: float) -> Metric:
    """Return the relative drop in one cell; its label is `character 0.10`."""

    def applies_to(table: RatingTable) -> Mask:
        in_cell = np.equal(table.tags[NOISE], noise) & np.equal(table.tags[INTENSITY], f"{intensity:.2f}")
        return _compared(table, in_cell.astype(bool))

    def compute(table: RatingTable, weights: Floats) -> Floats:
        places = np.flatnonzero(applies_to(table))
        return _mean_relative(table.at(places), weights[:, places])

    label = f"{noise} {intensity:.2f}"
    return Metric("relative_drop", compute, "lower", applies_to, label=label, additive=True, tags=(NOISE, INTENSITY))


def _mean_relative(table: RatingTable, weights: Floats) -> Floats:
    base, cells = _by_cell(table, weights)
    return _mean(_relative(table, base[:, None], cells))


def _worst_relative(table: RatingTable, weights: Floats) -> Floats:
    base, cells = _by_cell(table, weights)
    drops = _relative(table, base[:, None], cells)
    worst = np.where(np.isfinite(drops), drops, -np.inf).max(axis=1, initial=-np.inf)
    return np.where(np.isfinite(worst), worst, np.nan)


def _mean_absolute(table: RatingTable, weights: Floats) -> Floats:
    base, cells = _by_cell(table, weights)
    return _mean(base[:, None] - cells)


def _flips(table: RatingTable, weights: Floats) -> Floats:
    """Return how often the answer differs from that to the base sample in the same repeat.

    An answer that cannot be read is one of its own.
    """
    pair = np.unique(table.tags[BASE].astype(str), return_inverse=True)[1] * (table.repeats.max() + 1) + table.repeats
    clean, unknown = _clean(table), -2
    answer = np.full(pair.max() + 1, unknown)
    answer[pair[clean]] = table.code[clean]
    before = answer[pair]
    comparable = ~clean & (before != unknown) & (table.target >= 0)
    return ratio(weights @ (comparable & (table.code != before)).astype(float), weights @ comparable.astype(float))


def _clean(table: RatingTable) -> Mask:
    return np.isin(table.tags[NOISE].astype(str), ("", NONE))


def _closed(table: RatingTable) -> Mask:
    return table.target >= 0


def _with_base(table: RatingTable) -> Mask:
    return _compared(table, ~_clean(table))


def _compared(table: RatingTable, noisy: Mask) -> Mask:
    """Return the ratings with a score among those of noisy samples and of samples without noise; none if one lacks."""
    scored = _closed(table) | numbered(table.levels)
    clean, noisy = scored & _clean(table), scored & noisy
    return (clean | noisy) & clean.any() & noisy.any()


def _scores(table: RatingTable) -> Floats:
    shares = np.full(len(table), np.nan)
    if numbered(table.levels):
        levels = np.array(table.levels, dtype=np.float64)
        shares = np.where(table.ok, (levels[table.code] - levels[0]) / (levels[-1] - levels[0]), np.nan)
    return np.where(_closed(table), (table.code == table.target).astype(float), shares)


def _by_cell(table: RatingTable, weights: Floats) -> tuple[Floats, Floats]:
    """Return the mean scores without noise, shape (B,), and in each cell that occurs, shape (B, cells)."""
    cells = np.where(_clean(table), "", table.tags[NOISE] + " " + table.tags[INTENSITY]).astype(str)
    names, cell = np.unique(np.concatenate([[""], cells]), return_inverse=True)
    scores = _scores(table)
    member = np.equal(cell[1:, None], np.arange(len(names))) & np.isfinite(scores)[:, None]
    means = ratio(weights @ (member * np.nan_to_num(scores)[:, None]), weights @ member.astype(float))
    return means[:, 0], means[:, 1:]


def _relative(table: RatingTable, base: Floats, cells: Floats) -> Floats:
    """Return the drops as shares of the score without noise, NaN where that is no better than chance."""
    chance = 1 / len(table.levels) if _closed(table).any() else 0.0
    return ratio(base - cells, np.where(base > chance + _ROUNDING, base, np.nan) + 0 * cells)


def _mean(values: Floats) -> Floats:
    """Return the mean over cells of what is defined, shape (B,)."""
    return ratio(np.nan_to_num(values).sum(axis=1), np.isfinite(values).sum(axis=1))


mean_relative_drop = Metric(
    "mean_relative_drop", _mean_relative, "lower", _with_base, additive=True, tags=(NOISE, INTENSITY)
)
"""The mean of the cells that occur, each counting the same."""
worst_relative_drop = Metric(
    "worst_relative_drop", _worst_relative, "lower", _with_base, additive=True, tags=(NOISE, INTENSITY)
)
"""The largest of the cells that occur."""
mean_absolute_drop = Metric(
    "mean_absolute_drop", _mean_absolute, "lower", _with_base, additive=True, tags=(NOISE, INTENSITY)
)
"""The mean of S0 - S: a score that is low without noise has little to lose, whatever share of it that is."""
flip_rate = Metric("flip_rate", _flips, "lower", _closed, exact=True, missing_is_outcome=True)
"""Of closed questions with noise, the share answered otherwise than without."""
