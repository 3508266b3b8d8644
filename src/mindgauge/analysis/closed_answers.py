"""Where answers to closed questions went: what was taken for what, and how far down the decision path each got.

Where a model was asked node after node, its rating keeps the path. Of any other answer, and of a target, the path
follows from the label: it was passed on by every node before the one that decides it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import polars as pl

from mindgauge.analysis.rating_part import RatingPart
from mindgauge.benchmarks.metrics import Estimate, estimate, node_accuracy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.benchmarks import Benchmark
    from mindgauge.benchmarks.metrics import Metric
    from mindgauge.records.rubric import Criterion
    from mindgauge.store import Store


class ConfusionCell(msgspec.Struct, frozen=True):
    """How many answers had one target and one outcome, a label or a status, and to which samples they were given.

    A sample stands there once, however many repeats gave it this outcome; those given it most often come first. `steady`
    of them had this outcome in every repeat; the first one had it in `times` of `repeats`.
    """

    target: str
    outcome: str
    n: int
    samples: list[str]
    steady: int
    times: int
    repeats: int


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
        .with_columns(repeats=pl.col("times").sum().over("sample"))
        .sort("times", descending=True, maintain_order=True)
        .group_by("target", "outcome", maintain_order=True)
        .agg(
            pl.col("times").sum(), pl.col("sample"), steady=(pl.col("times") == pl.col("repeats")).sum(),
            first=pl.col("times").first(), repeats=pl.col("repeats").first(),
        )
    )  # fmt: skip
    by_pair = {(target, answer): found for target, answer, *found in counted.iter_rows()}
    statuses = sorted({answer for _, answer in by_pair} - set(labels))
    targets = [label for label in labels if any(target == label for target, _ in by_pair)]
    outcomes = [*labels, *statuses]
    cells = [ConfusionCell(t, o, *by_pair[t, o]) for t in targets for o in outcomes if (t, o) in by_pair]
    return ConfusionMatrix(targets, outcomes, cells)


# Labels decided in order: how far each answer got, beside how far its sample's target gets, and where the two part.


_PATHS = """
SELECT subject, run, json_array_length(provenance, '$.path') FROM ratings
WHERE benchmark = ? AND criterion = ? AND rater = ? AND json_extract(provenance, '$.path') IS NOT NULL"""


class PathOutcome(msgspec.Struct, frozen=True):
    """A label that a node decides: how many answers stop there with it, and how many have it as their target."""

    label: str
    answers: int
    targets: int


class Visited(msgspec.Struct, frozen=True):
    """What happened at one node.

    Of the answers with a target, those that were right up to here go wrong here in one of four ways: they stop here
    though the target lies further on (`early`), go on though it is decided here (`passed`), stop here with another of
    the node's labels (`other`), or cannot be read here (`unread_targets` of the `unread`; what was decided earlier had been
    `passed` there).
    """

    number: int
    decides: list[str]
    otherwise: str
    answers: int
    targets: int
    outcomes: list[PathOutcome]
    unread: int
    unread_targets: int
    early: int
    passed: int
    other: int
    accuracy: Estimate

    @property
    def wrong(self) -> int:
        """How many answers part from the target's way here."""
        return self.early + self.passed + self.other + self.unread_targets


class DecisionPath(msgspec.Struct, frozen=True):
    """How one rater's answers went through the nodes of a criterion.

    `targets` of the `n` answers have a target, from `clusters` conversations; `recorded` kept the path they were asked
    along. `lost` have neither label nor path, so that no node is known (`lost_targets` of them have a target).
    """

    criterion: str
    n: int
    clusters: int
    targets: int
    recorded: int
    lost: int
    lost_targets: int
    nodes: list[Visited]

    @property
    def wrong(self) -> int:
        """How many of the answers with a target do not agree with it."""
        return sum(node.wrong for node in self.nodes) + self.lost_targets


def decision_path(
    store: Store, benchmark: Benchmark, ratings: pl.DataFrame, rater: str, criterion: Criterion
) -> DecisionPath | None:
    """Follow every answer of a rater through the nodes of a criterion; None where it has none, or gave no answer.

    Args:
        store: of the run.
        benchmark: a closed one.
        ratings: of the benchmark in the run (columns as in `frame.ratings`).
        rater: whose answers; repeats count each.
        criterion: whose labels are decided in order.
    """
    rows = ratings.filter(
        pl.col("rater") == rater,
        pl.col("criterion") == criterion.name,
        pl.col("selection").is_null(),
        pl.col("status") != "not_applicable",
    )
    if not criterion.nodes or rows.is_empty():
        return None
    stored = store.select(_PATHS, (benchmark.name, criterion.name, rater)).fetchall()
    paths = pl.DataFrame(stored, {"subject": pl.String, "run": pl.Int64, "path": pl.Int64}, orient="row")
    decided = {
        str(level): number
        for number, node in enumerate(criterion.nodes, 1)
        for level in (*node.levels, *([] if node.otherwise is None else [node.otherwise]))
    }
    label = pl.when(pl.col("status") == "ok").then(pl.col("value"))
    walked = rows.join(paths, on=["subject", "run"], how="left", maintain_order="left").with_columns(
        label=label, due=pl.col("target").replace_strict(decided, default=None, return_dtype=pl.Int64)
    )
    walked = walked.with_columns(
        stop=pl.coalesce(pl.col("label").replace_strict(decided, default=None, return_dtype=pl.Int64), "path")
    )
    lost = walked.filter(pl.col("stop").is_null())
    return DecisionPath(
        criterion.name, len(walked), walked["cluster"].n_unique(), len(walked["due"].drop_nulls()),
        len(walked["path"].drop_nulls()), len(lost), len(lost["due"].drop_nulls()), list(_nodes(walked, criterion)),
    )  # fmt: skip


def _nodes(walked: pl.DataFrame, criterion: Criterion) -> Iterator[Visited]:
    table = RatingPart.of(walked).table(criterion)
    metrics: tuple[Metric, ...] = node_accuracy([node.levels for node in criterion.nodes])
    counts = dict(walked.group_by("label").len().iter_rows())
    meant = dict(walked.group_by("target").len().iter_rows())
    for number, (node, metric) in enumerate(zip(criterion.nodes, metrics, strict=True), 1):
        otherwise = "" if node.otherwise is None else str(node.otherwise)
        labels = [*map(str, node.levels), *([otherwise] if otherwise else [])]
        stopped, due = walked.filter(pl.col("stop") == number), pl.col("due")
        unread = stopped.filter(pl.col("label").is_null())
        mistaken = stopped.filter(due == number, pl.col("label").is_not_null(), pl.col("label") != pl.col("target"))
        yield Visited(
            number, [*map(str, node.levels)], otherwise,
            answers=len(walked.filter(pl.col("stop") >= number)), targets=len(walked.filter(due >= number)),
            outcomes=[PathOutcome(label, counts.get(label, 0), meant.get(label, 0)) for label in labels],
            unread=len(unread), unread_targets=len(unread.filter(due >= number)),
            early=len(stopped.filter(pl.col("label").is_not_null(), due > number)),
            passed=len(walked.filter(due == number, pl.col("stop") > number)),
            other=len(mistaken), accuracy=estimate(metric, table),
        )  # fmt: skip
