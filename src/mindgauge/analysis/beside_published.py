"""A run's rows for a paper's tables: of its models, and of its judges beside people."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from mindgauge.analysis import aligned_judges, frame, judges_beside_people
from mindgauge.analysis.published_row import NewRow, new_row
from mindgauge.analysis.score import score
from mindgauge.benchmarks import Released
from mindgauge.benchmarks import replica as protocols
from mindgauge.records import Status
from mindgauge.records.english import named
from mindgauge.records.errors import UsageError
from mindgauge.records.rounding import plural
from mindgauge.records.short_names import short_names
from mindgauge.store import Store, manifest, opening

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from mindgauge.analysis.score import Score, Scores
    from mindgauge.benchmarks import Benchmark, RecomputedCell
    from mindgauge.benchmarks.released import RankPlace
    from mindgauge.benchmarks.replica import PublishedColumn, Replica


def new_rows(folder: Path, members: Sequence[Benchmark]) -> list[NewRow]:
    """Return the rows of a run.

    Args:
        folder: of the run.
        members: the benchmarks of the paper whose tables are reproduced.

    Raises:
        UsageError: the run is of none of them, or none of their protocols has a table.
    """
    if not (folder / "run.sqlite").is_file():
        raise UsageError(f"--beside {opening.absent(folder)}")
    content = manifest.read(folder)
    names = content.get("plan", {}).get("benchmarks", [])
    matching = [benchmark for benchmark in members if benchmark.name in names]
    if not matching:
        wanted = named([benchmark.name for benchmark in members], "or")
        raise UsageError(f"--beside {folder}: a run of {', '.join(names) or 'nothing'}, and not of {wanted}")
    scores = score(folder)
    of_models = [] if content["plan"].get("loaded") else matching  # what authors released is no run of a protocol
    rows = [
        row for benchmark in of_models for row in model_rows(benchmark, folder, scores, content.get(protocols.RECORD))
    ]
    rows += [row for benchmark in matching for row in judges_beside_people.rows(folder, benchmark)]
    rows += [row for benchmark in matching for row in aligned_judges.rows(folder, benchmark)]
    if not rows and not any(benchmark.rank_places for benchmark in members):
        reasons = dict.fromkeys(r.no_table for b in matching for r in protocols.replicas(b.folder) if r.no_table)
        raise UsageError(
            f"--beside {folder}: no protocol of {matching[0].name} has a table in which this run has a row"
            + "".join(f": {reason}" for reason in reasons)
        )
    return rows


def rank_places(folder: Path, members: Sequence[Benchmark], data: Path) -> list[RankPlace]:
    """Say where a run's models come in the paper's table of ranks; nothing where the paper has none."""
    placing = next((benchmark.rank_places for benchmark in members if benchmark.rank_places is not None), None)
    if placing is None:
        return []
    content, places = manifest.read(folder), []
    with Store(folder) as store:
        for benchmark in (b for b in members if b.name in content.get("plan", {}).get("benchmarks", [])):
            rated = frame.ratings(store, benchmark).select("model", "sample", "rater", "criterion", "value")
            places += [*placing(benchmark, data, rated.rows())]
    titles = short_names(place.model for place in places)
    record = content.get(protocols.RECORD, {})
    alike = content.get("plan", {}).get("loaded") or (record.get("comparable") and not record.get("but_for"))
    otherwise = "" if alike else ". Its row says how this run differs from theirs"
    return [
        msgspec.structs.replace(p, model=titles.get(p.model, p.model), note=p.note + (otherwise if p.place else ""))
        for p in places
    ]


def model_rows(
    benchmark: Benchmark, folder: Path, scores: Scores, record: Mapping[str, Any] | None
) -> Iterator[NewRow]:
    """Return the rows of a run's models in a paper's tables: each by its own answers, and as each judge rates them.

    Args:
        benchmark: whose paper it is.
        folder: of the run.
        scores: of the run.
        record: what its manifest says of the paper's protocol; None where it was not run as published.
    """
    candidates = [replica for replica in protocols.replicas(benchmark.folder) if replica.table]
    name = None if record is None else record["protocol"]
    replica = next((r for r in candidates if r.name == name), candidates[0] if candidates and record is None else None)
    if replica is None or benchmark.published is None:
        return
    shown = short_names([*scores.models, *scores.judges])
    wanted = [
        s for s in scores.metrics if s.benchmark == benchmark.name and any(_is(c, s) for c in replica.columns.values())
    ]
    with Store(folder) as store:
        rated = frame.ratings(store, benchmark)
    by_rule = {r.rater for r in (*benchmark.readings, *benchmark.replica_readings)}
    for model in dict.fromkeys(s.model for s in wanted if s.model in scores.models):
        of_model = [s for s in wanted if s.model == model]
        own = [s for s in of_model if s.rater in {model, *by_rule}]
        answers = rated.filter(pl.col("model") == model, pl.col("rater").is_in({s.rater for s in own}))
        judges = [*dict.fromkeys(s.rater for s in of_model if s.rater in scores.judges)]
        for judge in judges or [""] * bool(own):
            figures = [*own, *(s for s in of_model if s.rater == judge)]
            values = _values(replica, figures, answers)
            void = [*dict.fromkeys(s.void for s in figures if s.void)]
            reasons, but_for = protocols.standing(record, [*void, *_missing(figures, judge)])
            standing = reasons, [*but_for, *_unread(answers)]
            title = shown.get(model, model) + (f", judged by {shown.get(judge, judge)}" if judge else "")
            gaps = {
                c: _why(replica.columns[c], benchmark, judge, figures) for c, value in values.items() if value is None
            }
            cells = [] if void else _cells(benchmark, folder, model, judge or model)
            for table, caption in {replica.table: replica.compares_with, **replica.further}.items():
                in_table = {c.column: c.value for c in cells if c.table == table and isinstance(c.value, float)}
                first = table == replica.table
                yield new_row(
                    benchmark, (table, caption), title, {**(values if first else {}), **in_table}, standing,
                    notes=replica.not_computed | (gaps if first else {}),
                )  # fmt: skip


def _cells(benchmark: Benchmark, folder: Path, model: str, rater: str) -> list[RecomputedCell]:
    """Return what a benchmark itself computes of one model's replies as one rater rates them."""
    if benchmark.cells_of_run is None:
        return []
    with Store(folder) as store:
        replies = {reply.id: reply for reply in store.replies(benchmark.name) if reply.model == model}
        ratings = [r for r in store.ratings(benchmark.name) if r.rater == rater and r.subject in replies]
        samples = [*store.samples(benchmark.name)]
    return [*benchmark.cells_of_run(Released(samples, [*replies.values()], ratings, []))]


