"""The Hugging Face layout: replies and what raters said of them, one Parquet file per model, rater and split.

Rules, classifiers and panels have no table in this layout, nor have closed questions; the summary says what was left
out. Replies of which only a chosen one per item is known stand in the review sets and with the people who scored them,
never among the responses, whose means they would bend.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from mindgauge.errors import UsageError
from mindgauge.exports import card, metadata
from mindgauge.exports.evaluations import (
    HUMAN,
    MERGED,
    RAW,
    REVIEW,
    Book,
    frame,
    human_rows,
    is_released,
    is_score,
    merged_rows,
    raw_model,
    raw_rows,
)
from mindgauge.exports.metadata import Part
from mindgauge.exports.names import config_name, file_names, file_only, pseudonyms
from mindgauge.exports.placed import SPLIT, Placed, place
from mindgauge.exports.reviews import raters, review_rows, selections, stated
from mindgauge.records import RaterKind, Rating, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.benchmark import Benchmark
    from mindgauge.exports.evaluations import Row
    from mindgauge.exports.folder import Folder
    from mindgauge.store import Store

_TEXT, _WHOLE = pl.String(), pl.Int64()
RESPONSES = {
    **dict.fromkeys(("response_id", "example_id", "split", "answer_model_raw", "answer_model"), _TEXT),
    "answer_run": _WHOLE, "response_text": _TEXT, "response_is_json": pl.Boolean(), "refusal": pl.Boolean(),
    "tokens": _WHOLE, "label": _TEXT, "source_file": _TEXT, "source_row": _WHOLE, "source_dataset_id": _TEXT,
}  # fmt: skip
Pair = tuple[Placed, Rating]


class Contents(msgspec.Struct, frozen=True):
    """What a run holds for the layout: replies in their places, ratings with them, and what has no table."""

    placed: list[Placed]
    rated: list[Pair]
    labels: dict[str, str | None]
    left_out: dict[str, int]


def write(folder: Folder, store: Store, benchmark: Benchmark, manifest: dict[str, Any], licence: str) -> None:
    """Write an open benchmark's part of a run.

    Raises:
        UsageError: there are no replies.
    """
    contents = _contents(store, benchmark)
    book = Book(benchmark, _raw_text(store, benchmark))
    parts = sorted(_parts(book, contents), key=lambda part: part.file)
    for part in parts:
        folder.parquet(part.file, part.rows)
    folder.json("metadata/export_summary.json", metadata.summary(parts, contents.left_out, benchmark, manifest))
    folder.json("metadata/normalization.json", metadata.normalization(contents.placed, contents.labels, book))
    folder.json("metadata/provenance.json", metadata.provenance(parts, contents.rated, benchmark, manifest))
    folder.text("README.md", card.render(benchmark, parts, licence, loaded=bool(manifest["plan"].get("loaded"))))


def _contents(store: Store, benchmark: Benchmark) -> Contents:
    placed = place(store, benchmark)
    if not placed:
        raise UsageError(f"{store.folder}: no replies to {benchmark.name} in this run, so there is nothing to export")
    by_id = {p.reply.id: p for p in placed}
    criteria = {criterion.name for criterion in benchmark.rubric.criteria}
    labels = {p.response_id: p.sample.tags.get(benchmark.protocol or "category") for p in placed}
    rated: list[Pair] = []
    left_out: dict[str, int] = {}
    for rating in store.ratings(benchmark.name):
        if rating.subject not in by_id or rating.criterion not in criteria or not is_score(rating):
            who = rating.rater_kind.value if rating.rater_kind is RaterKind.PERSON else rating.rater
            what = f"{who} on {rating.criterion}"
            left_out[what] = left_out.get(what, 0) + 1
            continue
        rated.append((by_id[rating.subject], rating))
        if is_released(rating) and "protocol" in rating.provenance:  # the label in the very row that was rated
            labels[by_id[rating.subject].response_id] = rating.provenance["protocol"]
    return Contents(placed, rated, labels, left_out)


def _raw_text(store: Store, benchmark: Benchmark) -> dict[tuple[str, int, float], str]:
    """Return the judges' own words by rater, run and time, where one call alone ended then."""
    query = (
        "SELECT model, run, at, min(text) FROM calls WHERE benchmark = ? AND text IS NOT NULL AND at > 0 "
        "GROUP BY model, run, at HAVING count(*) = 1"
    )
    return {(model, run, at): text for model, run, at, text in store.select(query, (benchmark.name,))}


