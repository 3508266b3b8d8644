"""What orders of reading promise: with a confidence, by model, and which levels people's value can have given a judge's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.records.rounding import count, decimal, percent
from mindgauge.reports.content import Column, ReportTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mindgauge.analysis.escalation.level_sets import LevelSet
    from mindgauge.analysis.escalation.result import Escalation
    from mindgauge.reports.content import Cell

_GROUPS = {"all": "all replies", "level": "where it says", "category": "category"}


def guaranteed(result: Escalation) -> ReportTable:
    """Tabulate what must be read to find enough with a confidence, and what may pass with little that is unsafe in it."""
    sure = f"with {percent(result.confidence)} confidence"
    columns = [
        Column("read in the order of"), Column(f"must read to find {percent(result.target)}", "precise"),
        Column("conversations with unsafe", "count"), Column("needed to find", "count"),
        Column(f"may pass with {percent(result.tolerated)} unsafe", "precise"), Column("conversations", "count"),
        Column("needed to pass", "count"),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [
            order.name, order.guarantee.reads, order.guarantee.n, order.guarantee.needs,
            None if order.passing.reads is None else 1 - order.passing.reads, order.passing.n, order.passing.needs,
        ]
        for order in result.orders
    ]  # fmt: skip
    note = (
        "To find, conversations with something unsafe count; to pass, all; each counts once. A learned order is learned on half of them, and its "
        "thresholds are set on the other half, which is what is counted here. Nothing stands where too few are there, or no threshold holds."
    )
    return ReportTable("escalation-guarantee", f"Guaranteed {sure}", columns, rows, note)


def by_model(result: Escalation) -> ReportTable:
    """Tabulate what is read of each model's replies alone, where nothing was learned from that model."""
    models = [model for model, unsafe in result.unsafe_by_model.items() if unsafe]
    columns = [Column("read in the order of"), *(Column(model, "precise") for model in models)]
    counts: list[Cell] = [
        "unsafe of all", *(f"{count(result.unsafe_by_model[model])} of {count(result.models[model])}" for model in models)
    ]  # fmt: skip
    rows: list[list[Cell]] = [[order.name, *(order.by_model[model] for model in models)] for order in result.orders]
    title = f"Must read of each model's replies to find {percent(result.target)} of its unsafe ones"
    return ReportTable("escalation-models", title, columns, [counts, *rows] if len(models) > 1 else [])


def sets(ident: str, level_sets: Sequence[LevelSet], level: float) -> ReportTable:
    """Tabulate which levels people's value can have; on all replies and on a category, what may be added to the judge's."""
    columns = [
        Column("judge"), Column("calibrated on"), Column("people's value from", "level"), Column("to", "level"),
        Column("levels in a set", "level"), Column("conversations", "count"),
        Column("covered", "share"), Column("covered from", "share"), Column("covered to", "share"),
        Column("by sets of all", "share"),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [
            level_set.judge, f"{_GROUPS[level_set.group]} {level_set.name}".strip(), level_set.low, level_set.high, level_set.size,
            level_set.conversations, level_set.coverage.value, level_set.coverage.low, level_set.coverage.high, level_set.coverage_by_all.value,
        ]
        for level_set in level_sets
    ]  # fmt: skip
    needs = max((level_set.needs for level_set in level_sets), default=0)
    note = (
        f"Sets hold people's value with a chance of {percent(level)} in each group that they are calibrated on; a group with fewer than {needs} "
        "conversations has none. Of all replies and of a category, from and to are added to the judge's own value. "
        "What is covered is measured on conversations left out; by sets of all, which are calibrated on all replies, a category may be covered less."
    )
    return ReportTable(f"level-sets{ident}", "Which values people's can be, given a judge's", columns, rows, note)


def widest(level_sets: Iterable[LevelSet]) -> str:
    """Say in one sentence which level of which judge leaves people's value most open, and what has no set."""
    levels = [level_set for level_set in level_sets if level_set.group == "level"]
    measured = [level_set for level_set in levels if level_set.size is not None]
    if not measured:
        return ""
    widest_set = max(measured, key=lambda level_set: level_set.size or 0.0)
    narrowest_set = min(measured, key=lambda level_set: level_set.size or 0.0)
    lacking = len(levels) - len(measured)
    rest = f"; {lacking} of {len(levels)} have too few conversations for a set" if lacking else ""
    return (
        f"Where {widest_set.judge} says {widest_set.name}, people's value can be any from {decimal(widest_set.low, 1)} to {decimal(widest_set.high, 1)}; "
        f"where {narrowest_set.judge} says {narrowest_set.name}, {decimal(narrowest_set.low, 1)} to {decimal(narrowest_set.high, 1)}{rest}."
    )
