"""What stands behind one headline, as far as a picture can show it: scores under noise, by group, by method, beside people.

Which of these a task has follows from the tags of its samples, so a new task that sets them needs nothing here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from mindgauge.analysis import frame, levels
from mindgauge.analysis.profile import marks
from mindgauge.analysis.profile.panel import FigureKind, FigureMark, TaskFigure
from mindgauge.benchmarks.metrics.correlation import EXPECTED, HUMAN
from mindgauge.records.rubric.composite import NO, YES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.analysis.profile.records import TaskScore
    from mindgauge.benchmarks import Benchmark
    from mindgauge.records.rubric import Criterion
    from mindgauge.store import Store


def panels(store: Store, benchmark: Benchmark, rated: pl.DataFrame, score: TaskScore) -> list[TaskFigure]:
    """Return what can be shown of one model in one task; nothing where its samples have none of the tags.

    Args:
        store: of the run.
        benchmark: the task.
        rated: its ratings (columns as in `frame.ratings`).
        score: the headline, which says whose ratings on which criteria count.
    """
    by_name = criteria_of(benchmark)
    named = (part.partition(" (")[0] for part in score.criterion.split(" + "))
    criteria = [name for name in dict.fromkeys(named) if name in by_name]
    rows = _rows(rated, benchmark, score).join(_tags(store, benchmark), on="sample", how="left", maintain_order="left")
    result: list[TaskFigure] = []
    for name in criteria:
        part = _valued(rows.filter(pl.col("criterion") == name), by_name[name], closed=benchmark.closed)
        if part.is_empty():
            continue
        for kind, kind_marks, totals in _kinds(part, by_name[name], closed=benchmark.closed):
            about = (score.model, score.rater, name, benchmark.closed)
            has_people = kind is not FigureKind.PEOPLE or part[HUMAN].drop_nulls().len() > 0
            result.append(TaskFigure(kind, benchmark.name, score.task, *about, kind_marks, totals, has_people))
    return result


def criteria_of(benchmark: Benchmark) -> dict[str, Criterion]:
    """Return what headlines can be on: the rubric's criteria, composites, and what is read from replies by rule."""
    return {reading.criterion.name: reading.criterion for reading in benchmark.readings} | frame.criteria(benchmark)


def _rows(rated: pl.DataFrame, benchmark: Benchmark, score: TaskScore) -> pl.DataFrame:
    """Return the ratings that the headline is made of."""
    rows = rated.filter(
        pl.col("model") == score.model, pl.col("selection").is_null(), pl.col("status") != "not_applicable"
    )
    if benchmark.closed:
        return rows.filter(pl.col("rater") == score.model)
    read = [reading.rater for reading in benchmark.readings]
    return rows.filter((pl.col("rater") == score.rater) | pl.col("rater").is_in(read))


_TAGS = ("noise", "intensity", "axis", "group", "method", HUMAN, EXPECTED, "tier")


def _tags(store: Store, benchmark: Benchmark) -> pl.DataFrame:
    """Return the tags that pictures are made of, whether or not scores are sliced by them."""
    rows = [(s.id, *(s.tags.get(name) for name in _TAGS)) for s in store.samples(benchmark.name)]
    return pl.DataFrame(rows, dict.fromkeys(("sample", *_TAGS), pl.String), orient="row")


def _valued(rows: pl.DataFrame, criterion: Criterion, *, closed: bool) -> pl.DataFrame:
    """Add `ok`, `number` (the level itself) and `item_score` in [0, 1].

    A closed answer is worth 1 where it is the target, and 0 where it is not or cannot be read; a level is worth its share
    of the way from the worst to the best, and null where there is none.
    """
    ok = pl.col("status") == "ok"
    right = (ok & (pl.col("value") == pl.col("target"))).fill_null(value=False).cast(pl.Float64)
    return rows.with_columns(
        ok=ok,
        number=pl.when(ok).then(levels.number(criterion)),
        item_score=right if closed else pl.when(ok).then(levels.share(criterion)),
    )


def _kinds(
    rows: pl.DataFrame, criterion: Criterion, *, closed: bool
) -> Iterator[tuple[FigureKind, list[FigureMark], list[FigureMark]]]:
    present = {name for name in _TAGS if rows[name].drop_nulls().len() > 0}
    if {"noise", "intensity"} <= present:
        yield FigureKind.CURVES, list(marks.curves(rows)), []
    if "axis" in present and (group_marks := marks.groups(rows)) is not None:
        yield FigureKind.GROUPS, *group_marks
    if "method" in present and len(criterion.values) > 2 and all(isinstance(value, str) for value in criterion.values):
        yield FigureKind.OUTCOMES, list(marks.outcomes(rows, criterion)), []
    if present & {HUMAN, EXPECTED}:
        yield FigureKind.PEOPLE, *marks.people(rows)
    if not closed and set(criterion.values) == {YES, NO}:
        yield FigureKind.RATES, [marks.rate(rows, criterion)], []
