"""What is printed of what commands read and write: logs, findings of an audit, folders, pages, one reply."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from mindgauge.cli import answer, render
from mindgauge.records.english import raised
from mindgauge.records.rounding import plural
from mindgauge.records.text import visible

if TYPE_CHECKING:
    from mindgauge.analysis.audit.view import Finding
    from mindgauge.cli.command import CommandCall
    from mindgauge.commands.audit import Audit
    from mindgauge.commands.export import Exported
    from mindgauge.commands.logs.logs import LogSummary
    from mindgauge.commands.new import NewBenchmark
    from mindgauge.commands.report import ShownReply
    from mindgauge.commands.view import ViewServed
    from mindgauge.commands.watch.watch import WatchResult
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


def show_logs_show(result: LogSummary, call: CommandCall) -> None:
    """Print what is in logs, without a word of it."""
    for line in result.summary():
        render.sentence(visible(line))
    if result.out and call.arguments.get("text", True):
        answer.then("rate", "BENCHMARK", "--dialogues", result.out, "--judge", "JUDGE")


def show_logs_watch(result: WatchResult, *, every: Annotated[float, Meta(ge=0)] | None = None) -> None:
    """Print what a look says in one line, what must be known of it, and where the charts are.

    Args:
        result: what the command returned.
        every: Look again after this many minutes, until interrupted; once if not given.
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


_FAILING = {"error": ("error",), "warning": ("error", "warning")}
_PLACES = 3
"""Places shown for each finding; --json has more."""


def show_audit(result: Audit, *, fail_on: Literal["error", "warning", ""] = "", full: bool = False) -> None:
    """Print how much was found and the gravest of it, then each finding; findings of one kind together without `full`.

    Args:
        result: what the command returned.
        full: Everything: every table, every row, every note.
        fail_on: error or warning: exit with 1 if there are such findings.
    """
    del fail_on
    summary = ", ".join(plural(n, severity) for severity, n in result.counts.items() if n) or "nothing found"
    gravest = next(iter(result.findings), None)
    answer.first(
        f"{raised(summary)}; looked at {result.texts:,} texts and {result.ratings:,} ratings.",
        f"{raised(gravest.severity.value)}: {gravest.message}; {gravest.effect}." if gravest is not None else "",
    )
    findings = result.findings if full else list({f.id: f for f in reversed(result.findings)}.values())[::-1]
    listed = findings if full else findings[: answer.ROWS]
    alike = Counter(finding.id for finding in result.findings)
    with_subject = len({finding.subject for finding in result.findings}) > 1
    rows = [
        [f.severity, f.id, f"{f.count:,}", *([f.subject] if with_subject else []), _said(f, 1 if full else alike[f.id], full=full), *([f.effect] if full else [])]
        for f in listed
    ]  # fmt: skip
    if rows:
        columns = [
            "severity",
            "finding",
            "count",
            *(["in"] if with_subject else []),
            "what and where",
            *(["what it does to results"] if full else []),
        ]
        render.table(result.source, columns, rows)
        render.more(len(result.findings) - len(listed))
    if result.claims:
        columns = ["verdict", "claim", "what the ratings say"]
        render.table(
            "Claims",
            columns,
            [
                [c.verdict, c.claim, "\n".join(sentence.removeprefix(f"{c.claim}: ") for sentence in c.sentences)]
                for c in result.claims
            ],
        )


def end_audit(result: Audit, call: CommandCall) -> int:
    """Return 1 where there are findings as grave as the user says."""
    return int(any(result.counts[severity] for severity in _FAILING.get(call.options.get("fail_on", ""), ())))


def _said(finding: Finding, alike: int, *, full: bool) -> str:
    """Write what a finding says: with its places where all is asked for, else with how many say the like."""
    if full:
        return "\n  ".join([finding.message, *finding.where[:_PLACES]])
    return f"{finding.message}{f' (and {alike - 1} more like it)' if alike > 1 else ''}"
