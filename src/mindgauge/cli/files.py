"""What is printed of what commands write for people and other programs: folders, pages, one reply."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.cli import render
from mindgauge.records.rounding import plural
from mindgauge.records.text import visible

if TYPE_CHECKING:
    from mindgauge.commands.export import Exported
    from mindgauge.commands.new import NewBenchmark
    from mindgauge.commands.reply import ShownReply
    from mindgauge.commands.view import ViewServed
    from mindgauge.reports.page import ReportFiles


def show_new(result: NewBenchmark) -> None:
    """Print what was written, and what to do next."""
    for line in result.summary():
        print(line)


def show_export(result: Exported) -> None:
    """Print where it was written, and what has no place there."""
    for note in result.notes:
        print(f"note: {note}")
    print(result.path)


def show_report(result: ReportFiles) -> None:
    """Print where the page is, and what is beside it."""
    print(result.path)
    if result.reader is not None:
        print(result.reader / "index.html")
    if result.english:
        stayed = plural(len(result.english), "sentence")
        render.notice(f"{stayed} stayed English; `--json` lists them under english")
    if result.card is not None:
        print(result.card)


def show_reply(result: ShownReply) -> None:
    """Print one reply."""
    for line in result.lines():
        print(visible(line))


def show_view(result: ViewServed) -> None:
    """Print where the reader runs."""
    for note in result.notes:
        render.notice(note)
    for line in result.summary():
        print(line)
