"""What is printed of how far a run is, what was saved of a damaged one, and whether its build may be released."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mindgauge.analysis.gate.outcome import GateOutcome
from mindgauge.cli import answer, render, terminal
from mindgauge.records.english import ended, words
from mindgauge.records.rounding import dollars, megabytes, seconds, spending
from mindgauge.records.shell import command_line
from mindgauge.reports.content import Column, ReportTable, narrowed

if TYPE_CHECKING:
    from mindgauge.analysis.gate.outcome import GateDecision
    from mindgauge.cli.command import CommandCall
    from mindgauge.commands.gate import GateFile
    from mindgauge.commands.salvage import Salvaged
    from mindgauge.commands.status import RunStatus
    from mindgauge.reports.content import Cell


_BEHIND = ("", "not_applicable", "ok")
"""Statuses of what went as it should, which stand behind what went wrong."""


def show_status(result: RunStatus, *, full: bool = False) -> None:
    """Print how far a run is."""
    with terminal.short([*result.models, *result.judges]):
        _shown(result, full=full)


def _shown(result: RunStatus, *, full: bool) -> None:
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


def show_salvage(result: Salvaged) -> None:
    """Print how much of a damaged run could be read."""
    rows = [[table.table, f"{table.kept:,}", f"{table.lost:,}", f"{table.pages:,}"] for table in result.tables]
    render.table(f"Salvaged from {result.run}", ["table", "rows kept", "rows lost", "pages lost"], rows)
    for note in result.notes:
        print(f"note: {note}")
    if result.whole:
        print("No page and no row was found damaged.")
    else:
        print("How many rows stood on a lost page is not known.")
    print(f"{result.out}: run the command that made the run with this --out; it pays only for what was lost.")


NAMED = 5
"""Replies of a rule that are named."""
REASONS = 3
"""Reasons of a rule that are printed without `--full`."""


def show_gate(result: GateDecision, *, full: bool = False) -> None:
    """Print what a gate says."""
    models = {finding.model for rule in result.rules for finding in rule.findings}
    raters = {finding.rater for rule in result.rules for finding in rule.findings}
    with terminal.short(models | raters):
        show(result, full=full)


def json_gate(result: GateDecision) -> object:
    """Return what a gate says, as its record has it."""
    from mindgauge.reports.gate_files import record

    return record(result)


def end_gate(result: GateDecision) -> int:
    """Return the exit code: 0 passed, 1 failed, 3 cannot tell."""
    return result.exit_code


def show(result: GateDecision, *, full: bool = False) -> None:
    """Print what a gate says and the gravest reason, then rule by rule, those that fail first."""
    from mindgauge.reports.gate_files import workflow_errors

    gravest = next((rule for rule in result.by_gravity if rule.outcome is not GateOutcome.PASSED), None)
    reasons = gravest.reasons if gravest is not None else []
    answer.first(f"{result.headline()}.", *(ended(f"{gravest.title}: {reason}") for reason in reasons[:1] if gravest))
    rules = result.by_gravity if full else result.by_gravity[: answer.ROWS]
    for rule in rules:
        print(render.one_line(f"{rule.outcome.value}: {rule.title}"))
        for reason in rule.reasons if full else rule.reasons[:REASONS]:
            render.sentence(f"  {render.one_line(reason)}")
        replies = rule.replies
        if replies:
            names = list(dict.fromkeys(reply.name for reply in replies))
            more = f" and {len(names) - NAMED} more (--json, --junit)" if len(names) > NAMED else ""
            print(f"  replies: {', '.join(names[:NAMED])}{more}")
    render.more(len(result.rules) - len(rules), "rule")
    render.notes(result.notes, full=full)
    if result.decision is not GateOutcome.PASSED:
        behind = result.behind()
        answer.then("report", result.run, *(["--show", behind[0][0][0].name] if behind else []))
    if terminal.in_workflow():
        for line in workflow_errors(result):
            print(line, file=terminal.direct(sys.stdout))


def show_gate_init(result: GateFile, call: CommandCall) -> None:
    """Print where a policy is, and how it is held."""
    print(result)
    print(command_line("gate", "RUN", "--policy", call.arguments.get("out", "gate.toml")))


def show_gate_baseline(result: GateFile, call: CommandCall) -> None:
    """Print where a baseline is, and how later builds are held against it."""
    print(result)
    print(command_line("gate", "RUN", "--policy", "gate.toml", "--baseline", call.arguments["out"]))
