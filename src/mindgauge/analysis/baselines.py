"""Raters that read nothing: what one answer to everything would score, beside those that read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from mindgauge.records import RaterKind

if TYPE_CHECKING:
    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Value

MAJORITY = "majority class"


def labels(benchmark: Benchmark) -> tuple[Value, ...]:
    """Return the labels that a benchmark wants a constant rater for."""
    return benchmark.baselines if benchmark.closed else ()


def names(benchmark: Benchmark) -> list[str]:
    """Return the names of a benchmark's constant raters; none unless it asks for them."""
    wanted = labels(benchmark)
    return [*map(always, wanted), MAJORITY] if wanted else []


def always(label: Value) -> str:
    """Name the rater that always gives one label."""
    return f"always {label}"


def baselines(benchmark: Benchmark, ratings: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return what each constant rater would say of every sample that has a target, as ratings.

    The majority class is the label that most of these samples have, the first in the rubric among equals. It is known
    only to those who know the targets, so it is the most that saying one thing can reach, and no fair competitor.

    Args:
        benchmark: a closed one that asks for baselines, or any other, which has none.
        ratings: of the benchmark in a run, gold included (columns as in `frame.ratings`).
    """
    wanted = labels(benchmark)
    if not wanted:
        return {}
    criterion = benchmark.rubric.criteria[0]
    samples = ratings.filter(
        pl.col("criterion") == criterion.name, pl.col("target").is_not_null(), pl.col("selection").is_null()
    ).unique("sample", keep="first", maintain_order=True)
    if samples.is_empty():
        return {}
    counts = dict(samples.group_by("target").len().iter_rows())
    majority = max(map(str, criterion.values), key=lambda label: counts.get(label, 0))
    raters = {always(label): str(label) for label in wanted} | {MAJORITY: majority}
    return {name: _constant(samples, name, label) for name, label in raters.items()}


def _constant(samples: pl.DataFrame, rater: str, label: str) -> pl.DataFrame:
    ok, kind, run = pl.lit("ok"), pl.lit(RaterKind.RULE.value), pl.lit(0, pl.Int64)
    return samples.with_columns(
        subject="sample", rater=pl.lit(rater), model=pl.lit(rater), rater_kind=kind, run=run, status=ok,
        value=pl.lit(label),
    )  # fmt: skip
