"""Of several benchmarks, those whose data is at hand; what is said of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.errors import DataError, MissingDataError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mindgauge.benchmark import Benchmark
    from mindgauge.records import Sample


class AtHand(NamedTuple):
    """The benchmarks that can be run, their samples, and why others cannot: by name, in one line."""

    benchmarks: list[Benchmark]
    samples: list[list[Sample]]
    missing: dict[str, str]
    """Their data is not there; the line says how to get it."""
    broken: dict[str, str]
    """Their data is there and cannot be used."""

    notes: list[str]
    """What is odd about the data of those that can be run."""

    @property
    def told(self) -> dict[str, Any]:
        """What the manifest says of all that."""
        left = {kind: why for kind, why in (("missing", self.missing), ("broken", self.broken)) if why}
        return {**({"not_run": left} if left else {}), **({"remarks": self.notes} if self.notes else {})}

    @property
    def lines(self) -> list[str]:
        """The same for a reader, a line each."""
        return [*(f"{name} is not run: {why}" for name, why in {**self.missing, **self.broken}.items()), *self.notes]


def at_hand(
    found: Sequence[Benchmark], data: Path | None, where: dict[str, tuple[str, ...]] | None, limit: int | None
) -> AtHand:
    """Read the samples of each benchmark; of several, one that has none does not keep the others from running.

    Raises:
        DataError: none of them has samples; the message is about the first.
    """
    known = AtHand([], [], {}, {}, [])
    first: DataError | None = None
    for benchmark in found:
        try:
            samples = benchmark.samples(data, where, limit)
            notes = benchmark.notes(data) if benchmark.notes is not None and data is not None else []
        except DataError as error:
            first = first or error
            (known.missing if isinstance(error, MissingDataError) else known.broken)[benchmark.name] = str(error)
            continue
        known.benchmarks.append(benchmark)
        known.samples.append(samples)
        known.notes.extend(note for note in notes if note not in known.notes)
    if first is not None and (len(found) == 1 or not known.benchmarks):
        raise first
    return known
