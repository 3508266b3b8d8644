"""What an interval is about: other conversations, or a judge's own noise."""

from __future__ import annotations

import polars as pl

from mindgauge.records.rounding import plural

REPEATS = 3
"""So many repeats have a spread of their own, which passes for an interval."""
OWN_NOISE = "this interval is about the judge's own noise, not about other conversations"


def only_repeats(rated: pl.DataFrame) -> list[tuple[str, str]]:
    """Return who rated one conversation only of each system, again and again: the rater, and what that means.

    Args:
        rated: valued rows: subject, cluster (null where none), criterion, rater, system, run.
    """
    if rated["run"].n_unique() < REPEATS:
        return []
    units = rated.with_columns(unit=pl.coalesce("cluster", "subject"), system=pl.col("system").fill_null(""))
    counted = (
        units.group_by("rater", "criterion", "system")
        .agg(pl.col("unit").n_unique(), pl.col("run").fill_null(0).n_unique())
        .group_by("rater", "criterion")
        .agg(pl.col("unit").max(), pl.col("run").max())
        .filter(pl.col("unit") == 1, pl.col("run") >= REPEATS)
        .group_by("rater")
        .agg(pl.col("criterion").sort(), pl.col("run").max())
        .sort("rater")
    )
    return [
        (
            rater,
            f"{rater} rated one conversation of each system {plural(run, 'time')} ({', '.join(criteria[:4])}), and repeats are all that varies: {OWN_NOISE}",
        )
        for rater, criteria, run in counted.iter_rows()
    ]
