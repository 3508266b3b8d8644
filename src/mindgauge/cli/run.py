"""`mindgauge run`."""

from typing import TYPE_CHECKING, Annotated

import typer

from mindgauge.cli import entry_test, labels, options, render

if TYPE_CHECKING:
    from mindgauge.verbs.estimate import DryRun, Step


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
        list[str], typer.Option(help="Keep samples whose tag has a value: language=zh. May be repeated.")
    ] = [],  # noqa: B006
    out: options.Out = None,
    mode: options.Mode = "joint",
    method: options.Method = ["rule"],  # noqa: B006
    protocol: options.Protocol = "gold",
    temperature: Annotated[
        float | None, typer.Option(help="Of the models under test; their own default if not given.")
    ] = None,
    judge_temperature: options.Temperature = None,
    ask: Annotated[
        list[str],
        typer.Option(
            help="How a closed question is put to chat models: flat, unordered, few-shot, sequential, if the benchmark has it. May be repeated."
        ),
    ] = ["flat"],  # noqa: B006
    shots: Annotated[
        int | None, typer.Option(min=1, help="Examples per label, with --ask few-shot; 1 if not given.")
    ] = None,
    shot_seed: Annotated[int | None, typer.Option(help="Of the choice of examples; 0 if not given.")] = None,
    concurrency: options.Concurrency = 32,
    timeout: options.Timeout = 120.0,
    tries: options.Tries = 5,
    max_tokens: options.MaxTokens = None,
    context: options.Context = None,
    max_cost: options.MaxCost = None,
    qualify: entry_test.Qualify = False,
    anchors: entry_test.Anchors = None,
    price: options.Price = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what it would take.")] = False,
    local_only: options.LocalOnly = False,
    json: options.Json = False,
) -> None:
    """Run benchmarks on models; the same command continues where it stopped."""
    from mindgauge.analysis.score import Scores
    from mindgauge.verbs.run import run as verb

    settings = options.settings(
        concurrency=concurrency,
        timeout=timeout,
        tries=tries,
        max_tokens=max_tokens,
        price=price,
        local_only=local_only,
        context=context,
    )
    with render.progress() as progress:
        found = verb(
            names, model=model, judge=judge, data=data, out=out, runs=runs, judge_runs=judge_runs, limit=limit,
            where=options.where(where), mode=mode, method=options.several(method), protocol=protocol, temperature=temperature,
            judge_temperature=judge_temperature, ask=ask, shots=shots, shot_seed=shot_seed, max_cost=max_cost,
            qualify=qualify, anchors=anchors, settings=settings, dry_run=dry_run, progress=progress, notice=render.notice, command=render.command(),
        )  # fmt: skip
    if json:
        render.as_json(found)
    elif isinstance(found, Scores):
        render.scores(found)
        labels.show(found)
        entry_test.show(found.qualifications)
        print(f"Read on: mindgauge report {found.run}")
    else:
        foreseen(found)
    if isinstance(found, Scores):
        render.verdict_on(found)


def foreseen(found: "DryRun") -> None:
    """Print what a command would take."""

    def dollars(cost: float | None) -> str:
        return "unknown cost" if cost is None else f"about ${cost:.4f}"

    render.table(
        f"{found.benchmark}: nothing is sent ({found.done} calls done before)",
        ["model", "purpose", "calls", "tokens in", "tokens out", "cost"],
        [
            [s.model, s.purpose, _calls(s), str(s.prompt_tokens), str(s.completion_tokens), dollars(s.cost)]
            for s in found.steps
        ],
    )
    print(f"{found.calls} calls, about {found.prompt_tokens} + {found.completion_tokens} tokens, {dollars(found.cost)}")


def _calls(step: "Step") -> str:
    """Write how many calls a step takes; one that may stop early, at most and if every answer is right."""
    if step.calls == step.expected_calls:
        return str(step.calls)
    return f"at most {step.calls}, {step.expected_calls} if every answer is right"
