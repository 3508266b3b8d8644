"""One table that somebody brings: headers, and rows of cells, each with the line of the file on which it begins."""

from __future__ import annotations

import functools
import json
import math
from typing import TYPE_CHECKING, Any, TypeAlias

from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds, frames
from mindgauge.records.files.bounds import clean
from mindgauge.records.files.mapping import described, place
from mindgauge.records.files.texts import faults

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    import polars as pl

    from mindgauge.records.files.folder import Readable

Row: TypeAlias = "tuple[int, Sequence[Any]]"


class InputTable:
    """A table: headers, and rows of cells with the line of the file on which each begins (of Parquet, its number, from 1)."""

    def __init__(
        self,
        path: Readable | None,
        headers: Sequence[str],
        cells: Callable[[], Iterator[Row]],
        *,
        frame: Callable[[Collection[str]], pl.DataFrame] | None = None,
        separator: str = ",",
        part: str = "",
        empty: tuple[Any, ...] = (None,),
    ) -> None:
        """Describe it; nothing more is read.

        Args:
            path: its file; None for a table in memory.
            headers: its columns.
            cells: reads its rows, a cell for each header or fewer.
            frame: reads it as a whole, at least these columns, faster.
            separator: between its cells.
            part: the sheet that it is, of a workbook with several.
            empty: the cells that say nothing.
        """
        self.path, self.separator, self.part = path, separator, part
        self.name = "the table" if path is None else str(path)
        self._headers, self._cells, self._frame, self._empty = list(headers), cells, frame, empty

    def __str__(self) -> str:
        return self.name

    @property
    def headers(self) -> list[str]:
        """Its columns, in their order; a column without a name is empty."""
        return self._headers

    @property
    def columns(self) -> str:
        """Name the columns, with their positions."""
        return described(self.headers)

    def cells(self) -> Iterator[Row]:
        """Yield its rows: a cell for each header, or fewer."""
        return self._cells()

    def places(self, columns: Mapping[str, str]) -> dict[str, int]:
        """Return where the columns stand that a mapping names, from 0.

        Raises:
            DataError: one is not there.
        """
        return {name: place(name, column, self.headers, self) for name, column in columns.items()}

    def rows(self, columns: Mapping[str, str] | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield rows by column, with our names beside the file's; empty cells are not there.

        Where the file has a column of such a name, and another is mapped to it, it is left out.

        Raises:
            DataError: two columns have one name, or a column is not there, or the file is broken.
        """
        places = self.places(columns or {})
        with faults(self, b""):
            bounds.refuse_twice(self.headers)
        at = [n for n, name in enumerate(self.headers) if name and name not in places] + list(places.values())
        names = [name for name in self.headers if name and name not in places] + list(places)
        plain, texts = at == [*range(len(self.headers))], "" in self._empty
        for number, cells in self.cells():
            held = cells if plain else [cells[n] if n < len(cells) else None for n in at]
            if texts:
                yield number, {name: cell for name, cell in zip(names, held, strict=False) if cell}
            else:
                yield number, {name: cell for name, cell in zip(names, held, strict=False) if cell is not None}

    def glimpse(self) -> list[str]:
        """Return the columns as far as they are seen without reading on."""
        return self.headers

    def lists(self) -> list[list[Any]]:
        """Return the cells column by column."""
        if self._frame is not None:
            return [column.to_list() for column in self._frame(())]
        rows = [cells for _, cells in self.cells()]
        return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in self.headers]

    def texts(self) -> Iterator[tuple[int, list[str | None]]]:
        """Yield rows of texts, one per header; None for empty cells and for what stands for nothing (`nan`)."""
        width = len(self.headers)
        for count, (number, cells) in enumerate(self.cells(), 1):
            if count * width > bounds.CELLS or width > bounds.COLUMNS:
                raise DataError(f"{self}: it has more than {bounds.COLUMNS:,} columns or {bounds.CELLS:,} cells, the most that are read; split it into several files")  # fmt: skip
            yield number, [*map(text_of, cells), *[None] * (width - len(cells))]

    def frame(self, wanted: Collection[str], columns: Mapping[str, str] | None = None) -> pl.DataFrame:
        """Return the table with our names beside the file's; of JSON, only what is wanted is filled.

        Raises:
            DataError: as `rows`.
        """
        theirs = {name: self.headers[at] for name, at in self.places(columns or {}).items()} if columns else {}
        filled = {theirs.get(name, name) for name in wanted}
        if self._frame is not None and all(theirs.values()):
            frame = self._frame(filled)
        else:
            frame = frames.text_frame(self, [*filled, *theirs], self.rows(columns))
        return frame.with_columns([frame[column].alias(name) for name, column in theirs.items() if column and column in frame.columns])  # fmt: skip


class RecordTable(InputTable):
    """A table of JSON: each row has keys of its own, and the columns are all of them."""

    def __init__(
        self,
        path: Readable,
        records: Callable[[], Iterator[tuple[int, dict[str, Any]]]],
        frame: Callable[[Collection[str]], pl.DataFrame] | None = None,
    ) -> None:
        """Describe it; nothing is read."""
        super().__init__(path, (), self._all_cells, frame=frame)
        self._records = records

    @functools.cached_property
    def _keys(self) -> list[str]:
        return list(dict.fromkeys(key for _, record in self._records() for key in record))

    @property
    def headers(self) -> list[str]:
        """The keys of all rows, in the order in which they come."""
        return self._keys

    def glimpse(self) -> list[str]:
        """Return the keys of the first row."""
        return next((list(record) for _, record in self._records()), [])

    def records(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the rows as they stand."""
        return self._records()

    def _all_cells(self) -> Iterator[Row]:
        keys = self._keys
        return ((number, [record.get(key) for key in keys]) for number, record in self._records())

    def rows(self, columns: Mapping[str, str] | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield rows as they stand, with our names; see `InputTable.rows`."""
        theirs = {name: self.headers[at] for name, at in self.places(columns).items()} if columns else {}
        for number, record in self._records():
            if not theirs:
                yield number, record
                continue
            row = {key: cell for key, cell in record.items() if key not in theirs}
            yield number, row | {name: record[key] for name, key in theirs.items() if key in record}


def text_of(cell: object) -> str | None:
    """Write a cell as text that a store can carry: a whole number without decimals, nothing for NaN and for blanks."""
    if isinstance(cell, str):
        text = clean(cell)
        return text if text.strip() and text.strip().casefold() != "nan" else None
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return None
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return clean(json.dumps(cell, ensure_ascii=False, default=str))
