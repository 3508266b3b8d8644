"""What Inspect computes of all scores: the figures that `mindgauge score` computes of the same ratings, by the same code.

Inspect hands a metric one score for each sample, so that `every` puts the epochs of one into it, each with its record.
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from inspect_ai.scorer import Score, metric, score_reducer

from mindgauge.analysis.score import score
from mindgauge.records import Rating, Reply, Sample, Status
from mindgauge.reports.export.inspect_logs import title_of
from mindgauge.store import Store, manifest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mindgauge.analysis.score import Scores

RECORD, EPOCHS = "record", "epochs"
"""In a score's metadata: what was rated, without words; and, of a sample, this for each of its epochs."""


class ScoreRecord(msgspec.Struct, frozen=True):
    """What a score says, as records of ours; values stand in the score alone, where people may change them."""

    benchmark: str
    samples: list[Sample]
    replies: list[Reply]
    ratings: dict[str, Rating]
    """Name in the score → rating."""

    def valued(self, value: Mapping[str, Any]) -> list[Rating]:
        """Return the ratings with the values that stand in the score now."""
        return [_valued(rating, value.get(name)) for name, rating in self.ratings.items()]


def _valued(rating: Rating, value: Any) -> Rating:
    if value is not None and not (isinstance(value, float) and math.isnan(value)):
        return msgspec.structs.replace(rating, value=value, status=Status.OK)
    status = Status.UNPARSABLE if rating.status is Status.OK else rating.status
    return msgspec.structs.replace(rating, value=None, status=status)


def _every() -> Any:
    """Keep what was said in every epoch: the mean of levels is none of a reply."""

    def reduce(scores: list[Any]) -> Any:
        first = scores[0]
        parts = [(part.value, (part.metadata or {}).get(RECORD)) for part in scores]
        epochs = [{"value": value, RECORD: record} for value, record in parts if record is not None]
        return Score(value=first.value, metadata={EPOCHS: epochs})

    return reduce


def _figures() -> Any:
    """Compute what the benchmark goes by, each figure with its interval, its n, and how many ratings of these have no value.

    A figure that is void has the last two alone.
    """

    def compute(scores: list[Any]) -> dict[str, float]:
        epochs = [epoch for entry in scores for epoch in _epochs(entry.score)]
        if not epochs:
            return {}
        computed = _scored(epochs)
        parts: dict[str, float] = {}
        for figure in computed.leading:
            if figure.slice != "all":
                continue
            title = title_of(figure)
            named = {title: figure.value, f"{title} low": figure.low, f"{title} high": figure.high}
            named = {} if figure.void else named
            counted = {f"{title} n": figure.n, f"{title} missing": figure.missing}
            parts |= {name: float(part) for name, part in {**named, **counted}.items() if part is not None}
        return parts

    return compute


def _epochs(scored: Any) -> list[tuple[Any, ScoreRecord]]:
    """Return value and record of each epoch of a sample."""
    metadata = scored.metadata or {}
    listed = metadata.get(EPOCHS) or [{"value": scored.value, RECORD: metadata.get(RECORD)}]
    return [(part["value"], msgspec.convert(part[RECORD], ScoreRecord)) for part in listed if part.get(RECORD)]


def _scored(epochs: Sequence[tuple[Any, ScoreRecord]]) -> Scores:
    """Put what was rated into a run, and compute its figures."""
    name = epochs[0][1].benchmark
    with tempfile.TemporaryDirectory(prefix="mindgauge-") as place:
        folder = Path(place)
        with Store(folder, write=True) as store:
            manifest.begin(folder, {"benchmarks": [name]}, "inspect eval")
            samples = {sample.id: sample for _, record in epochs for sample in record.samples}
            store.put_samples(name, samples.values())
            for value, record in epochs:
                for reply in record.replies:
                    store.add_reply(name, reply)
                for rating in record.valued(value):
                    store.add_rating(name, rating)
        return score(folder)


every = score_reducer(name="every")(_every)
figures = metric(name="figures")(_figures)
