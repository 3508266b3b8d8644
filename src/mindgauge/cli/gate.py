"""`mindgauge gate`: hold a policy against a run; `gate init` and `gate baseline` write what it takes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mindgauge.analysis.gate.outcome import GateOutcome
from mindgauge.cli import answer, options, render, terminal
from mindgauge.records.english import ended
from mindgauge.records.shell import command_line

if TYPE_CHECKING:
    from mindgauge.analysis.gate.outcome import GateDecision

NAMED = 5
"""Replies of a rule that are named."""
REASONS = 3
"""Reasons of a rule that are printed without `--full`."""
_CHECK = "RUN"
"""The command that a run's name stands for."""


class _Gate(options.CommandGroup):
    """`gate init`, `gate baseline`, and `gate RUN`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in self.commands:
            args = [_CHECK, *args]
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Let options stand before the run, too."""
        if args and args[0].startswith("-") and args[0] not in {"--help", "-h"}:
            args = [_CHECK, *args]
        return super().parse_args(ctx, args)


app = options.group(
    "Whether a build may be released: a team's rules, held against a run. Exit code 0 passed, 1 failed, 2 wrong use, 3 cannot tell.",
    cls=_Gate,
)


@app.command(_CHECK, cls=options.Command)
def gate(
    run: Annotated[Path, typer.Argument(help="The build's run directory.")],
    policy: Annotated[Path, typer.Option(help="The rules; `mindgauge gate init RUN` writes a file to begin with.")],
    baseline: Annotated[
        Path | None, typer.Option(help="A run, or a file of `gate baseline`; if not given, the policy's.")
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write each rule as a JUnit test case here.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write before and after as Markdown here.")] = None,
    series: Annotated[
        Path | None,
        typer.Option(
            help="A file of nights, which the gate adds itself to: `false_alarms` is then the chance of all of them together."
        ),
    ] = None,
    full: options.Full = False,
    json: options.Json = False,
) -> None:
    """Hold a policy against a run. Exit code 0: passed, 1: failed, 2: wrong use, 3: cannot tell."""
    from mindgauge.commands.gate import gate as function
    from mindgauge.reports.gate_files import record

    with render.working("Holding the rules"):
        result = function(run, policy=policy, baseline=baseline, junit=junit, markdown=markdown, series=series)
    if json:
        render.as_json(record(result))
    else:
        models = {finding.model for rule in result.rules for finding in rule.findings}
        raters = {finding.rater for rule in result.rules for finding in rule.findings}
        with terminal.short(models | raters):
            show(result, full=full)
    raise typer.Exit(result.exit_code)


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


@app.command("init", cls=options.Command)
def init(
    run: Annotated[Path, typer.Argument(help="A run directory.")],
    out: Annotated[Path, typer.Option(help="The policy to write.")] = Path("gate.toml"),
    baseline: Annotated[
        Path | None,
        typer.Option(help="What it compares with, such as a file of `gate baseline`; the run, if not given."),
    ] = None,
) -> None:
    """Write a policy to begin with: limits that a run keeps."""
    from mindgauge.commands.gate import gate_init

    print(gate_init(run, out=out, baseline=baseline))
    print(command_line("gate", "RUN", "--policy", out))


@app.command("baseline", cls=options.Command)
def baseline(
    run: Annotated[Path, typer.Argument(help="A run directory.")],
    out: Annotated[
        Path, typer.Option(help="The file to write, for your repository: hashes, values, verdicts, no text.")
    ],
    again: Annotated[
        Path | None,
        typer.Option(
            help="A later run of the same build, which the file then holds: RUN may have been picked by luck."
        ),
    ] = None,
) -> None:
    """Write what later builds are compared with, as a small file."""
    from mindgauge.commands.gate import gate_baseline

    print(gate_baseline(run, out=out, again=again))
    print(command_line("gate", "RUN", "--policy", "gate.toml", "--baseline", out))
