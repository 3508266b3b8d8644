"""What the terminal shows: tables, progress bars, or JSON. Colours and bars only where somebody is watching."""

from __future__ import annotations

import contextlib
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindgauge.cli import terminal
from mindgauge.records import rounding
from mindgauge.records.errors import MindgaugeError
from mindgauge.records.redaction import redacted, redacted_command
from mindgauge.records.rounding import dollars, megabytes, seconds, write

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from mindgauge.analysis.score import Score, Scores
    from mindgauge.records.rounding import Kind
    from mindgauge.reports.content import ReportTable
    from mindgauge.reports.standing import ReliabilityGate
    from mindgauge.runs.forecast import DryRun, Forecast
    from mindgauge.runs.steps import PlannedStep


WIDTH = 160
"""Characters of a line where nobody watches."""
GAP = 2
NO_SCORE = "no score"
WRONG, RIGHT = "wrong", "right"


def command() -> str:
    """Return what the user typed, for the manifest, without secrets."""
    return redacted_command(["mindgauge", *sys.argv[1:]])


def as_json(result: object) -> None:
    """Print a result as JSON on one line; in ASCII where the terminal cannot show it otherwise."""
    import json

    import msgspec

    content = msgspec.json.encode(result, enc_hook=_path)
    print(
        content.decode() if terminal.shows(content.decode()) else json.dumps(json.loads(content), separators=(",", ":"))
    )


def _path(value: object) -> str:
    if isinstance(value, Path):
        return str(value)
    raise NotImplementedError(f"no JSON for {type(value).__name__}")


def notice(line: str) -> None:
    """Say something before the work begins, where it does not mix with the result."""
    print(redacted(f"Note: {line}"), file=sys.stderr)


@contextlib.contextmanager
def progress() -> Iterator[Callable[[str, int, int], None] | None]:
    """Show a bar per stage, on standard error, if that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=terminal.direct(sys.stderr))) as bars:
        stages: dict[str, Any] = {}

        def told(stage: str, completed: int, total: int) -> None:
            if stage not in stages:
                stages[stage] = bars.add_task(escape(_cell(stage)), total=total)
            bars.update(stages[stage], completed=completed, total=total)

        yield told


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; numbers are text already."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    drawn = Table(title=escape(_cell(title)), title_justify="left", box=None, pad_edge=False, header_style="bold")
    for column in columns:
        drawn.add_column(escape(_cell(column)), overflow="fold")
    for row in rows:
        drawn.add_row(*(escape(_cell(cell)) for cell in row))
    console = Console(file=terminal.direct(sys.stdout), width=None if sys.stdout.isatty() else WIDTH)
    console.print(drawn)


def sheet(report_table: ReportTable, *, less: Collection[str] = ()) -> None:
    """Print a table of the report; where it is wider than the terminal, in parts that each begin the columns that tell rows apart.

    Args:
        report_table: whose title and rows are printed.
        less: columns that are left out here.
    """
    from mindgauge.reports.table_renderings import joined

    names, cells = joined(report_table)
    kept = [place for place, name in enumerate(names) if name not in less]
    columns, rows = [names[place] for place in kept], [[row[place] for place in kept] for row in cells]
    naming = next((n for n in range(1, len(columns)) if len({tuple(row[:n]) for row in rows}) == len(rows)), 1)
    in_parts(report_table.title, columns[:naming], columns[naming:], rows)


def in_parts(title: str, names: Sequence[str], measures: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; where it is wider than the terminal, its measures stand in several tables of the same rows.

    Args:
        title: of the first one.
        names: columns that every table has, first.
        measures: the other columns; those that are empty throughout are not printed.
        rows: cells in the order of the columns.
    """
    columns = [*names, *measures]
    width = [max(map(len, column)) + GAP for column in zip(columns, *rows, strict=True)]
    room = _width() - sum(width[: len(names)])
    parts: list[list[int]] = [[]]
    for place in (index for index in range(len(names), len(columns)) if any(row[index] for row in rows)):
        if parts[-1] and sum(width[index] for index in parts[-1]) + width[place] > room:
            parts.append([])
        parts[-1].append(place)
    for number, part in enumerate(parts):
        places = [*range(len(names)), *part]
        table(
            "" if number else title,
            [columns[index] for index in places],
            [[row[index] for index in places] for row in rows],
        )


def _width() -> int:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH


def _cell(text: str) -> str:
    """Return what a cell shows: plain text on one line, since Rich writes past the guarded stream."""
    return terminal.plain(" ".join(text.splitlines()))


