"""What `mindgauge list` prints: a line for each benchmark, or the card of one."""

from __future__ import annotations

import contextlib
import textwrap
from itertools import groupby
from typing import TYPE_CHECKING

from mindgauge import benchmarks
from mindgauge.cli import answer, render
from mindgauge.commands.list import how
from mindgauge.records.english import words
from mindgauge.records.errors import DataError
from mindgauge.records.rounding import count, plural
from mindgauge.records.rubric import Scale, in_language
from mindgauge.records.shell import command_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.benchmarks import Benchmark
    from mindgauge.cli.command import CommandCall
    from mindgauge.commands.list import BenchmarkListing, Listing
    from mindgauge.records.rubric import Criterion


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
        for entry in result.benchmarks:
            _card(entry, full=full)
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


CRITERIA = 6
"""Criteria whose levels are shown without `--full`."""
_INDENT = "  "
_ENGLISH = "en"
_ROLES = {"user": "Person", "assistant": "Chatbot", "system": "Before it"}


def _card(entry: BenchmarkListing, *, full: bool) -> None:
    """Print the card of a benchmark.

    Args:
        entry: what is listed of it.
        full: every criterion, file and departure from the paper.
    """
    benchmark = benchmarks.asked_one(entry.folder or entry.name)
    card = benchmark.card
    render.say(f"{entry.name}: {card.title}" if card.title else entry.name)
    source = ", ".join(filter(None, [card.authors, str(card.year or ""), card.link]))
    _field("By", source)
    _field("Measures", card.measures)
    _field("Does not measure", card.does_not_measure)
    _field("How", how(benchmark, entry))
    _field("Samples", _samples(entry))
    _field("Who wrote and checked them", card.own_samples_by or "that is not recorded")
    for line in entry.trial:
        _wrapped(line)
    _field("Licence", card.licence)
    _field("Data", card.obtain)
    if full:
        for file in card.data:
            _field("", f"- {file.path}: {file.holds}{f', {count(file.rows)} rows' if file.rows else ''}")
        for departure in card.departures:
            _field("Differs from the paper" if departure == card.departures[0] else "", departure)
    _criteria(benchmark, full=full)
    _own_folder(entry)
    _sample(benchmark)
    _commands(entry, benchmark)


def _field(name: str, text: str) -> None:
    if text:
        _wrapped(f"{name}: {text}" if name else text)


def _wrapped(text: str, indent: str = "") -> None:
    """Print a paragraph; what follows its first line stands further in."""
    width = render.page_width()
    for line in textwrap.wrap(
        text, min(width, 100), initial_indent=indent, subsequent_indent=indent + _INDENT, break_on_hyphens=False
    ):
        print(line)


def _samples(entry: BenchmarkListing) -> str:
    """Say how many there are, and what a run of them takes."""
    noun = "dialogue" if entry.personas else "message" if entry.folder else "sample"
    place = f" in {entry.folder}" if entry.folder else ""
    return (
        f"{plural(entry.samples, noun)} ({', '.join(entry.languages)}){place}; {count(entry.calls)} calls for one model"
        f"{' and one judge' if entry.judged else ''}"
    )


def _criteria(benchmark: Benchmark, *, full: bool) -> None:
    criteria = benchmark.rubric.criteria
    listed = criteria if full else criteria[:CRITERIA]
    print()
    for criterion in listed:
        veto = ", a veto" if criterion.veto else ""
        scale = "worst first" if criterion.scale is Scale.ORDINAL else "one of these"
        _wrapped(f"{words(criterion.name)} ({scale}{veto}): {in_language(criterion.text, _ENGLISH)}")
        for line in _levels(criterion):
            _wrapped(line, _INDENT)
    render.more(len(criteria) - len(listed), "criterion", "criteria")


def _levels(criterion: Criterion) -> Iterator[str]:
    """Say what each level looks like; where that hangs on a category, for the first one."""
    texts = {level.value: in_language(level.text, _ENGLISH) for level in criterion.levels}
    if criterion.protocols:
        protocol, levels = next(iter(criterion.protocols.items()))
        yield f"by category, here for {words(protocol)}:"
        texts = {level.value: in_language(text, _ENGLISH) for level, text in zip(criterion.levels, levels, strict=True)}
    for value in criterion.worst_first:
        yield f"{words(value)}: {texts[value]}" if texts[value] else words(value)


def _own_folder(entry: BenchmarkListing) -> None:
    """Say of a folder of the user's own which prompts it has, and what is odd."""
    if not entry.folder:
        return
    for criterion in entry.criteria:
        _wrapped(f"{criterion.name} goes by {', '.join(criterion.metrics)}")
    print(f"Prompts: {', '.join(entry.prompts)}, else the usual ones" if entry.prompts else "Prompts: the usual ones")
    for note in entry.notes:
        print(f"Note: {note}")


def _sample(benchmark: Benchmark) -> None:
    """Print one of the samples that need no download as a person would see it, in English where there is one."""
    with contextlib.suppress(DataError):
        samples = benchmark.own_samples()
        english = [sample for sample in samples if sample.tags.get("language") == _ENGLISH]
        sample = (english or samples)[0]
        print("\nA sample of ours:" if benchmarks.shipped(benchmark.name) else "\nA sample:")
        for message in sample.messages:
            _wrapped(f"{_ROLES.get(message.role, message.role)}: {' '.join(message.content.split())}", _INDENT)


def _commands(entry: BenchmarkListing, benchmark: Benchmark) -> None:
    name = entry.name if not entry.folder else entry.folder
    print()
    answer.then("run", name, "--model", "MODEL", *(["--judge", "JUDGE"] if entry.judged else []), "--dry-run")
    if entry.judged:
        rated = command_line("rate", name, "--replies", "replies.csv", "--judge", "JUDGE")
        print(f"Replies that exist already: {rated}")
    if benchmark.load is not None:
        loading = command_line("papers", "load", name, "--data", "DIR")
        print(f"What the authors released: {loading} ({command_line('papers', 'fetch', name)})")
