"""What the terminal shows: tables, progress bars, or JSON. Colours and bars only where somebody is watching."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import sys
import textwrap
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindgauge.cli import layout, terminal
from mindgauge.records.alike import put_together
from mindgauge.records.english import named, words
from mindgauge.records.errors import MindgaugeError
from mindgauge.records.redaction import redacted, redacted_command
from mindgauge.records.rounding import count, dollars, duration, megabytes, plural, seconds, spending
from mindgauge.records.shell import command_line

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from mindgauge.analysis.score import Scores
    from mindgauge.reports.content import ReportTable
    from mindgauge.runs.forecast import DryRun, Forecast
    from mindgauge.runs.steps import PlannedStep


WIDTH = 160
"""Characters of a line where nobody watches."""
GAP = 2
_NUMBERS = re.compile(r"^(?:[<>−+$\d–][^a-z]{0,40})?$")
"""A cell with numbers, or none: an estimate and its interval stand on one line as long as words can be folded instead."""
NOTES = 5
"""Kinds of notes that are shown without `--full`."""
_KINDS = {"reply": "replies", "rating": "ratings"}
"""What a run holds, one and several."""
_OUTSIDE = "not_applicable"
"""The status of what is no part of any n, and no fault."""
_MEASURED = {"ok", "not_applicable"}
_EXAMPLE = 80
"""Characters that are shown of an answer that could not be read."""
HALF_A_MINUTE = 30.0
"""Seconds between two lines that say how far a command is, where nobody watches."""


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


def one_line(text: str) -> str:
    """Write a text in one line, whatever breaks it: names of models are somebody else's words."""
    return " ".join(text.split())


def notice(line: str) -> None:
    """Say something before the work begins, where it does not mix with the result."""
    print(redacted(f"Note: {line}"), file=sys.stderr)


class Notices(set[str]):
    """What a command has said before its work began, so that its result does not say it again to the same reader."""

    def __init__(self) -> None:
        super().__init__()
        self._one_reader = terminal.one_reader()  # before the progress takes the place of the result

    def __call__(self, line: str) -> None:
        """Say something; remember it as a result would say it, unless that goes elsewhere."""
        if self._one_reader:
            self.add(redacted(line))
        notice(line)


@contextlib.contextmanager
def progress() -> Iterator[Callable[[str, int, int], None] | None]:
    """Show a bar per stage on standard error, a line every half minute where that is no terminal; what a user's own code prints goes there, too."""
    with contextlib.redirect_stdout(sys.stderr), _bars() as told:
        yield told


@contextlib.contextmanager
def _bars() -> Iterator[Callable[[str, int, int], None] | None]:
    if not sys.stderr.isatty():
        with _lines() as told:
            yield told
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


@contextlib.contextmanager
def _at_times(report: Callable[[], None]) -> Iterator[None]:
    """Let something be reported each time that half a minute has gone."""
    ended = threading.Event()

    def repeat() -> None:
        while not ended.wait(HALF_A_MINUTE):
            report()

    reporter = threading.Thread(target=repeat, daemon=True)
    reporter.start()
    try:
        yield
    finally:
        ended.set()
        reporter.join()


@contextlib.contextmanager
def working(stage: str) -> Iterator[None]:
    """Print on standard error, each time that half a minute has gone, for how long a command has been at something."""
    stream, begun = terminal.direct(sys.stderr), time.monotonic()
    with _at_times(lambda: print(f"{stage}: {duration(time.monotonic() - begun)} so far", file=stream, flush=True)):
        yield


@contextlib.contextmanager
def _lines() -> Iterator[Callable[[str, int, int], None]]:
    """Print how far the last stage is, each time that half a minute has gone, so that a log shows that something goes on."""
    stream = sys.stderr
    latest: tuple[str, int, int] | None = None

    def report() -> None:
        if latest is not None:
            stage, completed, total = latest
            print(f"{_cell(stage)}: {count(completed)} of {count(total)}", file=stream, flush=True)

    def take(*progress: Any) -> None:
        nonlocal latest
        latest = progress

    with _at_times(report):
        yield take


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; numbers are text already."""
    if title:
        say(title)
    cells = [[_cell(cell) for cell in row] for row in rows]
    numbers = [place for place, column in enumerate(zip(*cells, strict=True)) if all(map(_NUMBERS.match, column))]
    stream = terminal.direct(sys.stdout)
    for line in layout.lines([*map(_cell, columns)], cells, page_width(), rigid=numbers, styled=terminal.styles()):
        print(line, file=stream)


def sheet(report_table: ReportTable, *, less: Collection[str] = (), folded: bool = False) -> None:
    """Print a table of the report with its note; where it is wider than the terminal, in parts (see `in_parts`).

    Args:
        report_table: whose title, rows and note are printed.
        less: columns that are left out here; the note, which may speak of them, then is, too.
        folded: whether it stays one table, whose cells are folded where it is wider than the terminal.
    """
    from mindgauge.reports.content import joined

    names, cells = joined(report_table)
    kept = [place for place, name in enumerate(names) if name not in less]
    columns, rows = [names[place] for place in kept], [[row[place] for place in kept] for row in cells]
    if folded:
        table(report_table.title, columns, rows)
    else:
        _parted(report_table.title, columns, rows)
    if report_table.note and not less:
        say(report_table.note)


def _parted(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table in parts, each with the columns that tell its rows apart."""
    naming = next((n for n in range(1, len(columns)) if len({tuple(row[:n]) for row in rows}) == len(rows)), 1)
    in_parts(title, columns[:naming], columns[naming:], rows)


