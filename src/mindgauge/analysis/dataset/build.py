"""From sources through the steps of a recipe to items and to what was dropped: every row ends in one of the two."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import polars as pl

from mindgauge.analysis.dataset import cleaning, drawing, duplicates, items, sources
from mindgauge.analysis.dataset.licences import spdx
from mindgauge.analysis.dataset.recipe import (
    Exact,
    Junk,
    LanguageFilter,
    LastTurn,
    Lengths,
    LinkLimit,
    Near,
    PersonSide,
    Sampling,
    Scrub,
    Splitting,
)  # fmt: skip
from mindgauge.records import digest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mindgauge.analysis.dataset.items import StepResult
    from mindgauge.analysis.dataset.recipe import DatasetRecipe, Step

ITEMS = ("id", "text", "messages", "source", "licence", "language", "label", "cluster", "group", "split", "weight", "copies", "origin")  # fmt: skip
"""Columns of the items, in their order."""
DROPPED = ("id", "text", "source", "origin", "step", "reason", "of")
"""Columns of what was dropped: `of` is the id of the text that stands for a duplicate."""


class StepAccount(msgspec.Struct, frozen=True):
    """What a step did: how many rows came, how many it dropped, and for which reasons."""

    step: str
    rows: int
    dropped: int
    reasons: dict[str, int]


class SourceAccount(msgspec.Struct, frozen=True):
    """What is known of a source: its rows, its items, its terms, its files by SHA-256."""

    name: str
    licence: str
    redistribute: bool | None
    rows: int
    items: int
    files: dict[str, str]


class BuiltDataset(NamedTuple):
    """The two tables, and the account of how they came to be."""

    items: pl.DataFrame
    dropped: pl.DataFrame
    steps: list[StepAccount]
    sources: list[SourceAccount]
    scrubbed: dict[str, int]
    notes: list[str]


def build(recipe: DatasetRecipe, base: Path) -> BuiltDataset:
    """Build a data set.

    Args:
        recipe: what it is made of.
        base: the folder below which its files lie.

    Raises:
        UsageError, DataError: a source cannot be read as the recipe says.
    """
    read = {source.name: sources.read(source, base) for source in recipe.sources}
    frame = items.numbered(pl.concat([rows.frame for rows in read.values()], how="diagonal_relaxed"))
    counts = Counter[str]()
    steps, dropped = [], []
    for number, step in enumerate(recipe.steps, 1):
        result = _APPLIED[type(step)](frame, step, recipe.seed, counts)
        name = f"{number} {step.__struct_config__.tag}"
        reasons = dict(result.dropped.group_by("reason").len().sort("reason").rows())
        steps.append(StepAccount(name, frame.height, result.dropped.height, reasons))
        dropped.append(result.dropped.select("row", "source", "origin", "text", "reason", "of", step=pl.lit(name)))
        if result.items.height + result.dropped.height != frame.height:
            raise AssertionError(f"{name}: rows were lost")
        frame = result.items
    final, drops = _identified(frame, pl.concat(dropped) if dropped else _none_dropped())
    licences = {source.name: spdx(source.licence) for source in recipe.sources}
    final = final.with_columns(licence=pl.col("source").replace(licences)).select(ITEMS)
    accounts = [
        SourceAccount(
            source.name, licences[source.name], source.redistribute, read[source.name].frame.height,
            final.filter(pl.col("source") == source.name).height, read[source.name].checksums,
        )
        for source in recipe.sources
    ]  # fmt: skip
    notes = [f"{name}: {note}" for name, rows in read.items() for note in rows.notes]
    return BuiltDataset(final, drops, steps, accounts, dict(counts), notes)


_APPLIED: dict[type[Step], Callable[[pl.DataFrame, Any, int, Counter[str]], StepResult]] = {
    PersonSide: lambda frame, *_: cleaning.person_side(frame),
    LastTurn: lambda frame, *_: cleaning.last_turn(frame),
    Lengths: lambda frame, step, *_: cleaning.lengths(frame, step),
    LanguageFilter: lambda frame, step, *_: cleaning.in_languages(frame, step),
    Junk: lambda frame, step, *_: cleaning.junk(frame, step),
    LinkLimit: lambda frame, step, *_: cleaning.links(frame, step),
    Scrub: lambda frame, step, _, counts: cleaning.scrubbed(frame, step, counts),
    Exact: lambda frame, *_: duplicates.exact(frame),
    Near: lambda frame, step, seed, _: duplicates.near(frame, step, seed),
    Sampling: lambda frame, step, seed, _: drawing.sampled(frame, step, seed),
    Splitting: lambda frame, step, seed, _: drawing.split(frame, step, seed),
}
"""What each kind of step does to the items, with the recipe's seed; personal data are counted."""


def _none_dropped() -> pl.DataFrame:
    schema = {name: items.COLUMNS[name] for name in ("row", "source", "origin", "text")}
    return pl.DataFrame(schema={**schema, "reason": pl.String, "of": pl.UInt32, "step": pl.String})


def _identified(frame: pl.DataFrame, dropped: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Give each text the hash of its content as its id, and put ids in the place of row numbers."""
    frame, dropped = (rows.with_columns(id=ids_of(rows["text"])) for rows in (frame, dropped))
    ids = pl.concat([frame.select("row", "id"), dropped.select("row", "id")])
    if "together" not in frame.columns:
        own = pl.when(pl.col("group").is_null()).then("row")
        frame = frame.with_columns(together=own.otherwise(pl.col("row").min().over("source", "group")))
    final = frame.with_columns(
        cluster=_named(frame["cluster"].fill_null(frame["row"]), ids, "cluster"),
        group=_named(frame["together"], ids, "group"),
        language=cleaning.language(),
        weight=1 / pl.col("probability"),
    )
    drops = dropped.with_columns(of=_named(dropped["of"], ids, "of"))
    return (
        final.sort("id", "source", "origin", "row", nulls_last=True).rechunk(),
        drops.sort("source", "origin", "id", "row", nulls_last=True).select(DROPPED).rechunk(),
    )


def ids_of(texts: pl.Series) -> pl.Series:
    """Return the ids of items: the hashes of their texts."""
    return pl.Series("id", [digest("item", text) for text in texts.to_list()], pl.String)


def _named(rows: pl.Series, ids: pl.DataFrame, name: str) -> pl.Series:
    return rows.to_frame("row").join(ids, on="row", how="left", maintain_order="left")["id"].alias(name)
