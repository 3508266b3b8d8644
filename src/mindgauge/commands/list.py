"""`list`: the benchmarks that are here."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge import benchmarks
from mindgauge.benchmarks import trials
from mindgauge.benchmarks.persons.dialogues import dialogues
from mindgauge.benchmarks.trials import RubricTrial
from mindgauge.records.command_result import Tabular, first_of, noted
from mindgauge.records.english import named
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.rounding import count, plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.records import Sample
    from mindgauge.records.rubric import Criterion


class CriterionListing(msgspec.Struct, frozen=True):
    """A criterion of a user's own benchmark: its levels, worst first where they have an order, and what it goes by."""

    name: str
    scale: str
    levels: tuple[str, ...]
    veto: bool
    metrics: tuple[str, ...]


class BenchmarkListing(msgspec.Struct, frozen=True):
    """A benchmark in a line. `samples` counts our own, which need no download, without the variants that a run makes of them.

    Where dialogues are held, it counts those with fixed words, and `personas` whom a client can play.
    """

    name: str
    kind: str
    measures: str
    languages: tuple[str, ...]
    samples: int
    licence: str
    obtain: str
    personas: int = 0
    takes: str = ""
    """What a model is given: a message, a dialogue, a reply to judge, or a person to talk with."""
    judged: bool = False
    """Whether somebody has to rate its replies."""
    calls: int = 0
    """How many calls one model takes on these samples, those to one judge of its replies included."""
    folder: str = ""
    """Where it lies, if it is one of the user's own; the rest is said of such a one alone."""
    criteria: tuple[CriterionListing, ...] = ()
    prompts: tuple[str, ...] = ()
    """The prompts that take the place of the usual ones, or all where it has no usual ones."""
    notes: tuple[str, ...] = ()
    trial: tuple[str, ...] = ()
    """What trials of the rubric's words found, a line each, or that there is none; of benchmarks that were asked for by name."""
    trials: tuple[RubricTrial, ...] = ()
    """All in its `trial.toml`, with the figures of each reader."""


class Listing(Tabular, msgspec.Struct, frozen=True):
    """The benchmarks that are here."""

    benchmarks: list[BenchmarkListing]
    broken: dict[str, str] = {}
    """What cannot be loaded, and why."""
    written: tuple[str, ...] = ()
    """The files of the benchmark cards that were asked for."""

    def summary(self) -> Iterator[str]:
        """Name the benchmarks by family, and what cannot be loaded."""
        yield f"{plural(len(self.benchmarks), 'benchmark')}; a name or a family goes into mindgauge.run and mindgauge.rate:"
        lines: dict[str, str] = {}
        for entry in self.benchmarks:
            family = entry.name.partition("/")[0]
            members = [other for other in self.benchmarks if other.name.partition("/")[0] == family]
            names = named([other.name.partition("/")[2] for other in members])
            kind = "dialogues" if all(other.personas for other in members) else "samples"
            size = f"{plural(len(members), 'benchmark')}, {count(sum(other.samples for other in members))} {kind}"
            lines[family] = f"{family}: {size}; {names}" if len(members) > 1 else f"{entry.name}: {entry.measures}"
        yield from first_of([*lines.values()], 7)
        yield from noted([f"{name} cannot be loaded: {reason}" for name, reason in self.broken.items()])

    def _listed(self) -> Iterator[dict[str, Any]]:
        for entry in self.benchmarks:
            yield {name: value for name, value in msgspec.structs.asdict(entry).items() if name != "trials"}