def _is(column: PublishedColumn, figure: Score) -> bool:
    return (column.metric, column.slice) == (figure.name, figure.slice) and (
        column.criterion in ("", figure.criterion) and column.rater in ("", figure.rater)
    )


def _unread(answers: pl.DataFrame) -> Iterator[str]:
    """Say how many of a model's answers could not be read, as some of the paper's models' could not."""
    unread = answers.filter(~pl.col("status").is_in([Status.OK, Status.NOT_APPLICABLE]))["subject"].n_unique()
    if unread:
        yield f"{plural(unread, 'answer')} could not be read"


def _missing(figures: Sequence[Score], judge: str) -> Iterator[str]:
    """Say how many of a judge's verdicts are missing."""
    missing = sum({(s.criterion, s.slice): s.missing for s in figures if s.rater == judge}.values())
    if missing:
        yield f"{plural(missing, 'verdict is', 'verdicts are')} missing"


def _values(replica: Replica, figures: Sequence[Score], answers: pl.DataFrame) -> dict[str, float | None]:
    values: dict[str, float | None] = {}
    for name, column in replica.columns.items():
        if column.mean_of:
            parts = [values[part] for part in column.mean_of]
            values[name] = None if None in parts else fmean(value for value in parts if value is not None)
        elif column.count_of:
            counted = (pl.col("criterion") == column.criterion) & (pl.col("value") == column.count_of)
            values[name] = float(answers.filter(counted).height)
        else:
            values[name] = _value(column, figures)
    return values


def _why(column: PublishedColumn, benchmark: Benchmark, judge: str, figures: Sequence[Score]) -> str:
    """Say why a column has no figure."""
    if column.mean_of:
        return f"one of {named(column.mean_of)} has no figure"
    read = {r.criterion.name for r in benchmark.readings}
    if not judge and not benchmark.closed and column.criterion not in read:
        return "no judge rated it"
    if column.rater not in {"", *(figure.rater for figure in figures)}:
        return "only a run --as-published reads replies as the authors do"
    return "it is not defined on these answers, or too few of them can be used"


def _value(column: PublishedColumn, figures: Sequence[Score]) -> float | None:
    """Return a figure as the paper has it: the mean, or the standard deviation, of its repeats' own."""
    of_metric = [s for s in figures if _is(column, s)]
    if not of_metric:
        return None
    (figure, *_) = of_metric
    if column.over_runs == "sd":
        value = figure.sd
    elif column.over_runs == "n":
        value = float(figure.n - figure.missing)
    else:
        value = figure.value if figure.mean_of_runs is None else figure.mean_of_runs
    unusable = figure.void and column.over_runs != "n"
    return None if value is None or unusable else value * column.times
