"""The judges' entry test after the scores: the report's own table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.cli import render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.fitness import Qualification


def show(tests: Sequence[Qualification]) -> None:
    """Print how judges did in their entry test; nothing where none took it."""
    if not tests:
        return
    from mindgauge.reports.juries import NOT_CLINICIANS, levels, overview

    for benchmark in dict.fromkeys(qualification.benchmark for qualification in tests):
        named = [(q.judge, q) for q in tests if q.benchmark == benchmark]
        print(f"Entry test on {benchmark}. {NOT_CLINICIANS}")
        render.sheet(overview(named, ""))
        render.sheet(levels(named, ""))
