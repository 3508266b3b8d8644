"""Questions with lettered options: what guessing would score, and whether the order of the options decides.

Tags say what a table's letters stand for: how many options a sample has (`options`, `5`), and at which place each
letter's option stood as released (`places`, `2,3,4,0,1`: the option now at A was the third); without that tag the
options stand as released.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mindgauge.benchmarks.metrics.table import Metric, RatingTable
from mindgauge.records import BASE
from mindgauge.stats.ratio import ratio

if TYPE_CHECKING:
    from mindgauge.benchmarks.metrics.table import Codes, Floats, Mask

CHANCE = "chance"
PLACES = "places"
"""The tag with the order of the options, which `option_consistency` looks at beside `base`."""


def chance(*tags: str, levels: int = 0) -> Metric:
    """Return what guessing scores on average: the mean of 1 / the number of options, over samples with a target.

    Args:
        tags: that say how many options there are; of several, all have to be guessed at once.
        levels: how many the criterion has that it is about; any number if not given.
    """

    def compute(table: RatingTable, weights: Floats) -> Floats:
        odds = np.prod([_odds(table, tag) for tag in tags], axis=0)
        return ratio(weights @ np.nan_to_num(odds), weights @ np.isfinite(odds).astype(float))

    return Metric(
        CHANCE,
        compute,
        applies_to=lambda table: table.target >= 0,
        missing_is_outcome=True,
        supports=lambda values: levels in {0, len(values)},
    )


def _odds(table: RatingTable, tag: str) -> Floats:
    """Return 1 / the number of options of each sample, shape (n,); NaN where nobody says how many."""
    counts, index = np.unique(table.tags[tag].astype(str), return_inverse=True)
    return np.array([1 / int(count) if count else np.nan for count in counts])[index]


def _pairs(table: RatingTable) -> tuple[Codes, Codes, Mask]:
    """Return where each base question's repeat stands first, each rating's number of these, and which were varied."""
    base = np.unique(table.tags[BASE].astype(str), return_inverse=True)[1]
    _, first, pair, size = np.unique(
        base * (table.repeats.max(initial=0) + 1) + table.repeats,
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    return first, pair, size > 1


def _chosen(table: RatingTable) -> Codes:
    """Return at which place the chosen option stood as released, shape (n,); -1 where none was chosen."""
    orders, index = np.unique(table.tags[PLACES].astype(str), return_inverse=True)
    places = np.full((len(orders), len(table.levels) + 1), -1, dtype=np.intp)  # the last column is that of code -1
    for row, order in zip(places, orders, strict=True):
        order_places = [*map(int, order.split(","))] if order else [*range(len(table.levels))]
        row[: len(order_places)] = order_places
    return np.asarray(places[index, table.code], dtype=np.intp)


def _consistent(table: RatingTable, weights: Floats) -> Floats:
    first, pair, varied = _pairs(table)
    place = _chosen(table)
    same = np.bincount(pair, (place >= 0) & (place == place[first][pair])) == np.bincount(pair)
    return ratio(weights[:, first] @ (same & varied).astype(float), weights[:, first] @ varied.astype(float))


def _varied(table: RatingTable) -> Mask:
    _, pair, varied = _pairs(table)
    return varied[pair]


option_consistency = Metric("option_consistency", _consistent, "higher", _varied, exact=True, missing_is_outcome=True)
"""The share of the questions asked with their options in several orders that got the same option every time.

One that was not answered in every order is not consistent. Its n counts each order.
"""
