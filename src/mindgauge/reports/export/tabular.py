"""A run as three plain tables, samples, replies and ratings, in CSV or in Parquet files of bounded size.

Replies carry `reply`, `messages` and the columns that `mindgauge rate --replies` reads; ratings are long, as
`mindgauge reliability` reads them. In CSV, text that a spreadsheet could take for a formula gets an apostrophe in
front: a cell that begins with = + - @ or a tab or carriage return, after any apostrophes it has already. To read such a
cell back, take one apostrophe away. Numbers are untouched. Parquet holds everything as it is in the run, so it is what to give back to a program.

Rows stream from the store. What grows with a run is the list of ids alone: whose each reply is, and its cluster.

Partitions are folders `column=value` in the Hive layout, as polars, pyarrow and DuckDB read them: values are
percent-encoded, a missing value is `__HIVE_DEFAULT_PARTITION__`, and the column stands in the path alone.
"""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import polars as pl

from mindgauge.records import REASONING, RaterKind, encode
from mindgauge.records.files.mapping import TAG

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Reply, Sample
    from mindgauge.reports.export.folder import ExportFolder
    from mindgauge.store import Store


ROWS = 100_000
"""How many rows a file has at most, unless told otherwise."""
_BYTES = 64 << 20
"""How much is gathered at most before some of it is written, all partitions together."""
_MISSING = "__HIVE_DEFAULT_PARTITION__"


def write(
    folder: ExportFolder, name: str, frames: Iterable[pl.DataFrame], partition_by: Sequence[str] = (), rows: int = ROWS
) -> None:
    """Write a table as `NAME.parquet`, or as `NAME/[COLUMN=VALUE/]part-00000.parquet` and so on.

    Args:
        folder: where to.
        name: the table's.
        frames: its rows, at least one frame, all of the same columns.
        partition_by: the columns to partition by.
        rows: how many a file has at most; long texts make files of fewer.
    """
    gathered: dict[str, list[pl.DataFrame]] = {}
    rows_of: Counter[str] = Counter()
    bytes_of: Counter[str] = Counter()
    parts_of: Counter[str] = Counter()

    def settle(path: str) -> None:
        folder.parquet(f"{name}{path}/part-{parts_of[path]:05}.parquet", pl.concat(gathered.pop(path)))
        parts_of[path] += 1
        del rows_of[path], bytes_of[path]

    empty = pl.DataFrame()
    for frame in frames:
        empty = frame.clear()
        for path, piece in _split(frame, partition_by, rows):
            if rows_of[path] + piece.height > rows:
                settle(path)
            gathered.setdefault(path, []).append(piece)
            rows_of[path] += piece.height
            bytes_of[path] += int(piece.estimated_size())
        while bytes_of.total() > _BYTES:
            settle(bytes_of.most_common(1)[0][0])
    if not parts_of and (not partition_by or not gathered):
        folder.parquet(f"{name}.parquet", pl.concat(gathered.get("", [empty])))
    else:
        for path in list(gathered):
            settle(path)


def _split(frame: pl.DataFrame, partition_by: Sequence[str], rows: int) -> Iterator[tuple[str, pl.DataFrame]]:
    """Return the rows of each partition with its path, no more at once than a file takes."""
    keyed = frame.partition_by(partition_by, as_dict=True, include_key=False) if partition_by else {(): frame}
    for values, piece in keyed.items():
        path = "".join(f"/{column}={_segment(value)}" for column, value in zip(partition_by, values, strict=True))
        yield from ((path, rows_piece) for rows_piece in piece.iter_slices(rows))


def _segment(value: object) -> str:
    return _MISSING if value in {None, ""} else quote(str(value), safe="")


# A run as three plain tables, samples, replies and ratings, in CSV or Parquet.


_FRAME = 1_000
"""How many rows are Python objects at a time; dialogues can be long."""
_SAMPLES = dict.fromkeys(("benchmark", "id", "messages", "target", "cluster"), pl.String)
_REPLIES: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("benchmark", "id", "sample", "messages", "reply", "model"), pl.String),
    "run": pl.Int64,
    **dict.fromkeys(("status", "category", "language", "target", "cluster", "finish_reason"), pl.String),
    **dict.fromkeys(("prompt_tokens", "completion_tokens", "cached_tokens"), pl.Int64),
    "seconds": pl.Float64,
    "provenance": pl.String,
    REASONING: pl.String,
}
_RATINGS: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("benchmark", "subject", "criterion", "rater", "rater_kind"), pl.String),
    "run": pl.Int64,
    **dict.fromkeys(("status", "value", "model", "system"), pl.String),
    "reply_run": pl.Int64,
    **dict.fromkeys(("sample", "cluster", "instrument", "rationale", "evidence", "provenance"), pl.String),
}
PARTITIONS = (
    "benchmark", "criterion", "rater", "rater_kind", "run", "status", "model", "system", "reply_run", "instrument",
    "category", "language",
)  # fmt: skip
"""The columns by which tables can be partitioned: those with few values."""


