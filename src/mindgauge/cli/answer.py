"""How a command answers: two sentences, ten rows at most, what is behind `--full`, and what to type next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mindgauge.cli import render

if TYPE_CHECKING:
    from collections.abc import Collection

    from mindgauge.reports.content import ReportTable

ROWS = 10
"""Rows that are shown without `--full`."""


def first(*sentences: str) -> None:
    """Print what was found and how far to trust it, before anything else."""
    for sentence in filter(None, sentences):
        render.say(sentence)
    print()


def sheet(table: ReportTable, of: int | None = None, *, less: Collection[str] = ()) -> None:
    """Print the first rows of a table, and how many more there are.

    Args:
        table: whose first rows are printed.
        of: rows that `--full` prints, in this table and in others; those of this one if not given.
        less: columns that are left out.
    """
    shown = msgspec.structs.replace(table, rows=table.rows[:ROWS])
    render.sheet(shown, less=less)
    render.more((len(table.rows) if of is None else of) - len(shown.rows))


def then(command: str) -> None:
    """Print what to type next."""
    print(f"Next: {command}")
