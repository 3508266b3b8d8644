"""What tests and cross-checks say beside a benchmark's scores, a line each: what no score of one rater can carry."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
import polars as pl

from mindgauge.analysis import frame
from mindgauge.metrics.groups import AXIS, GROUP, NEUTRAL, NOBODY
from mindgauge.records import BASE
from mindgauge.rounding import bounded, decimal, p_equals, p_value, percent
from mindgauge.rubric.composite import NO, YES
from mindgauge.stats import agreement
from mindgauge.stats.mcnemar import mcnemar
from mindgauge.stats.multiplicity import holm
from mindgauge.stats.permutation import spread_within_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.benchmark import Benchmark
    from mindgauge.rubric import Criterion


def notes(benchmark: Benchmark, rows: pl.DataFrame) -> list[str]:
    """Test what a benchmark's samples allow: a judge beside a rule, groups of people, models beside people.

    Args:
        benchmark: whose ratings they are.
        rows: ratings, as `frame.ratings` returns them.
    """
    return [*_crossed(benchmark, rows), *_grouped(benchmark, rows), *_beside_people(benchmark, rows)]


def _crossed(benchmark: Benchmark, rows: pl.DataFrame) -> Iterator[str]:
    if benchmark.cross_checked is None:
        return
    criterion, reading, values = benchmark.cross_checked
    for one in cross_check(rows, criterion, reading, [str(value) for value in values]):
        if one.judged is None or one.read is None:
            continue
        kappa = one.undefined if one.kappa is None else bounded(one.kappa, one.low, one.high)
        yield (
            f"{benchmark.name}: of {one.model}'s replies {one.judge} calls {percent(one.judged)} {' or '.join(map(str, values))}, "
            f"the rule {reading} finds {percent(one.read)}; Cohen's kappa {kappa} (n = {one.n - one.missing})"
        )


def _grouped(benchmark: Benchmark, rows: pl.DataFrame) -> Iterator[str]:
    if not {AXIS, GROUP, BASE} <= {*benchmark.by}:
        return
    names = [name for name, one in benchmark.composites.items() if not one.gate and name in {*rows["criterion"]}]
    for name in names:
        for one in group_differences(rows, frame.criteria(benchmark)[name]):
            if one.p is None or one.adjusted is None:
                continue
            control = " (the control: nothing should differ here)" if one.axis == NEUTRAL else ""
            yield (
                f"{benchmark.name}: {name} of {one.model}'s replies over groups of {one.axis}{control}: SD {decimal(one.spread, 3)}, "
                f"permutation test {p_equals(one.p)}, {p_value(one.adjusted)} adjusted for all axes ({one.contexts} contexts)"
            )


def _beside_people(benchmark: Benchmark, rows: pl.DataFrame) -> Iterator[str]:
    """Test whether a model does it oftener than people; one reply to each prompt, since pairs have to be independent."""
    asked = [c.name for c in benchmark.rubric.criteria if {*c.values} == {YES, NO}]
    if benchmark.closed or not asked:
        return
    known = rows.filter(
        pl.col("criterion").is_in(asked),
        pl.col("target").is_in([YES, NO]),
        pl.col("value").is_in([YES, NO]),
        pl.col("rater_kind").is_in(["model", "panel"]),
        pl.col("reply_run") == pl.col("reply_run").min(),
    ).unique(["model", "rater", "criterion", "sample"], keep="first", maintain_order=True)
    for (model, rater, criterion), its in known.group_by("model", "rater", "criterion", maintain_order=True):
        found = mcnemar((its["value"] == YES).to_list(), (its["target"] == YES).to_list())
        yield (
            f"{benchmark.name}: {criterion}: {model} alone does it in {found.only_first} of {found.n} replies, the labelled "
            f"reply alone in {found.only_second}, as {rater} sees it; exact McNemar {p_equals(found.p)}, not adjusted"
        )


_REPLY = ["model", "subject"]


class CrossCheck(msgspec.Struct, frozen=True):
    """A judge's ratings of a model's replies beside a rule's reading of them.

    Of the judge's `n` ratings, `missing` lack a value, or the reply a reading. `judged` and `read` say how often each found
    it in the others; `kappa` is Cohen's, with its bounds over conversations, None where it is not defined, and `undefined`
    says why.
    """

    model: str
    judge: str
    n: int
    missing: int
    judged: float | None
    read: float | None
    kappa: float | None
    low: float | None
    high: float | None
    undefined: str = ""


def cross_check(
    rows: pl.DataFrame, criterion: str, reading: str, yes: Sequence[str], *, resamples: int = 2000, seed: int = 0
) -> list[CrossCheck]:
    """Compare each judge's criterion with a reading, by model and judge.

    Args:
        rows: ratings, as `frame.ratings` returns them.
        criterion: the judge's.
        reading: the criterion that is read by rule, with the levels yes and no.
        yes: the judge's levels that amount to yes; all others amount to no.
        resamples: of conversations.
        seed: of the bootstrap.
    """
    read = rows.filter((pl.col("criterion") == reading) & (pl.col("rater_kind") == "rule"))
    asked = rows.filter((pl.col("criterion") == criterion) & ~pl.col("rater_kind").is_in(["rule", "gold"]))
    found = pl.when(pl.col("value").is_in(list(yes))).then(pl.lit(YES)).otherwise(pl.lit(NO))
    both = asked.with_columns(value=pl.when(pl.col("value").is_not_null()).then(found)).join(
        read.select(*_REPLY, by_rule="value"), on=_REPLY, how="left", maintain_order="left"
    )
    return [
        _compared(str(model), str(judge), its, resamples, seed)
        for (model, judge), its in sorted(both.group_by("model", "rater"), key=lambda group: tuple(map(str, group[0])))
    ]


def _compared(model: str, judge: str, rows: pl.DataFrame, resamples: int, seed: int) -> CrossCheck:
    known = rows.drop_nulls(["value", "by_rule"])
    found = agreement.kappa(
        known.select("value", "by_rule").to_numpy(),
        levels=[NO, YES],
        cluster=known["cluster"].to_numpy(),
        resamples=resamples,
        seed=seed,
    )
    judged, read = (_share(known[column]) for column in ("value", "by_rule"))
    return CrossCheck(model, judge, len(rows), len(rows) - len(known), judged, read, *found)


def _share(said: pl.Series) -> float | None:
    return said.to_list().count(YES) / len(said) if len(said) else None


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
