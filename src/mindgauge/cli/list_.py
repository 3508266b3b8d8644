"""What `mindgauge list` prints: a line for each benchmark, or the card of one."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from mindgauge.cli import answer, render
from mindgauge.records.rounding import count, plural

if TYPE_CHECKING:
    from mindgauge.cli.command import CommandCall
    from mindgauge.commands.list import BenchmarkListing, Listing

_COLUMNS = ["benchmark", "kind", "takes", "in", "samples", "judge", "calls"]
_KINDS = {"closed": "question", "open": "reply"}


def show_list(result: Listing, call: CommandCall, *, full: bool = False) -> None:
    """Print a line for each benchmark, or cards."""
    if result.written:
        for name, reason in result.broken.items():
            print(f"Note: {name} has no card, since it cannot be loaded: {reason}")
        print(f"{plural(len(result.benchmarks), 'benchmark card')}, each as JSON and Markdown:")
        for file in result.written:
            print(f"  {file}")
        return
    if call.arguments.get("names") and (full or len(result.benchmarks) == 1):
        from mindgauge.cli import benchmark_card

        for entry in result.benchmarks:
            benchmark_card.show(entry, full=full)
        return
    _lines(result)
    if full:
        rows = [[e.name, e.measures, ", ".join(e.languages), _own(e), e.licence] for e in result.benchmarks]
        columns = ["benchmark", "measures", "languages", "own samples", "licence of the released data"]
        render.table("", columns, rows)
    for name, reason in result.broken.items():
        print(f"Note: {name} cannot be loaded: {reason}")
    print("A question is answered by the model itself; a reply and a dialogue need a judge.")
    print("Samples are ours, calls are those of one model, and of one judge of its replies.")
    answer.then("list", "NAME")


def _lines(result: Listing) -> None:
    """Print a line for each benchmark, those of a family below its name."""
    answer.first(
        f"{plural(len(result.benchmarks), 'benchmark')}; each comes with samples of ours and runs without a download.",
        "A family runs whole: mindgauge run FAMILY; of its members, FAMILY/MEMBER.",
    )
    rows: list[list[str]] = []
    for family, group in groupby(result.benchmarks, key=lambda entry: entry.name.partition("/")[0]):
        members = [*group]
        if members[0].name != family:
            rows.append([f"{family}/", *[""] * (len(_COLUMNS) - 1)])
        rows += [_row(entry, family) for entry in members]
    render.table("", _COLUMNS, rows)


def _row(entry: BenchmarkListing, family: str) -> list[str]:
    name = entry.name if entry.name == family else f"  {entry.name.removeprefix(f'{family}/')}"
    kind = "dialogue" if entry.personas else _KINDS[entry.kind]
    numbers = [count(entry.samples), "yes" if entry.judged else "no", count(entry.calls)]
    return [name, kind, entry.takes, ", ".join(entry.languages), *numbers]


def _own(entry: BenchmarkListing) -> str:
    """Say what of it needs no download."""
    if not entry.personas:
        return str(entry.samples)
    return f"{plural(entry.samples, 'dialogue')}, {plural(entry.personas, 'persona')}"
