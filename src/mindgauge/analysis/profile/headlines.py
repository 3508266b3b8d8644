"""A task's headline as tables: of every part and model, the ratings on the samples that all models have."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from mindgauge.analysis import frame, scoring_views, usable
from mindgauge.analysis.profile.reading import judged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.profile.reading import TaskRatings
    from mindgauge.analysis.scoring_views import ScoringQuestion
    from mindgauge.benchmarks.metrics import Metric, RatingTable
    from mindgauge.benchmarks.suite import Task, TaskMetric

NOTHING_COMMON = "no sample is common to all models that did it, so nothing is compared"


class MeasuredPart(NamedTuple):
    """What one part of a headline is computed of, for one model: ratings as columns, and as the rows that they were."""

    part: TaskMetric
    question: ScoringQuestion
    metric: Metric
    table: RatingTable
    rows: pl.DataFrame


class TaskHeadline(NamedTuple):
    """A task's parts for the models that have them all; `reasons` says of the others, or of all, why they have no score."""

    task: Task
    parts: tuple[TaskMetric, ...]
    models: dict[str, tuple[MeasuredPart, ...]]
    reasons: dict[str, str]
    rater: str
    """Who rated the replies; empty where nobody had to."""


class _Cut(NamedTuple):
    """The ratings that one part of a headline is about."""

    part: TaskMetric
    rows: pl.DataFrame


def headline(task: Task, rated: TaskRatings, judge: str, notes: list[str]) -> TaskHeadline:
    """Cut a task's ratings into the parts of its headline, each reduced to the samples that all its models have.

    Args:
        task: of the suite.
        rated: its ratings.
        judge: whose ratings of replies count.
        notes: gets a line for what is left out.
    """
    rows = _same_targets(task, rated.rows, notes)
    raters = judged(rated.benchmark, rows)["rater"].unique().to_list()
    counted = rows.filter((pl.col("rater") == judge) | ~pl.col("rater").is_in(raters))
    cuts = [_Cut(part, _of(counted, part)) for part in task.headline]
    if task.whichever:
        cuts = [cut for cut in cuts if not cut.rows.is_empty()]
    models = rows["model"].unique(maintain_order=True).to_list()
    reasons = {model: _why_not(cuts, model, judge if raters else "") for model in models}
    lacking = {model: reason for model, reason in reasons.items() if reason}
    scored = [model for model in models if model not in lacking]
    cuts = [_common(task, cut, scored, notes) for cut in cuts]
    if scored and any(cut.rows.is_empty() for cut in cuts):
        lacking, scored = {**lacking, **dict.fromkeys(scored, NOTHING_COMMON)}, []
    measured = {model: tuple(_measured(rated, cut, model) for cut in cuts) for model in scored}
    present = {rater for cut in cuts for rater in cut.rows["rater"].unique()}
    rater = judge if judge in raters and judge in present else ""
    return TaskHeadline(task, tuple(cut.part for cut in cuts), measured, lacking, rater)


def _of(rows: pl.DataFrame, part: TaskMetric) -> pl.DataFrame:
    inside = [pl.col(frame.tag(tag)) == value for tag, value in part.where.items()]
    return rows.filter(pl.col("criterion") == part.criterion, *inside)


def _why_not(cuts: Sequence[_Cut], model: str, judge: str) -> str:
    """Say why a model has no score; empty if it has one."""
    for part, rows in cuts:
        model_rows = rows.filter(pl.col("model") == model)
        if model_rows.is_empty():
            return f"no ratings on {spelled(part)}" + (f" by {judge}" if judge else "")
        judged_ = bool((model_rows["rater"] == judge).all())
        shortage = usable.of_rows(model_rows, closed=not judged_)
        if shortage:
            return (
                f"{judge} gave {shortage} on {spelled(part)}" if judged_ else f"it gave {shortage} on {spelled(part)}"
            )
    return "" if cuts else "no ratings"


def spelled(part: TaskMetric) -> str:
    """Write what a part is about."""
    conditions = ", ".join(f"{tag}={value}" for tag, value in part.where.items())
    return f"{part.criterion} ({conditions})" if conditions else part.criterion


def _same_targets(task: Task, rows: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    """Leave out samples whose target is not the same in all runs."""
    key = ["sample", "criterion"]
    differing = rows.group_by(key).agg(pl.col("target").n_unique()).filter(pl.col("target") > 1)
    if differing.is_empty():
        return rows
    samples = differing["sample"].n_unique()
    notes.append(f"{task.title}: {samples} samples have different targets in different runs; left out")
    return rows.join(differing, on="sample", how="anti", maintain_order="left")


def _common(task: Task, cut: _Cut, models: Sequence[str], notes: list[str]) -> _Cut:
    """Keep some models' ratings of the samples that they all have, and say how many others there are."""
    rows = cut.rows.filter(pl.col("model").is_in(models))
    having = rows.group_by("sample").agg(pl.col("model").n_unique())
    shared = having.filter(pl.col("model") == len(models))["sample"]
    if 0 < len(shared) < len(having):
        about = "" if len(task.headline) == 1 else f" of {spelled(cut.part)}"
        count = f"{len(shared)} of {len(having)} samples{about}"
        notes.append(f"{task.title}: {count} are common to all {len(models)} models; only these count")
    return cut._replace(rows=rows.filter(pl.col("sample").is_in(shared.implode())))


def _measured(rated: TaskRatings, cut: _Cut, model: str) -> MeasuredPart:
    part, rows = cut.part, cut.rows.filter(pl.col("model") == model)
    question = scoring_views.find(rated.benchmark, part.criterion, str(rows["rater_kind"].first()))
    assert question is not None, f"{rated.benchmark.name} has no criterion {part.criterion}"
    metric = next(m for m in question.metrics if m.name == part.metric and not m.label)
    # `rows` of a table puts it in the order of its clusters; ratings that are in it already stay where they are.
    rows = rows.sort("cluster", maintain_order=True)
    table = frame.table(rows, question.criterion, question.benchmark.metric_tags)
    concerned = metric.applies_to(table)
    return MeasuredPart(part, question, metric, table.rows(concerned), rows.filter(pl.Series(concerned)))
