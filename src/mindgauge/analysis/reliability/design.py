"""How many people and conversations it takes: people's ratings by what they vary with, whatever their design.

A design that is crossed in full is studied by mean squares and a bootstrap over conversations (`stats.generalizability`),
any other by crossed effects and the weights of its own means (`stats.dstudy`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from mindgauge.analysis import drawn
from mindgauge.analysis.reliability.card import Bound, DesignStudy, NumberNeeded
from mindgauge.records.english import named
from mindgauge.records.rounding import count
from mindgauge.stats import dstudy, generalizability

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[np.intp]

TARGET = 0.80
"""The dependability that the numbers needed are for; Brennan (2001) and others ask it of decisions about groups."""
UNKNOWN = "so nothing is said of how many people and conversations it takes"
CROSSED = "crossed"
SYSTEM, CONVERSATION, RATER, REPLY = "system", "conversation", "rater", "reply"
CELL, SYSTEM_RATER = "system × conversation", "system × rater"
"""Conversation × rater stays in the error: in a mean it has the error's weight, so that dependability is the same."""


def design(name: str, rated: pl.DataFrame, resamples: int, seed: int) -> tuple[DesignStudy | None, str]:
    """Study what people's ratings vary with; a sentence says of what design, or why nothing can be said.

    There is neither where fewer than two people rated.

    Args:
        name: of the criterion.
        rated: people's valued rows: subject, cluster, system, rater, run, number.
        resamples: of the bootstrap of a design that is crossed in full.
        seed: of what is drawn.
    """
    first = rated.filter(pl.col("run") == pl.col("run").min().over("subject", "rater"))
    if first["rater"].n_unique() < 2:
        return None, ""
    if drawn.is_drawn(first) and first["probability"].n_unique() > 1:
        return None, (
            f"{name}: people rated what was drawn with unequal probabilities, which a design study does not weigh, {UNKNOWN}"
        )
    shape = _shape(first)
    return _crossed(name, first, resamples, seed) if shape == CROSSED else _other(name, first, shape, seed)


def _shape(rows: pl.DataFrame) -> str:
    """Say what the design is: crossed in full, or what is nested in what."""
    key = ("system", "cluster", "rater")
    cells = rows.unique(key)
    systems, conversations, raters = (rows[column].n_unique() for column in key)

    def alone(inner: str, outer: str) -> bool:
        return bool(cells.group_by(inner).agg(pl.col(outer).n_unique())[outer].max() == 1)

    several = systems > 1
    holds = {
        "replies are nested in conversations": len(cells) < len(rows),
        "raters are nested in conversations": alone("rater", "cluster"),
        "each conversation has one rater": alone("cluster", "rater"),
        "raters are nested in systems": several and alone("rater", "system"),
        "each system has one rater": several and alone("system", "rater"),
        "conversations are nested in systems": several and alone("cluster", "system"),
        CROSSED: len(cells) == systems * conversations * raters,
    }
    return next((shape for shape, is_so in holds.items() if is_so), "people's ratings are crossed in part")


def _crossed(name: str, rows: pl.DataFrame, resamples: int, seed: int) -> tuple[DesignStudy | None, str]:
    place = [rows[column].rank("dense").to_numpy().astype(np.intp) - 1 for column in (SYSTEM, "cluster", RATER)]
    ratings = np.full([int(index.max()) + 1 for index in place], np.nan)
    ratings[tuple(place)] = rows["number"].to_numpy()
    result = generalizability.study(ratings, target=TARGET, resamples=resamples, seed=seed)
    if result.undefined or result.needs is None:
        return None, f"{name}: {result.undefined}, {UNKNOWN}"
    parts = result.components.used
    components = {
        part.replace("_", " × "): Bound(value, getattr(result.low, part), getattr(result.high, part))
        for part, value in parts._asdict().items()
        if value is not None
    }
    return DesignStudy(
        name, CROSSED, len(rows), result.systems, result.conversations, result.raters, components,
        Bound(*result.generalizability), Bound(*result.dependability), TARGET,
        NumberNeeded(*result.needs.raters), NumberNeeded(*result.needs.conversations),
    ), ""  # fmt: skip


