"""`mindgauge rate`."""

from pathlib import Path
from typing import Annotated

import typer

from mindgauge.cli import entry_test, labels, options, render


def rate(
    name: options.Name,
    judge: options.Judges,
    replies: Annotated[
        Path | None,
        typer.Option(help="A CSV, JSONL or Parquet file of replies with their dialogues, or a run directory."),
    ] = None,
    dialogues: Annotated[
        Path | None, typer.Option(help="A CSV, JSONL or Parquet file of dialogues of several turns (`messages`).")
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(help="Of --dialogues, rate every `turn` of the assistant, the whole `dialogue`, or `both`."),
    ] = None,
    out: options.Out = None,
    map_: options.Map = [],  # noqa: B006 - how typer spells an empty list
    judge_runs: options.JudgeRuns = 1,
    limit: Annotated[int | None, typer.Option(min=1, help="At most this many replies of the file.")] = None,
    mode: options.Mode = "joint",
    method: options.Method = ["rule"],  # noqa: B006
    protocol: options.Protocol = "gold",
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
    """Rate replies that exist already, on an open benchmark or by a closed question about replies (dialogue_safety).

    Models, classifiers and rules may rate together. The same command continues where it stopped.
    """
    from mindgauge.analysis.score import Scores
    from mindgauge.verbs.rate import rate as verb

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
        found = verb(
            name, replies=replies, judge=judge, dialogues=dialogues, unit=unit, out=out, columns=options.mapping(map_), judge_runs=judge_runs,
            limit=limit, mode=mode, method=options.several(method), protocol=protocol, judge_temperature=judge_temperature, max_cost=max_cost,
            ask=ask, shots=shots, shot_seed=shot_seed, own_family=own_family, qualify=qualify, anchors=anchors, settings=settings, text=not no_text,
            dry_run=dry_run, progress=progress, notice=render.notice, command=render.command(),
        )  # fmt: skip
    if json:
        render.as_json(found)
    elif isinstance(found, Scores):
        render.scores(found)
        labels.show(found)
        entry_test.show(found.qualifications)
        print(f"Read on: mindgauge report {found.run}")
    else:
        render.foreseen(found)
    if isinstance(found, Scores):
        render.verdict_on(found)
