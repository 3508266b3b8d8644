"""`mindgauge status`."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - read by typer
from typing import TYPE_CHECKING, Annotated

import typer

from mindgauge.cli import answer, options, render, terminal
from mindgauge.records.english import ended, words
from mindgauge.records.rounding import dollars, megabytes, seconds, spending
from mindgauge.reports.content import Column, ReportTable, narrowed

_BEHIND = ("", "not_applicable", "ok")
"""Statuses of what went as it should, which stand behind what went wrong."""

if TYPE_CHECKING:
    from mindgauge.commands.status import RunStatus
    from mindgauge.reports.content import Cell


def status(
    runs: Annotated[list[Path], typer.Argument(help="Run directories.")],
    full: options.Full = False,
    json: options.Json = False,
) -> None:
    """Say how far runs have come, also while they are being written."""
    from mindgauge.commands.status import status as function

    result = [function(run) for run in runs]
    if json:
        render.as_json(result[0] if len(result) == 1 else result)
        return
    for run_status in result:
        with terminal.short([*run_status.models, *run_status.judges]):
            _show(run_status, full=full)


def _show(result: RunStatus, *, full: bool) -> None:
    """Print what is left and what it took, then what became of what was asked: what went wrong first."""
    lines = result.summary()
    *_, calls, remaining, writer, _ = lines
    waiting = f"When the last command ended: {result.waiting}" if result.waiting else ""
    answer.first(f"{ended(remaining)} {writer}", f"{ended(calls)} {result.read_by_people}".rstrip(), waiting)
    if full:
        _in_full(result)
        return
    counts = sorted(result.counts, key=lambda count: _BEHIND.index(count.status) if count.status in _BEHIND else -1)
    columns = [Column("benchmark"), Column("kind"), Column("by"), Column("status"), Column("n", "count")]
    rows: list[list[Cell]] = [[c.benchmark, c.kind, c.name, words(c.status), c.n] for c in counts]
    behind = len(result.calls) + sum(bool(task.left) for task in result.left)
    answer.sheet(
        narrowed(ReportTable("status", f"{result.run}  ({megabytes(result.bytes)})", columns, rows)), len(rows) + behind
    )
    if not result.waiting:
        answer.then("report", result.run)


def _in_full(result: RunStatus) -> None:
    about = (("benchmarks", result.benchmarks), ("models", result.models), ("judges", result.judges))
    for name, listed in about:
        if listed:
            print(f"{name}: {', '.join(listed)}")
    rows = [[c.benchmark, c.kind, c.name, c.status, f"{c.n:,}"] for c in result.counts]
    render.table(f"{result.run}  ({megabytes(result.bytes)})", ["benchmark", "kind", "by", "status", "n"], rows)
    if result.calls:
        calls = [
            [
                c.model, c.benchmark, c.status, f"{c.n:,}", f"{c.prompt_tokens:,}", f"{c.completion_tokens:,}",
                dollars(c.cost) if not c.unpriced else spending(c.cost, c.unpriced) or "unknown", seconds(c.model_seconds),
            ]
            for c in result.calls
        ]  # fmt: skip
        columns = ["model", "benchmark", "status", "calls", "tokens in", "tokens out", "cost", "time of the model"]
        render.table("Calls", columns, calls)
    for under_way in result.batches:
        print(
            f"{under_way.model}: {under_way.calls:,} calls under way, in {under_way.batches:,} {'batch' if under_way.batches == 1 else 'batches'}"
        )
    unfinished = [task for task in result.left if task.left]
    if unfinished:
        rows = [[w.benchmark, w.kind, w.name, f"{w.left:,}", f"{w.of:,}"] for w in unfinished]
        render.table("Still to come", ["benchmark", "kind", "by", "left", "of"], rows)
