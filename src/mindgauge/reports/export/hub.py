"""The Hugging Face layout: replies and what raters said of them, one Parquet file per model, rater and split.

Rules, classifiers and panels, which the authors' layout has no table for, stand in one beside theirs; closed questions have
labels of the items. The summary says what was left out. Replies of which only a chosen one per item is known stand in the review sets and with the people who scored them,
never among the responses, whose means they would bend. A card says what the folder holds, in words for people and in YAML for the Hub.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import polars as pl

from mindgauge.benchmarks.hub_layout.records import ENTRY_TESTS, entry_tests
from mindgauge.benchmarks.hub_layout.tables import LABEL, OUT_OF_RANGE, TABLES, TableKind
from mindgauge.benchmarks.restricted import open_samples
from mindgauge.records import RaterKind
from mindgauge.records.errors import UsageError
from mindgauge.reports.export import metadata
from mindgauge.reports.export.evaluations import (
    Book,
    JudgeSummary,
    human_rows,
    judged,
    other_rows,
    raters,
    review_rows,
    scores,
    selections,
    stated,
    title,
)
from mindgauge.reports.export.items import ItemTables
from mindgauge.reports.export.metadata import Joins, RunFacts, TableMetadata
from mindgauge.reports.export.placed import (
    SPLIT,
    ExportedRatings,
    Placed,
    WordingIndex,
    config_name,
    file_names,
    place,
)
from mindgauge.reports.export.results import ModelResults, PublishedFigures
from mindgauge.reports.export.templates import licence_id, rendered
from mindgauge.reports.reliability_gate import of_run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.score import Scores
    from mindgauge.benchmarks import Benchmark
    from mindgauge.reports.export.folder import ExportFolder
    from mindgauge.reports.export.results import ResultRow
    from mindgauge.store import Store


CHOSEN = TableKind.CHOSEN.value
Table = tuple[TableMetadata, pl.DataFrame]


class Contents(NamedTuple):
    """What a run holds for the layout: replies in their places, and what raters said of them."""

    book: Book
    placed: list[Placed]
    rated: ExportedRatings
    items: ItemTables

    @property
    def apart(self) -> list[tuple[tuple[str, str], list[Placed]]]:
        """Replies by split and model, but for those that were drawn from others."""
        return _grouped([p for p in self.placed if not p.selection], lambda p: (p.split, p.reply.model))

    @property
    def files(self) -> dict[str, str]:
        """What models' files are called."""
        return file_names(p.reply.model for p in self.placed)


def write(
    folder: ExportFolder,
    store: Store,
    benchmark: Benchmark,
    manifest: dict[str, Any],
    licence: str,
    scores: Scores | None = None,
    *,
    dataset: str = "",
    show_texts: bool = False,
) -> int:
    """Write a benchmark's part of a run, one table after the other; return how many samples are told by ids alone.

    A closed question has no replies: its items are written, and the labels that people and models gave them.

    Args:
        folder: where to.
        store: of the run.
        benchmark: whose part.
        manifest: of the run.
        licence: what is published under.
        scores: what was computed of the run; without them, nothing is said of results.
        dataset: where it is published, OWNER/NAME; figures for the models' own pages are written then.
        show_texts: whether replies to restricted messages, and reasons about them, are written, too.

    Raises:
        UsageError: there are no replies, and it is no closed question with labels.
    """
    contents = _contents(store, benchmark, None if show_texts else open_samples(benchmark, manifest))
    hidden = len({p.sample.id for p in contents.placed if not contents.book.shows(p)})
    parts: list[TableMetadata] = []
    for part, rows in chain(contents.items.tables(), _tables(contents)):
        folder.parquet(part.file, rows)
        parts.append(part)
    parts.sort(key=lambda part: part.file)
    folder.written.sort(key=lambda record: record.file)
    rated = contents.rated
    facts_of_run, labelled = RunFacts.of(manifest, benchmark), contents.items.labelled
    folder.json(
        "metadata/export_summary.json",
        metadata.summary(
            parts, rated.left_out, benchmark, facts_of_run, hidden, labelled.name if labelled is not None else ""
        ),
    )
    tests = [*entry_tests(store, benchmark)]
    if tests:
        folder.text(ENTRY_TESTS, "".join(f"{line}\n" for line in tests))
    scored = sum((part.raters for part in parts), Counter[str]())
    folder.json("metadata/annotators.json", msgspec.to_builtins(contents.items.annotators(rated, scored)))
    folder.json("metadata/normalization.json", metadata.normalization(contents.placed, contents.book))
    folder.json("metadata/provenance.json", metadata.provenance(parts, rated.instruments, benchmark, facts_of_run))
    models = sorted({p.reply.model for p in contents.placed})
    spoken = {item.sample.tags["language"] for item in contents.items.items if item.sample.tags.get("language")}
    results = None
    if scores is not None:
        figures = PublishedFigures.of(scores, of_run(store.folder), rated.people)
        results = ModelResults(figures, benchmark.name, frozenset(rated.judges))
    files = {model: contents.files[model] for model in models}
    pages = _pages(folder, results, files, dataset, facts_of_run) if results and dataset else 0
    facts = CardFacts(
        loaded=facts_of_run.loaded, languages=sorted(spoken) or benchmark.card.languages, hidden=hidden, pages=pages,
        rows=results.rows(models) if results else [], withheld=results.withheld(models) if results else 0,
    )  # fmt: skip
    folder.text("README.md", card(benchmark, parts, licence, facts))
    return hidden


