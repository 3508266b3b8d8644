"""The files of a release: items by split in the hub's layout, or as one table; card and datasheet, written from what is known."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from mindgauge.analysis.dataset.build import ITEMS_FILE as ITEMS
from mindgauge.analysis.dataset.recipe import refusal
from mindgauge.records.errors import UsageError
from mindgauge.records.rounding import decimal
from mindgauge.records.short_names import short_names
from mindgauge.reports.export.templates import licence_id, rendered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.audit.view import Finding
    from mindgauge.analysis.dataset.build import DatasetRecord
    from mindgauge.reports.export.folder import ExportFolder

CARD, DATASHEET = "README.md", "DATASHEET.md"
_WITHHELD = ("origin",)
"""Columns that stay here: an id in a source may lead to a person."""
_SPLIT = re.compile(r"\w+(?:\.\w+)*")
"""Names of splits that the Hub takes."""
_WHOLE = "all"
"""The split of items that have none."""


class DatasetFigures(NamedTuple):
    """What card and datasheet count: rows of a table each."""

    splits: list[tuple[str, int]]
    sources: list[tuple[str, str, str, int, int]]
    """Name, licence, whether it allows a release and by what, rows, items."""
    languages: list[tuple[str, int]]
    labels: list[tuple[str, int]]
    steps: list[tuple[str, int, int, str]]
    transforms: list[tuple[str, str, str]]
    """Forms, who wrote them and who checked, as people call them: a release names no address."""
    length: str
    clusters: int
    groups: int
    weighted: bool


def figures(record: DatasetRecord, items: pl.DataFrame) -> DatasetFigures:
    """Count what a release says of its items."""
    sizes = items["text"].str.len_chars()
    models = short_names(name for account in record.transforms for name in (account.model, account.checker))
    quartiles = [sizes.quantile(share, "nearest") for share in (0.25, 0.5, 0.75)]
    return DatasetFigures(
        splits=_counts(items.with_columns(pl.col("split").fill_null(_WHOLE)), "split"),
        sources=[
            (source.name, source.licence, _permission(source.licence, source.redistribute), source.rows, source.items)
            for source in record.sources
        ],
        languages=_counts(items, "language"),
        labels=_counts(items.drop_nulls("label"), "label"),
        steps=[
            (step.step, step.rows, step.dropped, "; ".join(f"{reason}: {n:,}" for reason, n in step.reasons.items()))
            for step in record.steps
        ],
        transforms=[
            (
                ", ".join(account.forms),
                models.get(account.model, account.model) or "rule",
                models.get(account.checker, account.checker) or "nobody",
            )
            for account in record.transforms
        ],
        length=", ".join(decimal(size, 0) for size in quartiles if size is not None),
        clusters=items["cluster"].n_unique(),
        groups=items["group"].n_unique(),
        weighted=bool((items["weight"] != 1).any()),
    )


def _permission(licence: str, redistribute: bool | None) -> str:
    if refusal(licence, redistribute):
        return "no"
    return "yes, as the recipe says" if redistribute else "yes, by its licence"


def _counts(items: pl.DataFrame, column: str) -> list[tuple[str, int]]:
    counts = items.group_by(column).len().sort("len", column, descending=[True, False])
    return [(str(name), int(number)) for name, number in counts.rows()]


def write(
    folder: ExportFolder, form: str, record: DatasetRecord, items: pl.DataFrame, findings: Sequence[Finding], licence: str
) -> None:  # fmt: skip
    """Write a release.

    Args:
        folder: where to.
        form: `hub` or `folder`.
        record: what the data set says of itself.
        items: all of them.
        findings: of our own audit, none of them an error.
        licence: under which it is released.

    Raises:
        UsageError: a split has a name that the hub does not take.
    """
    public = items.drop(_WITHHELD)
    counted = figures(record, items)
    configs = []
    if form == "hub":
        for split, _ in counted.splits:
            if not _SPLIT.fullmatch(split):
                raise UsageError(f"--to hub: the split {split!r} has a name that the hub does not take; use letters, digits and _")  # fmt: skip
            file = f"data/{split}.parquet"
            configs.append((split, file))
            folder.parquet(file, public.filter(pl.col("split").fill_null(_WHOLE) == split).rechunk())
    else:
        folder.parquet(ITEMS, public)
        flat = public.with_columns(messages=_as_json(public["messages"]))
        folder.csv("items.csv", flat)
    files = [(file.file, file.rows, file.sha256) for file in folder.written]
    content = {
        "record": record, "licence": licence, "licence_id": licence_id(licence), "configs": configs, "figures": counted,
        "findings": findings, "files": files,
    }  # fmt: skip
    folder.text(CARD, rendered("dataset/card.md.j2", **content))
    folder.text(DATASHEET, rendered("dataset/datasheet.md.j2", **content))


def _as_json(messages: pl.Series) -> pl.Series:
    import msgspec

    cells = [None if cell is None else msgspec.json.encode(cell).decode() for cell in messages.to_list()]
    return pl.Series("messages", cells, pl.String)
