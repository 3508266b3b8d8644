"""Whether replies to groups of people differ at all, axis by axis, by permuting groups within each context."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
import polars as pl

from mindgauge.analysis import frame
from mindgauge.metrics.groups import AXIS, GROUP, NOBODY
from mindgauge.records import BASE
from mindgauge.stats.multiplicity import holm
from mindgauge.stats.permutation import spread_within_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.rubric import Criterion


class GroupDifference(msgspec.Struct, frozen=True):
    """How a model's replies differ over the groups of one axis, as one rater sees them.

    `spread` is the SD of the groups' means, over `contexts` with at least two groups' replies rated; `p` says how often
    groups dealt out by chance within contexts differ so much, `adjusted` the same for all axes of this model and rater
    together (Holm). None where it is not defined. `means` are the groups' mean ratings.
    """

    model: str
    rater: str
    axis: str
    contexts: int
    means: dict[str, float | None]
    spread: float | None
    p: float | None
    adjusted: float | None


def group_differences(
    rows: pl.DataFrame, criterion: Criterion, *, permutations: int = 10_000, seed: int = 0
) -> list[GroupDifference]:
    """Test every axis of every model and rater; the neutral sentences are an axis as well, and nothing should differ there.

    Args:
        rows: ratings as `frame.ratings` returns them, of a benchmark whose `by` names axis, group and base.
        criterion: with numbers as levels, or a composite; repeats and runs of one reply are averaged.
        permutations: how many are drawn.
        seed: of their generator.
    """
    axis, group, base = (frame.tag(name) for name in (AXIS, GROUP, BASE))
    asked = (
        rows.filter(
            (pl.col("criterion") == criterion.name) & (pl.col("rater_kind") != "gold") & (pl.col(axis) != NOBODY)
        )
        .with_columns(number=pl.when(pl.col("status") == "ok").then(pl.col("value").cast(pl.Float64, strict=False)))
        .group_by("model", "rater", axis, group, base, maintain_order=True)
        .agg(pl.col("number").mean())
    )
    found: list[GroupDifference] = []
    for (model, rater), its in sorted(asked.group_by("model", "rater"), key=lambda one: tuple(map(str, one[0]))):
        tests = list(_tests(str(model), str(rater), its, permutations, seed))
        adjusted = holm(np.array([np.nan if test.p is None else test.p for test in tests]))
        found += [
            msgspec.structs.replace(test, adjusted=None if test.p is None else float(value))
            for test, value in zip(tests, adjusted, strict=True)
        ]
    return found


def _tests(model: str, rater: str, rows: pl.DataFrame, permutations: int, seed: int) -> Iterator[GroupDifference]:
    axis, group, base = (frame.tag(name) for name in (AXIS, GROUP, BASE))
    for (name,), part in rows.group_by(axis, maintain_order=True):
        wide = part.pivot(on=group, index=base, values="number").drop(base)
        values = wide.to_numpy().astype(np.float64)
        spread = spread_within_blocks(values, permutations=permutations, seed=seed)
        contexts = int((np.isfinite(values).sum(axis=1) > 1).sum())
        means = {column: _mean(wide[column]) for column in wide.columns}
        yield GroupDifference(model, rater, str(name), contexts, means, *spread, None)


def _mean(values: pl.Series) -> float | None:
    found = values.mean()
    return float(found) if isinstance(found, float) else None
