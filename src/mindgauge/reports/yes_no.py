"""Yes-or-no criteria as pictures: how often raters said yes of each model's replies, gates first, then support, then harm."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mindgauge.benchmarks.metrics import SHARES_OF_YES
from mindgauge.records.english import named, words
from mindgauge.records.rounding import count, percent, plural
from mindgauge.records.rubric.composite import NO, YES
from mindgauge.reports.content import Column, Dot, Figure, ReportTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.score import Score
    from mindgauge.reports.content import System
    from mindgauge.reports.runs import Section

    Found = Sequence[tuple[System, Score]]


class _Kind(NamedTuple):
    """Criteria that stand in one picture; `better` is whether yes is the better answer."""

    name: str
    criteria: list[str]
    better: bool | None


def figures(section: Section, scores: Found, rater: str) -> Iterator[Figure]:
    """Draw the shares of yes that a rater gave, on all replies, in up to three pictures."""
    mine = [
        (system, s)
        for system, s in scores
        if s.rater == rater and s.slice == "all" and s.name in SHARES_OF_YES and s.value is not None and s.missing < s.n
    ]
    for kind in _kinds(section):
        of_kind = [(system, s) for system, s in mine if s.criterion in kind.criteria]
        if of_kind:
            yield _figure(section.benchmark.name, kind, of_kind, rater)


def _kinds(section: Section) -> Iterator[_Kind]:
    known = section.criteria
    binary = {name: c.worst_first for name, c in known.items() if set(c.values) == {YES, NO}}
    gates = [name for name, composite in section.benchmark.composites.items() if composite.gate and name in binary]
    rest = [name for name in binary if name not in section.benchmark.composites]
    yield _Kind("gates", gates, None)
    yield _Kind("yes is better", [name for name in rest if binary[name][-1] == YES], better=True)
    yield _Kind("yes is worse", [name for name in rest if binary[name][0] == YES], better=False)


def _figure(benchmark: str, kind: _Kind, scores: Found, rater: str) -> Figure:
    ident = re.sub(r"[^a-z0-9]+", "-", f"{benchmark}-{kind.name}-{rater}".casefold()).strip("-")
    dots = [
        Dot(system, s.criterion, s.value or 0.0, s.low, s.high, s.subjects, s.clusters, s.missing)
        for system, s in scores
    ]
    rows = _rows(kind, dots)
    finding = _finding(kind, dots, rows)
    columns = [
        Column("criterion"), Column("model"), Column("yes", "share"), Column("from", "share"), Column("to", "share"), Column("n", "count"),
        Column("conversations", "count"), Column("missing", "count"), Column("if all missing worst", "share"), Column("if all missing best", "share"),
    ]  # fmt: skip
    table = [
        [words(row), system.label, s.value, s.low, s.high, s.subjects, s.clusters, s.missing, s.worst, s.best]
        for row in rows
        for system, s in scores
        if s.criterion == row
    ]
    ns = sorted({dot.n for dot in dots})
    n = f"n {count(ns[0])}" if len(ns) == 1 else f"n {count(ns[0])} to {count(ns[-1])}"
    better = {True: "; more is better", False: "; fewer is better", None: ""}[kind.better]
    measure = f"Share of the replies of which {rater} said yes{better}. Lines are exact 95 % intervals over conversations; {n}."
    return Figure(
        f"figure-{ident}", benchmark, finding, measure, "share", 0.0, 1.0, rows, dots, ReportTable(ident, finding, columns, [list(row) for row in table]),
    )  # fmt: skip


def _rows(kind: _Kind, dots: Sequence[Dot]) -> list[str]:
    """Order gates as the benchmark has them, other criteria worst first."""
    there = {name: [dot.value for dot in dots if dot.row == name] for name in kind.criteria}
    there = {name: values for name, values in there.items() if values}
    if kind.better is None:
        return list(there)
    return sorted(there, key=lambda name: (min(there[name]) if kind.better else -max(there[name]), name))


def _finding(kind: _Kind, dots: Sequence[Dot], rows: Sequence[str]) -> str:
    """Name the worst: of gates each model's share of the last, which sums up the others."""
    if kind.better is None:
        last = [dot for dot in dots if dot.row == rows[-1]]
        told = [f"{percent(dot.value)} of {dot.system.label}'s {plural(dot.n, 'reply', 'replies')}" for dot in last]
        return f"Called {words(rows[-1])}: {named(told, most=4)}"
    edge = (min if kind.better else max)(dot.value for dot in dots)
    if not kind.better and edge == 0:
        high = max((dot.high for dot in dots if dot.high is not None), default=None)
        return f"None of {plural(len(rows), 'kind')} of harm was found; of each, it could still be as many as {percent(high)}"
    worst = [dot for dot in dots if dot.value == edge]
    which = named([words(name) for name in dict.fromkeys(dot.row for dot in worst)])
    models = list(dict.fromkeys(dot.system.label for dot in worst))
    several = len({dot.system.label for dot in dots}) > 1
    by = f", {models[0]}" if several and len(models) == 1 else f", {len(models)} models" if several else ""
    ns = sorted({dot.n for dot in worst})
    n = f"n {count(ns[0])}" if len(ns) == 1 else f"n {count(ns[0])} to {count(ns[-1])}"
    return f"{'Least often there' if kind.better else 'Found most often'}: {which} ({percent(edge)}{by}, {n})"