def _pages(folder: ExportFolder, results: ModelResults, files: dict[str, str], dataset: str, run: RunFacts) -> int:
    """Write figures for the models' own pages; return for how many models there are any."""
    pages = {files[model]: results.for_page(model, dataset, run.samples, run.date) for model in files}
    for file, page in pages.items():
        if page:
            folder.text(f"models/{file}/.eval_results/mindgauge.yaml", page)
    return sum(bool(page) for page in pages.values())


def _contents(store: Store, benchmark: Benchmark, open_ids: frozenset[str] | None) -> Contents:
    placed = place(store, benchmark)
    if not placed and not (benchmark.closed and store.count_samples(benchmark.name)):
        raise UsageError(f"{store.folder}: no replies to {benchmark.name} in this run, so there is nothing to export")
    rated = ExportedRatings(store, benchmark)
    by_row = rated.labels()
    labels = {p.response_id: p.sample.tags.get(benchmark.protocol or "category") for p in placed}
    labels |= {p.response_id: by_row[p.reply.id] for p in placed if p.reply.id in by_row}
    labels |= {p.response_id: p.reply.provenance[LABEL] for p in placed if LABEL in p.reply.provenance}
    book = Book(benchmark, WordingIndex(store, benchmark.name), open_ids, labels)
    return Contents(book, placed, rated, ItemTables(store, benchmark, placed, open_ids, rated.people))


def _tables(contents: Contents) -> Iterator[Table]:
    yield from _responses(contents)
    yield from _human(contents)
    for judge, name in file_names(contents.rated.judges).items():
        yield from _judged(contents, judge, name)
    yield from _others(contents)
    yield from _reviewed(contents)


def _responses(contents: Contents) -> Iterator[Table]:
    for kind in (TableKind.RESPONSES, TableKind.CHOSEN):
        own = [p for p in contents.placed if bool(p.selection) == (kind is TableKind.CHOSEN)]
        for (split, model), group in _grouped(own, lambda p: (p.split, p.reply.model)):
            rows = contents.book.frame(kind, (contents.book.response(p) for p in group))
            file = f"{kind}/{split}/{contents.files[model]}.parquet"
            yield TableMetadata.of(file, kind.value, split, TABLES[kind].key, rows), rows


def _human(contents: Contents) -> Iterator[Table]:
    book, names = contents.book, contents.items.names
    for split, group in _grouped(contents.placed, lambda p: p.split):
        for person in contents.rated.people:
            joins = Joins()
            pairs = contents.rated.of(person, RaterKind.PERSON, group, lambda p: (p.position, p.response_id))
            rows = book.frame(TableKind.PEOPLE, human_rows(book, joins.watched(pairs), names[person]))
            if rows.is_empty():
                continue
            file = f"evaluations/human_raw/{split}/{names[person]}.parquet"
            yield TableMetadata.of(file, "human_raw_scores", split, "evaluation_id", rows, joins.told()), rows


def _judged(contents: Contents, judge: str, name: str) -> Iterator[Table]:
    config = config_name(name)
    for (split, model), group in contents.apart:
        joins = Joins()
        pairs = joins.watched(contents.rated.of(judge, RaterKind.MODEL, group, lambda p: p.order))
        raw, merged = judged(contents.book, pairs, contents.rated.judges[judge])
        if merged.is_empty():
            continue
        stem = f"{name}/{split}/{contents.files[model]}.parquet"
        for table, rows, joined in (("llm_raw", raw, joins.told()), ("llm_merged", merged, None)):
            part = f"{table}_evaluations_{config}"
            yield TableMetadata.of(f"evaluations/{table}/{stem}", part, split, "evaluation_id", rows, joined), rows


