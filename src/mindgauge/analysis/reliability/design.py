"""How many people, how many conversations? What people's ratings of one criterion vary with, and what more would bring."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from mindgauge.analysis.reliability.card import Bound, Design
from mindgauge.stats import generalizability

if TYPE_CHECKING:
    from mindgauge.stats.interval import Interval

TARGET = 0.80
"""The dependability that the numbers needed are for; Brennan (2001) and others ask it of decisions about groups."""


def design(name: str, rated: pl.DataFrame, resamples: int, seed: int) -> Design | None:
    """Study people's ratings of every system's reply to the same conversations by the same raters.

    None where there are fewer than two people or conversations that all of them rated, or where a conversation holds
    several replies of a system.

    Args:
        name: of the criterion.
        rated: people's valued rows: subject, cluster, system, rater, run, number.
        resamples: of the bootstrap.
        seed: of the bootstrap.
    """
    first = rated.filter(pl.col("run") == pl.col("run").min().over("subject", "rater"))
    key = ("system", "cluster", "rater")
    if first["rater"].n_unique() < 2 or len(first.unique(key)) < len(first):
        return None
    place = [first[column].rank("dense").to_numpy().astype(np.intp) - 1 for column in key]
    ratings = np.full([int(index.max()) + 1 for index in place], np.nan)
    ratings[tuple(place)] = first["number"].to_numpy()
    found = generalizability.study(ratings, resamples=resamples, seed=seed)
    if found.undefined or found.conversations < 2:
        return None
    parts = found.components.used
    return Design(
        name, found.systems, found.conversations, found.raters, found.left_out,
        {
            part.replace("_", " × "): Bound(value, getattr(found.low, part), getattr(found.high, part))
            for part, value in parts._asdict().items()
            if value is not None
        },
        _bound(found.generalizability), _bound(found.dependability), TARGET,
        generalizability.raters_needed(parts, TARGET, conversations=found.conversations),
        generalizability.conversations_needed(parts, TARGET, raters=found.raters),
    )  # fmt: skip


def _bound(found: Interval) -> Bound:
    return Bound(found.value, found.low, found.high, found.undefined)
