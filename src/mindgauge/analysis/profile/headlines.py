"""A task's headline as tables: of every part and model, the ratings on the samples that all models have."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from mindgauge.analysis import frame, questions
from mindgauge.analysis.profile.reading import judged

if TYPE_CHECKING:
    from mindgauge.analysis.profile.reading import Rated
    from mindgauge.analysis.questions import Question
    from mindgauge.metrics import Metric, Table
    from mindgauge.suite import Part, Task


class Measured(NamedTuple):
    """What one part of a headline is computed of, for one model: ratings as columns, and as the rows that they were."""

    part: Part
    question: Question
    metric: Metric
    table: Table
    rows: pl.DataFrame


class Headline(NamedTuple):
    """A task's parts for the models that have them all; `why` says of the others, or of all, why they have no score."""

    task: Task
    parts: tuple[Part, ...]
    models: dict[str, tuple[Measured, ...]]
    why: dict[str, str]
    rater: str
    """Who rated the replies; empty where nobody had to."""


def headline(task: Task, rated: Rated, judge: str, notes: list[str]) -> Headline:
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
    parts = {part: _of(counted, part) for part in task.headline}
    if task.whichever:
        parts = {part: its for part, its in parts.items() if not its.is_empty()}
    models = rows["model"].unique(maintain_order=True).to_list()
    reasons = {model: _why_not(parts, model, judge if raters else "") for model in models}
    why = {model: reason for model, reason in reasons.items() if reason}
    scored = [model for model in models if model not in why]
    for part, its in parts.items():
        parts[part] = _common(task, part, its.filter(pl.col("model").is_in(scored)), notes)
    if scored and any(its.is_empty() for its in parts.values()):
        alone = "no sample is common to all models that did it, so nothing is compared"
        notes.append(f"{task.title}: {alone}")
        why, scored = {**why, **dict.fromkeys(scored, alone)}, []
    found = {
        model: tuple(_measured(rated, part, its.filter(pl.col("model") == model)) for part, its in parts.items())
        for model in scored
    }
    there = {rater for its in parts.values() for rater in its["rater"].unique()}
    return Headline(task, tuple(parts), found, why, judge if judge in raters and judge in there else "")


def _of(rows: pl.DataFrame, part: Part) -> pl.DataFrame:
    inside = [pl.col(frame.tag(tag)) == value for tag, value in part.where.items()]
    return rows.filter(pl.col("criterion") == part.criterion, *inside)


def _why_not(parts: dict[Part, pl.DataFrame], model: str, judge: str) -> str:
    """Say why a model has no score; empty if it has one."""
    for part, rows in parts.items():
        its = rows.filter(pl.col("model") == model)
        if its.is_empty():
            return f"no ratings on {spelled(part)}" + (f" by {judge}" if judge else "")
        # An answer that cannot be read is wrong; a verdict that cannot be read says nothing of the reply.
        if (its["rater"] == judge).all() and not (its["status"] == "ok").any():
            return f"{judge} gave no verdict on {spelled(part)} ({len(its)} of {len(its)} missing)"
        if (its["status"] == "failed").all():
            return f"no answer came for {spelled(part)} ({len(its)} of {len(its)} calls failed)"
    return "" if parts else "no ratings"


def spelled(part: Part) -> str:
    """Write what a part is about."""
    where = ", ".join(f"{tag}={value}" for tag, value in part.where.items())
    return f"{part.criterion} ({where})" if where else part.criterion


def _same_targets(task: Task, rows: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    """Leave out samples whose target is not the same in all runs."""
    key = ["sample", "criterion"]
    differing = rows.group_by(key).agg(pl.col("target").n_unique()).filter(pl.col("target") > 1)
    if differing.is_empty():
        return rows
    samples = differing["sample"].n_unique()
    notes.append(f"{task.title}: {samples} samples have another target in another run; left out")
    return rows.join(differing, on="sample", how="anti", maintain_order="left")


def _common(task: Task, part: Part, rows: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    """Keep the samples that all models have, and say how many others there are."""
    models = rows["model"].n_unique()
    having = rows.group_by("sample").agg(pl.col("model").n_unique())
    kept = having.filter(pl.col("model") == models)["sample"]
    if len(kept) < len(having):
        about = "" if len(task.headline) == 1 else f" of {spelled(part)}"
        notes.append(
            f"{task.title}: {len(kept)} of {len(having)} samples{about} are common to all {models} models; only these count"
        )
    return rows.filter(pl.col("sample").is_in(kept.implode()))


def _measured(rated: Rated, part: Part, rows: pl.DataFrame) -> Measured:
    question = questions.find(rated.benchmark, part.criterion, str(rows["rater_kind"].first()))
    assert question is not None, f"{rated.benchmark.name} has no criterion {part.criterion}"
    metric = next(m for m in question.metrics if m.name == part.metric and not m.label)
    # `rows` of a table puts it in the order of its clusters; ratings that are in it already stay where they are.
    rows = rows.sort("cluster", maintain_order=True)
    table = frame.table(rows, question.criterion, question.benchmark.by)
    concerned = metric.concerns(table)
    return Measured(part, question, metric, table.rows(concerned), rows.filter(pl.Series(concerned)))
