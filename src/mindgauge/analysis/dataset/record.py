"""What a built data set says of itself, in a file beside its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import polars as pl

from mindgauge.analysis.dataset import build
from mindgauge.analysis.dataset.build import SourceAccount, StepAccount
from mindgauge.analysis.dataset.duplicates import COLUMNS
from mindgauge.analysis.dataset.panel import LabelRecord
from mindgauge.benchmarks import own_columns
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.rounding import plural
from mindgauge.records.shell import command_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ITEMS, DROPPED, RECORD, RECIPE = own_columns.ITEMS, "dropped.parquet", own_columns.RECORD, "recipe.toml"
"""The files of a built data set; by two of them whoever reads texts knows one."""
SAMPLE = "sample.csv"
"""Beside them, where models wrote the items: what people look at, drawn by lot."""

_KINDS = {**COLUMNS, **dict.fromkeys(("id", "licence", "cluster"), pl.String()), "weight": pl.Float64()}
_OPEN = {"messages", "label", "split", "origin"}
"""Columns that may be empty."""


class TransformAccount(msgspec.Struct, frozen=True):
    """What was made of the items of another data set, and by whom; nobody, where by rule alone."""

    forms: list[str]
    made_from: str
    """The SHA-256 of those items."""
    model: str = ""
    checker: str = ""
    run: str = ""


class DatasetRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What a data set is made of, and what became of each row: `rows` came, of which `items` are kept."""

    name: str
    about: str
    licence: str
    seed: int
    software: str
    rows: int
    items: int
    dropped: int
    splits: dict[str, int]
    sources: list[SourceAccount]
    steps: list[StepAccount]
    scrubbed: dict[str, int]
    notes: list[str]
    transforms: list[TransformAccount] = []
    """One after the other; then `rows` counts what the last one made, or tried to."""
    labels: LabelRecord | None = None
    """Once there are labels of a panel and of people."""


def items(folder: Path) -> pl.DataFrame:
    """Read the items of a built data set.

    Raises:
        DataError: they are not as `dataset build` writes them.
    """
    path = folder / ITEMS
    try:
        table = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise DataError(f"{path}: cannot read the items ({str(error).partition(chr(10))[0]})") from error
    if fault := next(_faults(table), ""):
        raise DataError(f"{path}: not as dataset build writes it ({fault}); build it again")
    return table


def _faults(table: pl.DataFrame) -> Iterator[str]:
    """Yield what items are not: typed columns, filled but for `_OPEN`, and texts whose hashes are their ids."""
    for name in build.ITEMS:
        kind = _KINDS[name]
        if table.schema.get(name) != kind:
            yield f"no column {name} of {kind}"
        elif name not in _OPEN and table[name].null_count():
            yield f"{name} is empty in {plural(table[name].null_count(), 'row')}"
    changed = int((build.ids_of(table["text"]) != table["id"]).sum())
    if changed:
        yield f"{plural(changed, 'id')} of other texts"


def read(folder: Path) -> DatasetRecord:
    """Read the record of a built data set.

    Raises:
        UsageError: there is none.
        DataError: it is not as `dataset build` writes it.
    """
    path = folder / RECORD
    try:
        return msgspec.json.decode(path.read_bytes(), type=DatasetRecord)
    except OSError as error:
        raise UsageError(f"{folder}: no data set here ({RECORD} is missing); make one with {command_line('dataset', 'build', 'RECIPE.toml', '--out', folder)}") from error  # fmt: skip
    except msgspec.MsgspecError as error:
        raise DataError(f"{path}: not as dataset build writes it ({error})") from error
