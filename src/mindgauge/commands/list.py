"""`list`: the benchmarks that are here."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge import benchmarks
from mindgauge.benchmarks import own_folder, suite, trials
from mindgauge.benchmarks.card import as_json as card_json
from mindgauge.benchmarks.card import markdown
from mindgauge.benchmarks.persons.dialogues import dialogues
from mindgauge.benchmarks.trials import RubricTrial
from mindgauge.commands.command import command
from mindgauge.records.command_result import Tabular, first_of, noted
from mindgauge.records.english import LANGUAGES, ended, lowered, named, raised, words
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import bounds
from mindgauge.records.rounding import count, plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.benchmarks.card import PublicCard
    from mindgauge.benchmarks.metrics import Metric
    from mindgauge.records import Sample
    from mindgauge.records.rubric import Criterion


_OF_OURS = {
    "domains": ("mental health",),
    "audience": ("developers of language models and chatbots", "clinicians who read and rate replies", "researchers on benchmarks and judges"),
    "out_of_scope_uses": ("Diagnosing or screening people.", "Taking a score as proof that a chatbot is safe for people."),
}  # fmt: skip
"""What holds for every benchmark that comes with Mindgauge; its own card adds to it."""


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


@command()
def list(names: str | Sequence[str] = (), *, to: str | None = None, out: str | Path | None = None) -> Listing:  # noqa: A001 - the command's name
    """List the benchmarks, a line each; with a name, its card: what it measures and does not, data, levels, a sample.

    Args:
        names: Benchmarks, families, or folders of your own; all if none is named.
        to: benchmarkcard: write each benchmark's card in the public schema BenchmarkCards, as JSON and Markdown.
        out: With --to: the folder to write; default: benchmarkcards.

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
    listings = [msgspec.structs.replace(_entry(b), trial=tuple(_trial(b))) for b in named.values()]
    if to is None:
        return Listing(listings)
    written = _write([*zip(named.values(), listings, strict=True)], Path(out or "benchmarkcards"))
    return Listing(listings, {} if names else benchmarks.broken(), written)


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


# -- cards of the public schema -----------------------------------------------------------------------------------------


def _write(pairs: Sequence[tuple[benchmarks.Benchmark, BenchmarkListing]], folder: Path) -> tuple[str, ...]:
    """Write a card for each benchmark, `NAME.json` and `NAME.md`, and return the paths of the files."""
    from mindgauge.reports.export.folder import ExportFolder

    with ExportFolder(folder) as files:
        for benchmark, entry in pairs:
            card = _public(benchmark, entry)
            files.text(f"{entry.name}.json", msgspec.json.format(msgspec.json.encode(card_json(card))).decode() + "\n")  # fmt: skip
            files.text(f"{entry.name}.md", markdown(card))
    return tuple(str(folder / f"{entry.name}.{ending}") for _, entry in pairs for ending in ("json", "md"))


def _public(benchmark: benchmarks.Benchmark, entry: BenchmarkListing) -> PublicCard:
    """Return a benchmark's card: its table `benchmarkcard`, and for the fields left out there what follows from the rest.

    In the cards that come with Mindgauge, that table is about the paper and its data; our samples are added.
    """
    card, public = benchmark.card, benchmark.card.benchmarkcard
    shipped = benchmarks.shipped(benchmark.name)
    derived = _derived(benchmark, entry, shipped=shipped)
    filled = {name: value for name, value in derived.items() if value and not getattr(public, name)}
    if shipped:
        filled |= {name: (*value, *getattr(public, name)) for name, value in _OF_OURS.items()}
        filled |= {name: (*getattr(public, name), *derived[name]) for name in ("methods", "tasks")}
        filled["source"] = _sentences(public.source, f"Mindgauge's own samples: {card.own_samples_by}")
        filled["validation"] = _sentences(public.validation, derived["validation"])
        for name, tables in card.published.items():
            filled[name] = _sentences(filled.get(name, getattr(public, name)), *_published(benchmark, tables))
    filled["resources"] = tuple(filter(None, [card.link, *public.resources, card.citation]))
    return msgspec.structs.replace(public, **filled)


