"""The tables of a comparison: every two systems, and what a thousand answers take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.english import words
from mindgauge.reports.content import Column, Sheet
from mindgauge.reports.paired_phrases import of
from mindgauge.rounding import p_value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mindgauge.analysis.compared import Compared
    from mindgauge.reports.content import Cell, System
    from mindgauge.reports.paired_phrases import Field

_UNKNOWN = "What an answer costs, and how long it takes, is not known: no calls are in these runs."


def pairs(name: str, title: str, fields: Sequence[Field], *, apart: bool = False) -> Sheet:
    """List the differences of every two systems; with `apart` those that can be told apart, constant answers left out."""
    columns = [
        Column("benchmark"), Column("measure"), *([Column("part")] if apart else []), Column("first"), Column("second"), Column("first minus second", "level"),
        Column("from", "level"), Column("to", "level"), Column("unit"), Column("p, adjusted", "interval"), Column("verdict"),
        Column("samples", "count"), Column("conversations", "count"), Column("if all missing worst", "level"), Column("if all missing best", "level"),
    ]  # fmt: skip
    rows: list[list[Cell]] = []
    for field in fields:
        m, times = field.measure, 100 if field.measure.unit == "share" else 1
        for d in m.differences:
            if apart and (not d.told_apart or {d.first, d.second} & {*field.baselines}):
                continue
            better = f"{field.labels[d.better]} is better" if d.better else "they differ"
            verdict = (
                better if d.told_apart else "too little to say" if d.told_apart is None else "cannot be told apart"
            )
            numbers: list[Cell] = [None if v is None else times * v for v in (d.value, d.low, d.high, d.worst, d.best)]
            rows.append([
                m.benchmark, of(m), *([words(m.slice)] if apart else []), field.labels[d.first], field.labels[d.second], *numbers[:3],
                "points" if m.unit == "share" else "levels", p_value(d.adjusted), verdict, d.n, d.clusters, *numbers[3:],
            ])  # fmt: skip
    note = (
        "On what both answered, each conversation counting once. p is of the sign-flip test, adjusted by Holm for all pairs of one measure; "
        "two are told apart where the interval leaves out 0 and p is at most .05."
    )
    return Sheet(name, title, columns, rows, note)


def costs(found: Compared, systems: Mapping[str, System], labels: Mapping[str, str]) -> tuple[Sheet | None, str]:
    """Return what a thousand answers take; a sentence where nobody knows."""
    known = [c for c in found.costs if c.system in systems]
    if all(c.cost is None and c.seconds is None for c in known):
        return None, _UNKNOWN
    columns = [
        Column("benchmark"), Column("model"), Column("answers here", "count"), Column("cost of a thousand", "dollars"),
        Column("time of a thousand, one after the other", "seconds"),
    ]  # fmt: skip
    rows: list[list[Cell]] = [[c.benchmark, labels[c.system], c.answers, c.cost, c.seconds] for c in known]
    return Sheet(
        "costs",
        "What a thousand answers take",
        columns,
        rows,
        "Time is what the model or the classifier took, one answer after the other. What nobody knows is no zero.",
    ), ""
