"""The first words on a run in the terminal: what was found, and how far to trust it, as the report's first screen says it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.reports import benchmark_parts, first_statements
from mindgauge.reports.runs import systems

if TYPE_CHECKING:
    from mindgauge.reports.runs import OpenRun


def of_run(run: OpenRun) -> list[str]:
    """Return two sentences on a run; on several benchmarks, the gravest speaks."""
    titles = {section.benchmark.name: section.benchmark.card.title for section in run.sections}
    parts = benchmark_parts.parts([run], systems([run]), titles)
    return first_statements.of_all(parts, ())[:2] if parts else [first_statements.NOTHING]