def _other(name: str, rows: pl.DataFrame, shape: str, seed: int) -> tuple[DesignStudy | None, str]:
    factors, measured, groups, in_error, lack = _parts(rows)
    if lack:
        return None, f"{name}: {shape}, and {lack}, {UNKNOWN}"
    raters, conversations = rows[RATER].n_unique(), rows["cluster"].n_unique()
    own = rows.group_by(RATER).agg(pl.col("cluster").n_unique())["cluster"].max() == 1
    shrink = {CONVERSATION, REPLY, CELL, dstudy.RESIDUAL} | ({RATER, SYSTEM_RATER} if own else set())
    one_each = rows.group_by("subject").agg(pl.col(RATER).n_unique())[RATER].max() == 1
    try:
        result = dstudy.study(
            rows["number"].to_numpy(), factors, measured=measured, groups=groups,
            by_rater=() if one_each else {RATER, SYSTEM_RATER, dstudy.RESIDUAL},
            by_conversation=shrink if SYSTEM in measured else (), raters=raters, conversations=conversations,
            target=TARGET, seed=seed,
        )  # fmt: skip
    except ValueError as error:
        return None, f"{name}: {shape}, and {error}, {UNKNOWN}"
    study = DesignStudy(
        name, shape, len(rows), rows[SYSTEM].n_unique(), conversations, raters,
        {part: Bound(*interval) for part, interval in result.components.items()},
        Bound(*result.generalizability), Bound(*result.dependability), TARGET, NumberNeeded(*result.raters),
        NumberNeeded(*result.conversations),
    )  # fmt: skip
    mixed = f"; {named(in_error)} cannot be told from error" if in_error else ""
    people = (
        "; each reply has one person's rating, so these data cannot say how many more people it takes"
        if one_each
        else ""
    )
    return study, (
        f"{name}: {shape}: the design study rests on crossed effects of all {count(len(rows))} ratings, with people as a "
        f"sample{mixed}{people}"
    )


def _parts(rows: pl.DataFrame) -> tuple[dict[str, Codes], list[str], Codes, list[str], str]:
    """Return the factors that can be told apart, what is measured, in which groups, what is left in the error, and what is amiss.

    The last is empty unless what is measured cannot be told from the rest.
    """
    codes = {
        column: rows[column].rank("dense").to_numpy().astype(np.intp) - 1
        for column in (SYSTEM, "cluster", RATER, "subject")
    }
    system, conversation, rater, subject = codes.values()
    systems = int(system.max()) + 1

    def both(first: Codes, second: Codes) -> Codes:
        levels: Codes = np.unique(first * (int(second.max()) + 1) + second, return_inverse=True)[1].astype(np.intp)
        return levels

    several = len(np.unique(subject)) > len(np.unique(both(system, conversation)))
    candidates: dict[str, Codes] = {RATER: rater, CONVERSATION: conversation}
    candidates |= {SYSTEM: system} if systems > 1 else {}
    candidates |= {REPLY: subject} if several else {}
    if systems > 1:
        candidates |= {CELL: both(system, conversation), SYSTEM_RATER: both(system, rater)}
    kept = dstudy.told_apart(candidates)
    measured = [SYSTEM] if systems > 1 else [part for part in (CONVERSATION, REPLY) if part in candidates]
    lost = [part for part in measured if part not in kept]
    lack = f"{named([f'{part}s' for part in lost])} cannot be told from people, conversations or error" if lost else ""
    in_error = [part for part in candidates if part not in kept and part != SYSTEM_RATER]
    groups = system if systems > 1 else subject
    return {part: candidates[part] for part in kept}, measured, groups, in_error, lack
