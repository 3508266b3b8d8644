"""The ratings of a suite's tasks in some runs, whose they are, and a task's headline as tables of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from mindgauge import benchmarks
from mindgauge.analysis import cross_checks, fidelity, fitness, frame, scoring_views
from mindgauge.analysis import fitness as qualify
from mindgauge.analysis import scoring_views as usable
from mindgauge.analysis.rating_part import RatingPart
from mindgauge.analysis.score import open_run
from mindgauge.benchmarks import suite as suites
from mindgauge.records.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from mindgauge.analysis.scoring_views import ScoringQuestion
    from mindgauge.benchmarks import Benchmark
    from mindgauge.benchmarks.metrics import Metric, RatingTable
    from mindgauge.benchmarks.suite import Suite, Task, TaskMetric

    TaskRatings = tuple[Benchmark, pl.DataFrame]


class ProfileMaterial(NamedTuple):
    """What some runs hold of a suite.

    `benchmarks` are the benchmarks of the runs; `raters` who judged replies, in the order of the runs' plans; `skipped` says
    why a run left a benchmark out.
    """

    suite: Suite
    rated: dict[str, TaskRatings]
    """By task: its benchmark, and what models answered or how their replies were rated."""
    benchmarks: set[str]
    models: list[str]
    raters: list[str]
    skipped: dict[str, str]
    notes: list[str]


def read(folders: Sequence[Path]) -> ProfileMaterial:
    """Read the tasks of a suite from runs: of the suite of which most tasks are there.

    Raises:
        UsageError: there is no run in a folder, or no task of a suite in any of them.
    """
    by_benchmark: dict[str, list[tuple[Benchmark, pl.DataFrame]]] = {}
    planned: list[str] = []
    skipped: dict[str, str] = {}
    remarks: list[str] = []
    for number, folder in enumerate(folders):
        store, members, manifest = open_run(folder)
        with store:
            for benchmark in members:
                ratings = frame.ratings(store, benchmark)
                remarks += cross_checks.notes(benchmark, ratings)
                unfit = qualify.unfit(store, benchmark, ratings)
                remarks += fitness.told(unfit)
                clients = fidelity.check_clients(store, benchmark, ratings, unfit)
                remarks += fidelity.sentences(clients)
                rows = fidelity.allowed(scoring_views.trusted(_ratings(ratings, benchmark), unfit), clients)
                by_benchmark.setdefault(benchmark.name, []).append(
                    (benchmark, rows.with_columns(run_number=pl.lit(number)))
                )
        planned += manifest["plan"].get("judges", [])
        skipped |= {name: reason for kind in manifest.get("not_run", {}).values() for name, reason in kind.items()}
    suite = _suite(by_benchmark, folders)
    notes: list[str] = []
    rated = {
        task.name: _joined(task, by_benchmark[task.benchmark], notes)
        for task in suite.tasks
        if task.benchmark in by_benchmark
    }
    rated = {name: part for name, part in rated.items() if not part[1].is_empty()}
    models = dict.fromkeys(model for _, rows in rated.values() for model in rows["model"].unique(maintain_order=True))
    present = {str(rater) for part in rated.values() for rater in judged(*part)["rater"].unique().to_list()}
    raters = sorted(present, key=lambda rater: (planned.index(rater) if rater in planned else len(planned), rater))
    return ProfileMaterial(suite, rated, set(by_benchmark), list(models), raters, skipped, [*notes, *remarks])


def judged(benchmark: Benchmark, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the ratings of replies by raters of whom there could be others: neither the models' own answers nor readings."""
    return rows.clear() if benchmark.closed else rows.filter(~_read(benchmark))


def _read(benchmark: Benchmark) -> pl.Expr:
    return pl.col("rater").is_in([reading.rater for reading in benchmark.readings])


