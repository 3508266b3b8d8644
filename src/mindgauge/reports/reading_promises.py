"""What orders of reading promise: with a confidence, by model, and which levels people's value can have given a judge's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.records.rounding import percent
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
        "unsafe of all", *(f"{result.unsafe_by_model[model]} of {result.models[model]}" for model in models)
    ]  # fmt: skip
    rows: list[list[Cell]] = [[order.name, *(order.by_model[model] for model in models)] for order in result.orders]
    title = f"Must read of each model's replies to find {percent(result.target)} of its unsafe ones"
    return ReportTable("escalation-models", title, columns, [counts, *rows] if len(models) > 1 else [])


def carried(unsafe_by_model: dict[str, int]) -> str:
    """Say that one model wrote most of what is unsafe, if one did."""
    total = sum(unsafe_by_model.values())
    most = max(unsafe_by_model, key=unsafe_by_model.__getitem__, default="")
    if len(unsafe_by_model) < 2 or 2 * unsafe_by_model[most] <= total:
        return ""
    return f"One model carries the figures: {unsafe_by_model[most]} of the {total} unsafe replies are by {most}."


def sets(ident: str, found: Sequence[LevelSet], level: float) -> ReportTable:
    """Tabulate which levels people's value can have; on all replies and on a category, what may be added to the judge's."""
    columns = [
        Column("judge"), Column("calibrated on"), Column("people's value from", "level"), Column("to", "level"),
        Column("levels in a set", "level"), Column("conversations", "count"),
        Column("covered", "share"), Column("covered from", "share"), Column("covered to", "share"),
        Column("by sets of all", "share"),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [
            each.judge, f"{_GROUPS[each.group]} {each.name}".strip(), each.low, each.high, each.size,
            each.conversations, each.coverage.value, each.coverage.low, each.coverage.high, each.coverage_by_all.value,
        ]
        for each in found
    ]  # fmt: skip
    needs = max((each.needs for each in found), default=0)
    note = (
        f"Sets hold people's value with a chance of {percent(level)} in each group that they are calibrated on; a group with fewer than {needs} "
        "conversations has none. Of all replies and of a category, from and to are added to the judge's own value. "
        "What is covered is measured on conversations left out; by sets of all, which are calibrated on all replies, a category may be covered less."
    )
    return ReportTable(f"level-sets{ident}", "Which values people's can be, given a judge's", columns, rows, note)


def widest(found: Iterable[LevelSet]) -> str:
    """Say in one sentence which level of which judge leaves people's value most open, and what has no set."""
    levels = [each for each in found if each.group == "level"]
    known = [each for each in levels if each.size is not None]
    if not known:
        return ""
    most = max(known, key=lambda each: each.size or 0.0)
    least = min(known, key=lambda each: each.size or 0.0)
    lacking = len(levels) - len(known)
    rest = f"; {lacking} of {len(levels)} have too few conversations for a set" if lacking else ""
    return (
        f"Where {most.judge} says {most.name}, people's value can be any from {most.low:g} to {most.high:g}; "
        f"where {least.judge} says {least.name}, {least.low:g} to {least.high:g}{rest}."
    )
