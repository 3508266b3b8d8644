"""What tests and cross-checks say beside a benchmark's scores, a line each: what no score of one rater can carry."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from mindgauge.analysis import frame
from mindgauge.analysis.cross_check import cross_check
from mindgauge.analysis.group_differences import group_differences
from mindgauge.metrics.groups import AXIS, GROUP, NEUTRAL
from mindgauge.records import BASE
from mindgauge.rounding import bounded, decimal, p_equals, p_value, percent
from mindgauge.rubric.composite import NO, YES
from mindgauge.stats.mcnemar import mcnemar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.benchmark import Benchmark


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