def scores(result: Scores, standings: ReliabilityGate | None = None) -> None:
    """Print what the benchmarks of a run go by, what went wrong, and where to read on.

    Args:
        result: the metrics.
        standings: the judges' reliability cards, whose verdicts stand in the place of scores that are withheld.
    """
    from mindgauge.analysis import fitness

    for sentence in fitness.told(result.unfit):
        print(sentence)
    names = list(dict.fromkeys(metric.benchmark for metric in result.metrics))
    headlines = list(_beside(result))
    multi_criteria = {name for name in names if len({m.criterion for m in headlines if m.benchmark == name}) > 1}
    columns = ("model", "rated by", "metric", "of", "value", "95 % interval", "n", "missing", "worst … best")
    for benchmark in names:
        listed = [m for m in headlines if m.benchmark == benchmark and not given(m)]
        if listed:
            rows = [_row(m, standings, named=benchmark in multi_criteria) for m in listed]
            table(f"{benchmark}  ({result.run})", columns, rows)
        if any(m.rater == f"{m.model}:majority" for m in listed):
            print(
                "Every answer counts in the rows NAME; in NAME:majority the answer given most often, a tie being none."
            )
        for line in counted_missing((m.benchmark, m.name, _counted(m)) for m in listed):
            print(line)
    for reason, sources in _void(result, headlines).items():
        print(f"No score: {', '.join(dict.fromkeys(sources))} gave {reason}")
    for reason, sources in _without_interval(headlines, standings).items():
        print(f"Note: {reason}: {', '.join(dict.fromkeys(sources))}")
    if standings is not None and any(standing.limited for standing in standings.cards.values()):
        display = "are marked" if standings.shown else "are not shown; --show-unreliable shows them"
        print(f"Scores of judges that agree too little with people {display} (mindgauge reliability {result.run})")
    worst = _worst_cells(result, standings, multi_criteria)
    if worst:
        table("Worst cells", ["model", "rated by", "metric", "where", "value", "95 % interval", "n"], worst)
    told(result)


def given(metric: Score) -> bool:
    """Whether a metric is how often a label was given, which stands in a table of its own."""
    from mindgauge.benchmarks.metrics import SHARE

    itself = metric.model == metric.rater  # it answered a closed question
    return metric.name.startswith(SHARE) and (itself or metric.rater.startswith("classifier/"))


