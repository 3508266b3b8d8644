"""A run's rows for a paper's tables: of its models, and of its judges beside people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindgauge.analysis import judges_beside_people
from mindgauge.analysis.published_row import NewRow, new_row
from mindgauge.analysis.score import score
from mindgauge.benchmarks import Released
from mindgauge.benchmarks import replica as protocols
from mindgauge.records.english import named
from mindgauge.records.errors import UsageError
from mindgauge.records.rounding import plural
from mindgauge.records.short_names import short_names
from mindgauge.store import Store, manifest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mindgauge.analysis.score import Score, Scores
    from mindgauge.benchmarks import Benchmark, RecomputedCell
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
    answered = [] if content["plan"].get("loaded") else matching  # what authors released is no run of a protocol
    rows = [row for benchmark in answered for row in _rows(benchmark, folder, scores, content.get(protocols.RECORD))]
    rows += [row for benchmark in matching for row in judges_beside_people.rows(folder, benchmark)]
    if not rows:
        reasons = dict.fromkeys(r.no_table for b in matching for r in protocols.replicas(b.folder) if r.no_table)
        raise UsageError(
            f"--beside {folder}: no protocol of {matching[0].name} has a table in which this run has a row"
            + "".join(f": {reason}" for reason in reasons)
        )
    return rows


def _rows(benchmark: Benchmark, folder: Path, scores: Scores, record: dict[str, Any] | None) -> Iterator[NewRow]:
    replica = _of_table(benchmark, record)
    if replica is None or benchmark.published is None:
        return
    shown = short_names([*scores.models, *scores.judges])
    scored = [s for s in scores.metrics if s.benchmark == benchmark.name and s.slice == "all"]
    for (model, rater), missing in _missing(benchmark, replica, scores).items():
        figures = [s for s in scored if (s.model, s.rater) == (model, rater)]
        metrics = {column: _value(published, figures) for column, published in replica.columns.items()}
        void = any(s.void for s in figures if s.name in _metrics(replica))
        cells = [] if void else _cells(benchmark, folder, model, rater)
        title = shown.get(model, model)
        if rater not in ("", model, "gold"):
            title = f"{title}, judged by {shown.get(rater, rater)}"
        for table, called in {replica.table: replica.compares_with, **replica.further}.items():
            of_cells = {c.column: c.value for c in cells if c.table == table and isinstance(c.value, float)}
            values = {**(metrics if table == replica.table else {}), **of_cells}
            yield new_row(
                benchmark, (table, called), title, values, protocols.standing(record, missing), notes=replica.not_computed
            )  # fmt: skip


def _of_table(benchmark: Benchmark, record: dict[str, Any] | None) -> Replica | None:
    """Return the protocol in whose table a run's rows are; without one on record the first that has a table."""
    candidates = [replica for replica in protocols.replicas(benchmark.folder) if replica.table]
    name = None if record is None else record["protocol"]
    return next((r for r in candidates if record is None or r.name == name), None)


def _missing(benchmark: Benchmark, replica: Replica, scores: Scores) -> dict[tuple[str, str], list[str]]:
    """Return whose rows there are, of which model by which rater, and what each lacks."""
    rows: dict[tuple[str, str], list[Score]] = {}
    for s in scores.metrics:
        if s.benchmark == benchmark.name and s.slice == "all" and _rated(s, scores) and s.name in _metrics(replica):
            rows.setdefault((s.model, s.rater), []).append(s)
    lost = {}
    for row, figures in rows.items():
        missing = sum(s.missing for s in figures if s.name == next(iter(_metrics(replica))))
        lost[row] = [
            *dict.fromkeys(s.void for s in figures if s.void),
            *([f"{plural(missing, 'verdict is', 'verdicts are')} missing"] if missing else []),
        ]
    return lost


def missing_anywhere(benchmark: Benchmark, scores: Scores, record: dict[str, Any]) -> list[str]:
    """Return what any row of a run lacks of its protocol, with who it is of where there are several."""
    replica = _of_table(benchmark, record)
    lost = {} if replica is None else _missing(benchmark, replica, scores)
    return [
        f"{model}: {reason}" if len(lost) > 1 else reason for (model, _), reasons in lost.items() for reason in reasons
    ]


def _cells(benchmark: Benchmark, folder: Path, model: str, rater: str) -> list[RecomputedCell]:
    """Return what a benchmark itself computes of one model's replies as one rater rates them."""
    if benchmark.cells_of_run is None:
        return []
    with Store(folder) as store:
        replies = {reply.id: reply for reply in store.replies(benchmark.name) if reply.model == model}
        ratings = [r for r in store.ratings(benchmark.name) if r.rater == rater and r.subject in replies]
        samples = [*store.samples(benchmark.name)]
    return [*benchmark.cells_of_run(Released(samples, [*replies.values()], ratings, []))]


def _rated(score_of: Score, scores: Scores) -> bool:
    """Whether a figure is a model's by its own answers or a judge's verdicts: no baseline, and no majority of repeats."""
    return score_of.model in scores.models and score_of.rater in (*scores.judges, score_of.model)


def _metrics(replica: Replica) -> dict[str, None]:
    return dict.fromkeys(column.metric for column in replica.columns.values())


def _value(column: PublishedColumn, figures: Sequence[Score]) -> float | None:
    """Return a figure as the paper has it: the mean, or the standard deviation, of its repeats' own."""
    of_metric = [s for s in figures if s.name == column.metric and column.criterion in ("", s.criterion)]
    if not of_metric:
        return None
    (figure, *_) = of_metric
    if column.over_runs == "sd":
        value = figure.sd
    else:
        value = figure.value if figure.mean_of_runs is None else figure.mean_of_runs
    return None if value is None or figure.void else value * column.times
