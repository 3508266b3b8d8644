"""Ratings as arrays: each column of a table is read once, and a part of the ratings is their places in it.

A score looks at thousands of small parts of one table; they are cut, and turned into what metrics work on, without a query.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from mindgauge.analysis import drawn, frame
from mindgauge.benchmarks.metrics import RatingTable

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from mindgauge.benchmarks.metrics.table import Codes, Mask, Tags
    from mindgauge.records.rubric import Criterion


class _CodedTexts(NamedTuple):
    """A column of texts: `code` is the place of each among `names`, which are sorted; -1 where there is none."""

    names: list[str]
    code: Codes

    @classmethod
    def of(cls, column: pl.Series) -> _CodedTexts:
        names = sorted(name for name in column.unique().to_list() if name is not None)
        code = column.cast(pl.Enum(names)).to_physical().to_numpy()
        return cls(names, np.nan_to_num(code, nan=-1).astype(np.intp))


class _Columns:
    """The columns of ratings, each read when it is first asked for."""

    def __init__(self, rows: pl.DataFrame) -> None:
        self.rows = rows
        self.coded = functools.cache(lambda name: _CodedTexts.of(rows[name]))
        self.drawn = "probability" in rows.columns and rows["probability"].null_count() < len(rows)
        """Whether any were drawn with known probabilities."""

    @functools.cached_property
    def run(self) -> Codes:
        """Which repeat of the model under test each is of: of its reply, or of its own answer."""
        run = pl.coalesce("reply_run", "run").rank("dense")
        return self.rows.select(run.fill_null(0)).to_series().to_numpy().astype(np.intp)

    @functools.cached_property
    def unreadable(self) -> Mask:
        """Which are of replies that cannot be read."""
        if "replied" not in self.rows.columns:
            return np.zeros(len(self.rows), dtype=bool)
        return self.rows["replied"].eq_missing(0).to_numpy()


class RatingPart:
    """Some ratings of a table, by their places in it."""

    def __init__(self, columns: _Columns, places: Codes) -> None:
        self._columns, self.places = columns, places

    @classmethod
    def of(cls, rows: pl.DataFrame) -> RatingPart:
        """Return all of a table: ratings with the columns of `frame.ratings`, or those of them that are asked for."""
        return cls(_Columns(rows), np.arange(len(rows)))

    def __len__(self) -> int:
        return len(self.places)

    @property
    def rows(self) -> pl.DataFrame:
        """The ratings as a table of their own; that which they are of where they are all of it."""
        rows = self._columns.rows
        return rows if len(self) == len(rows) else rows[self.places]

    def where(self, chosen: Mask | Codes) -> RatingPart:
        """Return some of these ratings."""
        return RatingPart(self._columns, self.places[chosen])

    def by_cluster(self) -> RatingPart:
        """Return the ratings in the order of their clusters, in which metrics copy nothing where they look at all of them."""
        return self.where(np.argsort(self._code("cluster"), kind="stable"))

    def by(self, *columns: str) -> list[tuple[tuple[str, ...], RatingPart]]:
        """Part the ratings by what stands in some columns, in the order of that, without those that lack one of them."""
        key, known = np.zeros(len(self), dtype=np.intp), np.ones(len(self), dtype=bool)
        for column in columns:
            key = key * len(self._columns.coded(column).names) + self._code(column)
            known &= self._code(column) >= 0
        order = np.flatnonzero(known)
        order = order[np.argsort(key[order], kind="stable")]
        starts = np.flatnonzero(np.diff(key[order], prepend=-1))
        texts = [self.where(order[starts]).texts(column) for column in columns]
        return list(zip(zip(*texts, strict=True), map(self.where, np.split(order, starts)[1:]), strict=True))

    def texts(self, column: str) -> Tags:
        """Return what stands in a column, empty where nothing does."""
        return np.array([*self._columns.coded(column).names, ""], dtype=object)[self._code(column)]

    def among(self, column: str, texts: Collection[str]) -> Mask:
        """Say where one of some texts stands in a column."""
        return np.asarray(self._recoded(column, dict.fromkeys(texts, 0)) == 0)

    def is_drawn(self) -> bool:
        """Say whether all were drawn with known probabilities, in one draw."""
        return self._columns.drawn and drawn.is_drawn(self.rows)

    def unreadable(self) -> bool:
        """Say whether all are of replies that cannot be read."""
        return bool(self._columns.unreadable[self.places].all())

    def table(self, criterion: Criterion, tag_names: Sequence[str] = ()) -> RatingTable:
        """Return the columns that metrics work on.

        A repeat is one of the model under test: of its replies to an open question, of its own ratings on a closed one.

        Args:
            criterion: that the ratings are on.
            tag_names: tags that the metrics look at.
        """
        codes = {str(level): code for code, level in enumerate(criterion.values)}
        value, target = (self._recoded(column, codes) for column in ("value", "target"))
        status = self.texts("status").astype(str)
        return RatingTable(
            criterion.values, np.where(status == "ok", value, -1), target, _dense(self._code("cluster")),
            _dense(self._code("subject")), status, _dense(self._columns.run[self.places]),
            {name: self.texts(frame.tag(name)) for name in tag_names}, drawn.sample(self.rows) if self.is_drawn() else None,
        )  # fmt: skip

    def _code(self, column: str) -> Codes:
        return self._columns.coded(column).code[self.places]

    def _recoded(self, column: str, codes: Mapping[str, int]) -> Codes:
        """Return other numbers of the texts in a column, -1 where a text has none."""
        names = self._columns.coded(column).names
        return np.array([*(codes.get(name, -1) for name in names), -1], dtype=np.intp)[self._code(column)]


def _dense(numbers: Codes) -> Codes:
    """Number groups anew, in their order and without gaps."""
    present = np.bincount(numbers + 1) > 0
    return (np.cumsum(present) - 1)[numbers + 1]
