"""The situations whose persons a client can play."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.benchmarks import registry
from mindgauge.records.english import named
from mindgauge.records.errors import DataError, UsageError

if TYPE_CHECKING:
    from mindgauge.benchmarks import Benchmark

_FAMILY = "conversations/"


def situations(name: str | None = None) -> list[Benchmark]:
    """Return the benchmarks of dialogues with persons of ours.

    Raises:
        UsageError: there is none of the name.
    """
    by_situation = {}
    for entry in registry.names():
        if entry.startswith(_FAMILY):
            try:
                by_situation[entry.removeprefix(_FAMILY)] = registry.find_one(entry)
            except DataError:
                if name == entry.removeprefix(_FAMILY):
                    raise
    if name is not None and name not in by_situation:
        raise UsageError(
            f"there is no situation {name!r}; there {'is' if len(by_situation) == 1 else 'are'} {named(list(by_situation))}"
        )
    return [
        benchmark for key, benchmark in by_situation.items() if name in {None, key} and benchmark.persons is not None
    ]
