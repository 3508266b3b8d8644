"""JSON lines as data frames, read fast where their rows are plain, else one by one.

What the fast readers cannot tell, the slow ones do: in which line something is wrong, and why.
"""

from __future__ import annotations

import io
import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds
from mindgauge.records.files.texts import refuse_encoding

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    import polars as pl

    Rows = Callable[[], Iterator[tuple[int, dict[str, Any]]]]


def without_nulls(frame: pl.DataFrame) -> pl.DataFrame:
    """Put the replacement character for null characters in texts, which no store can carry."""
    import polars as pl

    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    odd = [name for name in texts if frame[name].str.contains("\0", literal=True).any()]
    return (
        frame.with_columns(pl.col(odd).str.replace_all("\0", "\N{REPLACEMENT CHARACTER}", literal=True))
        if odd
        else frame
    )


def json_frame(path: object, content: bytes, columns: Collection[str], rows: Rows) -> pl.DataFrame:
    """Read the columns of JSON lines that are wanted, as text: fast where the rows are plain, else one by one.

    A column of which all is null or missing stands there only if one of the first rows names it.

    Args:
        path: how messages call the file.
        content: the file, in UTF-8 without a byte order mark.
        columns: that are wanted.
        rows: reads the rows one by one.

    Raises:
        DataError: it is broken, or has more than is read; or a wanted column holds lists or objects.
    """
    import polars as pl

    first = [row for _, row in islice(rows(), 100)]
    names = dict.fromkeys(name for row in first for name in row)
    frame = _plain_lines(content, columns) if len(names) <= bounds.COLUMNS else None
    if frame is None:
        return text_frame(path, columns, rows())
    refuse_encoding(path, content)
    _refuse_large(path, frame)
    absent = [name for name in frame.columns if name not in names and frame[name].null_count() == frame.height]
    others = [pl.lit(None, pl.Null).alias(name) for name in names if name not in columns]
    return frame.drop(absent).with_columns(others)


def _refuse_large(path: object, frame: pl.DataFrame) -> None:
    limit = min(bounds.ROWS, bounds.CELLS // max(1, frame.width))
    if frame.height > limit:
        raise DataError(f"{path}: {bounds.excess(frame.height, f'rows of {frame.width} columns', limit)}")


_ESCAPED = re.compile(rb"""\\u(?:[dD][89a-fA-F]|0000)|\\u[0-9a-fA-F]{4}[^"\\]{0,64}"\s*:""")
"""Halves of characters, null characters, and keys that are not written out."""


def _plain_lines(content: bytes, columns: Collection[str]) -> pl.DataFrame | None:
    """Read columns of rows without lists and objects in which no key stands twice; None if there may be other rows."""
    import polars as pl

    if b"[" in content or _ESCAPED.search(content) or bounds.has_long_line(content):
        return None
    try:
        frame = pl.read_ndjson(io.BytesIO(content), schema=dict.fromkeys(columns, pl.String), n_rows=bounds.ROWS + 1)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    if content.count(b"{") != frame.height:
        return None
    lines: pl.Series | None = None
    for name in columns:
        key = f'"{name}"'.encode()
        count = content.count(key)
        if count in {0, frame.height} and not (count and frame[name].null_count()):
            continue
        if lines is None:
            lines = pl.Series(content.split(b"\n"), dtype=pl.Binary).cast(pl.String, strict=False)
        if (lines.str.count_matches(key.decode(), literal=True).max() or 0) > 1:  # type: ignore[operator]
            return None
    return frame


def text_frame(path: object, columns: Collection[str], rows: Iterable[tuple[int, dict[str, Any]]]) -> pl.DataFrame:
    """Put rows into columns of text, those that are wanted; the others stand there without what is in them.

    Raises:
        DataError: a wanted column holds lists or objects, or there is more than is read.
    """
    import polars as pl

    cells: dict[str, list[str | None]] = {name: [] for name in columns}
    present: dict[str, None] = {}
    for number, row in rows:
        present |= dict.fromkeys(row)
        for name, column in cells.items():
            cell = row.get(name)
            if isinstance(cell, list | dict):
                raise DataError(
                    f"{path}:{number}: the column {name} holds lists or objects; one value per row is needed"
                )
            column.append(cell if cell is None or isinstance(cell, str) else str(cell).lower() if isinstance(cell, bool) else str(cell))  # fmt: skip
    frame = pl.DataFrame(cells, schema=dict.fromkeys(columns, pl.String))
    _refuse_large(path, frame)
    others = [pl.lit(None, pl.Null).alias(name) for name in present if name not in columns]
    return frame.drop([name for name in columns if name not in present]).with_columns(others)
