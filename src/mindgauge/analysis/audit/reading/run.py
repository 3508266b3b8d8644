"""A run directory as a material, for each of its benchmarks."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import polars as pl

from mindgauge.analysis import frame as runs
from mindgauge.analysis.score import open_run
from mindgauge.benchmarks.material import RATINGS, TEXTS, DeclaredScales, Material, frame

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Sample
    from mindgauge.store import Store

_FILE = "run.sqlite"
_USED = ("subject", "criterion", "rater", "rater_kind", "run", "status", "value", "sample", "model", "cluster")
_BLOCK = 5000
"""Replies that stand in memory as Python's own objects at once."""


def read(folder: Path) -> Iterator[tuple[str, Material]]:
    """Read what a run holds, benchmark by benchmark. A row is the place of its sample.

    Raises:
        UsageError: there is no run, or it belongs to a benchmark that is not here.
    """
    store, benchmarks, _ = open_run(folder)
    with store:
        for benchmark in benchmarks:
            yield f"{folder.name}: {benchmark.name}", _material(store, benchmark)


def _material(store: Store, benchmark: Benchmark) -> Material:
    samples = list(store.samples(benchmark.name))
    place = {sample.id: number for number, sample in enumerate(samples)}
    # Of a large run, no more than what is used is filtered: each column of text takes tens of megabytes.
    ratings_used = runs.ratings(store, benchmark).select(_USED)
    rows = ratings_used.filter(pl.col("criterion").is_in([c.name for c in benchmark.rubric.criteria]))
    ratings = rows.with_columns(
        row=pl.col("sample").replace_strict(place, default=-1, return_dtype=pl.Int64),
        file=pl.lit(_FILE),
        system=pl.col("model"),
        cluster=pl.coalesce("cluster", "sample"),
    ).select(list(RATINGS))
    del ratings_used, rows
    runs.forget()
    texts = pl.concat([_inputs(samples), *_replies(store, benchmark, place)], rechunk=True)
    return Material(texts, ratings, *DeclaredScales.of(benchmark.rubric.criteria))


def _inputs(samples: list[Sample]) -> pl.DataFrame:
    texts: list[tuple[object, ...]] = []
    for number, sample in enumerate(samples):
        words = "\n".join(message.content for message in sample.messages)
        target = None if sample.target is None else str(sample.target)
        source, split = sample.tags.get("source"), sample.tags.get("split")
        texts.append((_FILE, number, "input", sample.id, words, None, source, split, target))
    return frame(texts, TEXTS)


def _replies(store: Store, benchmark: Benchmark, place: dict[str, int]) -> Iterator[pl.DataFrame]:
    """Yield the texts of the replies, block by block."""
    rows: Iterator[tuple[object, ...]] = (
        (_FILE, place.get(reply.sample, -1), "reply", reply.id, reply.text, reply.model, None, None, None)
        for reply in store.replies(benchmark.name)
        if reply.status == "ok"
    )
    while block := [*islice(rows, _BLOCK)]:
        yield frame(block, TEXTS)
