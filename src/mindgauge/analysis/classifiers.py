"""What a run shows of a trained classifier: whether it is as often right as it says, and whether it had seen the dialogues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import polars as pl

from mindgauge.raters.classifiers.calibration import Calibration, calibration
from mindgauge.stats.proportion import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
