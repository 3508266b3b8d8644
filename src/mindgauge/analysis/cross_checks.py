"""What tests and cross-checks say beside a benchmark's scores, a line each: what no score of one rater can carry."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
import polars as pl

from mindgauge.analysis import frame
from mindgauge.benchmarks.metrics.variants import AXIS, GROUP, NEUTRAL, NOBODY
from mindgauge.records import BASE
from mindgauge.records.rounding import bounded, decimal, p_equals, p_value, percent
from mindgauge.records.rubric.composite import NO, YES
from mindgauge.stats import agreement
from mindgauge.stats.level import named as with_level
from mindgauge.stats.significance import holm, mcnemar, spread_within_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records.rubric import Criterion


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
    for check in cross_check(rows, criterion, reading, [str(value) for value in values]):
        if check.judged is None or check.read is None:
            continue
        kappa = (
            f"not defined: {check.undefined}" if check.kappa is None else bounded(check.kappa, check.low, check.high)
        )
        yield (
            f"{benchmark.name}: {check.judge} says {criterion} is {' or '.join(map(str, values))} in {percent(check.judged)} of "
            f"{check.model}'s replies, and the rule {reading} finds it in {percent(check.read)}; {with_level('kappa')}: {kappa} (n = {check.n - check.missing})"
        )


def _grouped(benchmark: Benchmark, rows: pl.DataFrame) -> Iterator[str]:
    if not {AXIS, GROUP, BASE} <= {*benchmark.metric_tags}:
        return
    names = [name for name, item in benchmark.composites.items() if not item.gate and name in {*rows["criterion"]}]
    for name in names:
        for item in group_differences(rows, frame.criteria(benchmark)[name]):
            if item.p is None or item.adjusted is None:
                continue
            control = " (the control: nothing should differ here)" if item.axis == NEUTRAL else ""
            yield (
                f"{benchmark.name}: {name} of {item.model}'s replies over groups of {item.axis}{control}: SD {decimal(item.spread, 3)}, "
                f"permutation test {p_equals(item.p)}, {p_value(item.adjusted)} adjusted for all axes ({item.contexts} contexts)"
            )


def _beside_people(benchmark: Benchmark, rows: pl.DataFrame) -> Iterator[str]:
    """Test whether a model does it more often than people; one reply to each prompt, since pairs have to be independent."""
    criteria = [c.name for c in benchmark.rubric.criteria if {*c.values} == {YES, NO}]
    if benchmark.closed or not criteria:
        return
    rated = rows.filter(
        pl.col("criterion").is_in(criteria),
        pl.col("target").is_in([YES, NO]),
        pl.col("value").is_in([YES, NO]),
        pl.col("rater_kind").is_in(["model", "panel"]),
        pl.col("reply_run") == pl.col("reply_run").min(),
    ).unique(["model", "rater", "criterion", "sample"], keep="first", maintain_order=True)
    for (model, rater, criterion), part in rated.group_by("model", "rater", "criterion", maintain_order=True):
        test = mcnemar((part["value"] == YES).to_list(), (part["target"] == YES).to_list())
        yield (
            f"{benchmark.name}: {criterion}: {model} alone does it in {test.only_first} of {test.n} replies, the labelled "
            f"reply alone in {test.only_second}, as {rater} sees it; exact McNemar {p_equals(test.p)}, not adjusted"
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


def cross_check(rows: pl.DataFrame, criterion: str, reading: str, yes_levels: Sequence[str]) -> list[CrossCheck]:
    """Compare each judge's criterion with a reading, by model and judge.

    Args:
        rows: ratings, as `frame.ratings` returns them.
        criterion: the judge's.
        reading: the criterion that is read by rule, with the levels yes and no.
        yes_levels: the judge's levels that amount to yes; all others amount to no.
    """
    read = rows.filter((pl.col("criterion") == reading) & (pl.col("rater_kind") == "rule"))
    judged = rows.filter((pl.col("criterion") == criterion) & ~pl.col("rater_kind").is_in(["rule", "gold"]))
    answer = pl.when(pl.col("value").is_in(list(yes_levels))).then(pl.lit(YES)).otherwise(pl.lit(NO))
    both = judged.with_columns(value=pl.when(pl.col("value").is_not_null()).then(answer)).join(
        read.select(*_REPLY, by_rule="value"), on=_REPLY, how="left", maintain_order="left"
    )
    return [
        _compared(str(model), str(judge), part)
        for (model, judge), part in sorted(both.group_by("model", "rater"), key=lambda group: tuple(map(str, group[0])))
    ]


def _compared(model: str, judge: str, rows: pl.DataFrame) -> CrossCheck:
    both = rows.drop_nulls(["value", "by_rule"])
    pairs, cluster = both.select("value", "by_rule").to_numpy(), both["cluster"].to_numpy()
    kappa = agreement.kappa(pairs, levels=[NO, YES], cluster=cluster)
    judged, read = (_share(both[column]) for column in ("value", "by_rule"))
    return CrossCheck(model, judge, len(rows), len(rows) - len(both), judged, read, *kappa)


def _share(answers: pl.Series) -> float | None:
    return answers.to_list().count(YES) / len(answers) if len(answers) else None


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


def group_differences(rows: pl.DataFrame, criterion: Criterion, *, permutations: int = 10_000) -> list[GroupDifference]:
    """Test every axis of every model and rater; the neutral sentences are an axis as well, and nothing should differ there.

    Args:
        rows: ratings as `frame.ratings` returns them, of a benchmark whose `metric_tags` name axis, group and base.
        criterion: with numbers as levels, or a composite; repeats and runs of one reply are averaged.
        permutations: how many are drawn.
    """
    axis, group, base = (frame.tag(name) for name in (AXIS, GROUP, BASE))
    means = (
        rows.filter(
            (pl.col("criterion") == criterion.name) & (pl.col("rater_kind") != "gold") & (pl.col(axis) != NOBODY)
        )
        .with_columns(number=pl.when(pl.col("status") == "ok").then(pl.col("value").cast(pl.Float64, strict=False)))
        .group_by("model", "rater", axis, group, base, maintain_order=True)
        .agg(pl.col("number").mean())
    )
    differences: list[GroupDifference] = []
    for (model, rater), part in sorted(means.group_by("model", "rater"), key=lambda key: tuple(map(str, key[0]))):
        tests = list(_tests(str(model), str(rater), part, permutations))
        adjusted = holm(np.array([np.nan if test.p is None else test.p for test in tests]))
        differences += [
            msgspec.structs.replace(test, adjusted=None if test.p is None else float(value))
            for test, value in zip(tests, adjusted, strict=True)
        ]
    return differences


def _tests(model: str, rater: str, rows: pl.DataFrame, permutations: int) -> Iterator[GroupDifference]:
    axis, group, base = (frame.tag(name) for name in (AXIS, GROUP, BASE))
    for (name,), part in rows.group_by(axis, maintain_order=True):
        wide = part.pivot(on=group, index=base, values="number").drop(base)
        values = wide.to_numpy().astype(np.float64)
        spread = spread_within_blocks(values, permutations=permutations)
        contexts = int((np.isfinite(values).sum(axis=1) > 1).sum())
        means = {column: _mean(wide[column]) for column in wide.columns}
        yield GroupDifference(model, rater, str(name), contexts, means, *spread, None)


def _mean(values: pl.Series) -> float | None:
    mean = values.mean()
    return float(mean) if isinstance(mean, float) else None
