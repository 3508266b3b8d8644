"""What an export says of itself: what is in it, what was renamed, where it comes from. The day of the run, no path of a machine."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import polars as pl

from mindgauge.benchmarks.hub_layout.tables import OUT_OF_RANGE, RELEASED
from mindgauge.reports.export.evaluations import STATUSES, raw_model
from mindgauge.reports.export.placed import RULES, file_only
from mindgauge.store.manifest import software

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Rating
    from mindgauge.reports.export.evaluations import Book
    from mindgauge.reports.export.placed import Placed


class TableMetadata(msgspec.Struct, frozen=True):
    """What is told of one table of the layout: its file, its config and split, and what its rows hold, counted.

    `ids` are the values of its key column, as bytes. `responses` are those that it has rows of, and `sources` how many
    rows were read from each file.
    """

    file: str
    config: str
    split: str
    key: str
    rows: int
    ids: pl.Series
    nulls: Counter[str]
    statuses: Counter[str] | None
    sources: Counter[str]
    responses: frozenset[str]
    raters: Counter[str]
    """How many ratings each rater has here, where rows are single ratings."""
    joins: dict[str, Any] = {}

    @classmethod
    def of(
        cls, file: str, config: str, split: str, key: str, rows: pl.DataFrame, joins: dict[str, Any] | None = None
    ) -> TableMetadata:
        """Count what a table holds."""
        return cls(
            file, config, split, key, rows.height, _idents(rows[key]),
            Counter({column: n for column, n in rows.null_count().row(0, named=True).items() if n}),
            _counts(rows["score_status"]) if "score_status" in rows.columns else None,
            _counts(rows["source_file"].drop_nulls()) if "source_file" in rows.columns else Counter(),
            frozenset(rows["response_id"].unique()) if "response_id" in rows.columns else frozenset(),
            _raters(config, rows), joins or {},
        )  # fmt: skip


def _idents(ids: pl.Series) -> pl.Series:
    """Return ids in few bytes; those that a table of others gave may be of any form."""
    packed = ids.str.slice(3).str.decode("hex", strict=False)
    return ids.cast(pl.Binary) if packed.null_count() else packed


def _raters(config: str, rows: pl.DataFrame) -> Counter[str]:
    name = "annotator" if config == "human_raw_scores" else "evaluator_model" if config.startswith("llm_raw") else ""
    return _counts(rows[name]) if name else Counter()


def _counts(column: pl.Series) -> Counter[str]:
    return Counter(dict(column.value_counts().iter_rows()))


class RunFacts(NamedTuple):
    """What an export says of the run that it was made of; one that was loaded from an export says what that said.

    So what is exported, loaded and exported again is the same, and nobody takes a copy for a run of its own.
    """

    loaded: bool
    """Whether its replies were released by somebody, and not made in the run."""
    asked: dict[str, Any]
    samples: str
    notes: list[str]
    sources: dict[str, str]
    left_out: dict[str, int]
    date: str
    """The day on which it ended, or was begun, where it goes on."""

    @classmethod
    def of(cls, manifest: dict[str, Any], benchmark: Benchmark) -> RunFacts:
        """Read them from a run's manifest."""
        stated = manifest.get("exported", {}).get(benchmark.name)
        if stated is not None:
            return cls(**msgspec.convert(stated, dict[str, Any]))
        plan = manifest["plan"]
        place = plan["benchmarks"].index(benchmark.name) if benchmark.name in plan["benchmarks"] else 0
        choices = {key: plan[key] for key in ("runs", "judge_runs", "mode", "protocol") if key in plan}
        return cls(
            bool(plan.get("loaded")), choices, plan.get("samples", [""])[place], list(manifest.get("notes", [])),
            manifest.get("sources", {}), {}, str(manifest.get("ended") or manifest.get("created", ""))[:10],
        )  # fmt: skip


class Joins:
    """Which ratings were not in the row of their reply, and which had another answer beside them."""

    def __init__(self) -> None:
        self._checked = 0
        self._moved: list[dict[str, Any]] = []
        self._overwritten: list[dict[str, Any]] = []

    def watched(self, pairs: Iterable[tuple[Placed, Rating]]) -> Iterator[tuple[Placed, Rating]]:
        """Look at ratings as they pass."""
        for placed, rating in pairs:
            self.look(placed, rating)
            yield placed, rating

    def look(self, placed: Placed, rating: Rating) -> None:
        """Look at a rating."""
        rating_row, reply_row = rating.provenance.get("source_row"), placed.reply.provenance.get("source_row")
        if rating_row is None or reply_row is None or "source_file" not in rating.provenance:
            return
        self._checked += 1
        source = {"source_file": file_only(rating.provenance["source_file"]), "source_row": rating_row}
        if rating_row != reply_row or rating.provenance.get("inputs_changed"):
            self._moved.append(source)
        if rating.provenance.get("answer_overwritten") or rating.provenance.get("answer_changed"):
            self._overwritten.append(source)

    def told(self) -> dict[str, Any]:
        """Say what was found."""
        if not self._checked:
            return {"joined_by": "response id"}
        for failures in (self._moved, self._overwritten):
            failures.sort(key=lambda row: (row["source_file"], row["source_row"]))
        return {
            "joined_by": "position, inputs equal",
            "inputs_equal": {"checked": self._checked, "failures": self._moved},
            "answer_equal": {"checked": self._checked, "failures": self._overwritten},
        }


