"""`mindgauge judges stress`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mindgauge.cli import options, render
from mindgauge.rounding import count, decimal, dollars, interval, p_value, percent

if TYPE_CHECKING:
    from mindgauge.analysis.stress.found import Effect, Injections, Stress
    from mindgauge.verbs.estimate import DryRun


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
    judge_runs: options.JudgeRuns = 2,
    mode: options.Mode = "joint",
    method: Annotated[str, typer.Option(help="general, rule or chain.")] = "rule",
    judge_temperature: options.Temperature = 0.0,
    out: options.Out = None,
    concurrency: options.Concurrency = 32,
    timeout: options.Timeout = 120.0,
    tries: options.Tries = 5,
    max_tokens: options.MaxTokens = None,
    max_cost: options.MaxCost = None,
    price: options.Price = None,
    local_only: options.LocalOnly = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what it would take.")] = False,
    json: options.Json = False,
) -> None:
    """Put the same replies to a judge in other forms: does it rate what they say, or how it is put?"""
    from mindgauge.verbs.estimate import DryRun
    from mindgauge.verbs.judges.stress import stress as verb

    settings = options.settings(
        concurrency=concurrency, timeout=timeout, tries=tries, max_tokens=max_tokens, price=price, local_only=local_only
    )
    with render.progress() as progress:
        found = verb(
            judge, benchmark=benchmark, replies=replies, columns=options.mapping(map_),
            probes=options.several(probes), limit=limit, each=each, judge_runs=judge_runs, mode=mode, method=method,
            judge_temperature=judge_temperature, max_cost=max_cost, out=out, settings=settings, dry_run=dry_run,
            progress=progress, command=render.command(),
        )  # fmt: skip
    if json:
        render.as_json(found)
    elif isinstance(found, DryRun):
        _foreseen(found)
    else:
        _show(found)


def _foreseen(found: DryRun) -> None:
    rows = [[s.purpose, str(s.calls), str(s.prompt_tokens), str(s.completion_tokens)] for s in found.steps]
    render.table(f"{found.benchmark}  ({found.run})", ["for", "calls", "tokens read", "tokens written"], rows)
    cost = "unknown cost" if found.cost is None else dollars(found.cost)
    print(
        f"{found.calls} calls ({found.done} done before), about {found.prompt_tokens} + {found.completion_tokens} tokens, {cost}"
    )
    render.forecast(found.forecast)


def _show(found: Stress) -> None:
    from mindgauge.reports.stress_page import PAGE
    from mindgauge.reports.stress_phrases import line, readings
    from mindgauge.verbs.sending import kept

    columns, rows = _effects(found.effects)
    render.table(f"{found.judge} under stress: {found.benchmark}  ({found.run})", columns, rows)
    if found.injections:
        columns = ["injections", "verdict", "reached", "tries", "share", "95 % bounds", "attempts", "lost verdicts"]
        render.table("Attempts to talk it over", columns, list(map(_attempts, found.injections)))
    print(line(found))
    for said in kept(found.run):
        print(said)
    for said in readings(found):
        print(f"note: {said}")
    print(f"Read on: {Path(found.run) / PAGE}")


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
    from mindgauge.analysis.stress.found import CANNOT_TELL
    from mindgauge.reports.stress_phrases import signed

    bounds = "" if effect.worst is None else f"{decimal(effect.worst)} … {decimal(effect.best)}"
    needed = count(effect.needed) if effect.needed is not None and effect.verdict == CANNOT_TELL else ""
    return [
        effect.verdict, signed(effect.value), interval(effect.low, effect.high), p_value(effect.adjusted),
        str(effect.n), str(effect.missing), bounds, needed,
    ]  # fmt: skip


def _attempts(found: Injections) -> list[str]:
    return [
        found.slice, found.verdict if found.p is not None else "", str(found.reached), str(found.n),
        percent(found.share.value), interval(found.share.low, found.share.high, "share"),
        f"{found.attempts_reached} of {found.attempts}", str(found.lost),
    ]  # fmt: skip
