"""What is printed of logs: what is in them, and whether a watch raises an alarm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.cli import answer, render
from mindgauge.records.text import visible

if TYPE_CHECKING:
    from mindgauge.cli.command import CommandCall
    from mindgauge.commands.logs.logs import LogSummary
    from mindgauge.commands.watch.watch import WatchResult


def show_logs_show(result: LogSummary, call: CommandCall) -> None:
    """Print what is in logs, without a word of it."""
    for line in result.summary():
        render.sentence(visible(line))
    if result.out and call.arguments.get("text", True):
        answer.then("rate", "BENCHMARK", "--dialogues", result.out, "--judge", "JUDGE")


def show_logs_watch(result: WatchResult, *, every: float | None = None) -> None:
    """Print what a look says in one line, what must be known of it, and where the charts are.

    Args:
        result: what the command returned.
        every: Look again after this many minutes, until interrupted; else once.
    """
    del every
    if result.look is None:
        sentence, *notes = result.summary()
        print(render.one_line(visible(sentence)), flush=True)
        render.notes(map(visible, notes), full=False)
        return
    print(render.one_line(visible(result.look.line())), flush=True)
    render.notes(map(visible, result.look.notes), full=False)
    print(f"Charts: {result.page}", flush=True)


def end_logs_watch(result: WatchResult) -> int:
    """Return the exit code: 0 no alarm, 1 alarm, 3 cannot tell."""
    return result.exit_code
