"""Whether a classifier is as often right as it says: the probabilities that a run keeps beside the targets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
import polars as pl

from mindgauge.raters.classifiers.calibration import Calibration, calibration
from mindgauge.stats.proportion import clopper_pearson

if TYPE_CHECKING:
    from mindgauge.benchmarks import Benchmark
    from mindgauge.records.rubric import Criterion
    from mindgauge.store import Store

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