def list(names: str | Sequence[str] = (), *, to: str | None = None, out: str | Path | None = None) -> Listing:  # noqa: A001 - the command's name
    """Return benchmarks: what each measures, its data's licence, and what is at hand without a download.

    Args:
        names: of benchmarks, families, or folders of your own; all that are found by name if none is given.
        to: `benchmarkcard`, to write each one's card of the public schema BenchmarkCards, as JSON and as Markdown.
        out: the folder for these cards: new, empty, or an earlier one that nobody changed; `benchmarkcards` if not given.

    Raises:
        UsageError: there is none of such a name, it cannot be loaded, the format is unknown, or the folder is in use.
    """
    if to not in {None, "benchmarkcard"} or (out is not None and to is None):
        raise UsageError(f"--to {to}: write benchmarkcard" if to else "--out is the folder for --to benchmarkcard")
    if not names and to is None:
        return Listing([_entry(benchmarks.find_one(name)) for name in benchmarks.names()], benchmarks.broken())
    selection = [names] if isinstance(names, str) else names or benchmarks.names()
    named = {benchmark.name: benchmark for name in selection for benchmark in benchmarks.asked(name)}
    # Their limits take a library of numbers, which the list of all does not wait for.
    told = [msgspec.structs.replace(_entry(benchmark), trial=tuple(_trial(benchmark))) for benchmark in named.values()]
    if to is None:
        return Listing(told)
    from mindgauge.commands import benchmark_cards

    written = benchmark_cards.write([*zip(named.values(), told, strict=True)], Path(out or benchmark_cards.FOLDER))
    return Listing(told, {} if names else benchmarks.broken(), written)


def _entry(benchmark: benchmarks.Benchmark) -> BenchmarkListing:
    samples = personas = 0
    own: Sequence[Sample] = ()
    with contextlib.suppress(DataError):
        own = benchmark.own_samples()
        samples = len(own if benchmark.persons is None else dialogues(own))
        personas = 0 if benchmark.persons is None else len(benchmark.persons(None).personas)
    card = benchmark.card
    kind = "closed" if benchmark.closed else "open"
    listing = BenchmarkListing(
        benchmark.name, kind, card.measures, card.languages, samples, card.licence, card.obtain, personas,
        takes=_takes(benchmark, own), judged=not benchmark.closed, calls=card.calls or len(own) * (1 if benchmark.closed else 2),
        trials=trials.read(benchmark.folder),
    )  # fmt: skip
    if benchmark.own is None or benchmarks.shipped(benchmark.name):
        return listing
    return msgspec.structs.replace(
        listing,
        folder=str(benchmark.folder),
        criteria=tuple(_criterion(criterion, benchmark) for criterion in benchmark.rubric.criteria),
        prompts=tuple(sorted({path.name for path in benchmark.folder.glob("*.md")} & _prompt_files(benchmark))),
        notes=(*benchmark.remarks, *benchmark.own_notes),
    )


def _trial(benchmark: benchmarks.Benchmark) -> Sequence[str]:
    """Say of a benchmark as it is asked by default which trials there were of its words."""
    instrument = benchmark.instrument()
    names = {part.name for part in (instrument, instrument.of_dialogues, instrument.of_clients)}
    return trials.lines(trials.read(benchmark.folder), names, benchmark.card.languages)


def _takes(benchmark: benchmarks.Benchmark, own: Sequence[Sample]) -> str:
    """Say what a model is given."""
    if benchmark.persons is not None:
        return "person"
    if benchmark.about_reply:
        return "reply"
    turns = {len(sample.messages) for sample in own}
    return "dialogue" if turns and min(turns) > 1 else "messages" if turns - {1} else "message"


def _criterion(criterion: Criterion, benchmark: benchmarks.Benchmark) -> CriterionListing:
    suiting = [m.name for m in benchmark.metrics if m.suits(criterion) and not m.label]
    leading = [name for name in suiting if name in benchmark.headline] or suiting
    return CriterionListing(
        criterion.name, str(criterion.scale), tuple(map(str, criterion.worst_first)), criterion.veto, tuple(leading)
    )


def _prompt_files(benchmark: benchmarks.Benchmark) -> set[str]:
    """Return how the files of its prompts may be called."""
    return {
        name
        for kind, texts in benchmark.prompts.items()
        for name in (f"{kind}.md", *(f"{kind}.{language}.md" for language in texts))
    }
