"""A run's rows for a paper's tables: of its models, and of its judges beside people."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from mindgauge.analysis import frame, judges_beside_people
from mindgauge.analysis.published_row import NewRow, printed
from mindgauge.analysis.score import score
from mindgauge.benchmarks import replica as protocols
from mindgauge.records import Status
from mindgauge.records.english import named
from mindgauge.records.errors import UsageError
from mindgauge.records.rounding import plural
from mindgauge.records.short_names import short_names
from mindgauge.store import Store, manifest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mindgauge.analysis.score import Score, Scores
    from mindgauge.benchmarks import Benchmark
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
    content = manifest.read(folder)
    names = content.get("plan", {}).get("benchmarks", [])
    matching = [benchmark for benchmark in members if benchmark.name in names]
    if not matching:
        wanted = named([benchmark.name for benchmark in members], "or")
        raise UsageError(f"--beside {folder}: a run of {', '.join(names) or 'nothing'}, and not of {wanted}")
    scores = score(folder)
    with Store(folder) as store:
        rated = {benchmark.name: frame.ratings(store, benchmark) for benchmark in matching}
    record = content.get(protocols.RECORD)
    rows = [row for benchmark in matching for row in _rows(benchmark, scores, record, rated[benchmark.name])]
    rows += [row for benchmark in matching for row in judges_beside_people.rows(folder, benchmark)]
    if not rows and not any(benchmark.rank_places for benchmark in members):
        raise UsageError(
            f"--beside {folder}: no protocol of {matching[0].name} has a table of models' results to stand beside"
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
    alike = content.get("plan", {}).get("loaded") or content.get(protocols.RECORD, {}).get("comparable")
    otherwise = "" if alike else ". They were asked in another way than this run asked, as its row says"
    return [
        msgspec.structs.replace(p, model=titles.get(p.model, p.model), note=p.note + (otherwise if p.place else ""))
        for p in places
    ]


def _rows(benchmark: Benchmark, scores: Scores, record: dict[str, Any] | None, rated: pl.DataFrame) -> Iterator[NewRow]:
    candidates = [replica for replica in protocols.replicas(benchmark.folder) if replica.table]
    name = None if record is None else record["protocol"]
    replica = next((r for r in candidates if r.name == name), candidates[0] if candidates and record is None else None)
    if replica is None or benchmark.published is None:
        return
    reasons = ["it was not run --as-published"] if record is None else list(record["lacks"])
    rows = printed(benchmark, replica.table)
    shown = short_names([*scores.models, *scores.judges])
    wanted = [
        s for s in scores.metrics if s.benchmark == benchmark.name and any(_is(c, s) for c in replica.columns.values())
    ]
    by_rule = {r.rater for r in (*benchmark.readings, *benchmark.replica_readings)}
    for model in dict.fromkeys(s.model for s in wanted if s.model in scores.models):
        of_model = [s for s in wanted if s.model == model]
        own = [s for s in of_model if s.rater in {model, *by_rule}]
        answers = rated.filter(pl.col("model") == model, pl.col("rater").is_in({s.rater for s in own}))
        judges = [*dict.fromkeys(s.rater for s in of_model if s.rater in scores.judges)]
        for judge in judges or [""] * bool(own):
            figures = [*own, *(s for s in of_model if s.rater == judge)]
            values = _values(replica, figures, answers)
            lost = [*dict.fromkeys(s.void for s in figures if s.void), *_missing(figures, answers, judge)]
            title = shown.get(model, model) + (f", judged by {shown.get(judge, judge)}" if judge else "")
            yield NewRow(
                replica.table, replica.compares_with, title, values, rows, not reasons and not lost, [*reasons, *lost],
                notes={name: _why(replica.columns[name], benchmark, judge, figures) for name, value in values.items() if value is None},
            )  # fmt: skip


def _is(column: PublishedColumn, figure: Score) -> bool:
    return (column.metric, column.slice) == (figure.name, figure.slice) and (
        column.criterion in ("", figure.criterion) and column.rater in ("", figure.rater)
    )


def _missing(figures: Sequence[Score], answers: pl.DataFrame, judge: str) -> Iterator[str]:
    """Say how many of a model's answers could not be read, and how many of a judge's verdicts are missing."""
    unread = answers.filter(~pl.col("status").is_in([Status.OK, Status.NOT_APPLICABLE]))["subject"].n_unique()
    if unread:
        yield f"{plural(unread, 'answer')} could not be read"
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
    return None if value is None or figure.void else value * column.times