def _derived(benchmark: benchmarks.Benchmark, entry: BenchmarkListing, *, shipped: bool) -> dict[str, Any]:
    """Return what follows from a benchmark itself, field by field; nothing else."""
    card, metrics = benchmark.card, {metric.name: metric for metric in benchmark.metrics}
    leading = [metrics[name] for name in benchmark.headline if name in metrics]
    better = {way: [_named(m, benchmark) for m in leading if m.better == way] for way in ("higher", "lower")}
    criteria = ", ".join(words(criterion.name) for criterion in benchmark.rubric.criteria)
    titles = [
        f"{m.name} is {m.words.title.replace('{}', 'a criterion')}" for m in leading if m.words.title[:4] == "the "
    ]
    samples = plural(entry.samples, "dialogue" if entry.personas else "sample")
    released = [f"{file.path}: {count(file.rows)} rows" for file in card.data if file.rows]
    return {
        "name": card.title,
        "overview": f"{ended(card.title)} {raised(how(benchmark, entry))}.",
        "data_type": f"text ({'dialogues with personas' if entry.personas else entry.takes})",
        "languages": tuple(LANGUAGES.get(code, code) for code in card.languages),
        "goal": card.measures,
        "tasks": (f"answering a closed question on {criteria}" if benchmark.closed else f"replying, rated on {criteria}",),
        "limitations": f"It does not measure: {lowered(card.does_not_measure)}" if shipped else card.does_not_measure,
        "size": "; ".join([f"{samples} of {'Mindgauge' if shipped else 'its own'}", *released]) + ".",
        "format": " ".join(ended(f"{file.path}: {file.holds}") for file in card.data),
        "methods": (raised(how(benchmark, entry)), *(f"Differs from the paper: {text}" for text in card.departures)),
        "metrics": tuple(metrics),
        "calculation": _sentences("; ".join(titles), "A model's failed answers and unreadable verdicts stay in n, except in metrics named …_of_read" if leading else ""),
        "interpretation": _sentences(*(f"{raised(way)} is better: {', '.join(names)}" for way, names in better.items() if names)),
        "validation": _sentences(*entry.trial),
        "demographic_analysis": card.not_covered,
        "data_licensing": "" if card.licence == own_folder.NO_LICENCE else card.licence,
    }  # fmt: skip


def how(benchmark: benchmarks.Benchmark, entry: BenchmarkListing) -> str:
    """Say what a model is asked, and who rates what it says."""
    if benchmark.closed:
        about = "about the last reply of a dialogue" if benchmark.about_reply else "about what a person says"
        return f"a closed question {about}, which the model under test answers itself; no judge is needed"
    if benchmark.persons is not None:
        return f"the model talks with {plural(entry.personas, 'persona')}, in fixed words or played by a model (--client); judges rate turns and whole dialogues"
    talks = "; with --data and --client it talks with the authors' personas" if benchmark.read_persons else ""
    return f"the model under test replies once; a judge rates each reply{talks}"


def _named(metric: Metric, benchmark: benchmarks.Benchmark) -> str:
    """Name a metric, with its criteria where it is not about all of them."""
    suiting = [words(c.name) for c in benchmark.rubric.criteria if metric.suits(c)]
    partial = 0 < len(suiting) < len(benchmark.rubric.criteria)
    return f"{metric.name} ({', '.join(suiting)})" if partial else metric.name


def _published(benchmark: benchmarks.Benchmark, tables: Sequence[str]) -> Iterator[str]:
    """Say what stands in partial tables of the paper's numbers; of a table of ranks by task, this task's row alone."""
    path = benchmark.published
    content = bounds.toml(path)["table"] if path is not None else []
    family = suite.find(benchmark.name.partition("/")[0])
    task = {task.published for task in family.tasks if task.benchmark == benchmark.name} if family else set()
    for table in content:
        if table["name"] in tables:
            rows = [
                f"{row}: {', '.join(f'{column} {value}' for column, value in zip(table['columns'], values, strict=True) if value == value)}"  # noqa: PLR0124 - NaN
                for row, values in table["rows"].items()
                if not task or row in task
            ]
            yield f"Published ({table['source']}): {'; '.join(rows)}"


def _sentences(*parts: str) -> str:
    return " ".join(ended(part) for part in parts if part)
