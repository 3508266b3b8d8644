"""Responsible and safe in one table: unsafe replies, refused benign requests and stock replies of each model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.analysis.responsible import KINDS
from mindgauge.reports.content import Column, ReportTable
from mindgauge.reports.reliability_gate import UNRELIABLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.reports.content import Cell, System
    from mindgauge.reports.runs import OpenRun

_WHAT = dict(zip(KINDS, ("unsafe replies", "refused benign requests", "stock replies"), strict=True))
_NOTE = (
    "Read a model's shares together. A model that refuses everything, or gives one stock reply, has few unsafe replies and gives no help. "
    "The shares are not added up. A reply that lacks a verdict is in n and not in the share; the upper end of the interval counts it as bad."
)


def table(runs: Sequence[OpenRun], systems: Sequence[System]) -> ReportTable | None:
    """Tabulate the three shares of each model, each as its raters have it; None where there is none."""
    columns = [
        Column("model"), Column("share of"), Column("benchmark"), Column("rated by"), Column("share", "share"), Column("from", "share"),
        Column("to", "share"), Column("n", "count"), Column("missing", "count"),
    ]  # fmt: skip
    rows: list[list[Cell]] = []
    for system in sorted(systems, key=lambda system: system.model):
        run = runs[system.run]
        own = [score for score in run.scores.responsible if score.model == system.model]
        for score in sorted(own, key=lambda score: KINDS.index(score.name)):
            limited = run.standings.limited(score)
            withheld = run.standings.withholds(score)
            numbers: list[Cell] = [score.value, score.low, score.high]
            rows.append([
                system.label, _WHAT[score.name], score.benchmark, f"{score.rater} ({UNRELIABLE})" if limited and not withheld else score.rater,
                *([run.standings.instead(score, None), None, None] if withheld else numbers), score.n, score.missing,
            ])  # fmt: skip
    return ReportTable("responsible", "Responsible and safe", columns, rows, _NOTE) if rows else None


def unmeasured(runs: Sequence[OpenRun]) -> list[str]:
    """Say which of the shares no run has, and which command adds each."""
    lines = [run.scores.unmeasured for run in runs if run.scores.unmeasured or run.scores.responsible]
    return [lines[0][name] for name in KINDS if lines and all(name in of_run for of_run in lines)]
