"""Where people rated replies that judges rated too: the simple facts, on the same replies. No verdict follows here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
import polars as pl

from mindgauge.reports.content import Column, Sheet
from mindgauge.reports.runs import MODEL, PERSON
from mindgauge.stats import bootstrap

if TYPE_CHECKING:
    from mindgauge.reports.runs import Section

LOW = 2
"""Levels up to this one are low."""


class Comparison(msgspec.Struct, frozen=True):
    """A rater beside people on the replies both rated. `difference` is the rater's mean minus people's."""

    rater: str
    criterion: str
    n: int
    mean: float
    people: float
    difference: float
    low: float | None
    high: float | None
    same: float
    low_by_people: int
    low_by_both: int


def _values(section: Section, criterion: str) -> pl.DataFrame:
    rows = section.asked.filter(pl.col("criterion") == criterion, pl.col("status") == "ok")
    return rows.with_columns(value=pl.col("value").cast(pl.Float64, strict=False)).drop_nulls("value")


def compare(section: Section, rater: str) -> Comparison | None:
    """Put a rater beside all people on the first ordinal criterion; None where they share no reply."""
    for criterion in section.ordinal if not section.benchmark.closed else ():
        rows = _values(section, criterion)
        mine = rows.filter(pl.col("rater") == rater)
        people = rows.filter(pl.col("rater_kind") == PERSON, pl.col("rater") != rater)
        pairs = mine.join(people.select("subject", theirs="value"), on="subject")
        if pairs.is_empty():
            continue
        replies = pairs.group_by("subject", maintain_order=True).agg(
            pl.col("value").mean(), pl.col("theirs").mean(), pl.col("cluster").first()
        )
        gap = (replies["value"] - replies["theirs"]).to_numpy()
        cluster = replies["cluster"].rank("dense").to_numpy().astype(np.intp) - 1
        low, high = _bounds(gap, cluster)
        few = replies.filter(pl.col("theirs") <= LOW)
        return Comparison(
            rater, criterion, len(replies), float(replies["value"].to_numpy().mean()), float(replies["theirs"].to_numpy().mean()),
            float(gap.mean()), low, high, float((pairs["value"] == pairs["theirs"]).to_numpy().mean()),
            len(few), len(few.filter(pl.col("value") <= LOW)),
        )  # fmt: skip
    return None


def _bounds(
    gap: np.ndarray[tuple[int], np.dtype[np.float64]], cluster: np.ndarray[tuple[int], np.dtype[np.intp]]
) -> tuple[float | None, float | None]:
    if len(np.unique(cluster)) < 2:
        return None, None
    return bootstrap.percentile(
        bootstrap.distribution(lambda weights: np.asarray(weights @ gap / weights.sum(axis=1)), cluster)
    )


def sheet(section: Section) -> Sheet | None:
    """Tabulate every judge, and every person, beside the (other) people; None where no people rated."""
    raters = [rater for rater, kind in section.judges() if kind in {PERSON, MODEL}]
    found = [c for c in (compare(section, rater) for rater in raters) if c is not None]
    if not found:
        return None
    columns = [
        Column("rater"), Column("replies rated by both", "count"), Column("its mean", "level"), Column("people's mean", "level"),
        Column("difference", "level"), Column("from", "level"), Column("to", "level"), Column("same level", "share"),
        Column(f"people at {LOW} or below", "count"), Column("of these, it too", "count"),
    ]  # fmt: skip
    rows = [
        [c.rater, c.n, c.mean, c.people, c.difference, c.low, c.high, c.same, c.low_by_people, c.low_by_both]
        for c in found
    ]
    name = found[0].criterion.replace("_", " ")
    note = (
        "A person is put beside the other people. “Difference” is the rater's mean minus people's, with its 95 % interval over "
        "conversations: above zero, the rater is more lenient than people. “Same level” is the share of pairs of single ratings that agree."
    )
    chosen = section.asked.filter(pl.col("rater_kind") == PERSON)["selection"].drop_nulls().unique().sort()
    if len(chosen):
        note += f" People rated only replies chosen for them ({'; '.join(chosen)}), so these means say nothing about all replies."
    return Sheet(
        "people", f"Judges beside people: {name}, {section.benchmark.name}", columns, [list(row) for row in rows], note
    )
