"""`mindgauge profile`."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from mindgauge.cli import options, render
from mindgauge.records.rounding import bounded, decimal

if TYPE_CHECKING:
    from mindgauge.analysis.profile import DimensionScore, Profile, TaskScore

DEFINED = {"authors": "the authors", "upstream": "the data's own paper", "ours": "our definition"}


def profile(
    runs: Annotated[list[Path], typer.Argument(help="Run directories; the models may be in different ones.")],
    judge: Annotated[str | None, typer.Option(help="Whose ratings of replies count; the runs' first judge.")] = None,
    ranks: Annotated[bool, typer.Option("--ranks", help="Also the source's ranks: of the mean of task ranks.")] = False,
    resamples: Annotated[int, typer.Option(min=1, help="Of conversations, for intervals and ranks.")] = 10_000,
    json: options.Json = False,
) -> None:
    """Profile models over the dimensions of a suite: scores, ranks, and whom they cannot be told apart from."""
    from mindgauge.commands.profile import profile as verb

    result = verb(list(runs), judge=judge, resamples=resamples)
    if json:
        render.as_json(result)
        return
    show(result, ranks=ranks)


def show(result: Profile, *, ranks: bool = False) -> None:
    """Print a profile: its dimensions, its tasks, and what must be known of them.

    Args:
        result: the profile.
        ranks: also the source's ranks.
    """
    _dimensions(result, ranks=ranks)
    _tasks(result)
    print(
        "Scores are scaled to 0 … 1, 1 is best; what is no better than chance, or within the noise, is the end of its scale."
    )
    print("In brackets 95 %: exact for a task that is one share, else percentiles over resampled conversations.")
    for line in result.lacking:
        print(f"lacking: {line}")
    for note in result.notes:
        print(f"note: {note}")


def _dimensions(result: Profile, *, ranks: bool) -> None:
    columns = ["dimension", "model", "score", "rank", "cannot be told apart from", "tasks"]
    source = ["mean of task ranks", "its rank"] if ranks else []
    of = {dimension: list(its) for dimension, its in groupby(result.dimensions, lambda score: score.dimension)}
    rows = [
        [dimension if first else "", *_dimension(score, len(result.models)), *(_source(score) if ranks else [])]
        for dimension, its in of.items()
        for first, score in zip([True, *[False] * len(its)], its, strict=False)
    ]
    judged = f", replies rated by {result.judge}" if result.judge else ""
    render.table(f"{result.suite}: dimensions{judged}", [*columns, *source], rows)


def _dimension(score: DimensionScore, models: int) -> list[str]:
    others = len(score.indistinguishable)
    same = "all others" if others > 1 and others == models - 1 else ", ".join(score.indistinguishable)
    return [
        score.model, bounded(score.value, score.low, score.high), _rank(score.rank, score.rank_low, score.rank_high),
        same, f"{len(score.tasks)} of {len(score.tasks) + len(score.lacking)}",
    ]  # fmt: skip


def _source(score: DimensionScore) -> list[str]:
    rank = score.rank_of_mean_rank
    return [decimal(score.mean_rank), "–" if rank is None else f"{rank:g}"]


def _tasks(result: Profile) -> None:
    """Show every task's scores, and below what they are made of."""
    columns = ["task", "defined by", "model", "value", "scaled", "by guessing", "rank", "n", "missing", "worst … best"]
    rows, made = [], []
    for _, its in groupby(result.tasks, lambda score: score.task):
        first, *others = its
        rows.append([first.title, DEFINED[first.defined], *_task(first)])
        rows += [["", "", *_task(score)] for score in others]
        made.append(f"{first.title} is the {first.metric} of {first.criterion}; {first.better} is better")
    used = [i for i, column in enumerate(columns) if column == "task" or any(row[i] for row in rows)]
    render.table("tasks", [columns[i] for i in used], [[row[i] for i in used] for row in rows])
    print("\n".join(made))


def _task(score: TaskScore) -> list[str]:
    bounds = "" if not score.missing else f"{decimal(score.worst)} … {decimal(score.best)}"
    return [
        score.model, bounded(score.value, score.low, score.high), decimal(score.scaled),
        "" if score.chance is None else decimal(score.chance), _rank(score.rank, score.rank_low, score.rank_high),
        str(score.n), str(score.missing), bounds,
    ]  # fmt: skip


def _rank(rank: float | None, low: float | None, high: float | None) -> str:
    if rank is None:
        return "–"
    return f"{rank:g}" if low is None or high is None else f"{rank:g} [{low:g}, {high:g}]"
