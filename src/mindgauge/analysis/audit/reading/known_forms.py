"""Forms that say themselves what they hold, so that nothing is guessed: a run, a long ratings file, ratings in any shape."""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import TYPE_CHECKING, Any

import polars as pl

from mindgauge.analysis import frame as runs
from mindgauge.analysis.audit.reading.shape import named_file as named
from mindgauge.analysis.score import open_run
from mindgauge.benchmarks.released import RATINGS, TEXTS, Material, declared, frame, unsafe_levels
from mindgauge.records import ratings as ratings_in
from mindgauge.records.errors import DataError, UnclearRatingsError, UsageError
from mindgauge.records.files import bounds
from mindgauge.records.files import tables as reader
from mindgauge.records.files.confined_reader import HIDDEN
from mindgauge.records.files.input_table import RecordTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Sample
    from mindgauge.records.files.input_table import InputTable
    from mindgauge.records.files.mapping import ColumnMap
    from mindgauge.records.ratings import RatingLayout
    from mindgauge.store import Store


_FILE = "run.sqlite"
_USED = ("subject", "criterion", "rater", "rater_kind", "run", "status", "value", "sample", "model", "cluster")
_BLOCK = 5000
"""Replies that stand in memory as Python's own objects at once."""


def read_run(folder: Path) -> Iterator[tuple[str, Material]]:
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
    return Material(texts, ratings, *declared(benchmark.rubric.criteria), unsafe=unsafe_levels(benchmark.rubric.criteria))  # fmt: skip


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


# A long ratings file as it stands: subject, criterion, rater, value, whatever stands in them.


REQUIRED = ("subject", "criterion", "rater", "value")
OPTIONAL = ("rater_kind", "system", "cluster", "run", "status", "split", "label")
ENOUGH = 3
"""A table with so many of the four columns of a ratings file is meant as one."""
TEXTS_OF = {
    "reply": "reply", "response": "reply", "text": "reply", "user": "input", "input": "input", "prompt": "input",
    "explanation": "verdict", "rationale": "verdict",
}  # fmt: skip
_KINDS = {"human": "person", "people": "person", "expert": "person", "clinician": "person", "annotator": "person", "llm": "model", "judge": "model"}  # fmt: skip
_PERSON = r"(?i)^(?:h\d+|human|person|people|panel|clinician|expert|annotator|psycholog|doctor)"
_GOLD = r"(?i)^(?:gold|truth|reference|target)"
_MODEL = r"(?i)gpt|claude|gemini|llama|qwen|deepseek|mistral|\bo\d|judge|llm"
_DIGITS = re.compile(r"\s*-?\d+(?:\.\d+)?\s*")


def opened(path: Path, column_map: ColumnMap, notes: list[str]) -> InputTable | None:
    """Open a file that is, or is meant as, a ratings file; None where it is none."""
    count = len(notes)
    try:
        file = reader.find(path)
        # What is odd in rows is noted as they are read.
        odd = None if file.suffix.lower() in {*reader.LINES, ".json"} else notes
        tables = reader.open_tables(named(file, file.name), column_map.layout, odd, as_written=True)
        names = {name.strip().casefold() for name in tables[0].glimpse()} | column_map.columns.keys()
    except (bounds.Fault, DataError):
        names = set()
    if len({*REQUIRED} & names) < ENOUGH:
        del notes[count:]
        return None
    return tables[0]


def material(
    sources: Sequence[InputTable], scale: Mapping[str, str], columns: Mapping[str, str], notes: list[str]
) -> Material:
    """Read ratings files as one material.

    Args:
        sources: tables with the columns subject, criterion, rater, value; optionally rater_kind, system, cluster, run,
            status, and texts under reply, input or explanation.
        columns: our name → the file's name of a column.
        notes: on what was odd.
        scale: criterion → `1:5`, or the options of a closed question (`yes,no`); the key `*` stands for all others.

    Raises:
        DataError: a file is broken, has no rows, or not these columns.
        UsageError: a scale cannot be read.
    """
    texts, ratings = [], []
    for source in sources:
        name = source.name if source.path else "table"
        try:
            typed = _typed(_ratings_table(source, columns), name)
        except pl.exceptions.PolarsError as error:
            raise DataError(f"{name}: a column must hold one value per row ({' '.join(str(error).split())[:200]})") from error  # fmt: skip
        ratings.append(typed.select(list(RATINGS)))
        texts += [_ratings_texts(typed, name, kind) for name, kind in TEXTS_OF.items() if name in typed.columns]
    table = pl.concat(ratings)
    scales, options = read_scales(scale, table["criterion"].unique().drop_nulls().to_list())
    return Material(pl.concat([frame([], TEXTS), *texts]), table, scales, options, tuple(notes))


def any_shape(paths: Sequence[Path], layout: RatingLayout, scale: Mapping[str, str]) -> Material | None:
    """Read ratings in any shape; None where there are none.

    Raises:
        UsageError: a scale cannot be read, or the layout names what is not there.
        UnclearRatingsError: there are ratings that cannot be told apart.
        DataError: ratings that the user describes cannot be read so.
    """
    try:
        rated, account = _with_oddities(paths, layout)
    except UnclearRatingsError:
        raise
    except DataError:
        if layout == ratings_in.NOTHING_SAID:
            return None
        raise
    if rated.height < 2 and layout == ratings_in.NOTHING_SAID:
        return None
    declared = dict(scale)
    if layout.levels:
        declared.setdefault("*", layout.scale)
    scales, options = read_scales(declared, rated["criterion"].unique().sort().to_list())
    rows = rated.with_columns(
        run=pl.col("run").cast(pl.Float64, strict=False).cast(pl.Int64, strict=False), row=pl.col("row") - 1
    )
    notes = tuple(line for line in account.lines() if HIDDEN not in line)  # which is said of the files themselves
    return Material(frame([], TEXTS), rows.select(list(RATINGS)), scales, options, notes)


