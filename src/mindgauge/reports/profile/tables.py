"""The tables behind a suite's pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.reports.content import Column, ReportTable
from mindgauge.reports.profile.phrases import defined

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mindgauge.analysis.profile import DimensionScore, TaskScore
    from mindgauge.analysis.profile.panel import TaskFigure
    from mindgauge.reports.content import Cell

SCALED = "Scaled scores lie between 0 (worst) and 1 (best); chance is what guessing would get on the same scale."


def dimensions(scores: Sequence[DimensionScore], titles: dict[str, str], labels: Mapping[str, str]) -> ReportTable:
    """Write every model's score and ranks in every dimension."""
    columns = [
        Column("dimension"), Column("model"), Column("score", "level"), Column("from", "level"), Column("to", "level"),
        Column("rank", "level"), Column("rank from", "level"), Column("rank to", "level"),
        Column("cannot be told apart from"), Column("over the tasks"), Column("without"),
        Column("mean of task ranks", "level"), Column("rank of that mean", "level"),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [
            s.dimension, labels[s.model], s.value, s.low, s.high, s.rank, s.rank_low, s.rank_high,
            ", ".join(labels.get(m, m) for m in s.indistinguishable), _titles(s.tasks, titles), _titles(s.lacking, titles),
            s.mean_rank, s.rank_of_mean_rank,
        ]
        for s in scores
    ]  # fmt: skip
    note = (
        "A score is the mean of the scaled scores of the tasks that all these models have. The last two columns are the "
        "source's own way: ranks per task are averaged and ranked again, which hides how far apart models are."
    )
    return ReportTable("profile-dimensions", "Scores and ranks by dimension", columns, rows, note)


def _titles(tasks: Sequence[str], titles: dict[str, str]) -> str:
    return ", ".join(titles.get(task, task.replace("_", " ")) for task in tasks)


def tasks(scores: Sequence[TaskScore], name: str, title: str, labels: Mapping[str, str]) -> ReportTable:
    """Write every model's score in every task, in its own unit and scaled."""
    columns = [
        Column("dimension"), Column("task"), Column("model"), Column("scaled", "level"), Column("from", "level"),
        Column("to", "level"), Column("chance", "level"), Column("measure"), Column("of"), Column("value", "level"),
        Column("value from", "level"), Column("value to", "level"), Column("better is"), Column("n", "count"),
        Column("conversations", "count"), Column("missing", "count"), Column("if all worst", "level"),
        Column("if all best", "level"), Column("defined by"), Column("rank", "level"), Column("rank from", "level"),
        Column("rank to", "level"), Column("rated by"), Column("note"),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [
            s.dimension, s.title, labels[s.model], s.scaled, s.scaled_low, s.scaled_high, s.chance, s.metric,
            s.criterion, s.value, s.low, s.high, s.better, s.n, s.clusters, s.missing, s.worst, s.best,
            defined(s.defined), s.rank, s.rank_low, s.rank_high, s.rater, s.note,
        ]
        for s in scores
    ]  # fmt: skip
    return ReportTable(name, title, columns, rows, SCALED)


def marks(
    panels: Sequence[TaskFigure], name: str, title: str, part: str, of: str, labels: Mapping[str, str], beside: str = ""
) -> ReportTable:
    """Write what panels show, one row for each mark.

    Args:
        panels: of one kind.
        name: of the file.
        title: of the table.
        part: what `part` is called.
        of: what `of` is called; empty leaves the column out.
        labels: what each model is called.
        beside: what stands beside each value, if anything.
    """
    columns = [
        Column("task"), Column("model"), Column(part), *([Column(of)] if of else []), Column("value", "level"),
        Column("from", "level"), Column("to", "level"),
        *([Column(beside, "level"), Column(f"{beside} from", "level"), Column(f"{beside} to", "level")] if beside else []),
        Column("n", "count"), Column("conversations", "count"), Column("missing", "count"),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [
            panel.task, labels[panel.model], m.part, *([m.of] if of else []), m.value, m.low, m.high,
            *([m.beside, m.beside_low, m.beside_high] if beside else []), m.n, m.clusters, m.missing,
        ]
        for panel in panels
        for m in (*panel.marks, *panel.totals)
    ]  # fmt: skip
    return ReportTable(name, title, columns, rows)
