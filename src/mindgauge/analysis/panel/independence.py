"""What a further judge adds: how many independent ones the members are worth, and whether the ranking needs each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from mindgauge.analysis.panel.card import Without
from mindgauge.analysis.reliability.card import Bound
from mindgauge.stats import bootstrap, rank

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
    """Return people's mean of each subject and how much of its variance is their own error: subject, people, noise.

    The noise is the variance among a subject's people, less what one of them is milder or stricter throughout, divided
    by their number; null where a subject has one person.

    Args:
        rated: by people: subject, rater, number.
    """
    single = rated.group_by("subject", "rater", maintain_order=True).agg(pl.col("number").mean())
    apart = single.with_columns(gap=pl.col("number") - pl.col("number").mean().over("subject"))
    apart = apart.with_columns(rest=pl.col("gap") - pl.col("gap").mean().over("rater"))
    n = pl.len()
    return apart.group_by("subject", maintain_order=True).agg(
        people=pl.col("number").mean(),
        noise=pl.when(n > 1).then((pl.col("rest") ** 2).sum() / (n - 1) / n),
    )


def effective(complete: pl.DataFrame, members: Sequence[str], people: pl.DataFrame, resamples: int, seed: int) -> Bound:
    """Return how many independent judges k members are worth: k / (1 + (k - 1) r) (the design effect of Kish 1965).

    r is the mean correlation of two members' errors against people, or, where people have not rated, of their values.
    All errors against people share these people's own error. Where every subject has two people or more, it is taken
    out: their `noise` is subtracted from all variances and covariances of errors (as attenuation is corrected for,
    Spearman 1904). Where not, and where people have not rated, since values share the subjects' differences, r is
    larger and the number smaller than it is. An r below 0 counts as 0: k judges are worth k at most.

    Args:
        complete: as `means`, without nulls.
        members: k of them, at least two.
        people: as `of_people`; empty where there are none.
        resamples: of conversations.
        seed: of the resampling.
    """
    rows = complete.join(people, on="subject") if people.height else complete
    values = rows.select(members).to_numpy()
    noise = np.zeros(len(rows))
    if people.height:
        values = values - rows["people"].to_numpy()[:, None]
        noise = rows["noise"].to_numpy() if rows["noise"].null_count() == 0 else noise
    if not len(values):
        return Bound(None, note="no subject has a verdict of every member and of people")
    k = len(members)
    products = (values[:, :, None] * values[:, None, :]).reshape(len(values), k * k)
    cluster = rows["cluster"].rank("dense").to_numpy().astype(np.intp) - 1
    sums = np.zeros((int(cluster.max()) + 1, 2 + k + k * k))
    np.add.at(sums, cluster, np.column_stack([np.ones(len(values)), noise, values, products]))

    def worth(totals: Floats) -> Floats:
        n, shared = totals[:, :1], totals[:, 1:2] / totals[:, :1]
        mean = totals[:, 2 : k + 2] / n
        covariance = totals[:, k + 2 :].reshape(-1, k, k) / n[:, :, None] - mean[:, :, None] * mean[:, None, :]
        covariance = covariance - shared[:, :, None]
        spread = np.sqrt(np.maximum(np.einsum("bii->bi", covariance), 0.0))
        scale = spread[:, :, None] * spread[:, None, :]
        r = np.divide(covariance, scale, out=np.full(scale.shape, np.nan), where=scale > 1e-12)
        between = (r.sum(axis=(1, 2)) - np.einsum("bii->b", r)) / (k * (k - 1))
        return np.asarray(k / (1 + (k - 1) * np.maximum(between, 0.0)))

    found = bootstrap.interval_of_sums(worth, sums, resamples=resamples, seed=seed)
    if found.value is None:
        return Bound(None, note="a member never errs, or no more than people do among themselves")
    return Bound(found.value, found.low, found.high, found.undefined)


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
    every = blocks[..., :k].sum(axis=2) / counts / k
    found = []
    for j, judge in enumerate(members):
        rest = (blocks[..., :k].sum(axis=2) - blocks[..., j]) / counts / (k - 1)
        tau, same = rank.kendall_of_columns(every, rest), _first(every) == _first(rest)
        bound = bootstrap.percentile_interval(float(tau[0]), tau[1:])
        found.append(
            Without(
                judge, Bound(bound.value, bound.low, bound.high, bound.undefined), systems[_first(rest)[0]],
                float(same[1:].mean()) if len(same) > 1 else None,
            )
        )  # fmt: skip
    return systems[_first(every)[0]], found


def _first(scores: Floats) -> NDArray[np.intp]:
    return np.asarray(np.argmax(np.where(np.isfinite(scores), scores.round(9), -np.inf), axis=1))
