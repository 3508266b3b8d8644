"""Ratings of a review list that came back: its ids stand for replies, and only the run that it was drawn from knows which."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from mindgauge.records.files import tables
from mindgauge.records.rounding import plural

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

ID = "review_id"
"""What stands in a list in the place of a reply."""
_KEYS = "review-key-"


def key_of(folder: Path, benchmark: str) -> Path:
    """Return where a run keeps what stands behind the names in the review list of a benchmark."""
    return folder / f"{_KEYS}{benchmark.replace('/', '-')}.csv"


def by_reply(frame: pl.DataFrame, runs: Iterable[Path], notes: list[str]) -> pl.DataFrame:
    """Give ratings of the lists of some runs the replies that they are of; what is of no list stays as it is.

    Raises:
        DataError: a run's key cannot be read.
    """
    names: dict[str, dict[str, str]] = {"subject": {}, "cluster": {}, "system": {}}
    for folder in runs:
        for key in sorted(folder.glob(f"{_KEYS}*.csv")):
            for _, row in tables.rows(key):
                for name, column in (("subject", "subject"), ("cluster", "cluster"), ("system", "model")):
                    if row.get(ID) and row.get(column):
                        names[name][row[ID]] = row[column]
    subjects = frame.filter(pl.col("subject").is_in([*names["subject"]]))["subject"].n_unique()
    if not subjects:
        return frame
    notes.append(
        f"{plural(subjects, 'subject')} {'goes' if subjects == 1 else 'go'} by the names of a review list; the run's key says which replies they are"
    )
    return frame.with_columns(
        pl.col("subject").replace_strict(by_id, default=pl.col(name), return_dtype=pl.String).alias(name)
        for name, by_id in names.items()
    )