def _ratings(rows: pl.DataFrame, benchmark: Benchmark) -> pl.DataFrame:
    """Keep what scores are made of: no gold, no words looked for, no subjects chosen by what a judge thought of them."""
    kinds = ["model", "classifier"] if benchmark.closed else ["model", "classifier", "person", "panel"]
    return rows.filter(
        pl.col("rater_kind").is_in(kinds) | _read(benchmark),
        pl.col("selection").is_null(),
        pl.col("unit").is_null(),
        pl.col("status") != "not_applicable",
    )


def _suite(rated: Mapping[str, object], folders: Sequence[Path]) -> Suite:
    shipped = [suite for suite in map(suites.find, suites.names()) if suite is not None]
    counts = {suite.name: sum(task.benchmark in rated for task in suite.tasks) for suite in shipped}
    best = max(shipped, key=lambda suite: counts[suite.name], default=None)
    if best is None or not counts[best.name]:
        places, names = ", ".join(map(str, folders)), ", ".join(counts) or "none"
        raise UsageError(
            f"{places}: no task of a suite found there (suites: {names}); "
            "`mindgauge run SUITE --model …` makes a run that can be profiled"
        )
    return best


def _joined(task: Task, parts: Sequence[tuple[Benchmark, pl.DataFrame]], notes: list[str]) -> TaskRatings:
    """Join the runs of a task: of a model that did it in several, the first of them counts."""
    benchmark, rows = parts[0][0], pl.concat([rows for _, rows in parts], how="diagonal")
    first = rows.group_by("model", maintain_order=True).agg(
        first=pl.col("run_number").min(), several=pl.col("run_number").n_unique() > 1
    )
    notes += [
        f"{task.title}: {model} did it in several runs; the first of them counts"
        for model in first.filter("several")["model"]
    ]
    joined = rows.join(first.select("model", "first"), on="model", maintain_order="left")
    return benchmark, joined.filter(pl.col("run_number") == pl.col("first")).drop("first")


def lacking(material: ProfileMaterial) -> list[str]:
    """Say of every task without ratings which it is and how to get it."""
    tasks = [task for task in material.suite.tasks if task.name not in material.rated]
    return [f"{task.title} ({task.benchmark}): {_why(task, material)}" for task in tasks]


def _why(task: Task, material: ProfileMaterial) -> str:
    if task.benchmark in material.benchmarks:
        return "it is in these runs, and nobody answered or rated it; name a judge with --judge"
    obtain = benchmarks.find_one(task.benchmark).card.obtain
    return material.skipped.get(task.benchmark) or f"not in these runs; data: {obtain}"


# A task's headline as tables: of every part and model, the ratings on the samples that all models have.


NOTHING_COMMON = "no sample is common to all models that did it, so nothing is compared"


class MeasuredPart(NamedTuple):
    """What one part of a headline is computed of, for one model: ratings as columns, and as the rows that they were."""

    part: TaskMetric
    question: ScoringQuestion
    metric: Metric
    table: RatingTable
    rows: pl.DataFrame


class TaskHeadline(NamedTuple):
    """A task's parts for the models that have them all; `reasons` says of the others, or of all, why they have no score."""

    task: Task
    parts: tuple[TaskMetric, ...]
    models: dict[str, tuple[MeasuredPart, ...]]
    reasons: dict[str, str]
    rater: str
    """Who rated the replies; empty where nobody had to."""


def headline(task: Task, rated: TaskRatings, judge: str, notes: list[str]) -> TaskHeadline:
    """Cut a task's ratings into the parts of its headline, each reduced to the samples that all its models have.

    Args:
        task: of the suite.
        rated: its ratings.
        judge: whose ratings of replies count.
        notes: gets a line for what is left out.
    """
    benchmark, all_rows = rated
    rows = _same_targets(task, all_rows, notes)
    raters = judged(benchmark, rows)["rater"].unique().to_list()
    counted = rows.filter((pl.col("rater") == judge) | ~pl.col("rater").is_in(raters))
    cuts = [(part, _of(counted, part)) for part in task.headline]
    if task.whichever:
        cuts = [cut for cut in cuts if not cut[1].is_empty()]
    models = rows["model"].unique(maintain_order=True).to_list()
    reasons = {model: _why_not(cuts, model, judge if raters else "") for model in models}
    lacking = {model: reason for model, reason in reasons.items() if reason}
    scored = [model for model in models if model not in lacking]
    cuts = [_common(task, *cut, scored, notes) for cut in cuts]
    if scored and any(rows.is_empty() for _, rows in cuts):
        lacking, scored = {**lacking, **dict.fromkeys(scored, NOTHING_COMMON)}, []
    measured = {model: tuple(_measured(benchmark, *cut, model) for cut in cuts) for model in scored}
    present = {rater for _, rows in cuts for rater in rows["rater"].unique()}
    rater = judge if judge in raters and judge in present else ""
    return TaskHeadline(task, tuple(part for part, _ in cuts), measured, lacking, rater)


