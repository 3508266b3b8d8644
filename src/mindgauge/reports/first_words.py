"""The first words on a run in the terminal: what was found, and how far to trust it, as the report's first screen says it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.records.english import named
from mindgauge.records.shell import command_line
from mindgauge.reports import benchmark_parts, first_statements
from mindgauge.reports.runs import PERSON, systems

if TYPE_CHECKING:
    from mindgauge.reports.runs import OpenRun


def of_run(run: OpenRun) -> list[str]:
    """Return two sentences on a run; on several benchmarks, the gravest speaks."""
    titles = {section.benchmark.name: section.benchmark.card.title for section in run.sections}
    parts = benchmark_parts.parts([run], systems([run]), titles)
    if parts:
        return first_statements.of_all(parts, ())[:2]
    people = {rater: None for section in run.sections for rater, kind in section.raters if kind == PERSON}
    if not people:
        return [first_statements.NOTHING]
    lead = f"Here are labels by {named([*people])}; no model answered and no judge rated, so there is nothing to score"
    return [f"{lead}: “{command_line('reliability', run.folder.name)}” says how far they agree."]
