"""`list`: the benchmarks that are here."""

from __future__ import annotations

import msgspec
import polars as pl

from mindgauge import benchmark as benchmarks
from mindgauge.errors import DataError


class Entry(msgspec.Struct, frozen=True):
    """A benchmark in a line. `samples` counts our own, which need no download."""

    name: str
    kind: str
    measures: str
    languages: tuple[str, ...]
    samples: int
    licence: str
    obtain: str


class Listing(msgspec.Struct, frozen=True):
    """The benchmarks that are here."""

    benchmarks: list[Entry]
    broken: dict[str, str] = {}
    """What cannot be loaded, and why."""

    @property
    def table(self) -> pl.DataFrame:
        """One row per benchmark."""
        return pl.DataFrame([msgspec.structs.asdict(entry) for entry in self.benchmarks])

    def _repr_html_(self) -> str:
        return self.table._repr_html_()


def list() -> Listing:  # noqa: A001 - the verb's name
    """Return every benchmark: what it measures, its data's licence, and what is at hand without a download."""
    return Listing([_entry(benchmarks.find_one(name)) for name in benchmarks.names()], benchmarks.broken())


def _entry(benchmark: benchmarks.Benchmark) -> Entry:
    try:
        samples = len(benchmark.samples(None))
    except DataError:
        samples = 0
    card = benchmark.card
    kind = "closed" if benchmark.closed else "open"
    return Entry(benchmark.name, kind, card.measures, card.languages, samples, card.licence, card.obtain)
