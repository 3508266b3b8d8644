"""A run's rows for a paper's tables: of its models, and of its judges beside people."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.analysis import aligned_judges, judges_beside_people
from mindgauge.analysis.published_row import NewRow, printed
from mindgauge.analysis.score import score
from mindgauge.benchmarks import replica as protocols
from mindgauge.records.english import named
from mindgauge.records.errors import UsageError
from mindgauge.records.rounding import plural
from mindgauge.records.short_names import short_names
from mindgauge.store import manifest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mindgauge.analysis.score import Score, Scores
    from mindgauge.benchmarks import Benchmark
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
    rows: list[NewRow] = []
    if protocols.RECORD in content or not content["plan"].get(
        "loaded"
    ):  # of a release, models' rows are printed already
        scores = score(folder)
        rows = [row for benchmark in matching for row in _rows(benchmark, scores, content.get(protocols.RECORD))]
    rows += [row for benchmark in matching for row in judges_beside_people.rows(folder, benchmark)]
    rows += [row for benchmark in matching for row in aligned_judges.rows(folder, benchmark)]
    if not rows:
        raise UsageError(
            f"--beside {folder}: no protocol of {matching[0].name} has a table of models' results to stand beside"
        )
    return rows


def _rows(benchmark: Benchmark, scores: Scores, record: dict[str, Any] | None) -> Iterator[NewRow]:
    candidates = [replica for replica in protocols.replicas(benchmark.folder) if replica.table]
    name = None if record is None else record["protocol"]
    replica = next((r for r in candidates if r.name == name), candidates[0] if candidates and record is None else None)
    if replica is None or benchmark.published is None:
        return
    reasons = ["it was not run --as-published"] if record is None else list(record["lacks"])
    rows = printed(benchmark, replica.table)
    shown = short_names([*scores.models, *scores.judges])
    scored = [s for s in scores.metrics if s.benchmark == benchmark.name and s.slice == "all"]
    for model, rater in dict.fromkeys(
        (s.model, s.rater) for s in scored if _rated(s, scores) and s.name in _metrics(replica)
    ):
        figures = [s for s in scored if (s.model, s.rater) == (model, rater)]
        values = {column: _value(published, figures) for column, published in replica.columns.items()}
        missing = sum(s.missing for s in figures if s.name == next(iter(_metrics(replica))))
        lost = [
            *dict.fromkeys(s.void for s in figures if s.void and s.name in _metrics(replica)),
            *([f"{plural(missing, 'verdict is', 'verdicts are')} missing"] if missing else []),
        ]
        title = shown.get(model, model)
        if rater not in ("", model, "gold"):
            title = f"{title}, judged by {shown.get(rater, rater)}"
        yield NewRow(
            replica.table, replica.compares_with, title, values, rows, not reasons and not lost, [*reasons, *lost]
        )


def _rated(score_of: Score, scores: Scores) -> bool:
    """Whether a figure is a model's by its own answers or a judge's verdicts: no baseline, and no majority of repeats."""
    return score_of.model in scores.models and score_of.rater in (*scores.judges, score_of.model)


def _metrics(replica: Replica) -> dict[str, None]:
    return dict.fromkeys(column.metric for column in replica.columns.values())


def _value(column: PublishedColumn, figures: Sequence[Score]) -> float | None:
    """Return a figure as the paper has it: the mean, or the standard deviation, of its repeats' own."""
    if column.criteria:
        each = [_value(msgspec.structs.replace(column, criterion=c, criteria=[]), figures) for c in column.criteria]
        return None if None in each else fmean(value for value in each if value is not None)
    of_metric = [s for s in figures if s.name == column.metric and column.criterion in ("", s.criterion)]
    if not of_metric:
        return None
    (figure, *_) = of_metric
    if column.over_runs == "sd":
        value = figure.sd
    else:
        value = figure.value if figure.mean_of_runs is None else figure.mean_of_runs
    return None if value is None or figure.void else value * column.times
