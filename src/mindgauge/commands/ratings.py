"""`ratings`: ratings as people have them, as one long table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mindgauge.records.command_result import Tabular
from mindgauge.records.errors import UsageError
from mindgauge.records.files import private
from mindgauge.records.files.texts import neutralised
from mindgauge.records.ratings import NOTHING_SAID, read

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from mindgauge.records.files.texts import Frame
    from mindgauge.records.ratings import Account, RatingLayout

ENDINGS = (".parquet", ".csv", ".jsonl")
"""Forms in which a long table is written."""


@dataclass(frozen=True, repr=False)
class LongTable(Tabular):
    """Ratings in long form: `table` holds them, `reading` says what was read and what was left out."""

    frame: pl.DataFrame
    reading: Account
    out: str | None

    def summary(self) -> list[str]:
        """Say what was read."""
        return [*self.reading.lines(), *([f"Written to {self.out}"] if self.out else [])]

    @property
    def table(self) -> pl.DataFrame:
        """One row for each rating; `file` and `row` (from 1, without the header) say where it stands."""
        return self.frame


def ratings(
    files: str | Path | Frame | Sequence[str | Path | Frame],
    *,
    out: str | Path | None = None,
    layout: RatingLayout = NOTHING_SAID,
) -> LongTable:
    """Read ratings in any shape (docs/tasks/ratings.md) as one long table, and write it if asked to.

    Args:
        files: files, folders, zips, workbooks, or tables in memory.
        out: where to write it: .parquet, .csv or .jsonl.
        layout: what is said of the shape of the tables; the rest is seen from them.

    Raises:
        UsageError: `out` has another ending or is one of the files that are read, or the layout names what is not there.
        DataError: a file cannot be read, or nothing in it is a rating.
    """
    path = None if out is None else Path(out)
    if path is not None and path.suffix.lower() not in ENDINGS:
        raise UsageError(f"--out {path}: write a table that ends in {', '.join(ENDINGS)}")
    sources: list[str | Path | Frame] = list(files) if isinstance(files, list | tuple) else [files]  # type: ignore[list-item]  # a lone source
    if path is not None and path.exists() and any(_holds(source, path) for source in sources):
        raise UsageError(
            f"--out {path}: that file is among what is read; name another one, so that nobody's ratings are replaced"
        )
    frame, reading = read(sources, layout)
    frame = frame.drop("line")
    if path is not None:
        _write(frame, path)
    return LongTable(frame, reading, None if path is None else str(path))


def _holds(source: str | Path | Frame, path: Path) -> bool:
    """Whether a file is a source, or lies in one."""
    if not isinstance(source, str | Path):
        return False
    own = Path(source).resolve()
    return own == path.resolve() or own in path.resolve().parents


def _write(frame: pl.DataFrame, path: Path) -> None:
    with private.written(path) as file:
        if path.suffix.lower() == ".parquet":
            frame.write_parquet(file, compression="zstd")
        elif path.suffix.lower() == ".csv":
            neutralised(frame).write_csv(file, include_bom=True)
        else:
            frame.write_ndjson(file)
