"""Who said what about the same subjects, as sums: what every coefficient of two raters needs, and nothing more.

For each conversation and system there are six sums of the two sides' means per subject, for differences and
correlations, and a table of how often one rating of the one side was a and one of the other b, for categories. A
subject has weight 1 however many people rated it or however often the judge was asked. Resampling conversations
weights the rows, resampling systems weights blocks of columns, and each coefficient is a function of what is left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from scipy.sparse import coo_array

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from mindgauge.analysis.reliability.scale import Scale

    Floats = NDArray[np.float64]

MOMENTS = 6


class Pairs(NamedTuple):
    """Two sides' values on one criterion.

    `cells` has shape (conversations, systems × m): m = six moments around the scale's lowest value if it is ordered,
    then levels² counts (first side's level × second's) if it has levels. `present` holds the indices of the systems
    that occur; `subjects` counts who was rated by both.
    """

    cells: csr_array
    scale: Scale
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


def pair(first: pl.DataFrame, second: pl.DataFrame, scale: Scale) -> Pairs:
    """Put two sides' values of the same subjects together; with several values of a side, their mean counts.

    Args:
        first: columns subject, cluster, system (indices), number; rows with a value only.
        second: columns subject, number.
        scale: of the values.
    """
    singles = first.join(second.select("subject", other="number"), on="subject", maintain_order="left_right")
    place = [pl.col("cluster").first(), pl.col("system").first()]
    means = singles.group_by("subject", maintain_order=True).agg(
        *place, pl.col("number").mean(), pl.col("other").mean()
    )
    return _sum(singles, means.with_columns(weight=1.0), scale)


def among(rows: pl.DataFrame, scale: Scale, *, by: str) -> Pairs:
    """Put each value of a subject beside those that differ in the column `by`, and beside their mean.

    Args:
        rows: columns subject, cluster, system (indices), number, and `by`: `rater`, or `run` for one rater's repeats.
        scale: of the values.
        by: what tells two ratings of a subject apart.
    """
    several = rows.filter(pl.len().over("subject") > 1)
    pairs = several.join(several.select("subject", other="number", their=by), on="subject", maintain_order="left_right")
    others = (pl.col("number").sum() - pl.col("number")) / (pl.len() - 1)
    means = several.with_columns(other=others.over("subject"), weight=1.0 / pl.len().over("subject"))
    return _sum(pairs.filter(pl.col(by) != pl.col("their")), means, scale)


def _sum(singles: pl.DataFrame, means: pl.DataFrame, scale: Scale) -> Pairs:
    """Add up, per conversation and system, the means' moments and the single values' table.

    Args:
        singles: columns subject, cluster, system, number, other: every combination of the two sides' single values.
        means: the same columns and weight; a subject's weights add up to 1.
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
        for i, value in enumerate((np.ones_like(x), x, y, x * x, y * y, x * y)):
            parts.append((weight * value, row, column + i))
    if scale.levels:
        row, column = place(singles)
        x, y = (np.searchsorted(scale.values, singles[name].to_numpy()) for name in ("number", "other"))
        weight = singles.select(1.0 / pl.len().over("subject")).to_series().to_numpy()
        parts.append((weight, row, column + before + x * len(scale.values) + y))
    data, rows, columns = (np.concatenate([part[i] for part in parts]) for i in range(3))
    cells = coo_array((data, (rows, columns)), shape=(len(conversations), len(present) * width)).tocsr()
    return Pairs(cells, scale, present.astype(np.intp), singles["subject"].n_unique())
