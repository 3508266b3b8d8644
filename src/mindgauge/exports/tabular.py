"""A run as three plain tables, samples, replies and ratings, in CSV or Parquet.

Replies carry `reply`, `messages` and the columns that `mindgauge rate --replies` reads; ratings are long, as
`mindgauge reliability` reads them. In CSV, text that a spreadsheet could take for a formula gets an apostrophe in
front: a cell that begins with = + - @ or a tab or carriage return, after any apostrophes it has already. To read such a
cell back, take one apostrophe away. Numbers are untouched. Parquet holds everything as it is in the run, so it is what to give back to a program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from mindgauge.records import RaterKind, encode
from mindgauge.tables import neutralised

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.benchmark import Benchmark
    from mindgauge.exports.folder import Folder
    from mindgauge.records import Reply, Sample
    from mindgauge.store import Store

_SAMPLES = dict.fromkeys(("benchmark", "id", "messages", "target", "cluster"), pl.String)
_REPLIES: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("benchmark", "id", "sample", "messages", "reply", "model"), pl.String),
    "run": pl.Int64,
    **dict.fromkeys(("status", "category", "language", "target", "cluster", "finish_reason"), pl.String),
    **dict.fromkeys(("prompt_tokens", "completion_tokens", "cached_tokens"), pl.Int64),
    "seconds": pl.Float64,
    "provenance": pl.String,
}
_RATINGS: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("benchmark", "subject", "criterion", "rater", "rater_kind"), pl.String),
    "run": pl.Int64,
    **dict.fromkeys(("status", "value", "model", "system"), pl.String),
    "reply_run": pl.Int64,
    **dict.fromkeys(("sample", "cluster", "instrument", "rationale", "evidence", "provenance"), pl.String),
}

Tables = dict[str, pl.DataFrame]


def write_csv(folder: Folder, store: Store, benchmarks: Sequence[Benchmark]) -> None:
    """Write the tables of a run as CSV."""
    for name, rows in tables(store, benchmarks).items():
        folder.csv(f"{name}.csv", neutralised(rows))


def write_parquet(folder: Folder, store: Store, benchmarks: Sequence[Benchmark]) -> None:
    """Write the tables of a run as Parquet."""
    for name, rows in tables(store, benchmarks).items():
        folder.parquet(f"{name}.parquet", rows)


def tables(store: Store, benchmarks: Sequence[Benchmark]) -> Tables:
    """Return the samples, replies and ratings of a run, those of all its benchmarks together."""
    samples = {(b.name, s.id): s for b in benchmarks for s in store.samples(b.name)}
    replies = {(b.name, r.id): r for b in benchmarks for r in store.replies(b.name)}
    tags = sorted({tag for sample in samples.values() for tag in sample.tags})
    ratings = _frame(_ratings(store, benchmarks, samples, replies), _RATINGS)
    numbers = ratings["value"].cast(pl.Float64, strict=False)
    if numbers.null_count() == ratings["value"].null_count():  # as numbers where all are, as text where some are words
        whole = (numbers.drop_nulls() % 1 == 0).all()
        ratings = ratings.with_columns(numbers.cast(pl.Int64) if whole else numbers)
    return {
        "samples": _frame(
            ((*_about(name, sample), *(sample.tags.get(tag) for tag in tags)) for (name, _), sample in samples.items()),
            {**_SAMPLES, **{f"tag.{tag}": pl.String for tag in tags}},
        ),
        "replies": _frame(
            (_reply(name, reply, samples.get((name, reply.sample))) for (name, _), reply in replies.items()), _REPLIES
        ),
        "ratings": ratings,
    }


def _frame(rows: Iterator[tuple[Any, ...]], columns: dict[str, type[pl.DataType]]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), columns, orient="row")


def _about(benchmark: str, sample: Sample) -> tuple[Any, ...]:
    target = None if sample.target is None else str(sample.target)
    return benchmark, sample.id, encode(sample.messages).decode(), target, sample.cluster


def _reply(benchmark: str, reply: Reply, sample: Sample | None) -> tuple[Any, ...]:
    _, _, messages, target, cluster = _about(benchmark, sample) if sample else (None,) * 5
    tags = sample.tags if sample else {}
    return (
        benchmark, reply.id, reply.sample, messages, reply.text, reply.model, reply.run, reply.status.value,
        tags.get("category"), tags.get("language"), target, cluster, reply.finish_reason, reply.usage.prompt_tokens,
        reply.usage.completion_tokens, reply.usage.cached_tokens, reply.seconds, encode(reply.provenance).decode(),
    )  # fmt: skip


def _ratings(
    store: Store,
    benchmarks: Sequence[Benchmark],
    samples: dict[tuple[str, str], Sample],
    replies: dict[tuple[str, str], Reply],
) -> Iterator[tuple[Any, ...]]:
    """Write each rating with whom it measures: who wrote the reply, or else who rates the sample itself."""
    for name in (benchmark.name for benchmark in benchmarks):
        for rating in store.ratings(name):
            reply = replies.get((name, rating.subject))
            sample = samples.get((name, reply.sample if reply else rating.subject))
            itself = rating.rater if rating.rater_kind in {RaterKind.MODEL, RaterKind.CLASSIFIER} else None
            model = reply.model if reply else itself
            yield (
                name, rating.subject, rating.criterion, rating.rater, rating.rater_kind.value, rating.run,
                rating.status.value, None if rating.value is None else str(rating.value), model, model,
                reply.run if reply else None, sample.id if sample else None, sample.cluster if sample else None,
                rating.instrument, rating.rationale, encode(rating.evidence).decode() if rating.evidence else None,
                encode(rating.provenance).decode(),
            )  # fmt: skip
