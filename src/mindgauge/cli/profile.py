"""`mindgauge profile`."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from mindgauge.cli import answer, options, render, terminal
from mindgauge.records.english import named

if TYPE_CHECKING:
    from mindgauge.analysis.profile import Profile


TASKS, RANKS = {"over the tasks", "without"}, {"mean of task ranks", "rank of that mean"}
"""Columns of the report's table of dimensions: what the table below tells, and the source's own way."""


def profile(
    runs: Annotated[list[Path], typer.Argument(help="Run directories; the models may be in different ones.")],
    judge: Annotated[str | None, typer.Option(help="Whose ratings of replies count; the runs' first judge.")] = None,
    ranks: Annotated[bool, typer.Option("--ranks", help="Also the source's ranks: of the mean of task ranks.")] = False,
    resamples: Annotated[int, typer.Option(min=1, help="Of conversations, for intervals and ranks.")] = 10_000,
    full: options.Full = False,
    json: options.Json = False,
) -> None:
    """Profile models over the dimensions of a suite: scores, ranks, and whom they cannot be told apart from."""
    from mindgauge.commands.profile import profile as function

    with render.working("Resampling"):
        result = function(list(runs), judge=judge, resamples=resamples)
    if json:
        render.as_json(result)
        return
    with terminal.short([*result.models, *filter(None, [result.judge])]):
        first(result)
        tables(result, full=full, ranks=ranks)
        render.notes(result.notes, full=full)
    answer.then("report", *result.runs)


def first(result: Profile) -> None:
    """Print where models are weakest, and how rough that is."""
    from mindgauge.reports.profile import overview

    answer.first(*overview.first_words(result))


def tables(result: Profile, *, full: bool = False, ranks: bool = False) -> None:
    """Print the dimensions, the weakest first, and with `full` its tasks, as the report's own tables; then what is lacking.

    Args:
        result: the profile.
        full: every dimension and task.
        ranks: also the source's ranks.
    """
    from mindgauge.reports.profile import overview

    labels = {model: model for model in result.models}
    lowest: dict[str, float] = {}
    for score in result.dimensions:
        value = 2.0 if score.value is None else score.value
        lowest[score.dimension] = min(value, lowest.get(score.dimension, value))
    scores = result.dimensions if full else sorted(result.dimensions, key=lambda score: lowest[score.dimension])
    dimensions = overview.dimensions(scores, {task.task: task.title for task in result.tasks}, labels)
    judged = f", replies rated by {result.judge}" if result.judge else ""
    dimensions.title = f"{result.suite}: dimensions{judged}"
    omitted = TASKS if ranks else TASKS | RANKS
    if full:
        render.sheet(dimensions, less=omitted)
        render.sheet(overview.tasks(result.tasks, "", "tasks", labels), less={"note", "rated by"})
    else:
        answer.sheet(dimensions, len(dimensions.rows) + len(result.tasks), omitted=omitted)
    render.sentence(
        "Scores are scaled to 0 … 1, 1 is best; what is no better than chance, or within the noise, is the end of its scale."
    )
    if full:
        print("In brackets 95 %: exact for a task that is one share, else percentiles over resampled conversations.")
    _lacking(result, full=full)


def _lacking(result: Profile, *, full: bool) -> None:
    if full:
        for line in result.lacking:
            print(f"lacking: {line}")
    elif result.lacking:
        names = [line.partition(" (")[0] for line in result.lacking]
        render.sentence(f"lacking: {named(names, limit=len(names))} (why, and how to get the data: --full)")