def in_parts(title: str, names: Sequence[str], measures: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; where it is wider than the terminal, its measures stand in several tables of the same rows.

    Where the names would take more than half of each of these, there are tables for each first name, which is their title.

    Args:
        title: of the first one.
        names: columns that every table has, first.
        measures: the other columns; those that are empty throughout are not printed.
        rows: cells in the order of the columns.
    """
    columns = [*names, *measures]
    width = [max(layout.measure(_cell(cell)) for cell in column) + GAP for column in zip(columns, *rows, strict=True)]
    visible = [index for index in range(len(names), len(columns)) if any(row[index] for row in rows)]
    most, naming = page_width() + GAP, sum(width[: len(names)])
    if len(names) > 1 and 2 * naming > most < naming + sum(width[index] for index in visible):
        if title:
            say(title)
        for first in dict.fromkeys(row[0] for row in rows):
            same = [row[1:] for row in rows if row[0] == first]
            in_parts(f"{names[0]}: {first}" if first else "", names[1:], measures, same)
        return
    parts: list[list[int]] = [[]]
    for place in visible:
        if parts[-1] and naming + sum(width[index] for index in parts[-1]) + width[place] > most:
            parts.append([])
        parts[-1].append(place)
    for number, part in enumerate(parts):
        places = [*range(len(names)), *part]
        table(
            "" if number else title,
            [columns[index] for index in places],
            [[row[index] for index in places] for row in rows],
        )


def say(text: str) -> None:
    """Print a sentence, a title or a note, no word broken."""
    joined = _cell(text).replace(" %", "\xa0%")  # a number and its unit stay together
    print(textwrap.fill(joined, page_width(), break_long_words=False, break_on_hyphens=False).replace("\xa0%", " %"))


def sentence(text: str) -> None:
    """Print a sentence: folded for who watches, on one line for who searches a log."""
    if sys.stdout.isatty():
        say(text)
    else:
        print(_cell(text))


def page_width() -> int:
    """Return the columns of the terminal; where nobody watches, those of a wide page."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH


def _cell(text: str) -> str:
    """Return what a cell shows: plain text on one line, since tables are written past the guarded stream."""
    return terminal.plain(" ".join(text.splitlines()))


def told(result: Scores, *, told_before: Collection[str] = (), full: bool = False) -> None:
    """Print what went wrong in a run, what must be known of it and was not told before, and what it took."""
    trouble = [line for kind, noun in _KINDS.items() for line in _trouble(result, kind, noun)]
    outside = [f"{count(n)} {words(status)}" for status, n in result.statuses.items() if status == _OUTSIDE]
    if trouble:
        print(f"Not ok: {', '.join(trouble)}{f'; {outside[0]}' if outside else ''}")
    if why := _failure(result):
        print(f"Failed most often: {why}")
    if result.still_missing:
        print(f"Not finished: {result.still_missing}; the same command goes on")
    notes((note for note in result.notes if note not in told_before), full=full)
    for continuation in result.continued[-1:]:
        print(continuation.line)
    calls = result.calls
    if not calls["made"]:
        print("No call was made.")
        return
    price = spending(calls["cost"], calls["unpriced"]) or "unknown cost"
    read = f"{calls['prompt_tokens']}" + (f" ({calls['cached_tokens']} from cache)" if calls["cached_tokens"] else "")
    print(f"{'In all ' if result.continued else ''}{calls['made']} calls ({calls['failed']} failed), {read} + {calls['completion_tokens']} tokens, {price}, {seconds(calls['seconds'])}")  # fmt: skip


def _trouble(result: Scores, kind: str, nouns: str) -> Iterator[str]:
    """Say how many records of a kind ended in each status other than ok."""
    by_status: Counter[str] = Counter()
    for entry in result.statuses_by:
        by_status[entry.status] += entry.n if entry.kind == kind else 0
    for status, n in sorted((+by_status).items()):
        if status not in {"ok", _OUTSIDE}:
            yield f"{count(n)} {words(status)} {nouns if n > 1 else kind}"


def more(n: int, noun: str = "row", nouns: str = "") -> None:
    """Say how many rows `--full` has beside those that were printed."""
    if n > 0:
        print(f"{plural(n, f'more {noun}', f'more {nouns}' if nouns else '')}: --full")


def notes(lines: Iterable[str], *, full: bool, head: str = "Note") -> None:
    """Print notes: all with `full`; else those of one kind together, and the first kinds."""
    kinds = [*lines] if full else put_together([*lines], "--full lists them")
    listed = kinds if full else kinds[:NOTES]
    for line in listed:
        (print if full else sentence)(f"{head}: {line}")
    more(len(kinds) - len(listed), "note")


def foreseen(estimate: DryRun) -> None:
    """Print what a command would take."""

    def about(cost: float | None) -> str:
        return "unknown cost" if cost is None else f"about {dollars(cost)}"

    with terminal.short(s.model for s in estimate.steps):
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
    for shown in estimate.requests:
        settings = {name: value for name, value in shown.body.items() if name != "messages"}
        print(f"\n{shown.model}, {shown.purpose}: {json.dumps(settings, ensure_ascii=False)}")
        for message in shown.body["messages"]:
            print(f"[{message['role']}]\n{message['content']}")


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


def _calls(step: PlannedStep) -> str:
    """Write how many calls a step takes; one that may stop early, at most and if every answer is right."""
    if step.calls == step.expected_calls:
        return str(step.calls)
    return f"at most {step.calls}, {step.expected_calls} if every answer is right"


def verdict_on(result: Scores) -> None:
    """Leave with 1 where nothing was measured, or part of a run could not be run; what it holds has been shown.

    Raises:
        MindgaugeError: no reply came, no judge gave a verdict that can be used, or the data of a benchmark cannot be used.
    """
    for kind, noun in _KINDS.items():
        n: Counter[str] = Counter()
        for entry in result.statuses_by:
            n[entry.status] += entry.n if entry.kind == kind else 0
        n = +n
        if [*n] == ["failed"]:
            why = f", most often {failure}" if (failure := _failure(result)) else ""
            raise MindgaugeError(
                f"all {count(n.total())} {noun} failed, so nothing was measured{why}; the same command tries again"
            )
        if kind == "rating" and result.judges and n and not n.keys() & _MEASURED:
            _refuse_unreadable_replies(result)
            verdicts = f"no usable verdict in {count(n.total())} of {count(n.total())}"
            raise MindgaugeError(f"{verdicts}, so nothing was measured{_unread(result)}")
    if result.broken:
        name, reason = next(iter(result.broken.items()))
        others = f" (and {len(result.broken) - 1} more)" if len(result.broken) > 1 else ""
        raise MindgaugeError(f"{name} was not run{others}: {reason}")


def _refuse_unreadable_replies(result: Scores) -> None:
    """Say that it is the replies of which none can be used, where it is: then no judge had anything to read.

    Raises:
        MindgaugeError: there are replies, and none is ok.
    """
    replies = [entry for entry in result.statuses_by if entry.kind == "reply"]
    if replies and all(entry.status != "ok" for entry in replies):
        raise MindgaugeError(
            f"no usable reply in {count(sum(entry.n for entry in replies))} ({named([*_trouble(result, 'reply', 'replies')])}), so nothing "
            f"was measured; look at what came ({command_line('view', result.run)}), or raise --max-tokens where it was cut off"
        )


def _unread(result: Scores) -> str:
    """Say by an example what a judge answered that could not be read; empty where nothing is kept of it."""
    from mindgauge.store import Store

    with Store(Path(result.run)) as store:
        answer = store.unread_answer()
    if answer is None:
        return ""
    problem, text = answer
    began = " ".join(text.split())
    shown = (
        f"; the answer began: “{began[:_EXAMPLE]}{'…' * (len(began) > _EXAMPLE)}”"
        if began
        else "; the answer was empty"
    )
    return redacted(f"; for one, {problem or 'it could not be read'}{shown}")


def _failure(result: Scores) -> str:
    """Say who failed most often, and why; empty where no call did."""
    if not result.calls["failed"]:
        return ""
    from mindgauge.store import Store

    with Store(Path(result.run)) as store:
        failure = store.commonest_failure()
    return "" if failure is None else failure.words
