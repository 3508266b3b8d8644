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
    from collections.abc import Iterator, Mapping, Sequence
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
    members_run = [] if content["plan"].get("loaded") else matching  # what authors released is no run of a protocol
    rows = [
        row for benchmark in members_run for row in model_rows(benchmark, folder, scores, content.get(protocols.RECORD))
    ]
    rows += [row for benchmark in matching for row in judges_beside_people.rows(folder, benchmark)]
    if not rows:
        reasons = dict.fromkeys(r.no_table for b in matching for r in protocols.replicas(b.folder) if r.no_table)
        raise UsageError(
            f"--beside {folder}: no protocol of {matching[0].name} has a table in which this run has a row"
            + "".join(f": {reason}" for reason in reasons)
        )
    return rows


def model_rows(
    benchmark: Benchmark, folder: Path, scores: Scores, record: Mapping[str, Any] | None
) -> Iterator[NewRow]:
    """Return the rows of a run's models in a paper's tables.

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
    scored = [s for s in scores.metrics if s.benchmark == benchmark.name and s.slice == "all"]
    for model, rater in dict.fromkeys(
        (s.model, s.rater) for s in scored if _rated(s, scores) and s.name in _metrics(replica)
    ):
        figures = [s for s in scored if (s.model, s.rater) == (model, rater)]
        values = {column: _value(published, figures) for column, published in replica.columns.items()}
        missing = sum(s.missing for s in figures if s.name == next(iter(_metrics(replica))))
        void = [*dict.fromkeys(s.void for s in figures if s.void and s.name in _metrics(replica))]
        lost = [*void, *([f"{plural(missing, 'verdict is', 'verdicts are')} missing"] if missing else [])]
        title = shown.get(model, model)
        if rater not in ("", model, "gold"):
            title = f"{title}, judged by {shown.get(rater, rater)}"
        cells = [] if void else _cells(benchmark, folder, model, rater)
        for table, caption in {replica.table: replica.compares_with, **replica.further}.items():
            in_table = {c.column: c.value for c in cells if c.table == table and isinstance(c.value, float)}
            yield new_row(
                benchmark, (table, caption), title, {**(values if table == replica.table else {}), **in_table},
                protocols.standing(record, lost), notes=replica.not_computed,
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
