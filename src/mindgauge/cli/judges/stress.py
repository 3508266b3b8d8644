"""`mindgauge judges stress`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mindgauge.cli import options, render
from mindgauge.cli.calling import NONE, Chosen, takes_calls
from mindgauge.records.rounding import count, decimal, dollars, interval, p_value, percent
from mindgauge.runs.options import STRESSED, RunConfig

if TYPE_CHECKING:
    from mindgauge.analysis.stress.result import Effect, Injections, Stress
    from mindgauge.runs.forecast import DryRun


@takes_calls(
    RunConfig(judging=STRESSED),
    without=(
        "runs",
        "temperature",
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
    benchmark: Annotated[str, typer.Option(help="An open benchmark, whose rubric and prompts it works with.")],
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
    from mindgauge.commands.judges.stress import stress as verb
    from mindgauge.runs.forecast import DryRun

    with render.progress() as progress:
        result = verb(
            judge, benchmark=benchmark, replies=replies, columns=options.mapping(map_),
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
    from mindgauge.reports.stress_page import PAGE
    from mindgauge.reports.stress_phrases import line, readings
    from mindgauge.runs.sending import kept

    columns, rows = _effects(result.effects)
    render.table(f"{result.judge} under stress: {result.benchmark}  ({result.run})", columns, rows)
    if result.injections:
        columns = ["injections", "verdict", "reached", "tries", "share", "95 % bounds", "attempts", "lost verdicts"]
        render.table("Attempts to talk it over", columns, list(map(_attempts, result.injections)))
    print(line(result))
    for said in kept(result.run):
        print(said)
    for said in readings(result):
        print(f"note: {said}")
    print(f"Read on: {Path(result.run) / PAGE}")


def _effects(effects: list[Effect]) -> tuple[list[str], list[list[str]]]:
    """Lay the effects out for a narrow terminal: what is compared stands once, above its criteria."""
    from mindgauge.reports.stress_phrases import contrast

    columns = ["what", "verdict", "effect", "95 % interval", "adj. p", "n", "missing", "worst … best", "needed"]
    several = len({effect.criterion for effect in effects} - {""}) > 1
    rows, above = [], ""
    for effect in effects:
        name = contrast(effect)
        if several and effect.criterion and name != above:
            rows.append([name, *[""] * (len(columns) - 1)])
            above = name
        rows.append([f"  {effect.criterion}" if several and effect.criterion else name, *_row(effect)])
    shown = [place for place, name in enumerate(columns) if name != "worst … best" or any(row[place] for row in rows)]
    return [columns[place] for place in shown], [[row[place] for place in shown] for row in rows]


def _row(effect: Effect) -> list[str]:
    from mindgauge.analysis.stress.result import CANNOT_TELL
    from mindgauge.reports.stress_phrases import signed

    bounds = "" if effect.worst is None else f"{decimal(effect.worst)} … {decimal(effect.best)}"
    needed = count(effect.needed) if effect.needed is not None and effect.verdict == CANNOT_TELL else ""
    return [
        effect.verdict, signed(effect.value), interval(effect.low, effect.high), p_value(effect.adjusted),
        str(effect.n), str(effect.missing), bounds, needed,
    ]  # fmt: skip


def _attempts(result: Injections) -> list[str]:
    return [
        result.slice, result.verdict if result.p is not None else "", str(result.reached), str(result.n),
        percent(result.share.value), interval(result.share.low, result.share.high, "share"),
        f"{result.attempts_reached} of {result.attempts}", str(result.lost),
    ]  # fmt: skip
