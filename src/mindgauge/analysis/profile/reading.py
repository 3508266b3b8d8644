"""The ratings of a suite's tasks in some runs, and whose they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from mindgauge import benchmarks
from mindgauge.analysis import cross_checks, fitness, frame, qualify, usable
from mindgauge.analysis.score import open_run
from mindgauge.benchmarks import suite as suites
from mindgauge.records.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from mindgauge.benchmarks import Benchmark
    from mindgauge.benchmarks.suite import Suite, Task


class TaskRatings(NamedTuple):
    """What models answered in one task, or how their replies were rated: columns as in `frame.ratings`."""

    benchmark: Benchmark
    rows: pl.DataFrame


class ProfileMaterial(NamedTuple):
    """What some runs hold of a suite.

    `benchmarks` are the benchmarks of the runs; `raters` who judged replies, in the order of the runs' plans; `skipped` says
    why a run left a benchmark out.
    """

    suite: Suite
    rated: dict[str, TaskRatings]
    """By task."""
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
                rows = usable.trusted(_ratings(ratings, benchmark), unfit)
                by_benchmark.setdefault(benchmark.name, []).append(
                    (
                        benchmark,
                        rows.with_columns(run_number=pl.lit(number)),
                    )
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
    rated = {name: part for name, part in rated.items() if not part.rows.is_empty()}
    models = dict.fromkeys(model for part in rated.values() for model in part.rows["model"].unique(maintain_order=True))
    present = {
        str(rater) for part in rated.values() for rater in judged(part.benchmark, part.rows)["rater"].unique().to_list()
    }
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
    return TaskRatings(benchmark, joined.filter(pl.col("run_number") == pl.col("first")).drop("first"))


def lacking(material: ProfileMaterial) -> list[str]:
    """Say of every task without ratings which it is and how to get it."""
    tasks = [task for task in material.suite.tasks if task.name not in material.rated]
    return [f"{task.title} ({task.benchmark}): {_why(task, material)}" for task in tasks]


def _why(task: Task, material: ProfileMaterial) -> str:
    if task.benchmark in material.benchmarks:
        return "it is in these runs, and nobody answered or rated it; name a judge with --judge"
    obtain = benchmarks.find_one(task.benchmark).card.obtain
    return material.skipped.get(task.benchmark) or f"not in these runs; data: {obtain}"