def _of(rows: pl.DataFrame, part: TaskMetric) -> pl.DataFrame:
    inside = [pl.col(frame.tag(tag)) == value for tag, value in part.where.items()]
    return rows.filter(pl.col("criterion") == part.criterion, *inside)


def _why_not(cuts: Sequence[tuple[TaskMetric, pl.DataFrame]], model: str, judge: str) -> str:
    """Say why a model has no score; empty if it has one."""
    for part, rows in cuts:
        model_rows = rows.filter(pl.col("model") == model)
        if model_rows.is_empty():
            return f"no ratings on {spelled(part)}" + (f" by {judge}" if judge else "")
        judged_ = bool((model_rows["rater"] == judge).all())
        shortage = usable.shortage(RatingPart.of(model_rows), closed=not judged_)
        if shortage:
            return (
                f"{judge} gave {shortage} on {spelled(part)}" if judged_ else f"it gave {shortage} on {spelled(part)}"
            )
    return "" if cuts else "no ratings"


def spelled(part: TaskMetric) -> str:
    """Write what a part is about."""
    conditions = ", ".join(f"{tag}={value}" for tag, value in part.where.items())
    return f"{part.criterion} ({conditions})" if conditions else part.criterion


def _same_targets(task: Task, rows: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    """Leave out samples whose target is not the same in all runs."""
    key = ["sample", "criterion"]
    differing = rows.group_by(key).agg(pl.col("target").n_unique()).filter(pl.col("target") > 1)
    if differing.is_empty():
        return rows
    samples = differing["sample"].n_unique()
    notes.append(f"{task.title}: {samples} samples have different targets in different runs; left out")
    return rows.join(differing, on="sample", how="anti", maintain_order="left")


def _common(
    task: Task, part: TaskMetric, rows: pl.DataFrame, models: Sequence[str], notes: list[str]
) -> tuple[TaskMetric, pl.DataFrame]:
    """Keep some models' ratings of the samples that they all have, and say how many others there are."""
    rows = rows.filter(pl.col("model").is_in(models))
    having = rows.group_by("sample").agg(pl.col("model").n_unique())
    shared = having.filter(pl.col("model") == len(models))["sample"]
    if 0 < len(shared) < len(having):
        about = "" if len(task.headline) == 1 else f" of {spelled(part)}"
        count = f"{len(shared)} of {len(having)} samples{about}"
        notes.append(f"{task.title}: {count} are common to all {len(models)} models; only these count")
    return part, rows.filter(pl.col("sample").is_in(shared.implode()))


def _measured(benchmark: Benchmark, part: TaskMetric, rows: pl.DataFrame, model: str) -> MeasuredPart:
    rows = rows.filter(pl.col("model") == model)
    question = scoring_views.find(benchmark, part.criterion, str(rows["rater_kind"].first()))
    assert question is not None, f"{benchmark.name} has no criterion {part.criterion}"
    metric = next(m for m in question.metrics if m.name == part.metric and not m.label)
    # `rows` of a table puts it in the order of its clusters; ratings that are in it already stay where they are.
    rows = rows.sort("cluster", maintain_order=True)
    table = RatingPart.of(rows).table(question.criterion, question.benchmark.metric_tags)
    concerned = metric.applies_to(table)
    return MeasuredPart(part, question, metric, table.rows(concerned), rows.filter(pl.Series(concerned)))
