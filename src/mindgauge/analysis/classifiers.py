"""What a trained classifier is worth: its task's metrics on samples it never saw, what it saw, and whether it is as often right as it says."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import polars as pl

from mindgauge.benchmarks.metrics import (
    Estimate,
    Metric,
    RatingTable,
    accuracy,
    cohen_kappa,
    estimate,
    macro_f1,
    precision,
    recall,
)
from mindgauge.raters.classifiers.calibration import Calibration, calibration
from mindgauge.records import Status
from mindgauge.stats.proportion import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from mindgauge.benchmarks import Benchmark
    from mindgauge.raters.classifiers.parts import DataSplit
    from mindgauge.records import Value
    from mindgauge.records.rubric import Criterion
    from mindgauge.store import Store

    Codes = NDArray[np.intp]


FOUND, RIGHT = (make("").name for make in (recall, precision))
"""Of the samples that carry a label, the share that got it; of those that got it, the share that carry it."""


class TrainedFigure(msgspec.Struct, frozen=True):
    """One metric on one part.

    `value` with its interval (clusters resampled) is that of the classifier that was saved, in cross-validation of the
    first seed; `mean` and `sd` (of the sample) are over the seeds, `last` is the mean had the last epoch been kept
    (None where that is not known). `majority` is the value of always giving the most frequent label of the training
    data, in cross-validation of each fold's; `always` that of giving always a label that the task names.
    """

    part: str
    name: str
    label: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    clusters: int
    mean: float | None
    sd: float | None
    last: float | None
    majority: float | None
    always: dict[str, float | None]


def metrics_for(values: Sequence[Value], own: Sequence[Metric]) -> list[Metric]:
    """Return a task's own metrics, or the usual ones, and recall and precision of every label."""
    chosen = [metric for metric in own if not metric.across_runs and not metric.of_status] or [
        accuracy,
        macro_f1,
        cohen_kappa,
    ]
    named = {(metric.name, metric.label) for metric in chosen}
    per_value = [metric(value) for value in values for metric in (recall, precision)]
    return [*chosen, *(metric for metric in per_value if (metric.name, metric.label) not in named)]


def figures(
    part: str,
    samples: DataSplit,
    values: tuple[Value, ...],
    metrics: Sequence[Metric],
    labels: Sequence[Codes],
    last: Sequence[Codes],
    saved: int,
    majority: Codes,
    always: Sequence[Value],
) -> list[TrainedFigure]:
    """Compute every metric.

    Args:
        part: its name.
        samples: the n samples.
        values: the labels.
        metrics: what is computed.
        labels: per seed the labels given, shape (n,).
        last: the same had the last epoch been kept; empty where that is not known.
        saved: which seed's classifier `value` is about.
        majority: for each sample the most frequent label of what was learned from, shape (n,).
        always: labels that are scored as the answer to everything.
    """

    def table(codes: Codes) -> RatingTable:
        status = np.full(len(samples), str(Status.OK), dtype=object)
        return RatingTable(values, codes, samples.codes, samples.groups, np.arange(len(samples)), status)

    runs, ends = [table(codes) for codes in labels], [table(codes) for codes in last]
    often = table(majority)
    constant = {str(value): table(np.full(len(samples), values.index(value), dtype=np.intp)) for value in always}
    return [
        _figure(
            part, metric, estimate(metric, runs[saved]), [_point(metric, run) for run in runs],
            [_point(metric, run) for run in ends], _point(metric, often),
            {label: _point(metric, run) for label, run in constant.items()},
        )
        for metric in metrics
    ]  # fmt: skip


def _point(metric: Metric, table: RatingTable) -> float | None:
    concerned = table.rows(metric.applies_to(table))
    value = float(metric.compute(concerned, np.ones((1, len(concerned))))[0]) if len(concerned) else np.nan
    return value if np.isfinite(value) else None


def _figure(
    part: str,
    metric: Metric,
    estimated: Estimate,
    runs: list[float | None],
    last: list[float | None],
    majority: float | None,
    always: dict[str, float | None],
) -> TrainedFigure:
    mean, sd = _over_seeds(runs)
    return TrainedFigure(
        part, metric.name, metric.label, estimated.value, estimated.low, estimated.high, estimated.n, estimated.clusters,
        mean, sd, _over_seeds(last)[0], majority, always,
    )  # fmt: skip


def _over_seeds(values: list[float | None]) -> tuple[float | None, float | None]:
    """Return mean and sample SD; None where a seed has no value, since the mean of the others would hide that."""
    valued = [value for value in values if value is not None]
    if not valued or len(valued) < len(values):
        return None, None
    return statistics.fmean(valued), statistics.stdev(valued) if len(valued) > 1 else None


# Whether a classifier is as often right as it says: the probabilities that a run keeps beside the targets.


_PROBABILITIES = """
SELECT subject, run, json_extract(provenance, '$.probabilities'), json_extract(provenance, '$.seen') FROM ratings
WHERE benchmark = ? AND criterion = ? AND rater = ? AND rater_kind = 'classifier'
    AND json_extract(provenance, '$.probabilities') IS NOT NULL"""