def _with_oddities(paths: Sequence[Path], layout: RatingLayout) -> ratings_in.LongRatings:
    """Read ratings with what is odd in their files, which is said with the texts; where that makes them unclear, as all else reads them.

    Raises:
        UnclearRatingsError: they are unclear either way, or a file that is named cannot be read without its oddities.
        DataError: there are none.
    """
    try:
        return ratings_in.read(paths, layout, [])
    except UnclearRatingsError:
        try:
            return ratings_in.read(paths, layout)
        except DataError as error:
            raise UnclearRatingsError(str(error)) from error


def read_scales(
    declared: Mapping[str, str], criteria: Sequence[str]
) -> tuple[dict[str, tuple[float, float]], dict[str, tuple[str, ...]]]:
    """Read scales `1:5` and options `yes,no`, by criterion; `*` stands for all that are not named.

    Raises:
        UsageError: one is neither, or names a criterion that is not there.
    """
    unknown = sorted(declared.keys() - {*criteria, "*"})
    if unknown:
        raise UsageError(f"--scale {unknown[0]}: no such criterion; there are {', '.join(sorted(criteria)[:8])}")
    scales, options = {}, {}
    for criterion in criteria:
        text = declared.get(criterion, declared.get("*", ""))
        ends = re.fullmatch(r"(-?\d+(?:\.\d+)?):(-?\d+(?:\.\d+)?)", text)
        if ends and float(ends[1]) < float(ends[2]):
            scales[criterion] = float(ends[1]), float(ends[2])
        elif "," in text:
            options[criterion] = tuple(part.strip() for part in text.split(","))
        elif text:
            raise UsageError(f"--scale {text!r}: write LOW:HIGH, for example 1:5, or the options: yes,no")
    return scales, options


def _ratings_table(source: InputTable, columns: Mapping[str, str]) -> pl.DataFrame:
    """Return all columns; of JSON, a number written as text keeps its quotes, if its column also has numbers."""
    if not isinstance(source, RecordTable):
        return source.frame(source.headers, columns)
    rows: list[dict[str, Any]] = []
    names: dict[str, None] = {}
    for _, row in source.rows(columns):
        rows.append(row)
        names |= dict.fromkeys(row)
        if len(rows) > bounds.ROWS or len(rows) * len(names) > bounds.CELLS or len(names) > bounds.COLUMNS:
            raise DataError(f"{source}: it has more than {bounds.ROWS:,} rows, {bounds.COLUMNS:,} columns or {bounds.CELLS:,} cells, the most that are read; split it into several files")  # fmt: skip
    return pl.DataFrame({name: pl.Series(name, _as_text([row.get(name) for row in rows]), pl.String) for name in names})


def _as_text(cells: list[Any]) -> list[str | None]:
    numbers = any(isinstance(cell, int | float) for cell in cells)
    return [
        None if cell is None
        else json.dumps(cell) if not isinstance(cell, str) or (numbers and _DIGITS.fullmatch(cell))
        else cell
        for cell in cells
    ]  # fmt: skip


def _typed(table: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the columns of `RATINGS` as they are typed there; what is not given is null, or follows from the rest."""
    names = [column.strip().casefold() for column in table.columns]
    twice = bounds.twice(names)
    if twice is not None:
        raise DataError(f"{name}: the column {twice[:60]!r} is there twice; rename or remove one of them")
    table.columns = names
    missing = [column for column in REQUIRED if column not in table.columns]
    if missing:
        raise DataError(f"{name}: no column {', '.join(missing)}; a ratings file has {', '.join(REQUIRED)}; found {', '.join(table.columns)}")  # fmt: skip
    if table.is_empty():
        raise DataError(f"{name}: no ratings in it (0 rows)")
    table = table.with_columns(pl.all().cast(pl.String), row=pl.int_range(pl.len(), dtype=pl.Int64), file=pl.lit(name))
    for column in RATINGS:
        if column not in table.columns:
            table = table.with_columns(pl.lit(None, pl.String).alias(column))
    kind = pl.col("rater_kind").str.to_lowercase().replace(_KINDS)
    guessed = (
        pl.when(pl.col("rater").str.contains(_GOLD)).then(pl.lit("gold"))
        .when(pl.col("rater").str.contains(_PERSON)).then(pl.lit("person"))
        .when(pl.col("rater").str.contains(_MODEL)).then(pl.lit("model"))
    )  # fmt: skip
    status = pl.when(pl.col("value").is_null()).then(pl.lit("missing")).otherwise(pl.lit("ok"))
    return table.with_columns(
        rater_kind=pl.coalesce(kind, guessed),
        status=pl.coalesce("status", status),
        run=pl.col("run").cast(pl.Float64, strict=False).cast(pl.Int64, strict=False),
    )


def _ratings_texts(table: pl.DataFrame, name: str, kind: str) -> pl.DataFrame:
    """Return a column of texts, once per subject (and rater, for explanations)."""
    rows = table.with_columns(text=pl.col(name).fill_null(""), kind=pl.lit(kind), id=pl.col("subject"))
    rows = rows.with_columns(source=pl.col("rater") if kind == "verdict" else pl.lit(None, pl.String))
    for column in ("split", "label"):
        if column not in rows.columns:
            rows = rows.with_columns(pl.lit(None, pl.String).alias(column))
    if kind == "input":  # a conversation is asked of every system
        rows = rows.with_columns(id=pl.coalesce("cluster", "subject"), system=pl.lit(None, pl.String))
    return rows.select(list(TEXTS)).unique(["kind", "id", "text", "source"], keep="first", maintain_order=True)
