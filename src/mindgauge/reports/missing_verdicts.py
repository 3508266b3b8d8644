"""What went wrong: what became of every reply and verdict, and what the missing ones could change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from mindgauge.analysis import reply_remarks
from mindgauge.analysis.composites import MISAPPLIED
from mindgauge.records import Status
from mindgauge.records.english import ended, words
from mindgauge.records.rounding import count, decimal, percent, plural
from mindgauge.reports import links
from mindgauge.reports.content import Column, ReportTable
from mindgauge.reports.paired import measure_name
from mindgauge.reports.runs import scores_of
from mindgauge.reports.sections import Wrong

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.score import Score
    from mindgauge.reports.content import Cell, System
    from mindgauge.reports.runs import OpenRun


def wrong(runs: Sequence[OpenRun], systems: Sequence[System]) -> Wrong:
    """Count what ended in which status, and bound each mean."""
    statuses = _statuses(runs, systems)
    status_counts = [c for run in runs for c in run.scores.statuses_by]
    idle = sum(c.n for c in status_counts if c.status == Status.NOT_APPLICABLE)
    total = sum(c.n for c in status_counts) - idle
    lost = total - sum(c.n for c in status_counts if c.status == Status.OK)
    amount = plural(total, "reply, answer or verdict", "replies, answers and verdicts")
    if lost:
        verb = "has" if lost == 1 else "have"
        facts = [
            f"Of {amount}, {count(lost)} ({percent(lost / total)}) {verb} no value. A missing value never counts as a number, and is never left out of n."
        ]
    else:
        facts = [f"Every one of {amount} arrived and could be read." if total else "Nothing has been asked yet."]
    if idle:
        facts.append(
            f"{plural(idle, 'more did', 'more did')} not apply: the criterion has nothing to say about the subject, or its category is not known."
        )
    for run in runs:
        facts += map(ended, reply_remarks.notes(run.store, [section.benchmark.name for section in run.sections]))
        calls = run.scores.calls
        if calls["failed"] or calls["retries"]:
            facts.append(
                f"{run.folder.name}: {plural(calls['failed'], 'call')} of {count(calls['made'])} failed for good, and "
                f"{plural(calls['retries'], 'attempt')} had to be repeated."
            )
    return Wrong(facts, statuses, _categories(runs) if lost else None, _bounds(runs, systems))


def _statuses(runs: Sequence[OpenRun], systems: Sequence[System]) -> ReportTable:
    labels = {system.model: system.label for system in systems}
    opens: dict[tuple[str, str, str], str] = {}
    counted: dict[tuple[str, str, str], dict[str, int]] = {}
    for run in runs:
        prefix = f"{run.folder.resolve().name}: " if len(runs) > 1 else ""
        for c in run.scores.statuses_by:
            kind = "replies" if c.kind == "reply" else "verdicts"
            closed = any(s.benchmark.closed for s in run.sections if s.benchmark.name == c.benchmark)
            key = (prefix + c.benchmark, "answers" if closed else kind, c.name)
            by_status = counted.setdefault(key, {})
            by = {"rater": c.name} if key[1] == "verdicts" else {"system": labels.get(c.name, c.name)}
            opens[key] = links.lines(benchmark=c.benchmark, **by, sign="no_reply" if key[1] == "replies" else "missing")
            by_status[c.status] = by_status.get(c.status, 0) + c.n
    statuses = dict.fromkeys([*(status.value for status in Status), MISAPPLIED])
    used = [s for s in statuses if s != Status.OK and any(s in by_status for by_status in counted.values())]
    columns = [Column("benchmark"), Column("what"), Column("by"), Column("n", "count"), Column("ok", "count")]
    columns += [Column(words(status), "count") for status in used]
    rows: list[list[Cell]] = [
        [*key, sum(by_status.values()), by_status.get("ok", 0), *(by_status.get(status, 0) for status in used)]
        for key, by_status in counted.items()
    ]
    return ReportTable(
        "statuses", "What became of every reply and verdict", columns, rows, opens=[opens[key] for key in counted]
    )


def _categories(runs: Sequence[OpenRun]) -> ReportTable | None:
    rows: list[list[Cell]] = []
    for run in runs:
        for section in run.sections:
            applicable = section.asked.filter(pl.col("status") != "not_applicable")
            group = ["model", "rater", "tag.category"]
            counted = (
                applicable.group_by(group)
                .agg(n=pl.len(), lost=(pl.col("status") != "ok").sum())
                .filter(pl.col("lost") > 0)
            ).collect(engine="streaming")
            rows += [
                [section.benchmark.name, model, rater, words(category or ""), lost, n, lost / n]
                for model, rater, category, n, lost in counted.sort(
                    "lost", *group, descending=[True, False, False, False]
                ).iter_rows()
            ]
    columns = [*map(Column, ("benchmark", "model", "rated by", "category"))]
    columns += [Column("no value", "count"), Column("of", "count"), Column("share", "share")]
    title = "Where values are missing, by model and category"
    return ReportTable("missing-by-category", title, columns, rows) if rows else None


def _bounded(run: OpenRun, score: Score) -> list[Cell]:
    """Return a value and its bounds; of a judge that may not give them, the verdict, or the value marked."""
    if not run.standings.limited(score):
        return [score.value, score.worst, score.best]
    return [run.standings.instead(score, decimal(score.value)), score.worst, score.best]


def _bounds(runs: Sequence[OpenRun], systems: Sequence[System]) -> ReportTable | None:
    rows: list[list[Cell]] = [
        [s.benchmark, measure_name(s, section), system.label, s.rater, s.n, s.missing, *_bounded(runs[system.run], s)]
        for system in systems
        for section in runs[system.run].sections
        for s in scores_of(runs[system.run], system, section)
        if s.slice == "all" and s.name in section.benchmark.headline and s.missing
    ]
    columns = [
        Column("benchmark"), Column("measure"), Column("model"), Column("rated by"), Column("n", "count"), Column("missing", "count"),
        Column("value", "level"), Column("if all worst", "level"), Column("if all best", "level"),
    ]  # fmt: skip
    title, note = "What the missing values could change", "Shares are given between 0 and 1."
    return ReportTable("bounds", title, columns, rows, note) if rows else None