_decode = msgspec.json.Decoder(dict[str, float]).decode


class Calibrated(msgspec.Struct, frozen=True):
    """How sure a classifier is of its likeliest label (`confidence`, the mean), and in which share that is `right`.

    `abstained` of the `n` were left open; their likeliest label counts as any other. Bounds are exact, with the
    `clusters` (conversations) as n.
    """

    n: int
    clusters: int
    abstained: int
    confidence: float
    right: float
    right_low: float | None
    right_high: float | None
    by_bin: Calibration
    seen: int | None
    """How many stood in what it learned from, or come from the same dialogues; None where that is not known of all."""


def calibrated(
    store: Store, benchmark: Benchmark, ratings: pl.DataFrame, rater: str, criterion: Criterion
) -> Calibrated | None:
    """Compare a classifier's probabilities with the targets; None where it kept none, or no sample has a target.

    Args:
        store: of the run.
        benchmark: a closed one.
        ratings: of the benchmark in the run (columns as in `frame.ratings`).
        rater: the classifier.
        criterion: what it decides.
    """
    stored = pl.DataFrame(
        store.select(_PROBABILITIES, (benchmark.name, criterion.name, rater)).fetchall(),
        {"subject": pl.String, "run": pl.Int64, "probabilities": pl.String, "seen": pl.String},
        orient="row",
    )
    labels = [str(value) for value in criterion.values]
    rows = ratings.filter(
        pl.col("rater") == rater, pl.col("criterion") == criterion.name, pl.col("selection").is_null(),
        pl.col("target").is_in(labels),
    ).join(stored, on=["subject", "run"])  # fmt: skip
    if rows.is_empty():
        return None
    decoded = [_decode(text) for text in rows["probabilities"]]
    probabilities = np.array([[by_label.get(label, 0.0) for label in labels] for by_label in decoded])
    codes = np.array([labels.index(target) for target in rows["target"]], dtype=np.intp)
    groups = np.unique(rows["cluster"].to_numpy().astype(str), return_inverse=True)[1].astype(np.intp)
    right, clusters = float((probabilities.argmax(axis=1) == codes).mean()), int(groups.max()) + 1
    share = clopper_pearson(right * clusters, clusters)
    return Calibrated(
        len(rows), clusters, int((rows["status"] != "ok").sum()), float(probabilities.max(axis=1).mean()), right,
        share.low, share.high, calibration(probabilities, codes, groups),
        None if rows["seen"].null_count() else int((rows["seen"] != "no").sum()),
    )  # fmt: skip


# Whether a classifier rates what it learned from: its scores on that are no test of it.


_COUNTS = """
SELECT json_extract(provenance, '$.seen'), count(*) FROM ratings
WHERE benchmark = ? AND rater = ? AND rater_kind = 'classifier'
    AND json_extract(provenance, '$.probabilities') IS NOT NULL
GROUP BY 1"""


class Overlap(msgspec.Struct, frozen=True):
    """How many of the `n` dialogues that a classifier rated stood in its training or development data.

    `text` did so as they are, `dialogue` as other pieces of the same dialogues; of `unknown` nobody knows, since the
    classifier that rated them does not say what it learned from.
    """

    benchmark: str
    rater: str
    n: int
    text: int
    dialogue: int
    unknown: int

    @property
    def note(self) -> str:
        """What a reader of its scores must be told; empty where it rated only what was new to it."""
        parts = [
            *([f"{self.text} stood in its own training or development data"] if self.text else []),
            *([f"{self.dialogue} came from dialogues that are there in other pieces"] if self.dialogue else []),
        ]
        sentences = []
        if parts:
            sentences.append(
                f"of {self.n} dialogues that it rated, {' and '.join(parts)}; on these its scores are no test of it"
            )
        if self.unknown:
            sentences.append(
                f"it has no record of what it learned from, so {self.unknown} of {self.n} dialogues may have been in its "
                "training data; repeat its `mindgauge train` command, which then adds that, and rate in another folder"
            )
        return f"{self.rater}, {self.benchmark}: {'; '.join(sentences)}" if sentences else ""


def overlaps(store: Store, benchmarks: Iterable[str], manifest: Mapping[str, Any]) -> list[Overlap]:
    """Count, for every classifier of a run, what it rated and had seen.

    Args:
        store: of the run.
        benchmarks: their names.
        manifest: of the run; it names the classifiers.
    """
    result = []
    for benchmark in benchmarks:
        for rater in manifest.get("classifiers", {}):
            counts: dict[str | None, int] = dict(store.select(_COUNTS, (benchmark, rater)).fetchall())
            if counts:
                numbers = (counts.get(kind, 0) for kind in ("text", "dialogue", None))
                result.append(Overlap(benchmark, rater, sum(counts.values()), *numbers))
    return result


def notes(store: Store, benchmarks: Iterable[str], manifest: Mapping[str, Any]) -> list[str]:
    """Say which classifiers of a run rated what they had learned from, or may have."""
    return [overlap.note for overlap in overlaps(store, benchmarks, manifest) if overlap.note]
