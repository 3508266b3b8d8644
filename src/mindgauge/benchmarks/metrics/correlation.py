"""Does a model rate as people do? The correlation of its numbers with people's means over the same items.

The tag `human` of an item is the mean of what people said; where nobody was asked, `expected` is somebody's guess at it, and
a result on such items says nothing about people. Repeats of one item are averaged first, so that an item
counts once. Of an item without an answer nothing is known, and it is left out; the estimate says how many there are.
Where the numbers, or people's, are all the same, there is no correlation: NaN, never 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mindgauge.benchmarks.metrics.table import COEFFICIENT, Metric, numbered
from mindgauge.stats.ratio import ratio

if TYPE_CHECKING:
    from mindgauge.benchmarks.metrics.table import Floats, Mask, RatingTable

HUMAN, EXPECTED = "human", "expected"
"""The tags with people's mean, and with a guess at it."""
_SAME = 1e-12
"""A share of variance below this is none: it comes from rounding."""


def _correlation(table: RatingTable, weights: Floats) -> Floats:
    return pearson(*_items(table, weights))


def _rank_correlation(table: RatingTable, weights: Floats) -> Floats:
    numbers, people, shares = _items(table, weights)
    return pearson(_ranks(numbers, shares), _ranks(people, shares), shares)


def _rated_by_people(table: RatingTable) -> Mask:
    return np.isfinite(_people(table))


correlation_with_people = Metric(
    "correlation_with_people", _correlation, "higher", _rated_by_people, supports=numbered, limits=COEFFICIENT
)
"""Pearson's r; after Mireshghallah et al., arXiv 2310.17884 (confAIde)."""
rank_correlation_with_people = Metric(
    "rank_correlation_with_people", _rank_correlation, "higher", _rated_by_people, supports=numbered, limits=COEFFICIENT
)
"""Spearman's rho with ties at their mean rank; every resample is ranked anew, an item drawn k times as k equal ones."""


def _people(table: RatingTable) -> Floats:
    """Return people's mean of each rating's item, shape (n,); NaN where there is none."""
    blank = np.full(len(table), "", dtype=object)
    pairs = zip(*(table.tags.get(name, blank) for name in (HUMAN, EXPECTED)), strict=True)
    return np.array([float(human or guess or "nan") for human, guess in pairs], dtype=np.float64)


def _items(table: RatingTable, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the model's mean numbers, people's means, and the items' weights, each of shape (B, items).

    What an item without weight or without an answer would be worth is 0, and so is its weight.
    """
    if not numbered(table.levels):
        empty = np.zeros((len(weights), 0))
        return empty, empty, empty
    _, first, item = np.unique(table.subject, return_index=True, return_inverse=True)
    of_item = (item[:, None] == np.arange(len(first))).astype(np.float64)
    answered = of_item * table.ok[:, None]
    levels = np.array([float(level) for level in table.levels])
    counts = weights @ answered
    total = answered.sum(axis=0)
    usual = ratio(levels[table.code] @ answered, total)
    means = ratio((weights * levels[table.code]) @ answered, counts)
    numbers = np.nan_to_num(np.where(counts > 0, means, usual))
    shares = np.where(counts > 0, (weights @ of_item) / of_item.sum(axis=0), 0.0)
    people = np.broadcast_to(_people(table)[first], shares.shape)
    return numbers, people, shares


def pearson(first: Floats, second: Floats, weights: Floats) -> Floats:
    """Return Pearson's r of two sets of weighted numbers, row by row: shapes (B, m) to (B,)."""
    total = weights.sum(axis=1)
    a, b = (x - ratio((weights * x).sum(axis=1), total)[:, None] for x in (first, second))
    products, variances = (weights * a * b).sum(axis=1), [(weights * x**2).sum(axis=1) for x in (a, b)]
    scales = [(weights * x**2).sum(axis=1) for x in (first, second)]
    varies = np.logical_and(*(v > _SAME * s for v, s in zip(variances, scales, strict=True)))
    return np.clip(ratio(products, np.where(varies, np.sqrt(variances[0] * variances[1]), 0.0)), -1.0, 1.0)


def _ranks(numbers: Floats, weights: Floats) -> Floats:
    """Return each number's mean rank where it stands `weights` times, row by row: shapes (B, m) to (B, m).

    Rows of the same numbers, as all resamples of the same answers are, are ranked in one product.
    """
    kinds, kind = np.unique(numbers, axis=0, return_inverse=True)
    ranks = np.empty(numbers.shape)
    for place, values in enumerate(kinds):
        same_kind = kind.ravel() == place
        lower, equal = values[:, None] < values, values[:, None] == values
        ranks[same_kind] = weights[same_kind] @ (lower + 0.5 * equal) + 0.5
    return ranks
