"""`list`: the benchmarks that are here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mindgauge import benchmarks
from mindgauge.records.errors import DataError
from mindgauge.records.tabular import Tabular

if TYPE_CHECKING:
    from collections.abc import Sequence


class BenchmarkListing(msgspec.Struct, frozen=True):
    """A benchmark in a line. `samples` counts our own, which need no download, without the variants that a run makes of them."""

    name: str
    kind: str
    measures: str
    languages: tuple[str, ...]
    samples: int
    licence: str
    obtain: str


class Listing(msgspec.Struct, Tabular, frozen=True):
    """The benchmarks that are here."""

    benchmarks: list[BenchmarkListing]
    broken: dict[str, str] = {}
    """What cannot be loaded, and why."""

    def _listed(self) -> Sequence[BenchmarkListing]:
        return self.benchmarks


def list(names: str | Sequence[str] = ()) -> Listing:  # noqa: A001 - the command's name
    """Return benchmarks: what each measures, its data's licence, and what is at hand without a download.

    Args:
        names: of benchmarks, families, or folders of your own; all that are found by name if none is given.

    Raises:
        UsageError: there is none of such a name, or it cannot be loaded.
    """
    if not names:
        return Listing([_entry(benchmarks.find_one(name)) for name in benchmarks.names()], benchmarks.broken())
    selection = [names] if isinstance(names, str) else names
    named = {benchmark.name: benchmark for name in selection for benchmark in benchmarks.asked(name)}
    return Listing([_entry(benchmark) for benchmark in named.values()])


def _entry(benchmark: benchmarks.Benchmark) -> BenchmarkListing:
    try:
        samples = len(benchmark.own_samples())
    except DataError:
        samples = 0
    card = benchmark.card
    kind = "closed" if benchmark.closed else "open"
    return BenchmarkListing(benchmark.name, kind, card.measures, card.languages, samples, card.licence, card.obtain)