class ExportTable(NamedTuple):
    """A table's columns and rows. `value`, if it has such a column, is read as text and becomes of this type."""

    columns: dict[str, type[pl.DataType]]
    rows: Iterator[tuple[Any, ...]]
    value: type[pl.DataType] = pl.String

    def frames(self) -> Iterator[pl.DataFrame]:
        """Return the rows in frames of bounded size, at least one."""
        for number in itertools.count():
            rows = list(itertools.islice(self.rows, _FRAME))
            if number and not rows:
                return
            frame = pl.DataFrame(rows, self.columns, orient="row")
            if self.value is not pl.String:
                frame = frame.with_columns(pl.col("value").cast(pl.Float64).cast(self.value))
            yield frame


def write_csv(folder: ExportFolder, store: Store, benchmarks: Sequence[Benchmark]) -> None:
    """Write the tables of a run as CSV."""
    for name, table in tables(store, benchmarks).items():
        folder.csv_stream(f"{name}.csv", table.frames())


def write_parquet(
    folder: ExportFolder,
    store: Store,
    benchmarks: Sequence[Benchmark],
    partition_by: Sequence[str] = (),
    rows: int = ROWS,
) -> None:
    """Write the tables of a run as Parquet, each partitioned by those of the columns, of `PARTITIONS`, that it has."""
    for name, table in tables(store, benchmarks).items():
        write(folder, name, table.frames(), [column for column in partition_by if column in table.columns], rows)


def tables(store: Store, benchmarks: Sequence[Benchmark]) -> dict[str, ExportTable]:
    """Return the samples, replies and ratings of a run, those of all its benchmarks together; each is read once."""
    names = [benchmark.name for benchmark in benchmarks]
    tags = sorted({tag for name in names for sample in store.samples(name) for tag in sample.tags})
    samples = (
        (*_about(name, sample), *(sample.tags.get(tag) for tag in tags))
        for name in names
        for sample in store.samples(name)
    )
    replies = (_reply(name, reply, _sample(store, name, reply)) for name in names for reply in store.replies(name))
    ratings = itertools.chain.from_iterable(_ratings(store, name) for name in names)
    return {
        "samples": ExportTable({**_SAMPLES, **{f"{TAG}{tag}": pl.String for tag in tags}}, samples),
        "replies": ExportTable(_REPLIES, replies),
        "ratings": ExportTable(_RATINGS, ratings, _value_type(store, names)),
    }


def _value_type(store: Store, names: Sequence[str]) -> type[pl.DataType]:
    """Return what values are in all of the run: numbers where all are, whole where all are, else text."""
    all_whole = True
    for name in names:
        rows = store.select("SELECT DISTINCT value FROM ratings WHERE benchmark = ? AND value IS NOT NULL", (name,))
        while values := rows.fetchmany(_FRAME):
            numbers = pl.Series([str(value) for (value,) in values], dtype=pl.String).cast(pl.Float64, strict=False)
            if numbers.null_count():
                return pl.String
            all_whole = all_whole and bool((numbers % 1 == 0).all())
    return pl.Int64 if all_whole else pl.Float64


def _about(benchmark: str, sample: Sample) -> tuple[Any, ...]:
    target = None if sample.target is None else str(sample.target)
    return benchmark, sample.id, encode(sample.messages).decode(), target, sample.cluster


def _sample(store: Store, benchmark: str, reply: Reply) -> Sample | None:
    try:
        return reply.answered(store.sample(benchmark, reply.sample))
    except KeyError:
        return None


def _reply(benchmark: str, reply: Reply, sample: Sample | None) -> tuple[Any, ...]:
    _, _, messages, target, cluster = _about(benchmark, sample) if sample else (None,) * 5
    tags = sample.tags if sample else {}
    provenance = {name: fact for name, fact in reply.provenance.items() if name != REASONING}
    return (
        benchmark, reply.id, reply.sample, messages, reply.text, reply.model, reply.run, reply.status.value,
        tags.get("category"), tags.get("language"), target, cluster, reply.finish_reason, reply.usage.prompt_tokens,
        reply.usage.completion_tokens, reply.usage.cached_tokens, reply.seconds, encode(provenance).decode(),
        reply.reasoning or None,
    )  # fmt: skip


def _ratings(store: Store, name: str) -> Iterator[tuple[Any, ...]]:
    """Write each rating with whom it measures: who wrote the reply, or else who rates the sample itself."""
    clusters = {sample.id: sample.cluster for sample in store.samples(name)}
    rows = store.select("SELECT id, model, run, sample FROM replies WHERE benchmark = ?", (name,))
    wrote = {ident: (model, run, sample) for ident, model, run, sample in rows}
    for rating in store.ratings(name):
        itself = rating.rater if rating.rater_kind in {RaterKind.MODEL, RaterKind.CLASSIFIER} else None
        model, run, sample = wrote.get(rating.subject, (itself, None, rating.subject))
        yield (
            name, rating.subject, rating.criterion, rating.rater, rating.rater_kind.value, rating.run,
            rating.status.value, None if rating.value is None else str(rating.value), model, model, run,
            sample if sample in clusters else None, clusters.get(sample), rating.instrument, rating.rationale,
            encode(rating.evidence).decode() if rating.evidence else None, encode(rating.provenance).decode(),
        )  # fmt: skip
