"""People as a sample of people: what other clinicians would say, by crossed random effects of one criterion's ratings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from mindgauge.analysis.reliability.card import BiasAtLarge, Bound, RatersAtLarge
from mindgauge.stats import crossed
from mindgauge.stats.rater_sample import mean_at_large, sample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from mindgauge.analysis.reliability.scale import ValueScale

    Codes = NDArray[np.intp]

PAIR = 2
"""Another pair of clinicians: the smallest group that can be compared with itself."""
FEWEST_LEVELS = 5
"""Fewer systems or conversations are taken as they are, not as a sample of others."""
MOST_ALIKE = 0.8
"""With more conversations to a subject than this they cannot be told from subjects, and are not a factor of their own."""
RATER, SUBJECT = "rater", "subject"


def at_large(rated: pl.DataFrame, raters: Sequence[str], scale: ValueScale, seed: int) -> RatersAtLarge | None:
    """Say what people's ratings of one criterion tell of other people; None of classes, and of one person.

    Args:
        rated: people's valued rows: subject, cluster, system, rater, run, number.
        raters: the people whose values are their own.
        scale: of the values.
        seed: of the draws.
    """
    if not scale.ordered or len(raters) < 2:
        return None
    rows = _first(rated, raters)
    try:
        _require_shared(rows)
        design = crossed.Design(rows["number"].to_numpy(), _factors(rows))
        fit = crossed.fit(design)
        rater_sample = sample(
            design, fit, rater=RATER, subject=[name for name in fit.names if name != RATER], k=PAIR, seed=seed
        )
    except ValueError as error:
        empty = Bound(None, note=str(error))
        levels = {name: rows[column].n_unique() for name, column in ((SUBJECT, "subject"), (RATER, "rater"))}
        return RatersAtLarge(levels, len(rows), PAIR, {}, {}, [], empty, empty, empty, empty, {}, str(error))
    worse = 1.0 if scale.unsafe is not None and scale.unsafe.falling else -1.0
    names = rows["rater"].unique().sort().to_list()
    span = scale.high - scale.low
    severity = {
        name: (Bound(*interval) if worse > 0 else -Bound(*interval)).clipped(-span, span)
        for name, interval in zip(names, rater_sample.severities, strict=True)
    }
    at_zero = [name for name, ratio in zip(fit.names, fit.ratios, strict=True) if ratio == 0]
    return RatersAtLarge(
        dict(zip(fit.names, fit.levels, strict=True)), fit.n, PAIR,
        {name: Bound(*interval).clipped(0.0, span / 2) for name, interval in rater_sample.sds.items()},
        {name: Bound(*interval) for name, interval in rater_sample.shares.items()}, at_zero, Bound(*rater_sample.single),
        Bound(*rater_sample.mean_of), Bound(*rater_sample.apart).clipped(0.0, span), Bound(*rater_sample.ratings_apart).clipped(0.0, span), severity,
    )  # fmt: skip


def bias_at_large(judged: pl.DataFrame, first: pl.DataFrame, scale: ValueScale, seed: int) -> BiasAtLarge | None:
    """Say how far a judge's mean lies from people's, where other people might have rated; None of classes.

    Args:
        judged: the judge's valued rows: subject, number.
        first: first ratings of each subject by people whose values are their own: subject, cluster, system, rater, number.
        scale: of the values.
        seed: of the draws.
    """
    if not scale.ordered:
        return None
    means = judged.group_by("subject").agg(judge=pl.col("number").mean())
    rows = first.join(means, on="subject", maintain_order="left")
    present = rows["rater"].n_unique()
    if present < 2:
        reason = "one person is no sample of people" if present else "no subject has a value from both"
        return BiasAtLarge(present, len(rows), PAIR, Bound(None, note=reason), Bound(None, note=reason))
    try:
        _require_shared(rows)
        design = crossed.Design((rows["judge"] - rows["number"]).to_numpy(), _factors(rows))
        overall = mean_at_large(design, crossed.fit(design), rater=RATER, k=PAIR, seed=seed)
    except ValueError as error:
        empty = Bound(None, note=str(error))
        return BiasAtLarge(present, len(rows), PAIR, empty, empty)
    span = scale.high - scale.low
    bounds = (Bound(*interval).clipped(-span, span) for interval in (overall.mean, overall.another))
    return BiasAtLarge(present, len(rows), PAIR, *bounds)


def _require_shared(rows: pl.DataFrame) -> None:
    """Raise a ValueError where no subject has two people's values, or people are a crowd."""
    crossed.require_few(rows["rater"].n_unique(), rows["subject"].n_unique())
    if rows["subject"].n_unique() == len(rows):
        raise ValueError("no subject has values from two people")


def _first(rated: pl.DataFrame, raters: Sequence[str]) -> pl.DataFrame:
    """Keep each person's first rating of a subject."""
    own = rated.filter(pl.col("rater").is_in(list(raters))).sort("run", maintain_order=True)
    return own.unique(["subject", "rater"], keep="first", maintain_order=True)


def _factors(rows: pl.DataFrame) -> dict[str, Codes]:
    """Return subjects and raters, and conversations and systems where they are enough and not the subjects again."""
    columns = {SUBJECT: "subject", "conversation": "cluster", "system": "system", RATER: "rater"}
    factors = {}
    for name, column in columns.items():
        levels = rows[column].n_unique()
        repeated = levels > MOST_ALIKE * rows["subject"].n_unique()
        if name in {SUBJECT, RATER} or (levels >= FEWEST_LEVELS and not repeated):
            factors[name] = rows[column].rank("dense").to_numpy().astype(np.intp) - 1
    return factors


def another_group(bias: BiasAtLarge) -> float | None:
    """Return by how much another group of people may differ: the half width of what it may say."""
    interval = bias.another
    return None if interval.low is None or interval.high is None else (interval.high - interval.low) / 2
