"""`mindgauge judges stress`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mindgauge.cli import options, render
from mindgauge.cli.calling import NONE, Chosen, takes_calls
from mindgauge.records.rounding import dollars
from mindgauge.runs.options import ONLY_TESTED, STRESSED, RunConfig

if TYPE_CHECKING:
    from mindgauge.analysis.stress.result import Stress
    from mindgauge.runs.forecast import DryRun


@takes_calls(
    RunConfig(judging=STRESSED),
    without=(
        *ONLY_TESTED,
        "ask",
        "shots",
        "shot_seed",
        "protocol",
        "own_family",
        "qualify",
        "anchors",
        "context",
        "engine",
        "actors",
        "batch",
        "wait",
    ),
)
def stress(
    judge: Annotated[str, typer.Argument(help="The model to put under stress.")],
    benchmark: Annotated[
        str | None, typer.Option(help="An open benchmark, whose rubric and prompts it works with.")
    ] = None,
    rubric: options.Rubric = None,
    replies: Annotated[
        Path | None, typer.Option(help="Replies to rate: a file or a run; the benchmark's anchors if not given.")
    ] = None,
    map_: options.Map = [],  # noqa: B006 - how typer spells an empty list
    probes: Annotated[list[str], typer.Option(help="Which probes, separated by commas; all if not given.")] = [],  # noqa: B006
    limit: Annotated[int | None, typer.Option(min=1, help="At most this many replies.")] = None,
    each: Annotated[int, typer.Option(min=1, help="Replies that each injection is tried on.")] = 4,
    out: options.Out = None,
    chosen: Chosen = NONE,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what it would take.")] = False,
    json: options.Json = False,
) -> None:
    """Put the same replies to a judge in other forms: does it rate what they say, or how it is put?"""
    from mindgauge.commands.judges.stress import stress as function
    from mindgauge.runs.forecast import DryRun

    with render.progress() as progress:
        result = function(
            judge, benchmark=benchmark, rubric=rubric, replies=replies, columns=options.mapping(map_),
            probes=options.several(probes), limit=limit, each=each, out=out, dry_run=dry_run, progress=progress,
            command=render.command(), **chosen,
        )  # fmt: skip
    if json:
        render.as_json(result)
    elif isinstance(result, DryRun):
        _foreseen(result)
    else:
        _show(result)


def _foreseen(result: DryRun) -> None:
    rows = [[s.purpose, str(s.calls), str(s.prompt_tokens), str(s.completion_tokens)] for s in result.steps]
    render.table(f"{result.benchmark}  ({result.run})", ["for", "calls", "tokens read", "tokens written"], rows)
    cost = "unknown cost" if result.cost is None else dollars(result.cost)
    print(
        f"{result.calls} calls ({result.done} done before), about {result.prompt_tokens} + {result.completion_tokens} tokens, {cost}"
    )
    render.forecast(result.forecast)


def _show(result: Stress) -> None:
    from mindgauge.reports.stress import PAGE, line, readings, sheets
    from mindgauge.runs.sending import kept

    print(f"{result.judge} under stress: {result.benchmark}  ({result.run})")
    for table in sheets(result):
        render.sheet(table)
    print(line(result))
    for sentence in kept(result.run):
        print(sentence)
    for sentence in readings(result):
        print(f"note: {sentence}")
    print(f"Read on: {Path(result.run) / PAGE}")
