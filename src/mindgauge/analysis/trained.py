"""What a trained classifier is worth: the metrics of its task on samples that it was neither trained nor chosen on."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

import msgspec
import numpy as np

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
from mindgauge.records import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from mindgauge.raters.classifiers.parts import DataSplit
    from mindgauge.records import Value

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