def summary(
    parts: Sequence[TableMetadata],
    left_out: dict[str, int],
    benchmark: Benchmark,
    facts: RunFacts,
    hidden: int,
    labels_of: str = "",
) -> dict[str, Any]:
    """Count rows, nulls and ids per config, and list what has no place in the layout, or is restricted (`hidden`)."""
    configs: dict[str, Any] = {}
    for name in dict.fromkeys(part.config for part in parts):
        own = [part for part in parts if part.config == name]
        ids = pl.concat([part.ids for part in own])
        configs[name] = {
            "files": {part.file: part.rows for part in own},
            "rows": {split: sum(p.rows for p in own if p.split == split) for split in {p.split for p in own}},
            "nulls": dict(sum((part.nulls for part in own), Counter[str]())),
            "id": own[0].key,
            "ids_unique": ids.n_unique() == len(ids),
        }
        statuses = [part.statuses for part in own if part.statuses is not None]
        if statuses:
            configs[name]["score_status"] = dict(sum(statuses, Counter[str]()))
    responses = {i for part in parts if part.config == "responses" for i in part.responses}
    elsewhere = {i for part in parts for i in part.responses} - responses
    items, replies = ({part.split: part.rows for part in parts if part.config == "items"}, Counter[str]())
    for part in parts:
        replies[part.split] += part.rows if part.config == "responses" else 0
    return {
        "benchmark": benchmark.name,
        **({"labels_of": labels_of} if labels_of else {}),
        "splits": {split: {"items": count, "responses": replies[split]} for split, count in items.items()},
        "configs": configs,
        "responses_only_in_review": {
            "count": len(elsewhere),
            "why": "replies of which only those chosen for people are known: they are no sample of their model, "
            "so they stand in human_raw_scores and sampled_review_sets, not in responses",
        },
        "texts_left_out": {
            "messages": hidden,
            "why": "restricted by those who released them: of replies to them, and of reasons, ids and values stand here",
        },
        "ratings_left_out": dict(Counter(left_out) + Counter(facts.left_out)),
        "notes": facts.notes,
    }


def normalization(placed: Sequence[Placed], book: Book) -> dict[str, Any]:
    """Say which of our names and values stands for which of theirs, and how ids are made."""
    criteria = book.benchmark.rubric.criteria
    sources = {
        str(raw): p.sample.tags["source"]
        for p in reversed(placed)  # the first row of a text gave its sample the tags
        if (raw := p.reply.provenance.get("source_dataset_id")) is not None and "source" in p.sample.tags
    }
    return {
        "models": {raw_model(p): p.reply.model for p in placed},
        "labels": sorted({label for label in book.labels.values() if label is not None}),
        "source_ids": sources,
        "score_status": {status.value: word for status, word in STATUSES.items()}
        | {"unparsable, raw value a number": OUT_OF_RANGE},
        "levels": {
            c.name: {str(value): value if isinstance(value, int) else n for n, value in enumerate(c.values, 1)}
            for c in criteria
        },
        "ids": RULES,
        "numbering": "answer_run, evaluation_run and source_row count from 0",
    }


def provenance(
    parts: Sequence[TableMetadata],
    instruments: Collection[tuple[str, str]],
    benchmark: Benchmark,
    facts: RunFacts,
) -> dict[str, Any]:
    """Say, file by file, what was read for it and whether its rows stood where they should, and who judged with what."""
    files = {}
    for part in parts:
        sources = [
            {"path": n, "rows": rows, "sha256": facts.sources.get(n)} for n, rows in sorted(part.sources.items())
        ]
        files[part.file] = {
            "rows": part.rows,
            "sources": sources,
            **({"joins": part.joins} if part.joins else {}),
        }
    return {
        "software": software(),
        "benchmark": benchmark.name,
        "kind": RELEASED if facts.loaded else "own run",
        "asked": facts.asked,
        "instruments": [
            {"evaluator_model": rater, "instrument": name}
            for rater, name in sorted((rater, name or "as released") for rater, name in instruments)
        ],
        "samples": facts.samples,
        "date": facts.date,
        "merged": "computed from llm_raw; source_file and source_row are the response's, or those of a released review set",
        "files": files,
    }
