"""Severity of people and difficulty of criteria in logits, over all criteria that share a scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from mindgauge.analysis.reliability.card import Bound, ManyFacets
from mindgauge.stats.facets import facets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from mindgauge.analysis.reliability.scale import ValueScale

    Codes = NDArray[np.intp]

MOST_RATERS = 100
"""Of a crowd, nobody looks at single severities."""


def many_facets(frame: pl.DataFrame, raters: Sequence[str], scales: Mapping[str, ValueScale]) -> list[ManyFacets]:
    """Estimate severities and difficulties, one table for each scale of levels with an order.

    Each subject has a level on each criterion; that these are taken as independent makes the likelihood a composite one
    (Varin, Reid and Firth 2011), whose errors are the sandwich's over conversations.

    Args:
        frame: checked ratings: subject, cluster, criterion, rater, run, value, number, status.
        raters: the people whose values are their own.
        scales: by criterion.
    """
    own = frame.filter(pl.col("rater").is_in(list(raters)) & (pl.col("status") != "not_applicable"))
    groups: dict[tuple[object, ...], list[str]] = {}
    for name, scale in sorted(scales.items()):
        if scale.ordered and scale.levels and len(scale.values) > 1:
            groups.setdefault((scale.values, scale.words, scale.falling), []).append(name)
    tables = []
    for names in groups.values():
        rows = pl.concat([scales[name].numbered(own.filter(pl.col("criterion") == name)) for name in names])
        rows = rows.filter(pl.col("number").is_not_null()).sort("run", maintain_order=True)
        rows = rows.unique(["subject", "criterion", "rater"], keep="first", maintain_order=True)
        if rows["rater"].n_unique() > 1:
            tables.append(_table(rows, names, falling=scales[names[0]].falling))
    return tables


def _table(rows: pl.DataFrame, names: list[str], *, falling: bool) -> ManyFacets:
    people, criteria = (rows[column].unique().sort().to_list() for column in ("rater", "criterion"))
    n, subjects, conversations = len(rows), rows["subject"].n_unique(), rows["cluster"].n_unique()
    if len(people) > MOST_RATERS:
        note = f"{len(people)} people: severities are estimated of at most {MOST_RATERS}"
        return ManyFacets(names, n, subjects, conversations, {}, {}, [], None, note)
    codes = [
        rows[column].rank("dense").to_numpy().astype(np.intp) - 1
        for column in ("subject", "rater", "criterion", "cluster")
    ]
    mild = rows["number"].to_numpy() * (-1.0 if falling else 1.0)
    # Criteria need not measure one thing, and some point the other way: a subject has a level of its own on each of them.
    own_level = codes[0] * len(criteria) + codes[2]
    told = facets(own_level, codes[1], codes[2], mild, codes[3])
    return ManyFacets(
        names, told.n, subjects, told.clusters,
        {name: Bound(*interval) for name, interval in zip(people, told.severity, strict=False)},
        {name: Bound(*interval) for name, interval in zip(criteria, told.difficulty, strict=False)} if len(criteria) > 1 else {},
        told.thresholds, told.spread, told.undefined,
    )  # fmt: skip
