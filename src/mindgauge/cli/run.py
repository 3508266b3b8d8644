"""`mindgauge run`."""

from typing import Annotated

import typer

from mindgauge import suite
from mindgauge.cli import entry_test, labels, options, profile, render
from mindgauge.cli.calling import NONE, Chosen, takes_calls
from mindgauge.verbs.options import RunConfig


@takes_calls(RunConfig())
def run(
    names: options.Names,
    model: Annotated[
        list[str],
        typer.Option(
            help="A model under test: provider/name, http://HOST:PORT/v1#name, local/…, replay/FILE; for a closed question also "
            "classifier/FOLDER, which answers once and without calls. May be repeated."
        ),
    ],
    judge: options.Judges = [],  # noqa: B006 - how typer spells an empty list
    data: options.Data = None,
    limit: options.Limit = None,
    where: Annotated[
        list[str],
        typer.Option(
            help="Keep samples whose tag has a value: language=zh, or one of several: made=released,ours. May be repeated."
        ),
    ] = [],  # noqa: B006
    out: options.Out = None,
    chosen: Chosen = NONE,
    no_text: options.NoText = False,
    dry_run: options.DryRun = False,
    json: options.Json = False,
) -> None:
    """Run benchmarks on models; the same command continues where it stopped."""
    from mindgauge.analysis.score import Scores
    from mindgauge.verbs.profile import profile as profiled
    from mindgauge.verbs.run import run as verb

    with render.progress() as progress:
        found = verb(
            names, model=model, judge=judge, data=data, out=out, limit=limit, where=options.where(where), text=not no_text,
            dry_run=dry_run, progress=progress, notice=render.notice, command=render.command(), **chosen,
        )  # fmt: skip
    if json:
        render.as_json(found)
    elif isinstance(found, Scores):
        summed_up = suite.of(metric.benchmark for metric in found.metrics)
        if summed_up:
            its = profiled(found.run)
            profile.show(its)
            render.told(found, told_before=its.notes)
            print(f"Every metric of every task: mindgauge score {found.run}")
        else:
            render.scores(found)
            labels.show(found)
        entry_test.show(found.qualifications)
        print(f"Read on: mindgauge report {found.run}")
    else:
        render.foreseen(found)
    if isinstance(found, Scores):
        render.verdict_on(found)
