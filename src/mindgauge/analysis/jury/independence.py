"""What a further judge adds: how independently the members err, how near their mean comes, and whether the ranking needs each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from mindgauge.analysis.jury.card import JuryErrors, Without
from mindgauge.analysis.reliability.card import Bound
from mindgauge.stats import bootstrap, juries, rank

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def means(judged: pl.DataFrame, members: Sequence[str]) -> pl.DataFrame:
    """Return each member's mean of each subject, null where it has none: subject, cluster, system, and one column each."""
    single = judged.group_by("subject", "cluster", "system", "rater", maintain_order=True).agg(pl.col("number").mean())
    wide = single.pivot("rater", index=["subject", "cluster", "system"], values="number")
    absent = [pl.lit(None, pl.Float64).alias(name) for name in members if name not in wide.columns]
    return wide.with_columns(absent).select("subject", "cluster", "system", *members).sort("subject")


def of_people(rated: pl.DataFrame) -> pl.DataFrame:
    """Return people's mean of each subject, how many rated it, and how far they are from it: people, raters, squares.

    `squares` is the sum of their squared deviations from the mean, less what a person is milder or stricter throughout.

    Args:
        rated: by people: subject, rater, number.
    """
    single = rated.group_by("subject", "rater", maintain_order=True).agg(pl.col("number").mean())
    deviations = single.with_columns(gap=pl.col("number") - pl.col("number").mean().over("subject"))
    deviations = deviations.with_columns(rest=pl.col("gap") - pl.col("gap").mean().over("rater"))
    shared = pl.len() > 1
    return deviations.group_by("subject", maintain_order=True).agg(
        people=pl.col("number").mean(),
        raters=pl.len().cast(pl.Float64),
        squares=pl.when(shared).then((pl.col("rest") ** 2).sum()).otherwise(0.0),
    )


def together(
    complete: pl.DataFrame, members: Sequence[str], rated: pl.DataFrame, seed: int
) -> tuple[Bound, JuryErrors]:
    """Return like how many independent judges the members err, and how far they and their mean are from people.

    Args:
        complete: as `means`, without nulls.
        members: at least two.
        rated: by people: subject, rater, number; empty where there are none.
        seed: of the folds.
    """
    rows = complete.join(of_people(rated), on="subject")
    if rows.is_empty():
        return unknown("no subject has a verdict of every member and of people")
    people, raters, squares = (rows[name].to_numpy() for name in ("people", "raters", "squares"))
    cluster, persons = rows["cluster"].rank("dense").to_numpy().astype(np.intp), rated["rater"].n_unique()
    verdicts = rows.select(members).to_numpy()
    result = juries.jury(juries.JuryRatings(verdicts, people, raters, squares, persons, cluster), seed=seed)
    mean_squares = result.errors
    errors = JuryErrors(
        mean_squares.constant,
        mean_squares.average,
        mean_squares.best,
        mean_squares.jury,
        Bound(*mean_squares.skill),
        Bound(*mean_squares.gain),
        result.floored,
    )
    return Bound(*result.independent), errors


def unknown(reason: str) -> tuple[Bound, JuryErrors]:
    """Return what is said of members where nothing can be."""
    undefined = Bound(None, note=reason)
    return undefined, JuryErrors(None, None, None, None, undefined, undefined, floored=False)


def without(complete: pl.DataFrame, members: Sequence[str], resamples: int, seed: int) -> tuple[str, list[Without]]:
    """Rank systems by the mean jury with and without each judge.

    Args:
        complete: as `means`, without nulls.
        members: at least two.
        resamples: of conversations.
        seed: of the resampling.

    Returns:
        The system that all put first, and one entry for each judge; nothing where there is only one system.
    """
    systems = complete["system"].unique().sort().to_list()
    if len(systems) < 2:
        return "", []
    column = complete["system"].rank("dense").to_numpy().astype(np.intp) - 1
    cluster = complete["cluster"].rank("dense").to_numpy().astype(np.intp) - 1
    k, s = len(members), len(systems)
    sums = np.zeros((int(cluster.max()) + 1, s, k + 1))
    np.add.at(sums, (cluster, column), np.column_stack([complete.select(members).to_numpy(), np.ones(complete.height)]))
    flat = sums.reshape(len(sums), -1)
    drawn = np.concatenate([flat.sum(axis=0)[None], *bootstrap.resampled_sums(flat, resamples, seed)])
    blocks = drawn.reshape(-1, s, k + 1)
    counts = np.where(blocks[..., k] > 0, blocks[..., k], np.nan)
    all_members = blocks[..., :k].sum(axis=2) / counts / k
    entries = []
    for j, judge in enumerate(members):
        rest = (blocks[..., :k].sum(axis=2) - blocks[..., j]) / counts / (k - 1)
        tau, same = rank.kendall_of_columns(all_members, rest), _first(all_members) == _first(rest)
        bound = bootstrap.percentile_interval(float(tau[0]), tau[1:])
        entries.append(
            Without(
                judge, Bound(*bound), systems[_first(rest)[0]],
                float(same[1:].mean()) if len(same) > 1 else None,
            )
        )  # fmt: skip
    return systems[_first(all_members)[0]], entries


def _first(scores: Floats) -> NDArray[np.intp]:
    return np.asarray(np.argmax(np.where(np.isfinite(scores), scores.round(9), -np.inf), axis=1))
