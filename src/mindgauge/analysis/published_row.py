"""A run's row below a published table, and whether it is comparable with the rows there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from mindgauge.analysis.reproduce import load_published
from mindgauge.benchmarks.replica import comparability
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
    """Whether the user brought all that the paper's protocol takes; `but_for` says what differs nevertheless."""
    reasons: list[str]
    """Why it is not comparable: what the user did or did not bring."""
    n: dict[str, int] = {}
    """Of a judge beside people: how many replies both have a value of, by person."""
    but_for: list[str] = []
    """In what it differs from the paper by design."""
    notes: dict[str, str] = {}
    """What is to be known of a figure, or why there is none, by column."""

    @property
    def told(self) -> str:
        """Say whether it is comparable with the published rows, and why not or but for what; then what is to be known of figures."""
        beside = "".join(f", n = {count(n)} beside {person}" for person, n in self.n.items())
        notes = "".join(f". {column}: {note}" for column, note in self.notes.items())
        return f"{self.row}: {comparability(f'{self.title}{beside}', self.reasons, self.but_for)}{notes}"


def new_row(
    benchmark: Benchmark,
    table: tuple[str, str],
    row: str,
    values: Mapping[str, float | str | None],
    standing: tuple[list[str], list[str]],
    *,
    n: Mapping[str, int] | None = None,
    notes: Mapping[str, str] | None = None,
) -> NewRow:
    """Return a row with all columns of its table, the published ones first.

    Args:
        benchmark: whose paper's table it is.
        table: its name in `published.toml`, and what the paper calls it.
        row: who it is of.
        values: by column.
        standing: see `replica.standing`.
        n: see `NewRow`, as `notes`.
        notes: by column.
    """
    printed: dict[str, dict[str, float | str]] = {}
    for number in load_published(benchmark.published) if benchmark.published is not None else ():
        if number.table == table[0]:
            printed.setdefault(number.row, {})[number.column] = number.value
    columns = dict.fromkeys([*(column for cells in printed.values() for column in cells), *values])
    reasons, but_for = standing
    if not reasons and all(value is None for value in values.values()):
        reasons = ["no figure of this table is defined for it"]
    return NewRow(
        *table, row, {column: values.get(column) for column in columns}, printed, not reasons, reasons, {**(n or {})},
        but_for, {**(notes or {})},
    )  # fmt: skip
