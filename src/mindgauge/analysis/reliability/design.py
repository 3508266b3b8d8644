"""What people's ratings of one criterion vary with, and what more would bring."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from mindgauge.analysis.reliability.card import Bound, Design, Needed
from mindgauge.stats import generalizability

if TYPE_CHECKING:
    from mindgauge.stats.interval import Interval

TARGET = 0.80
"""The dependability that the numbers needed are for; Brennan (2001) and others ask it of decisions about groups."""
UNKNOWN = "so nothing is said of how many people and conversations it takes"


def design(name: str, rated: pl.DataFrame, resamples: int, seed: int) -> tuple[Design | None, str]:
    """Study people's ratings of every system's reply to the same conversations by the same raters.

    Only this crossed design is covered. Nested and partially crossed ones are not: the sentence says so, and which
    conversations were left out of a study. There is neither where fewer than two people rated.

    Args:
        name: of the criterion.
        rated: people's valued rows: subject, cluster, system, rater, run, number.
        resamples: of the bootstrap.
        seed: of the bootstrap.
    """
    first = rated.filter(pl.col("run") == pl.col("run").min().over("subject", "rater"))
    key = ("system", "cluster", "rater")
    people = first["rater"].n_unique()
    if people < 2:
        return None, ""
    if len(first.unique(key)) < len(first):
        return None, (
            f"{name}: a conversation holds several replies of one system, and a design study of replies within conversations "
            f"is not covered, {UNKNOWN}"
        )
    place = [first[column].rank("dense").to_numpy().astype(np.intp) - 1 for column in key]
    ratings = np.full([int(index.max()) + 1 for index in place], np.nan)
    ratings[tuple(place)] = first["number"].to_numpy()
    found = generalizability.study(ratings, target=TARGET, resamples=resamples, seed=seed)
    whole = found.conversations + found.left_out
    if found.undefined or found.needs is None:
        return None, f"{name}: {_uncrossed(ratings, people)}, which a design study does not cover, {UNKNOWN}"
    parts = found.components.used
    study = Design(
        name, found.systems, found.conversations, found.raters, found.left_out,
        {
            part.replace("_", " × "): Bound(value, getattr(found.low, part), getattr(found.high, part))
            for part, value in parts._asdict().items()
            if value is not None
        },
        _bound(found.generalizability), _bound(found.dependability), TARGET,
        Needed(*found.needs.raters), Needed(*found.needs.conversations),
    )  # fmt: skip
    if not found.left_out:
        return study, ""
    return study, (
        f"{name}: people's ratings are crossed in part only: the design study rests on {found.conversations} of {whole} "
        "conversations, in which all people rated every system, and says nothing of the others"
    )


def _uncrossed(ratings: np.ndarray[tuple[int, ...], np.dtype[np.float64]], people: int) -> str:
    """Say what the design is instead: ratings have shape (systems, conversations, raters)."""
    there = np.isfinite(ratings)
    who = f"{people} people" if people > 2 else "two people"
    if (there.any(axis=0).sum(axis=1) <= 1).all():
        return f"raters are nested in conversations: no conversation was rated by more than one of {who}"
    if (there.any(axis=1).sum(axis=1) <= 1).all():
        return f"raters are nested in systems: no system was rated by more than one of {who}"
    if (there.any(axis=2).sum(axis=0) <= 1).all() and len(ratings) > 1:
        return "conversations are nested in systems: no conversation was answered by two of them"
    return f"raters and conversations are crossed in part only: in fewer than two conversations did all of {who} rate every system"


def _bound(found: Interval) -> Bound:
    return Bound(found.value, found.low, found.high, found.undefined)
