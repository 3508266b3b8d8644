"""`mindgauge run`."""

from typing import Annotated

import typer

from mindgauge.benchmarks import suite
from mindgauge.cli import entry_test, fidelity, options, profile, render, score
from mindgauge.cli.calling import NONE, Chosen, takes_calls
from mindgauge.runs.options import RunConfig


@takes_calls(RunConfig())
def run(
    model: Annotated[
        list[str],
        typer.Option(
            help="A model under test: provider/name, http://HOST:PORT/v1#name, local/…, replay/FILE; for a closed question also "
            "classifier/FOLDER, which answers once and without calls. May be repeated."
        ),
    ],
    names: options.Names = None,
    judge: options.Judges = [],  # noqa: B006 - how typer spells an empty list
    rubric: options.Rubric = None,
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
    json: options.Json = False,
) -> None:
    """Run benchmarks on models; the same command continues where it stopped."""
    from mindgauge.analysis.score import Scores
    from mindgauge.commands.profile import profile as profiled
    from mindgauge.commands.run import run as function

    notices = render.Notices()
    with render.progress() as progress:
        result = function(
            names or (), model=model, judge=judge, rubric=rubric, about=about, data=data, columns=options.mapping(map_), out=out, limit=limit,
            where=options.where(where), text=not no_text, dry_run=dry_run, progress=progress, notice=notices, command=render.command(), **chosen,
        )  # fmt: skip
    if json:
        render.as_json(result)
    elif isinstance(result, Scores):
        summed_up = suite.of(metric.benchmark for metric in result.metrics)
        if summed_up:
            fidelity.show(result.fidelity)
            suite_profile = profiled(result.run)
            profile.show(suite_profile)
            render.told(result, told_before={*suite_profile.notes, *notices})
            print(f"Every metric of every task: mindgauge score {result.run}")
            entry_test.show(result.qualifications)
        else:
            score.show(result, told_before=notices)
        print(f"Read on: mindgauge report {result.run}")
    else:
        render.foreseen(result)
    if isinstance(result, Scores):
        render.verdict_on(result)