def _others(contents: Contents) -> Iterator[Table]:
    """Write what rules, classifiers and panels said, and what was said on criteria that are not the rubric's."""
    names = {rater: contents.items.names.get(rater, rater) for rater in contents.rated.others}
    files = file_names(names.values())
    for split, group in _grouped(contents.placed, lambda p: p.split):
        for rater, name in names.items():
            pairs = contents.rated.of(rater, None, group, lambda p: (p.position, p.response_id))
            rows = contents.book.frame(TableKind.OTHER, other_rows(contents.book, pairs, name))
            if not rows.is_empty():
                file = f"evaluations/other_raw/{split}/{files[name]}.parquet"
                yield TableMetadata.of(file, "other_raw_scores", split, "evaluation_id", rows), rows


def _reviewed(contents: Contents) -> Iterator[Table]:
    """Write every review set once per judge or panel, as the authors do, or bare where no judge is."""
    book, rated = contents.book, contents.rated
    sets = selections(contents.placed, rated.selected())
    if not sets:
        return
    items = {p.example_id for members in sets.values() for p in members}
    rivals = dict(_grouped([p for p in contents.placed if p.example_id in items], lambda p: p.example_id))
    replies = [p for group in rivals.values() for p in group]
    judges = {
        judge: JudgeSummary(
            runs, rated.raw_name(judge),
            scores(book, rated.of(judge, RaterKind.MODEL, replies, lambda p: p.order), runs),
        )
        for judge, runs in rated.judges.items()
    }  # fmt: skip
    scored = [(name, rater) for name, members in sets.items() for rater in raters(name, members, judges)]
    titles = {(name, rater): title(name, sets[name], rater) for name, rater in scored}
    files = file_names(titles.values())
    for name, rater in scored:
        rows = book.frame(TableKind.REVIEW, review_rows(book, name, sets[name], rivals, rater, judges))
        file = files[titles[name, rater]]
        joins = Joins()
        for p in sets[name]:
            joins.look(p, stated(p, name, rater))
        yield TableMetadata.of(
            f"evaluations/sampled_review_sets/{file}.parquet", "sampled_review_sets", SPLIT, "evaluation_id", rows,
            joins.told(),
        ), rows  # fmt: skip


def _grouped(items: list[Any], key: Any) -> list[tuple[Any, list[Any]]]:
    """Group items by a key, in the order of the keys."""
    groups: dict[Any, list[Any]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return sorted(groups.items())


_ORDER = ("responses", "human_raw_scores", "sampled_review_sets", CHOSEN, "items")


class CardFacts(NamedTuple):
    """What a card says beside the tables."""

    loaded: bool = False
    """Whether the run was read from the authors' files."""
    languages: Sequence[str] = ()
    """Those of the items, where these say it, and otherwise the benchmark's."""
    hidden: int = 0
    """How many messages are restricted, so that nothing stands here that may quote them."""
    rows: Sequence[ResultRow] = ()
    withheld: int = 0
    """How many figures no judge may give."""
    pages: int = 0
    """For how many models there are files for their own pages."""


def card(benchmark: Benchmark, parts: Sequence[TableMetadata], licence: str, facts: CardFacts) -> str:
    """Write the card.

    Args:
        benchmark: whose replies.
        parts: the tables.
        licence: what the user publishes under; this program does not know it.
        facts: what else is said.
    """
    words = " ".join(licence.split())
    return rendered(
        "card.md.j2",
        benchmark=benchmark.card,
        name=benchmark.name,
        closed=benchmark.closed,
        licence=words,
        licence_id=licence_id(words),
        configs=_configs(parts),
        **facts._asdict(),
        out_of_range=OUT_OF_RANGE,
    )


def _configs(parts: Sequence[TableMetadata]) -> list[tuple[str, dict[str, str], int]]:
    """Return the configs that exist, in the layout's order: name, glob by split, rows."""
    names = {part.config for part in parts}
    others = sorted(names - set(_ORDER), key=lambda name: (not name.startswith("llm_raw"), name))
    ordered = [name for name in _ORDER if name in names] + others
    return [
        (
            name,
            {p.split: f"{p.file.rpartition('/')[0]}/*.parquet" for p in parts if p.config == name},
            sum(p.rows for p in parts if p.config == name),
        )
        for name in ordered
    ]
