"""What was taken for what: answers to a closed question by target, with the samples behind every count."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import polars as pl

if TYPE_CHECKING:
    from mindgauge.records.rubric import Criterion


class ConfusionCell(msgspec.Struct, frozen=True):
    """How many answers had one target and one outcome, a label or a status, and to which samples they were given.

    A sample stands there once, however many repeats gave it this outcome; those given it most often come first.
    """

    target: str
    outcome: str
    n: int
    samples: list[str]


class ConfusionMatrix(msgspec.Struct, frozen=True):
    """The confusion matrix of one rater; what could not be read is an outcome of its own, under its status.

    `targets` and the labels among `outcomes` stand in the rubric's order, statuses after them; a target or status that
    did not occur is left out, a label that was not given is kept. `cells` are those that are not empty.
    """

    targets: list[str]
    outcomes: list[str]
    cells: list[ConfusionCell]

    @property
    def counts(self) -> list[list[int]]:
        """The matrix: a row for each target, a column for each outcome."""
        by_pair = {(cell.target, cell.outcome): cell.n for cell in self.cells}
        return [[by_pair.get((target, outcome), 0) for outcome in self.outcomes] for target in self.targets]

    @property
    def wrong(self) -> list[ConfusionCell]:
        """The cells off the diagonal, the fullest first."""
        return sorted((c for c in self.cells if c.target != c.outcome), key=lambda cell: -cell.n)


def confusion(rows: pl.DataFrame, criterion: Criterion) -> ConfusionMatrix:
    """Count one rater's answers by target and outcome; repeats count each, rows without a target are left out.

    Args:
        rows: ratings of one rater on one criterion (columns as in `frame.ratings`).
        criterion: whose values are the labels.
    """
    labels = [str(value) for value in criterion.values]
    outcome = pl.when(pl.col("status") == "ok").then(pl.col("value")).otherwise(pl.col("status"))
    counted = (
        rows.filter(pl.col("target").is_not_null())
        .group_by("target", "sample", outcome=outcome, maintain_order=True)
        .len("times")
        .sort("times", descending=True, maintain_order=True)
        .group_by("target", "outcome", maintain_order=True)
        .agg(pl.col("times").sum(), pl.col("sample"))
    )
    by_pair = {(target, answer): (n, samples) for target, answer, n, samples in counted.iter_rows()}
    statuses = sorted({answer for _, answer in by_pair} - set(labels))
    targets = [label for label in labels if any(target == label for target, _ in by_pair)]
    outcomes = [*labels, *statuses]
    cells = [ConfusionCell(t, o, *by_pair[t, o]) for t in targets for o in outcomes if (t, o) in by_pair]
    return ConfusionMatrix(targets, outcomes, cells)
