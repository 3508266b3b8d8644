"""A run's row below a published table, and whether it may stand there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from mindgauge.analysis.reproduce import load_published
from mindgauge.records.rounding import count

if TYPE_CHECKING:
    from mindgauge.benchmarks import Benchmark


class NewRow(msgspec.Struct, frozen=True):
    """One model, or judge, of a run in a published table: column by column, None where the run does not have the figure."""

    table: str
    title: str
    """What the paper calls the table."""
    row: str
    values: Mapping[str, float | str | None]
    published: dict[str, dict[str, float | str]]
    """The printed rows, each by column."""
    comparable: bool
    reasons: list[str]
    """Why it may not stand there."""
    n: dict[str, int] = {}
    """Of a judge beside people: how many replies both have a value of, by person."""

    @property
    def told(self) -> str:
        """Say whether it may stand there."""
        beside = "".join(f", n = {count(n)} beside {person}" for person, n in self.n.items())
        if self.comparable:
            return f"{self.row}: comparable with {self.title}{beside}"
        return f"{self.row}: not comparable with {self.title}{beside}: {'; '.join(self.reasons)}"


def printed(benchmark: Benchmark, table: str) -> dict[str, dict[str, float | str]]:
    """Return the printed rows of a table, each by column; none where the benchmark has no published numbers."""
    rows: dict[str, dict[str, float | str]] = {}
    for number in load_published(benchmark.published) if benchmark.published is not None else ():
        if number.table == table:
            rows.setdefault(number.row, {})[number.column] = number.value
    return rows
