"""`mindgauge run`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mindgauge.benchmarks import suite
from mindgauge.cli import answer, entry_test, fidelity, options, profile, render, score, terminal
from mindgauge.cli.calling import NONE, Chosen, takes_calls
from mindgauge.records.shell import command_line
from mindgauge.runs.options import RunConfig

if TYPE_CHECKING:
    from collections.abc import Collection

    from mindgauge.analysis.score import Scores


@takes_calls(RunConfig())
def run(
    model: Annotated[
        list[str],
        typer.Option(
            help="A model under test: provider/name, http://HOST:PORT/v1#name, local/…, replay/FILE, files/DIR (answers by hand); for a closed question also "
            "classifier/FOLDER, which answers once and without calls. May be repeated."
        ),
    ],
    names: options.Names = None,
    judge: options.Judges = [],  # noqa: B006 - how typer spells an empty list
    rubric: options.Rubric = None,
    instrument: options.Instrument = None,
    as_published: options.AsPublished = False,
    about: Annotated[
        str, typer.Option(help="What --rubric is about: `replies`, or `messages`, which models then rate themselves.")
    ] = "replies",
    data: options.Data = None,
    map_: options.Map = [],  # noqa: B006
    limit: options.Limit = None,
    where: options.Where = [],  # noqa: B006
    out: options.Out = None,
    chosen: Chosen = NONE,
    no_text: options.NoText = False,
    dry_run: options.DryRun = False,
    show_requests: options.ShowRequests = 0,
    full: options.Full = False,
    json: options.Json = False,
) -> None:
    """Run benchmarks on models; the same command continues where it stopped."""
    from mindgauge.analysis.score import Scores
    from mindgauge.commands.run import run as function

    notices = render.Notices()
    with render.progress() as progress:
        result = function(
            names or (), model=model, judge=judge, rubric=rubric, instrument=instrument, as_published=as_published, about=about, data=data, columns=options.mapping(map_), out=out, limit=limit,
            where=options.where(where), text=not no_text, dry_run=dry_run, show_requests=show_requests, progress=progress, notice=notices, command=render.command(), **chosen,
        )  # fmt: skip
    if json:
        render.as_json(result)
    elif isinstance(result, Scores):
        summed_up = suite.of(metric.benchmark for metric in result.metrics)
        if summed_up:
            _summed_up(result, full=full, told_before=notices)
        else:
            score.show(result, full=full, told_before=notices)
    else:
        render.foreseen(result)
    if isinstance(result, Scores):
        render.verdict_on(result)


def _summed_up(result: Scores, *, full: bool, told_before: Collection[str]) -> None:
    """Print a run of a suite as its profile."""
    from mindgauge.commands.profile import profile as profiled

    suite_profile = profiled(result.run)
    with terminal.short([*result.models, *result.judges]):
        profile.first(suite_profile)
        if full:
            fidelity.show(result.fidelity)
        profile.tables(suite_profile, full=full)
        render.told(result, told_before={*suite_profile.notes, *told_before}, full=full)
        if full:
            entry_test.show(result.qualifications)
    print(f"Every metric of every task: {command_line('score', result.run, '--full')}")
    answer.then("report", result.run)
