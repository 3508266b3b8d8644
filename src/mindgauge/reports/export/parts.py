"""A table as Parquet files of bounded size: one file where it is small, else a folder of parts, on request one per value.

Partitions are folders `column=value` in the Hive layout, as polars, pyarrow and DuckDB read them: values are
percent-encoded, a missing value is `__HIVE_DEFAULT_PARTITION__`, and the column stands in the path alone.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING
from urllib.parse import quote

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mindgauge.reports.export.folder import ExportFolder

ROWS = 100_000
"""How many rows a file has at most, unless told otherwise."""
_BYTES = 64 << 20
"""How much is gathered at most before some of it is written, all partitions together."""
_MISSING = "__HIVE_DEFAULT_PARTITION__"


def write(
    folder: ExportFolder, name: str, frames: Iterable[pl.DataFrame], partition_by: Sequence[str] = (), rows: int = ROWS
) -> None:
    """Write a table as `NAME.parquet`, or as `NAME/[COLUMN=VALUE/]part-00000.parquet` and so on.

    Args:
        folder: where to.
        name: the table's.
        frames: its rows, at least one frame, all of the same columns.
        partition_by: the columns to partition by.
        rows: how many a file has at most; long texts make files of fewer.
    """
    gathered: dict[str, list[pl.DataFrame]] = {}
    rows_of: Counter[str] = Counter()
    bytes_of: Counter[str] = Counter()
    parts_of: Counter[str] = Counter()

    def settle(path: str) -> None:
        folder.parquet(f"{name}{path}/part-{parts_of[path]:05}.parquet", pl.concat(gathered.pop(path)))
        parts_of[path] += 1
        del rows_of[path], bytes_of[path]

    empty = pl.DataFrame()
    for frame in frames:
        empty = frame.clear()
        for path, piece in _split(frame, partition_by, rows):
            if rows_of[path] + piece.height > rows:
                settle(path)
            gathered.setdefault(path, []).append(piece)
            rows_of[path] += piece.height
            bytes_of[path] += int(piece.estimated_size())
        while bytes_of.total() > _BYTES:
            settle(bytes_of.most_common(1)[0][0])
    if not parts_of and (not partition_by or not gathered):
        folder.parquet(f"{name}.parquet", pl.concat(gathered.get("", [empty])))
    else:
        for path in list(gathered):
            settle(path)


def _split(frame: pl.DataFrame, partition_by: Sequence[str], rows: int) -> Iterator[tuple[str, pl.DataFrame]]:
    """Return the rows of each partition with its path, no more at once than a file takes."""
    keyed = frame.partition_by(partition_by, as_dict=True, include_key=False) if partition_by else {(): frame}
    for values, piece in keyed.items():
        path = "".join(f"/{column}={_segment(value)}" for column, value in zip(partition_by, values, strict=True))
        yield from ((path, rows_piece) for rows_piece in piece.iter_slices(rows))


def _segment(value: object) -> str:
    return _MISSING if value in {None, ""} else quote(str(value), safe="")
