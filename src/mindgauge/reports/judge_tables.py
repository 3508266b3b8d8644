"""Judges beside each other in tables: agreement, stability, what they took, and which differences are real."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.records.english import words
from mindgauge.records.rounding import NONE, decimal, percent
from mindgauge.reports.content import Column, ReportTable
from mindgauge.stats.level import named as with_level

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.judge_comparison.compare import (
        JudgeAgreement,
        JudgeComparison,
        JudgeCost,
        JudgeDifference,
        Stability,
    )
    from mindgauge.analysis.reliability.card import Bound
    from mindgauge.reports.content import Cell, Kind

SINGLE = ("accuracy", "f1", "f1_yes", "kappa", "kappa_quadratic", "pearson", "spearman", "kendall")
"""Measures of agreement on single subjects."""
OF_SYSTEMS = ("system_pearson", "system_spearman", "system_kendall")
"""Measures of agreement on systems' means."""


def sheets(result: JudgeComparison) -> list[ReportTable]:
    """Tabulate a comparison of judges; what there is nothing of has no table."""
    tables = [
        _agreements(result), _systems(result.agreements), _stability(result.stability), _taken(result.taken),
        _differences(result.differences),
    ]  # fmt: skip
    return [table for table in tables if table.rows]


def has_systems(result: JudgeComparison) -> bool:
    """Whether anything could be estimated of systems' means."""
    return any(_of_systems(agreement) for agreement in result.agreements)


def _of_systems(agreement: JudgeAgreement) -> bool:
    return any(name in agreement.estimates and agreement.estimates[name].value is not None for name in OF_SYSTEMS)


def _agreements(result: JudgeComparison) -> ReportTable:
    against = f"against {result.reference}" if result.reference else "among themselves"
    several = len({agreement.reference for agreement in result.agreements}) > 1
    columns = [
        Column("criterion"), Column("judge"), *([Column("against")] if several else []), Column("n", "count"),
        Column("missing", "count"), *_columns(SINGLE),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [a.criterion, a.judge, *([a.reference] if several else []), a.n, a.missing, *_estimates(a, SINGLE)]
        for a in result.agreements
    ]
    return ReportTable("judges", f"{result.benchmark}: judges {against}  ({result.run})", columns, rows)


def _systems(agreements: Sequence[JudgeAgreement]) -> ReportTable:
    measures = [name.partition("_")[2] for name in OF_SYSTEMS]
    columns = [Column("criterion"), Column("judge"), Column("systems", "count"), *_columns(measures)]
    rows: list[list[Cell]] = [
        [a.criterion, a.judge, a.systems, *_estimates(a, OF_SYSTEMS)] for a in agreements if _of_systems(a)
    ]
    return ReportTable("judges-systems", "Systems' means", columns, rows)


def _stability(judges: Sequence[Stability]) -> ReportTable:
    columns = [
        Column("judge"), Column("runs", "count"), Column("replies", "count"), Column("incomplete", "count"),
        *_columns(["identical verdicts"], "share"), Column("flips"),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [
            s.judge, s.runs, s.n, s.incomplete, *_estimate(s.identical),
            ", ".join(f"{name} {percent(bound.value)}" for name, bound in s.flips.items()),
        ]
        for s in judges
    ]  # fmt: skip
    return ReportTable("judges-stability", "Asked again", columns, rows)


def _taken(judges: Sequence[JudgeCost]) -> ReportTable:
    columns = [
        Column("judge"), Column("verdicts", "count"), Column("calls", "count"), Column("$ per 1,000", "dollars"),
        Column("s per 1,000", "level"), Column("tokens in", "interval"), Column("of them cached", "interval"),
        Column("tokens out", "interval"),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [
            t.judge, t.verdicts, t.calls, _or_none(t.dollars), _or_none(t.seconds),
            *(decimal(tokens, 0) for tokens in (t.prompt_tokens, t.cached_tokens, t.completion_tokens)),
        ]
        for t in judges
    ]  # fmt: skip
    note = "Dollars and seconds are per thousand verdicts, tokens per verdict."
    return ReportTable("judges-cost", "What it took", columns, rows, note)


def _differences(differences: Sequence[JudgeDifference]) -> ReportTable:
    columns = [
        Column("measure"), Column("criterion"), Column("better"), Column("than"), *_columns(["by"]),
        Column("p adjusted", "p"),
    ]  # fmt: skip
    rows: list[list[Cell]] = []
    for d in differences:
        if not d.real or d.value is None or d.low is None or d.high is None:
            continue
        worse = d.second if d.better == d.first else d.first
        low, high = (d.low, d.high) if d.value >= 0 else (-d.high, -d.low)
        rows.append([d.measure, d.criterion, d.better, worse, abs(d.value), low, high, d.adjusted])
    title = "Differences that are real (Holm over all pairs and criteria of a measure)"
    return ReportTable("judges-differences", title, columns, rows)


def _columns(names: Sequence[str], kind: Kind = "level") -> Iterator[Column]:
    """Return an estimate's column and those of its interval, for each name."""
    for name in (with_level(name) or words(name) for name in names):
        yield from (Column(name, kind), Column(f"{name} from", kind), Column(f"{name} to", kind))


def _estimates(agreement: JudgeAgreement, names: Sequence[str]) -> Iterator[Cell]:
    for name in names:
        yield from _estimate(agreement.estimates.get(name))


def _estimate(bound: Bound | None) -> tuple[Cell, Cell, Cell]:
    """Return an estimate and its interval: a dash where it is not defined, nothing where it is not asked."""
    return (None, None, None) if bound is None else (_or_none(bound.value), bound.low, bound.high)


def _or_none(value: float | None) -> Cell:
    return NONE if value is None else value
