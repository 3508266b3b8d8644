"""`mindgauge profile`."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from mindgauge.cli import options, render

if TYPE_CHECKING:
    from mindgauge.analysis.profile import Profile


TASKS, RANKS = {"over the tasks", "without"}, {"mean of task ranks", "rank of that mean"}
"""Columns of the report's table of dimensions: what the table below tells, and the source's own way."""


def profile(
    runs: Annotated[list[Path], typer.Argument(help="Run directories; the models may be in different ones.")],
    judge: Annotated[str | None, typer.Option(help="Whose ratings of replies count; the runs' first judge.")] = None,
    ranks: Annotated[bool, typer.Option("--ranks", help="Also the source's ranks: of the mean of task ranks.")] = False,
    resamples: Annotated[int, typer.Option(min=1, help="Of conversations, for intervals and ranks.")] = 10_000,
    json: options.Json = False,
) -> None:
    """Profile models over the dimensions of a suite: scores, ranks, and whom they cannot be told apart from."""
    from mindgauge.commands.profile import profile as function

    result = function(list(runs), judge=judge, resamples=resamples)
    if json:
        render.as_json(result)
        return
    show(result, ranks=ranks)


def show(result: Profile, *, ranks: bool = False) -> None:
    """Print a profile as the report's own tables: its dimensions, its tasks, and what must be known of them.

    Args:
        result: the profile.
        ranks: also the source's ranks.
    """
    from mindgauge.reports.profile import overview

    labels = {model: model for model in result.models}
    dimensions = overview.dimensions(result.dimensions, {task.task: task.title for task in result.tasks}, labels)
    judged = f", replies rated by {result.judge}" if result.judge else ""
    dimensions.title = f"{result.suite}: dimensions{judged}"
    render.sheet(dimensions, less=TASKS if ranks else TASKS | RANKS)
    render.sheet(overview.tasks(result.tasks, "", "tasks", labels), less={"note", "rated by"})
    print(
        "Scores are scaled to 0 … 1, 1 is best; what is no better than chance, or within the noise, is the end of its scale."
    )
    print("In brackets 95 %: exact for a task that is one share, else percentiles over resampled conversations.")
    for line in result.lacking:
        print(f"lacking: {line}")
    for note in result.notes:
        print(f"note: {note}")
