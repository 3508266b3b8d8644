"""A judge beside one person at a time, as sums: what every coefficient of two raters needs, and nothing more.

For each conversation and system there are six sums of a person's value and the judge's, for differences and
correlations, and a table of how often a person said a where the judge said b, for categories. A subject has weight 1
however many people rated it, and each of them an equal part of it: agreement is with a single person, so that more
people make it surer and not higher. Resampling conversations weights the rows, resampling systems weights blocks of
columns, and each coefficient is a function of what is left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from scipy import sparse

from mindgauge.stats.moments import terms

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from mindgauge.analysis.reliability.scale import ValueScale

    Floats = NDArray[np.float64]

MOMENTS = 6


class RatingPairs(NamedTuple):
    """People's values and a judge's on one criterion.

    `cells` has shape (conversations, systems × m): m = six moments around the scale's lowest value if it is ordered,
    then levels² counts (person's level × judge's) if it has levels. `present` holds the indices of the systems
    that occur; `subjects` counts what was rated by both.
    """

    cells: csr_array
    scale: ValueScale
    present: NDArray[np.intp]
    subjects: int

    @property
    def systems(self) -> int:
        """The number of systems."""
        return len(self.present)

    @property
    def width(self) -> int:
        """m, the number of columns of one system."""
        return self._before + (len(self.scale.values) ** 2 if self.scale.levels else 0)

    @property
    def _before(self) -> int:
        return MOMENTS if self.scale.ordered else 0

    @property
    def origin(self) -> float:
        """What the moments are measured from."""
        return self.scale.low

    @property
    def clusters(self) -> int:
        """The number of conversations."""
        return int(self.cells.shape[0])

    def whole(self) -> Floats:
        """Return everything, each conversation once: blocks of shape (1, systems, m)."""
        return self.blocks(self.cells.sum(axis=0))

    def blocks(self, sums: Floats) -> Floats:
        """Reshape rows of `cells`, or weighted sums of them, to (B, systems, m)."""
        return np.asarray(sums).reshape(-1, self.systems, self.width)

    def moments(self, sums: Floats) -> Floats:
        """Cut the moments out of (…, m): shape (…, 6); only where the scale is ordered."""
        return sums[..., : self._before]

    def joint(self, sums: Floats) -> Floats:
        """Cut the table of levels out of (…, m): shape (…, q, q); only where the scale has levels."""
        q = len(self.scale.values)
        return sums[..., self._before :].reshape(*sums.shape[:-1], q, q)

    def sizes(self, blocks: Floats) -> Floats:
        """Return how many subjects blocks of shape (B, systems, m) hold, shape (B, systems)."""
        return np.asarray(blocks[..., 0] if self.scale.ordered else blocks.sum(axis=2))

    def opposed(self, blocks: Floats, share: float) -> Floats:
        """Return blocks (1, systems, m) in which a share of the subjects has values at the two ends of the scale.

        Half of these have the person's value at the low end and the judge's at the high end, half the other way round.
        """
        low, high, q = np.zeros(1), np.array([self.scale.high - self.origin]), len(self.scale.values)
        column = np.zeros(self.width)
        if self.scale.ordered:
            for x, y in ((low, high), (high, low)):
                column[:MOMENTS] += np.concatenate(terms(x, y)) / 2
        if self.scale.levels:
            column[self._before + q - 1] += 0.5
            column[self._before + q * (q - 1)] += 0.5
        return np.asarray((1 - share) * blocks + share * self.sizes(blocks)[..., None] * column)


def pair(people: pl.DataFrame, judge: pl.DataFrame, scale: ValueScale) -> RatingPairs:
    """Put each person's value of a subject beside the judge's; where the judge was asked more than once, its mean.

    Args:
        people: columns subject, cluster, system (indices), number; rows with a value only.
        judge: columns subject, number.
        scale: of the values.
    """
    weight = 1.0 / pl.len().over("subject")
    singles = people.join(judge.select("subject", other="number"), on="subject", maintain_order="left_right")
    means = judge.group_by("subject", maintain_order=True).agg(other=pl.col("number").mean())
    joined = people.join(means, on="subject", maintain_order="left").with_columns(weight=weight)
    return _sum(singles.with_columns(weight=weight), joined, scale)


def _sum(singles: pl.DataFrame, means: pl.DataFrame, scale: ValueScale) -> RatingPairs:
    """Add up, per conversation and system, the moments and the table of levels.

    Args:
        singles: columns subject, cluster, system, number, other, weight: each person's value beside each of the judge's.
        means: the same columns: each person's value beside the judge's mean. A subject's weights add up to 1.
        scale: of the values.
    """
    conversations, present = np.unique(singles["cluster"].to_numpy()), np.unique(singles["system"].to_numpy())
    before = MOMENTS if scale.ordered else 0
    width = before + (len(scale.values) ** 2 if scale.levels else 0)
    parts: list[tuple[Floats, NDArray[np.intp], NDArray[np.intp]]] = []

    def place(rows: pl.DataFrame) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        row = np.searchsorted(conversations, rows["cluster"].to_numpy())
        return row, np.searchsorted(present, rows["system"].to_numpy()) * width

    if scale.ordered:
        row, column = place(means)
        x, y, weight = (means[name].to_numpy() for name in ("number", "other", "weight"))
        x, y = x - scale.low, y - scale.low
        for i, value in enumerate(terms(x, y)):
            parts.append((weight * value, row, column + i))
    if scale.levels:
        row, column = place(singles)
        x, y = (np.searchsorted(scale.values, singles[name].to_numpy()) for name in ("number", "other"))
        parts.append((singles["weight"].to_numpy(), row, column + before + x * len(scale.values) + y))
    data, rows, columns = (np.concatenate([part[i] for part in parts]) for i in range(3))
    cells = sparse.coo_array((data, (rows, columns)), shape=(len(conversations), len(present) * width)).tocsr()
    return RatingPairs(cells, scale, present.astype(np.intp), singles["subject"].n_unique())