def _parts(book: Book, contents: Contents) -> Iterator[Part]:
    placed = [p for p in contents.placed if not p.selection]
    models = file_names(p.reply.model for p in contents.placed)
    for (split, model), group in _grouped(placed, lambda p: (p.split, p.reply.model)):
        rows = frame((_response_row(p, contents.labels[p.response_id]) for p in group), RESPONSES)
        yield Part(f"responses/{split}/{models[model]}.parquet", "responses", split, "response_id", rows)
    people = [pair for pair in contents.rated if pair[1].rater_kind is RaterKind.PERSON]
    names = pseudonyms(rating.rater for _, rating in people)
    for (split, person), pairs in _grouped(people, lambda pair: (pair[0].split, pair[1].rater)):
        rows = frame(human_rows(book, pairs, names[person], contents.labels), book.columns(HUMAN))
        file = f"evaluations/human_raw/{split}/{names[person]}.parquet"
        yield Part(file, "human_raw_scores", split, "evaluation_id", rows, metadata.joins(pairs))
    judged = dict(_grouped([p for p in contents.rated if p[1].rater_kind is RaterKind.MODEL], lambda p: p[1].rater))
    judges = file_names(judged)
    for judge, pairs in judged.items():
        runs = max(rating.run for _, rating in pairs) + 1
        drawn_apart = [pair for pair in pairs if not pair[0].selection]
        for (split, model), some in _grouped(drawn_apart, lambda pair: (pair[0].split, pair[0].reply.model)):
            where = f"{judges[judge]}/{split}/{models[model]}.parquet"
            raw = frame(raw_rows(book, some), book.columns(RAW, level=True))
            merged = frame(merged_rows(book, some, runs), book.columns(MERGED))
            config = config_name(judges[judge])
            yield Part(
                f"evaluations/llm_raw/{where}", f"llm_raw_evaluations_{config}", split, "evaluation_id", raw,
                metadata.joins(some),
            )  # fmt: skip
            yield Part(
                f"evaluations/llm_merged/{where}", f"llm_merged_evaluations_{config}", split, "evaluation_id", merged
            )
    yield from _review_parts(book, contents, judged)


def _review_parts(book: Book, contents: Contents, judged: dict[str, list[Pair]]) -> Iterator[Part]:
    """Write every review set once per judge or panel, as the authors do, or bare where no judge is."""
    sets = selections(contents.placed, (rating for _, rating in contents.rated))
    scored = [(name, rater) for name, members in sets.items() for rater in raters(name, members, judged)]
    files = file_names(f"{name}__{rater}" if rater else name for name, rater in scored)
    for name, rater in scored:
        rows = frame(review_rows(book, name, sets[name], rater, judged), book.columns(REVIEW))
        file = files[f"{name}__{rater}" if rater else name]
        yield Part(
            f"evaluations/sampled_review_sets/{file}.parquet", "sampled_review_sets", SPLIT, "evaluation_id", rows,
            metadata.joins((p, stated(p, name, rater)) for p in sets[name]),
        )  # fmt: skip


def _response_row(placed: Placed, label: str | None) -> Row:
    reply, origin = placed.reply, placed.reply.provenance
    tokens = origin.get("tokens", reply.usage.prompt_tokens + reply.usage.completion_tokens or None)
    source = origin.get("source_dataset_id") or placed.sample.tags.get("source")
    return {
        "response_id": placed.response_id,
        "example_id": placed.example_id,
        "split": placed.split,
        "answer_model_raw": raw_model(placed),
        "answer_model": reply.model,
        "answer_run": reply.run,
        "response_text": reply.text,
        "response_is_json": bool(origin.get("is_json", False)),
        "refusal": reply.status is Status.REFUSED,
        "tokens": tokens if isinstance(tokens, int) else None,
        "label": label,
        "source_file": file_only(origin.get("source_file")),
        "source_row": origin.get("source_row"),
        "source_dataset_id": None if source is None else str(source),
    }


def _grouped(items: list[Any], key: Any) -> list[tuple[Any, list[Any]]]:
    """Group items by a key, in the order of the keys."""
    groups: dict[Any, list[Any]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return sorted(groups.items())
