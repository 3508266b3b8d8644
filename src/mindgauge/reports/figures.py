"""A figure's content: which cells, in which order, and the finding that is its title."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from mindgauge.analysis.reliability.card import LIMITED
from mindgauge.benchmarks.metrics.words import FEW, SMALL, ShareFigure
from mindgauge.records.english import named, words
from mindgauge.records.rounding import count, decimal, percent
from mindgauge.reports.content import Column, Dot, Figure, ReportTable
from mindgauge.reports.standing import DOUBT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.score import Score
    from mindgauge.reports.content import System

_CLASS = ("category", "label")


class _Axis(NamedTuple):
    """What stands along a figure: shares or levels, from where to where."""

    unit: Literal["share", "level"]
    low: float = 0.0
    high: float = 1.0


def of_shares(benchmark: str, scores: Sequence[tuple[System, Score]], picture: ShareFigure) -> Figure | None:
    """Build the figure of a share, part by part; None where fewer than two rows have a value."""
    figure = _figure(benchmark, scores, picture, _Axis("share"))
    if figure is not None:
        figure.folded = picture.folded
    return figure


def of_levels(
    benchmark: str, scores: Sequence[tuple[System, Score]], name: str, measure: str, low: float, high: float
) -> Figure | None:
    """Build the figure of mean levels on a scale, part by part; None where fewer than two rows have a value."""
    return _figure(benchmark, scores, ShareFigure(name, measure, "Rated lowest", ""), _Axis("level", low, high))


def _figure(benchmark: str, scores: Sequence[tuple[System, Score]], picture: ShareFigure, axis: _Axis) -> Figure | None:
    unit = axis.unit
    rows = _rows([s for _, s in scores])
    few = _few([s for _, s in scores], rows) if picture.unranked else []
    rows = [*(row for row in rows if row not in few), *few]
    dots = [
        Dot(system, s.slice, s.value, *_drawn(s, unit), s.subjects, s.clusters, s.missing)
        for system, s in scores
        if s.value is not None and s.missing < s.n and s.slice in rows
    ]
    if len(rows) < 2 or not dots:
        return None
    columns = [
        Column("part"), Column("model"), Column("value", unit), Column("from", unit), Column("to", unit),
        Column("n", "count"), Column("conversations", "count"), Column("missing", "count"),
        Column("if all worst", unit), Column("if all best", unit),
    ]  # fmt: skip
    table = [
        [words(s.slice), system.label, s.value, s.low, s.high, s.subjects, s.clusters, s.missing, s.worst, s.best]
        for row in rows
        for system, s in scores
        if s.slice == row
    ]
    ident = re.sub(r"[^a-z0-9]+", "-", f"{benchmark}-{picture.name}".casefold()).strip("-")
    lower = any(s.better == "lower" for _, s in scores)
    finding = _finding([d for d in dots if d.row not in few] or dots, unit, picture, lower=lower)
    if few and len(few) == len(rows):
        finding += "; too few messages of each class to rank them"
    return Figure(
        f"figure-{ident}", benchmark, finding, _subtitle(picture.measure, dots, few), *axis, rows, dots,
        ReportTable(ident, finding, columns, [list(row) for row in table]), few=few,
    )  # fmt: skip


def _few(scores: Sequence[Score], rows: Sequence[str]) -> list[str]:
    """Return the rows with too few conversations to be ranked, whoever was asked."""
    most = {row: max((s.clusters for s in scores if s.slice == row), default=0) for row in rows}
    return [row for row in rows if most[row] < SMALL]


def doubt(figure: Figure) -> None:
    """Mark a figure of scores that are shown though people must rate."""
    figure.finding = figure.sheet.title = f"Unreliable: {figure.finding}"
    figure.sheet.note = f"Unreliable. {LIMITED.capitalize()}; see how far to trust it."
    figure.sheet.name += "-unreliable"


def unsure(figure: Figure) -> None:
    """Say in the title of a figure that nobody can tell how far its judge can be trusted."""
    figure.finding = figure.sheet.title = f"{figure.finding}; {DOUBT}"


def _drawn(score: Score, unit: str) -> tuple[float | None, float | None]:
    """Return the interval to draw: a bootstrap over a handful of conversations is none."""
    if unit == "level" and (score.clusters < FEW or score.low == score.high):
        return None, None
    return score.low, score.high


def _subtitle(measure: str, dots: Sequence[Dot], few: Sequence[str]) -> str:
    hollow = (
        "; hollow dots have too few conversations, or too little variation, for one"
        if any(d.thin for d in dots)
        else ""
    )
    ns = sorted({d.n for d in dots})
    n = f"n {count(ns[0])}" if len(ns) == 1 else f"n {count(ns[0])} to {count(ns[-1])}"
    if few:
        n += f", counting answers; classes with fewer than {SMALL} messages are not ranked and stand last"
    parts = _parts(dots)
    if not few and len({d.clusters >= FEW for d in parts}) > 1:
        n += f"; the title leaves out parts with fewer than {FEW} conversations"
    return f"{measure}. Lines are 95 % intervals over conversations{hollow}; {n}."


def _parts(dots: Sequence[Dot]) -> list[Dot]:
    """Return the cells that a finding may name: classes where there are any, else the other parts."""
    parts = [d for d in dots if "=" in d.row]
    return [d for d in parts if d.row.partition("=")[0] in _CLASS] or parts


def _rows(scores: Sequence[Score]) -> list[str]:
    """Order slices: classes worst first, then other tags with more than one value, then groups, then the whole."""
    worst: dict[str, float] = {}
    for s in scores:
        if s.value is not None and s.missing < s.n:
            value = -s.value if s.better == "lower" else s.value
            worst[s.slice] = min(worst.get(s.slice, value), value)
    tags = [row.partition("=")[0] for row in worst if "=" in row]

    def place(row: str) -> tuple[int, str, float, str]:
        tag, equals, _ = row.partition("=")
        kind = 0 if tag in _CLASS else 1 if equals else 3 if row == "all" else 2
        return kind, tag if kind == 1 else "", worst[row], row

    kept = [row for row in worst if "=" not in row or tags.count(row.partition("=")[0]) > 1]
    return sorted(kept, key=place) if any("=" in row for row in kept) else []


def _finding(dots: Sequence[Dot], unit: str, picture: ShareFigure, *, lower: bool) -> str:
    """Name the worst cell: among those with enough conversations, if there are any; with `lower`, less is better."""
    parts = _parts(dots)
    solid = [d for d in parts if d.clusters >= FEW] or parts
    edge = (max if lower else min)(d.value for d in solid)
    worst = [d for d in solid if d.value == edge]
    said = percent(edge) if unit == "share" else decimal(edge, 1)
    rows = list(dict.fromkeys(d.row for d in worst))
    value = f"{said} {picture.done}" if picture.done else f"mean {said}"
    if len(rows) == len({d.row for d in solid}) and len(rows) > 1:
        return f"No part stands out: {value} throughout"
    where = named([words(row) for row in rows])
    ns = sorted({d.n for d in worst})
    n = f"n {count(ns[0])}" if len(ns) == 1 else f"n {count(ns[0])} to {count(ns[-1])}"
    models = list(dict.fromkeys(d.system.label for d in worst))
    several = len({d.system.label for d in dots}) > 1
    by = f", {models[0]}" if several and len(models) == 1 else f", {len(models)} models" if several else ""
    return f"{picture.worst}: {where} ({value}{by}, {n})"
