"""Ratings as arrays: each column of a table is read once, and a part of the ratings is their places in it.

A score looks at thousands of small parts of one table; they are cut, and turned into what metrics work on, without a query.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from mindgauge.analysis import drawn, frame
from mindgauge.benchmarks.metrics import RatingTable
from mindgauge.stats.codes import dense

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from mindgauge.benchmarks.metrics.table import Codes, Mask, Tags
    from mindgauge.records.rubric import Criterion


class _CodedTexts(NamedTuple):
    """A column of texts: `code` is the place of each among `names`, which are sorted behind an empty one, for none."""

    names: list[str]
    code: NDArray[np.unsignedinteger[Any]]
    """In as few bits as do, since these are sorted and copied faster."""

    @classmethod
    def of(cls, column: pl.Series) -> _CodedTexts:
        column = column.cast(pl.String)
        names = sorted(name for name in column.unique().to_list() if name is not None)
        place = column.cast(pl.Enum(names)).to_physical().cast(pl.UInt32)
        return cls(["", *names], np.nan_to_num((place + 1).to_numpy()).astype(np.min_scalar_type(len(names))))


class _RatingTexts:
    """The columns of ratings, each read when it is first asked for."""

    def __init__(self, rows: pl.DataFrame) -> None:
        self.rows, self.everywhere = rows, np.arange(len(rows))
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

    def __init__(self, columns: _RatingTexts, places: Codes) -> None:
        self._columns, self.places = columns, places

    @classmethod
    def of(cls, rows: pl.DataFrame) -> RatingPart:
        """Return all of a table: ratings with the columns of `frame.ratings`, or those of them that are asked for."""
        columns = _RatingTexts(rows)
        return cls(columns, columns.everywhere)

    def __len__(self) -> int:
        return len(self.places)

    @property
    def rows(self) -> pl.DataFrame:
        """The ratings as a table of their own; that which they are of where they are all of it, as it stands there."""
        rows = self._columns.rows
        return rows if self.places is self._columns.everywhere else rows[self.places]

    def where(self, chosen: Mask | Codes) -> RatingPart:
        """Return some of these ratings."""
        return RatingPart(self._columns, self.places[chosen])

    def by_cluster(self) -> RatingPart:
        """Return the ratings in the order of their clusters, in which metrics copy nothing where they look at all of them."""
        return self.where(np.argsort(self._code("cluster"), kind="stable"))

    def by(self, *columns: str) -> list[tuple[tuple[str, ...], RatingPart]]:
        """Part the ratings by what stands in some columns, in the order of that, without those that lack one of them."""
        return [(texts, self.where(chosen)) for texts, chosen in self._groups(columns)]

    def numbered(self, numbers: Mapping[tuple[str, ...], int], *columns: str) -> Codes:
        """Return the number of what stands in some columns, -1 where that has none."""
        numbered = np.full(len(self), -1, dtype=np.intp)
        for texts, chosen in self._groups(columns):
            numbered[chosen] = numbers.get(texts, -1)
        return numbered

    def dense(self, column: str) -> Codes:
        """Number what stands in a column, in the order of that and without gaps."""
        return dense(self._code(column))[1]

    def texts(self, column: str) -> Tags:
        """Return what stands in a column, empty where nothing does."""
        return self._mapped(column, self._names(column), object)

    def first(self, column: str) -> str:
        """Return what stands in a column of the first of these ratings, empty where nothing does."""
        return self._names(column)[int(self._columns.coded(column).code[self.places[0]])]

    def among(self, column: str, texts: Collection[str]) -> Mask:
        """Say where one of some texts stands in a column."""
        return self._mapped(column, [name in texts for name in self._names(column)], bool)

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
        status = self._mapped("status", self._names("status"), str)
        return RatingTable(
            criterion.values, np.where(self.among("status", ["ok"]), value, -1), target, self.dense("cluster"),
            self.dense("subject"), status, dense(self._columns.run[self.places])[1],
            {name: self.texts(frame.tag(name)) for name in tag_names}, drawn.sample(self.rows) if self.is_drawn() else None,
        )  # fmt: skip

    def _groups(self, columns: Sequence[str]) -> list[tuple[tuple[str, ...], Codes]]:
        """Return what stands in some columns, and which of the ratings have it."""
        codes, sizes = [self._code(column) for column in columns], [len(self._names(column)) for column in columns]
        if min(sizes) == 1:
            return []
        full = np.flatnonzero(np.all(codes, axis=0))
        key = np.ravel_multi_index(codes, sizes)[full].astype(np.min_scalar_type(math.prod(sizes)))
        order = np.argsort(key, kind="stable")
        starts = np.flatnonzero(np.diff(key[order].astype(np.intp), prepend=-1))
        order = full[order]
        texts = [self.where(order[starts]).texts(column) for column in columns]
        return list(zip(zip(*texts, strict=True), np.split(order, starts)[1:], strict=True))

    def _names(self, column: str) -> list[str]:
        return self._columns.coded(column).names

    def _code(self, column: str) -> NDArray[np.unsignedinteger[Any]]:
        return self._columns.coded(column).code[self.places]

    def _recoded(self, column: str, codes: Mapping[str, int]) -> Codes:
        """Return other numbers of the texts in a column, -1 where a text has none."""
        return self._mapped(column, [codes.get(name, -1) for name in self._names(column)], np.intp)

    def _mapped(self, column: str, worth: Sequence[object], kind: type) -> NDArray[Any]:
        """Return what each text in a column is worth, given that of each of its names."""
        return np.asarray(np.array(worth, dtype=kind)[self._code(column)])
