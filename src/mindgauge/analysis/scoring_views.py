"""What ratings answer: whose question it is, what is computed of them, and on which parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import polars as pl

from mindgauge.analysis import frame
from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.metrics import STATUS_RATES, Metric, share_of
from mindgauge.raters.rule import yes_or_no
from mindgauge.records.rubric import Criterion
from mindgauge.records.rubric.order import better

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class ScoringQuestion(msgspec.Struct, frozen=True):
    """What one kind of rating answers: whose question it is, its criterion, and what is computed of it."""

    benchmark: Benchmark
    criterion: Criterion
    metrics: tuple[Metric, ...]


def find(benchmark: Benchmark, name: str, kind: str, *, recognised: bool = False) -> ScoringQuestion | None:
    """Find what ratings of this criterion and kind of rater answer; None where nothing is computed of them."""
    read = next((reading.criterion for reading in benchmark.readings if reading.criterion.name == name), None)
    if read is not None:
        return ScoringQuestion(benchmark, read, _suiting(benchmark.metrics, read))
    if kind == "rule":
        return ScoringQuestion(benchmark, yes_or_no(name), (share_of("yes"), *STATUS_RATES))
    added = next((criterion for criterion in benchmark.foreign_criteria if criterion.name == name), None)
    if added is not None:
        return ScoringQuestion(benchmark, added, (*map(share_of, added.values), *STATUS_RATES))
    asking = [benchmark, *([benchmark.recognised_by] if recognised and benchmark.recognised_by else [])]
    for owner in asking:
        # The gold is what others are compared with; what people say of a closed question makes it.
        if kind == "gold" or (owner.closed and kind == "person"):
            continue
        criterion = frame.criteria(owner).get(name)
        if criterion is not None:
            return ScoringQuestion(owner, criterion, _suiting(owner.metrics, criterion))
    return None


def _suiting(metrics: Iterable[Metric], criterion: Criterion) -> tuple[Metric, ...]:
    """Return the metrics that have something to say of a criterion, each with the direction that it has there."""
    return tuple(
        metric.directed(better(criterion))
        for metric in metrics
        if metric.supports(criterion.values) and (not metric.criteria or criterion.name in metric.criteria)
    )


def slices(
    benchmark: Benchmark, rows: pl.DataFrame, *, by_recognition: bool = False
) -> Iterator[tuple[str, pl.DataFrame]]:
    """Cut ratings into `all`, named groups, each value of each slicing tag, and whether the judge saw the category.

    Subjects that were chosen by what some judge thought of them say nothing about all; they stand apart.
    """
    chosen = rows.height - rows["selection"].null_count()
    if chosen:
        selected = rows.filter(pl.col("selection").is_not_null())
        for (selection,), part in selected.group_by("selection", maintain_order=True):
            yield f"selection={selection}", part
        rows = rows.filter(pl.col("selection").is_null())
    if rows.is_empty():
        return
    yield "all", rows
    for name, tags in benchmark.groups.items():
        inside = pl.all_horizontal(pl.col(frame.tag(tag)).is_in(list(values)) for tag, values in tags.items())
        part = rows.filter(inside)
        if not part.is_empty():
            yield name, part
    for tag in benchmark.slices:
        column = frame.tag(tag)
        parts = rows.drop_nulls(column).partition_by(column, as_dict=True, maintain_order=True)
        for (value,), part in sorted(parts.items()):
            yield f"{tag}={value}", part
    if by_recognition:
        right = pl.col("protocol") == pl.col(frame.tag(benchmark.protocol))
        yield "recognised=right", rows.filter(right)
        yield "recognised=wrong", rows.filter(~right)
