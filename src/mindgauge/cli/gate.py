"""What is printed of a gate: whether a build may be released, and why not."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mindgauge.analysis.gate.outcome import GateOutcome
from mindgauge.cli import answer, render, terminal
from mindgauge.records.english import ended
from mindgauge.records.shell import command_line

if TYPE_CHECKING:
    from mindgauge.analysis.gate.outcome import GateDecision
    from mindgauge.cli.command import CommandCall
    from mindgauge.commands.gate import GateFile

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
    from mindgauge.reports.gate_record import record

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
        answer.then("report", result.run, *(["--show", behind[0].ratings[0].name] if behind else []))
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
