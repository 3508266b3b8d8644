"""What an export says of itself: what is in it, what was renamed, where it comes from. No time, no path of a machine."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from mindgauge.exports.evaluations import OUT_OF_RANGE, STATUSES, raw_model
from mindgauge.exports.names import file_only
from mindgauge.exports.placed import RULES
from mindgauge.manifest import software
from mindgauge.records import RaterKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mindgauge.benchmark import Benchmark
    from mindgauge.exports.evaluations import Book
    from mindgauge.exports.placed import Placed
    from mindgauge.records import Rating


class Part(msgspec.Struct, frozen=True):
    """One table of the layout: its file, the config and split it belongs to, its key column, and how rows were joined."""

    file: str
    config: str
    split: str
    key: str
    rows: pl.DataFrame
    joins: dict[str, Any] = {}


def joins(pairs: Iterable[tuple[Placed, Rating]]) -> dict[str, Any]:
    """Say which ratings were not in the row of their reply, and which had another answer beside them."""
    checked, moved, overwritten = 0, [], []
    for placed, rating in pairs:
        here, there = rating.provenance.get("source_row"), placed.reply.provenance.get("source_row")
        if here is None or there is None or "source_file" not in rating.provenance:
            continue
        checked += 1
        where = {"source_file": file_only(rating.provenance["source_file"]), "source_row": here}
        if here != there or rating.provenance.get("inputs_changed"):
            moved.append(where)
        if rating.provenance.get("answer_overwritten") or rating.provenance.get("answer_changed"):
            overwritten.append(where)
    if not checked:
        return {"joined_by": "response id"}
    for failures in (moved, overwritten):
        failures.sort(key=lambda row: (row["source_file"], row["source_row"]))
    return {
        "joined_by": "position, inputs equal",
        "inputs_equal": {"checked": checked, "failures": moved},
        "answer_equal": {"checked": checked, "failures": overwritten},
    }


def summary(
    parts: Sequence[Part], left_out: dict[str, int], benchmark: Benchmark, manifest: dict[str, Any]
) -> dict[str, Any]:
    """Count rows, nulls and ids per config, and list what has no place in the layout."""
    configs: dict[str, Any] = {}
    for name in dict.fromkeys(part.config for part in parts):
        mine = [part for part in parts if part.config == name]
        rows = pl.concat([part.rows for part in mine])
        ids = rows[mine[0].key]
        configs[name] = {
            "files": {part.file: part.rows.height for part in mine},
            "rows": {split: sum(p.rows.height for p in mine if p.split == split) for split in {p.split for p in mine}},
            "nulls": {column: n for column, n in rows.null_count().row(0, named=True).items() if n},
            "id": mine[0].key,
            "ids_unique": ids.n_unique() == rows.height,
        }
        if "score_status" in rows.columns:
            configs[name]["score_status"] = dict(sorted(Counter(rows["score_status"]).items()))
    responses = {i for part in parts if part.config == "responses" for i in part.rows["response_id"]}
    elsewhere = {i for part in parts for i in part.rows["response_id"]} - responses
    return {
        "benchmark": benchmark.name,
        "configs": configs,
        "responses_only_in_review": {
            "count": len(elsewhere),
            "why": "replies of which only those chosen for people are known: they are no sample of their model, "
            "so they stand in human_raw_scores and sampled_review_sets, not in responses",
        },
        "ratings_left_out": left_out,
        "notes": manifest.get("notes", []),
    }


def normalization(placed: Sequence[Placed], labels: dict[str, str | None], book: Book) -> dict[str, Any]:
    """Say which of our names and values stands for which of theirs, and how ids are made."""
    criteria = book.benchmark.rubric.criteria
    sources = {
        str(raw): p.sample.tags["source"]
        for p in reversed(placed)  # the first row of a text gave its sample the tags
        if (raw := p.reply.provenance.get("source_dataset_id")) is not None and "source" in p.sample.tags
    }
    return {
        "models": {raw_model(p): p.reply.model for p in placed},
        "labels": sorted({label for label in labels.values() if label is not None}),
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
    parts: Sequence[Part],
    rated: Iterable[tuple[Placed, Rating]],
    benchmark: Benchmark,
    manifest: dict[str, Any],
) -> dict[str, Any]:
    """Say, file by file, what was read for it and whether its rows stood where they should, and who judged with what."""
    hashes: dict[str, str] = manifest.get("sources", {})
    plan = manifest["plan"]
    files = {}
    for part in parts:
        counts = Counter(name for name in part.rows["source_file"] if name is not None)
        sources = [{"path": n, "rows": counts[n], "sha256": hashes.get(n)} for n in sorted(counts)]
        files[part.file] = {
            "rows": part.rows.height,
            "sources": sources,
            **({"joins": part.joins} if part.joins else {}),
        }
    place = plan["benchmarks"].index(benchmark.name) if benchmark.name in plan["benchmarks"] else 0
    used = {(r.rater, r.instrument or "as released") for _, r in rated if r.rater_kind is RaterKind.MODEL}
    asked = {key: plan[key] for key in ("runs", "judge_runs", "mode", "protocol") if key in plan}
    return {
        "software": software(),
        "benchmark": benchmark.name,
        "kind": "released replies and ratings" if plan.get("loaded") else "own run",
        "asked": asked,
        "instruments": [{"evaluator_model": rater, "instrument": name} for rater, name in sorted(used)],
        "samples": plan.get("samples", [""])[place],
        "merged": "computed from llm_raw; source_file and source_row are the response's, or those of a released review set",
        "files": files,
    }
