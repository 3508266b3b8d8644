"""How a command answers: two sentences, ten rows at most, what is behind `--full`, and what to type next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mindgauge.cli import render
from mindgauge.records.shell import command_line

if TYPE_CHECKING:
    from collections.abc import Collection

    from mindgauge.reports.content import ReportTable

ROWS = 10
"""Rows that are top without `--full`."""


def first(*sentences: str) -> None:
    """Print what was found and how far to trust it, before anything else."""
    for sentence in filter(None, sentences):
        render.sentence(sentence)
    print()


def sheet(table: ReportTable, total: int | None = None, *, omitted: Collection[str] = ()) -> None:
    """Print the first rows of a table, and how many more there are.

    Args:
        table: whose first rows are printed.
        total: rows that `--full` prints, in this table and in others; those of this one if not given.
        omitted: columns that are left out.
    """
    top = msgspec.structs.replace(table, rows=table.rows[:ROWS])
    render.sheet(top, less=omitted, folded=True)
    render.more((len(table.rows) if total is None else total) - len(top.rows))


def then(*words: object) -> None:
    """Print the command to type next, by what follows `mindgauge`."""
    print(f"Next: {command_line(*words)}")