def counted_missing(metrics: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    """Say what an answer without a value counts for, in the metrics that take it for right or for wrong.

    Args:
        metrics: benchmark, name and what missing answers count as, of every metric that is shown.
    """
    kinds: dict[tuple[str, str], set[str]] = {}
    for benchmark, name, counted in metrics:
        if counted:
            kinds.setdefault((benchmark, name), set()).add(counted)
    by_count: dict[tuple[str, str], list[str]] = {}
    for (benchmark, name), counted_as in kinds.items():
        if len(counted_as) == 1:
            by_count.setdefault((benchmark, counted_as.pop()), []).append(name)
    for (benchmark, counted), names in by_count.items():
        yield f"{benchmark}: in {', '.join(names)} an answer without a value counts as {counted}."


def _counted(metric: Score) -> str:
    """Return what missing answers count as in a share: as wrong where it is the worst that it could be, and the reverse."""
    if not (metric.missing and metric.unit == "share") or metric.value is None or metric.worst == metric.best:
        return ""
    return {metric.worst: WRONG, metric.best: RIGHT}.get(metric.value, "")


def _beside(result: Scores) -> Iterator[Score]:
    """Yield what benchmarks go by; a metric of the answers that could be read only where it differs from the strict one."""
    unread = {(m.benchmark, m.rater, m.name) for m in result.leading if m.missing}
    for metric in result.leading:
        strict = result.headlines[metric.benchmark].of_read.get(metric.name)
        if strict is None or (metric.benchmark, metric.rater, strict) in unread:
            yield metric


def _void(result: Scores, metrics: Sequence[Score]) -> dict[str, list[str]]:
    """Return why there are no scores of whom, where too few answers could be used; of unusable judges that is told first."""
    unfit = {(unfit_judge.benchmark, unfit_judge.judge, unfit_judge.criterion) for unfit_judge in result.unfit}
    reasons: dict[str, list[str]] = {}
    for metric in metrics:
        reported = (metric.benchmark, metric.rater, metric.criterion) in unfit
        if metric.void and not reported:
            reasons.setdefault(metric.void, []).append(metric.rater)
    return reasons


def _without_interval(metrics: Sequence[Score], standings: ReliabilityGate | None) -> dict[str, list[str]]:
    """Return why metrics that are shown have no interval, and which have none."""
    reasons: dict[str, list[str]] = {}
    for metric in metrics:
        visible = standings is None or not standings.withholds(metric)
        if visible and not metric.void and metric.value is not None and metric.low is None and metric.note:
            reasons.setdefault(metric.note, []).append(f"{metric.name} of {metric.rater}")
    return reasons


def told(result: Scores, *, told_before: Sequence[str] = ()) -> None:
    """Print what went wrong in a run, what must be known of it and was not told before, and what it took."""
    trouble = {status: n for status, n in result.statuses.items() if status != "ok"}
    if trouble:
        print("Not ok: " + ", ".join(f"{n} {status}" for status, n in sorted(trouble.items())))
    for note in (note for note in result.notes if note not in told_before):
        print(f"Note: {note}")
    for continuation in result.continued[-1:]:
        print(continuation.line)
    calls = result.calls
    cost = "unknown cost" if calls["cost"] is None and calls["made"] else dollars(calls["cost"] or 0.0)
    read = f"{calls['prompt_tokens']}" + (f" ({calls['cached_tokens']} from cache)" if calls["cached_tokens"] else "")
    print(f"{calls['made']} calls ({calls['failed']} failed), {read} + {calls['completion_tokens']} tokens, {cost}, {seconds(calls['seconds'])}")  # fmt: skip


def foreseen(estimate: DryRun) -> None:
    """Print what a command would take."""

    def about(cost: float | None) -> str:
        return "unknown cost" if cost is None else f"about {dollars(cost)}"

    table(
        f"{estimate.benchmark}: nothing is sent ({estimate.done} calls done before)",
        ["model", "purpose", "calls", "tokens in", "tokens out", "cost"],
        [
            [s.model, s.purpose, _calls(s), str(s.prompt_tokens), str(s.completion_tokens), about(s.cost)]
            for s in estimate.steps
        ],
    )
    print(
        f"{estimate.calls} calls, about {estimate.prompt_tokens} + {estimate.completion_tokens} tokens, {about(estimate.cost)}"
    )
    forecast(estimate.forecast)


def forecast(estimate: Forecast) -> None:
    """Print how long it would take, where, and what that rests on."""
    room = f"{megabytes(estimate.bytes, 0)} of run" if estimate.bytes >= 1e6 else "under 1 MB of run"
    if estimate.seconds is None:
        rounds = "1 round" if estimate.rounds == 1 else f"{estimate.rounds} rounds"
        print(f"{rounds} of batches, each answered within a day; {room}")
        return
    parallel = ""
    if estimate.machines > 1:
        parallel = f", or {duration(estimate.seconds / estimate.machines)} on {estimate.machines}, with a run of some of the models or benchmarks each"
    print(f"about {duration(estimate.seconds)} on 1 machine{parallel}; {room}")
    for assumption in estimate.rests_on:
        print(f"note: {assumption}")


def duration(seconds: float) -> str:
    """Write a time on the clock in the two largest units that it has."""
    if seconds < 60:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"


def _calls(step: PlannedStep) -> str:
    """Write how many calls a step takes; one that may stop early, at most and if every answer is right."""
    if step.calls == step.expected_calls:
        return str(step.calls)
    return f"at most {step.calls}, {step.expected_calls} if every answer is right"


def verdict_on(result: Scores) -> None:
    """Leave with 1 where not one call of a run succeeded, or part of it could not be run; what it holds has been shown.

    Raises:
        MindgaugeError: every reply or rating failed, or the data of a benchmark cannot be used.
    """
    failed = result.statuses.get("failed", 0)
    if failed and failed == sum(result.statuses.values()):
        raise MindgaugeError(
            f"all {failed} failed, so nothing was measured; the reasons stand in {result.run} "
            f"(mindgauge report {result.run}), and the same command tries again"
        )
    if result.broken:
        name, reason = next(iter(result.broken.items()))
        others = f" (and {len(result.broken) - 1} more)" if len(result.broken) > 1 else ""
        raise MindgaugeError(f"{name} was not run{others}: {reason}")


def _row(metric: Score, standings: ReliabilityGate | None, *, named: bool) -> list[str]:
    """Write a metric as cells; `named` with its criterion, where there are several."""
    kind: Kind = "share" if metric.unit == "share" else "level"
    bounds = f"{write(metric.worst, kind)} … {write(metric.best, kind)}" if metric.missing else ""
    interval = rounding.interval(metric.low, metric.high, kind)
    value = write(metric.value, kind)
    if metric.void:
        value, bounds, interval = NO_SCORE, "", ""
    if standings is not None and standings.limited(metric):
        value = standings.instead(metric, value) or value
        bounds, interval = (bounds, interval) if standings.shown else ("", "")
    return [
        metric.model, metric.rater, f"{metric.name} {metric.criterion}" if named else metric.name, metric.slice, value, interval,
        str(metric.n), str(metric.missing), bounds,
    ]  # fmt: skip


def _worst_cells(result: Scores, standings: ReliabilityGate | None, multi_criteria: set[str]) -> list[list[str]]:
    """Return, for each model, rater and criterion, the class in which it does worst, by what the benchmark goes by first."""
    cells: dict[tuple[str, str, str, str, str], Score] = {}
    for metric in result.metrics:
        kind = metric.slice.partition("=")[0]
        headline = result.headlines.get(metric.benchmark)
        by_class = headline is not None and (
            (kind == "category" and metric.name in headline.metrics[:1])
            or (kind == "label" and metric.name in headline.parts)
        )
        if metric.value is None or metric.void or not metric.better or not by_class:
            continue
        key = (metric.benchmark, metric.model, metric.rater, metric.name, metric.criterion)
        if key not in cells or metric.worse_than(cells[key]):
            cells[key] = metric
    return [_row(cell, standings, named=cell.benchmark in multi_criteria)[:7] for cell in cells.values()]
