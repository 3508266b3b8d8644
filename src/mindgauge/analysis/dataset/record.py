"""What a built data set says of itself, in a file beside its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mindgauge.analysis.dataset.build import SourceAccount, StepAccount
from mindgauge.analysis.dataset.labels import LabelRecord
from mindgauge.records.errors import DataError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

ITEMS, DROPPED, RECORD, RECIPE = "items.parquet", "dropped.parquet", "dataset.json", "recipe.toml"
"""The files of a built data set."""
SAMPLE = "sample.csv"
"""Beside them, where models wrote the items: what people look at, drawn by lot."""


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
        raise UsageError(f"{folder}: no data set here ({RECORD} is missing); make one with mindgauge dataset build RECIPE.toml --out {folder}") from error  # fmt: skip
    except msgspec.MsgspecError as error:
        raise DataError(f"{path}: not as dataset build writes it ({error})") from error
