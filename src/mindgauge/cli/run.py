"""`mindgauge run`."""

from typing import Annotated

import typer

from mindgauge import suite
from mindgauge.cli import entry_test, labels, options, profile, render


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
    runs: Annotated[int, typer.Option(help="Replies, or closed answers, per sample and chat model.")] = 1,
    judge_runs: options.JudgeRuns = 1,
    limit: options.Limit = None,
    where: Annotated[
        list[str],
        typer.Option(
            help="Keep samples whose tag has a value: language=zh, or one of several: made=released,ours. May be repeated."
        ),
    ] = [],  # noqa: B006
    out: options.Out = None,
    mode: options.Mode = "joint",
    method: options.Method = ["rule"],  # noqa: B006
    protocol: options.Protocol = "gold",
    temperature: Annotated[
        float | None, typer.Option(help="Of the models under test; their own default if not given.")
    ] = None,
    judge_temperature: options.Temperature = 0.0,
    ask: options.Ask = ["flat"],  # noqa: B006
    shots: options.Shots = None,
    shot_seed: options.ShotSeed = None,
    concurrency: options.Concurrency = 32,
    timeout: options.Timeout = 120.0,
    tries: options.Tries = 5,
    max_tokens: options.MaxTokens = None,
    context: options.Context = None,
    max_cost: options.MaxCost = None,
    qualify: entry_test.Qualify = None,
    anchors: entry_test.Anchors = None,
    price: options.Price = None,
    own_family: options.OwnFamily = False,
    engine: options.Engine = "plain",
    actors: options.Actors = None,
    batch: options.Batch = False,
    wait: options.Wait = None,
    no_text: options.NoText = False,
    dry_run: options.DryRun = False,
    local_only: options.LocalOnly = False,
    json: options.Json = False,
) -> None:
    """Run benchmarks on models; the same command continues where it stopped."""
    from mindgauge.analysis.score import Scores
    from mindgauge.verbs.profile import profile as profiled
    from mindgauge.verbs.run import run as verb

    settings = options.settings(
        concurrency=concurrency,
        timeout=timeout,
        tries=tries,
        max_tokens=max_tokens,
        price=price,
        local_only=local_only,
        context=context,
        engine=engine,
        actors=actors,
        batch=batch,
        wait=wait,
    )
    with render.progress() as progress:
        result = verb(
            names, model=model, judge=judge, data=data, out=out, runs=runs, judge_runs=judge_runs, limit=limit,
            where=options.where(where), mode=mode, method=options.several(method), protocol=protocol, temperature=temperature,
            judge_temperature=judge_temperature, ask=ask, shots=shots, shot_seed=shot_seed, max_cost=max_cost, own_family=own_family,
            qualify=qualify, anchors=anchors, settings=settings, text=not no_text, dry_run=dry_run, progress=progress, notice=render.notice, command=render.command(),
        )  # fmt: skip
    if json:
        render.as_json(result)
    elif isinstance(result, Scores):
        summed_up = suite.of(metric.benchmark for metric in result.metrics)
        if summed_up:
            its = profiled(result.run)
            profile.show(its)
            render.told(result, told_before=its.notes)
            print(f"Every metric of every task: mindgauge score {result.run}")
        else:
            render.scores(result)
            labels.show(result)
        entry_test.show(result.qualifications)
        print(f"Read on: mindgauge report {result.run}")
    else:
        render.foreseen(result)
    if isinstance(result, Scores):
        render.verdict_on(result)
