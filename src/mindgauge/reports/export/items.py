"""The items of the Hugging Face layout, what people and models labelled them, and the gold apart; and who took part.

Labels are those of the benchmark's own question where it is closed, or of the one by which models recognise what it is about.
An item that occurs several times has labels at its first occurrence, since whoever labelled it saw one text.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mindgauge.benchmarks.hub_layout.tables import EXAMPLE, TableKind
from mindgauge.records import RaterKind, Rating, Sample, Status
from mindgauge.reports.export.evaluations import frame, rating_details, schema
from mindgauge.reports.export.metadata import TableMetadata
from mindgauge.reports.export.placed import (
    SPLIT,
    ExampleIds,
    canonical,
    config_name,
    file_names,
    file_only,
    ident,
    pseudonyms,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl

    from mindgauge.benchmarks import Benchmark
    from mindgauge.reports.export.evaluations import Row
    from mindgauge.reports.export.placed import ExportedRatings, Placed
    from mindgauge.store import Store

_FOLDER = {RaterKind.PERSON: "people", RaterKind.MODEL: "models", RaterKind.GOLD: "gold"}


class Annotator(msgspec.Struct, frozen=True):
    """Who rated or labelled, under the name that stands in the tables, and how much."""

    annotator: str
    kind: str
    ratings: int = 0
    labels: int = 0


class LayoutItem(NamedTuple):
    """An item with its ids, and which benchmarks of the run ask about it."""

    sample: Sample
    split: str
    examples: list[str]
    benchmarks: list[str]


class ItemTables:
    """The items of a run, and their labels."""

    def __init__(
        self,
        store: Store,
        benchmark: Benchmark,
        placed: Sequence[Placed],
        open_ids: frozenset[str] | None,
        people: Sequence[str],
    ) -> None:
        """Look what is there.

        Args:
            store: of the run.
            benchmark: whose replies are exported.
            placed: they.
            open_ids: the samples whose texts may be passed on; None for all.
            people: who rated replies; who labelled, too, has the same name here.
        """
        self._store, self._benchmark, self._open = store, benchmark, open_ids
        closed = benchmark if benchmark.closed else benchmark.recognised_by
        self.labelled = closed if closed is not None and store.count_samples(closed.name) else None
        """The question that labels answer, where this run holds any of them."""
        self._responses = Counter(p.example_id for p in placed)
        self.items = self._gathered(placed)
        named = {rating.rater for rating in self._ratings() if rating.rater_kind is RaterKind.PERSON}
        self.names = pseudonyms({*people, *named})

    def _gathered(self, placed: Sequence[Placed]) -> list[LayoutItem]:
        """Return the items of the benchmark in their order, and then those that are only labelled."""
        examples: dict[str, dict[str, None]] = {}
        for p in placed:
            examples.setdefault(p.sample.id, {})[p.example_id] = None
        items: dict[str, LayoutItem] = {}
        ids = ExampleIds()
        for question in (self._benchmark, self.labelled):
            if question is None:
                continue
            for sample in self._store.samples(question.name):
                if sample.id in items:
                    if question.name not in items[sample.id].benchmarks:
                        items[sample.id].benchmarks.append(question.name)
                    continue
                split = config_name(sample.tags.get("split") or SPLIT)
                own = ids.of(sample, split, (0,))
                items[sample.id] = LayoutItem(
                    sample, split, sorted(examples.get(sample.id, ())) or own, [question.name]
                )
        return list(items.values())

    def tables(self) -> Iterator[tuple[TableMetadata, pl.DataFrame]]:
        """Yield the items, split by split, and their labels, labeller by labeller."""
        rows = list(self._rows())
        for split in sorted({str(row["split"]) for row in rows}):
            table = frame((row for row in rows if row["split"] == split), schema(TableKind.ITEMS))
            yield TableMetadata.of(f"items/{split}/items.parquet", "items", split, EXAMPLE, table), table
        labels: dict[tuple[RaterKind, str, str], list[Row]] = {}
        for kind, rater, split, row in self._labels():
            labels.setdefault((kind, split, rater), []).append(row)
        files = file_names(rater for _, _, rater in labels)
        for (kind, split, rater), own in sorted(
            labels.items(), key=lambda entry: (_FOLDER[entry[0][0]], *entry[0][1:])
        ):
            table = frame(own, schema(TableKind.LABELS))
            file = f"labels/{_FOLDER[kind]}/{split}/{files[rater]}.parquet"
            yield TableMetadata.of(file, f"labels_{_FOLDER[kind]}", split, "label_id", table), table

    def _shown(self, sample: Sample) -> bool:
        return self._open is None or sample.id in self._open

    def _rows(self) -> Iterator[Row]:
        protocol = self._benchmark.protocol or "category"
        position = 0
        for item in self.items:
            messages = canonical(msgspec.to_builtins(item.sample.messages)) if self._shown(item.sample) else None
            for example in item.examples:
                yield {
                    "example_id": example, "split": item.split, "position": position, "sample_id": item.sample.id,
                    "messages": messages, "label": item.sample.tags.get(protocol), "tags": canonical(item.sample.tags),
                    "cluster": item.sample.cluster, "source_dataset_id": item.sample.tags.get("source"),
                    "benchmarks": canonical(item.benchmarks), "responses": self._responses[example],
                }  # fmt: skip
                position += 1

    def _labels(self) -> Iterator[tuple[RaterKind, str, str, Row]]:
        items = {item.sample.id: item for item in self.items}
        for question in dict.fromkeys(
            (self._benchmark.name, self.labelled.name if self.labelled else self._benchmark.name)
        ):
            for sample in self._store.samples(question):
                if sample.target is not None:
                    row = self._label(items[sample.id], question, "gold", RaterKind.GOLD, 0, "", sample.target)
                    if not isinstance(sample.target, str):
                        row["details"] = canonical({"target": sample.target})
                    yield RaterKind.GOLD, "gold", items[sample.id].split, row
        for rating in self._ratings():
            if rating.subject not in items or rating.rater_kind not in _FOLDER or rating.rater_kind is RaterKind.GOLD:
                continue
            item = items[rating.subject]
            assert self.labelled is not None
            person = rating.rater_kind is RaterKind.PERSON
            name = self.names[rating.rater] if person else rating.rater
            own_name = name == rating.rater
            row = self._label(
                item, self.labelled.name, name, rating.rater_kind, rating.run, rating.criterion, rating.value
            )
            row |= {
                "explanation": (rating.rationale or None) if self._shown(item.sample) else None,
                "source_file": file_only(rating.provenance.get("source_file")) if own_name else None,
                "source_row": rating.provenance.get("source_row") if own_name else None,
                "instrument": rating.instrument or None,
                "details": rating_details(rating, **_models_words(rating)),
            }
            yield rating.rater_kind, name, item.split, row

    def _label(
        self, item: LayoutItem, benchmark: str, name: str, kind: RaterKind, run: int, criterion: str, value: Any
    ) -> Row:
        return {
            "label_id": ident("lb", item.examples[0], benchmark, kind.value, name, run, criterion), "example_id": item.examples[0],
            "benchmark": benchmark, "labeller": name, "labeller_kind": kind.value, "run": run, "criterion": criterion or None,
            "label": None if value is None else str(value), "explanation": None, "source_file": None, "source_row": None,
            "instrument": None, "details": "{}",
        }  # fmt: skip

    def _ratings(self) -> Iterator[Rating]:
        if self.labelled is not None:
            yield from self._store.ratings(self.labelled.name)

    def annotators(self, rated: ExportedRatings, rating_counts: Mapping[str, int]) -> list[Annotator]:
        """Say who took part, people under the names of the tables."""
        kinds: dict[str, str] = dict.fromkeys(rated.judges, RaterKind.MODEL.value)
        kinds |= {self.names[person]: RaterKind.PERSON.value for person in rated.people}
        labels: Counter[str] = Counter()
        for kind, name, _, _ in self._labels():
            if kind is not RaterKind.GOLD:
                kinds[name] = kind.value
                labels[name] += 1
        return [Annotator(name, kinds[name], rating_counts.get(name, 0), labels[name]) for name in sorted(kinds)]


def _models_words(rating: Rating) -> dict[str, Any]:
    """Return what a labelling model's row has of its own: its name as first given, and what it said where that is no label."""
    entries = {
        name: rating.provenance[name] for name in ("model_raw", "tokens") if rating.provenance.get(name) is not None
    }
    raw = {"raw": rating.provenance["raw"]} if rating.status is not Status.OK and "raw" in rating.provenance else {}
    return {**entries, **raw}
