"""The runs a report is about, opened once: scores, manifest, and each benchmark's ratings as a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from mindgauge.analysis import frame
from mindgauge.analysis.score import Score, Scores, open_run, score
from mindgauge.benchmark import Benchmark
from mindgauge.reports.content import System
from mindgauge.rubric import Criterion, Scale
from mindgauge.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PERSON, MODEL, RULE, GOLD = "person", "model", "rule", "gold"


class Section(msgspec.Struct):
    """One benchmark in one run, with its ratings (columns as in `frame.ratings`)."""

    run: int
    benchmark: Benchmark
    ratings: pl.DataFrame

    @property
    def asked(self) -> pl.DataFrame:
        """The ratings on the rubric's own criteria that are no gold labels."""
        return self.ratings.filter(
            pl.col("criterion").is_in([c.name for c in self.benchmark.rubric.criteria]), pl.col("rater_kind") != GOLD
        )

    @property
    def ordinal(self) -> dict[str, Criterion]:
        """The criteria whose levels are numbers, worst to best."""
        return {c.name: c for c in self.benchmark.rubric.criteria if c.scale is Scale.ORDINAL and _numbered(c)}

    def judges(self) -> list[tuple[str, str]]:
        """Return who rated replies, with their kind: people first, then models, by name."""
        if self.benchmark.closed:
            return []
        found = self.asked.select("rater_kind", "rater").unique().iter_rows()
        return [(rater, kind) for kind, rater in sorted(found, key=lambda who: (who[0] != PERSON, who[1]))]


def _numbered(criterion: Criterion) -> bool:
    return all(isinstance(value, int) for value in criterion.values)


class Run(msgspec.Struct):
    """A run, open for reading."""

    folder: Path
    store: Store
    manifest: dict[str, Any]
    scores: Scores
    sections: list[Section]


def read(folder: Path, number: int) -> Run:
    """Open a run and compute its scores.

    Raises:
        UsageError: there is no run in the folder.
    """
    scores = score(folder)
    store, benchmarks, manifest = open_run(folder)
    return Run(folder, store, manifest, scores, [Section(number, b, frame.ratings(store, b)) for b in benchmarks])


def systems(runs: Sequence[Run]) -> list[System]:
    """Name every model that a run measured; one that several runs measured is named with its run."""
    found = [(number, model) for number, run in enumerate(runs) for model in sorted(_measured(run))]
    models = [model for _, model in found]
    named = []
    for number, model in found:
        label = model if models.count(model) == 1 else f"{model} ({runs[number].folder.resolve().name})"
        named.append(label)
    return [
        System(label if named.count(label) == 1 else f"{label} #{run + 1}", model, run, i)
        for i, (label, (run, model)) in enumerate(zip(named, found, strict=True))
    ]


def _measured(run: Run) -> set[str]:
    models: set[str] = set()
    for section in run.sections:
        if section.benchmark.closed:
            raters = section.asked.filter(~pl.col("rater_kind").is_in([PERSON, RULE]))["rater"]
            models |= set(raters.unique())
        else:
            query = "SELECT DISTINCT model FROM replies WHERE benchmark = ?"
            models |= {row[0] for row in run.store.select(query, (section.benchmark.name,))}
    return models


def scores_of(run: Run, system: System, section: Section) -> Iterator[Score]:
    """Return the scores of one system on one benchmark's own criteria, majorities over repeats left out."""
    criteria = {criterion.name for criterion in section.benchmark.rubric.criteria}
    for found in run.scores.metrics:
        if (found.benchmark, found.model) == (section.benchmark.name, system.model) and found.criterion in criteria:
            if section.benchmark.closed and found.rater != found.model:
                continue
            yield found
