"""Benchmark cards of the public schema, from what a benchmark's own card, rubric, metrics and published numbers say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge import benchmarks
from mindgauge.benchmarks import own_folder, public_card, suite
from mindgauge.records.english import LANGUAGES, ended, lowered, raised, words
from mindgauge.records.files import bounds
from mindgauge.records.rounding import count, plural
from mindgauge.reports.export.folder import ExportFolder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mindgauge.benchmarks import Benchmark
    from mindgauge.benchmarks.metrics import Metric
    from mindgauge.benchmarks.public_card import PublicCard
    from mindgauge.commands.list import BenchmarkListing

FOLDER = "benchmarkcards"
_OF_OURS = {
    "domains": ("mental health",),
    "audience": (
        "developers of language models and chatbots",
        "clinicians who read and rate replies",
        "researchers on benchmarks and judges",
    ),
    "out_of_scope_uses": (
        "Diagnosing or screening people.",
        "Taking a score as proof that a chatbot is safe for people.",
    ),
}
"""What holds for every benchmark that comes with Mindgauge; its own card adds to it."""


def write(found: Sequence[tuple[Benchmark, BenchmarkListing]], out: Path) -> tuple[str, ...]:
    """Write a card for each benchmark, `NAME.json` and `NAME.md`, and return the paths of the files.

    Raises:
        UsageError: the folder holds something else, or nothing can be written there.
        MindgaugeError: writing failed; nothing is left.
    """
    with ExportFolder(out) as files:
        for benchmark, entry in found:
            card = of(benchmark, entry)
            files.text(f"{entry.name}.json", msgspec.json.format(msgspec.json.encode(public_card.as_json(card))).decode() + "\n")  # fmt: skip
            files.text(f"{entry.name}.md", public_card.markdown(card))
    return tuple(str(out / f"{entry.name}.{ending}") for _, entry in found for ending in ("json", "md"))


def of(benchmark: Benchmark, entry: BenchmarkListing) -> PublicCard:
    """Return a benchmark's card. A field that its `card.toml` fills under `benchmarkcard` is as it says there.

    Of a benchmark that comes with Mindgauge, that is what the paper's authors say of their data, and what is known of our
    own samples is added.
    """
    card, said = benchmark.card, benchmark.card.benchmarkcard
    ours = benchmarks.shipped(benchmark.name)
    derived = _derived(benchmark, entry, ours=ours)
    known = {name: value for name, value in derived.items() if value and not getattr(said, name)}
    if ours:
        known |= {name: (*value, *getattr(said, name)) for name, value in _OF_OURS.items()}
        known |= {name: (*getattr(said, name), *derived[name]) for name in ("methods", "tasks")}
        known["source"] = _sentences(said.source, f"Mindgauge's own samples: {card.own_samples_by}")
        known["validation"] = _sentences(said.validation, derived["validation"])
    for name, tables in card.published.items():
        known[name] = _sentences(str(known.get(name, getattr(said, name))), *_published(benchmark, tables))
    return msgspec.structs.replace(said, resources=(*filter(None, [card.link]), *said.resources, *filter(None, [card.citation])), **known)  # fmt: skip


def _derived(benchmark: Benchmark, entry: BenchmarkListing, *, ours: bool) -> dict[str, Any]:
    """Return what follows from a benchmark itself, field by field; nothing of what nobody has said."""
    card, metrics = benchmark.card, {metric.name: metric for metric in benchmark.metrics}
    leading = [metrics[name] for name in benchmark.headline if name in metrics]
    better = {way: [_named(m, benchmark) for m in leading if m.better == way] for way in ("higher", "lower")}
    criteria = ", ".join(words(criterion.name) for criterion in benchmark.rubric.criteria)
    titles = [
        f"{m.name} is {m.words.title.replace('{}', 'a criterion')}" for m in leading if m.words.title.startswith("the ")
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
        "limitations": f"It does not measure: {lowered(card.does_not_measure)}" if ours else card.does_not_measure,
        "size": "; ".join([f"{samples} of {'Mindgauge' if ours else 'its own'}", *released]) + ".",
        "format": " ".join(ended(f"{file.path}: {file.holds}") for file in card.data),
        "methods": (raised(how(benchmark, entry)), *(f"Differs from the paper: {text}" for text in card.departures)),
        "metrics": tuple(metrics),
        "calculation": _sentences("; ".join(titles), "Failed and unreadable answers stay in n, except in metrics named …_of_read" if leading else ""),
        "interpretation": _sentences(*(f"{raised(way)} is better: {', '.join(names)}" for way, names in better.items() if names)),
        "validation": _sentences(*entry.trial),
        "demographic_analysis": card.not_covered,
        "data_licensing": "" if card.licence == own_folder.NO_LICENCE else card.licence,
    }  # fmt: skip


def how(benchmark: Benchmark, entry: BenchmarkListing) -> str:
    """Say what a model is asked, and who rates what it says."""
    if benchmark.closed:
        about = "about the last reply of a dialogue" if benchmark.about_reply else "about what a person says"
        return f"a closed question {about}, which the model under test answers itself; no judge is needed"
    if benchmark.persons is not None:
        return f"the model talks with {plural(entry.personas, 'persona')}, in fixed words or played by a model (--client); judges rate turns and whole dialogues"
    talks = "; with --data and --client it talks with the authors' personas" if benchmark.read_persons else ""
    return f"the model under test replies once; a judge rates each reply{talks}"


def _named(metric: Metric, benchmark: Benchmark) -> str:
    """Name a metric, with its criteria where it is not about all of them."""
    suiting = [words(c.name) for c in benchmark.rubric.criteria if metric.suits(c)]
    some = 0 < len(suiting) < len(benchmark.rubric.criteria)
    return f"{metric.name} ({', '.join(suiting)})" if some else metric.name


def _published(benchmark: Benchmark, tables: Sequence[str]) -> Iterator[str]:
    """Say what stands in some tables of the paper's numbers; of a table of ranks by task, this task's row alone."""
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
