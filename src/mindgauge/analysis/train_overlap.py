"""Whether a classifier rates what it learned from: its scores on that are no test of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mindgauge.store import Store

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
