"""Dots with intervals as static SVG: a row for each thing, in it a line for each system, all on one axis."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mindgauge.records.english import words
from mindgauge.records.rounding import count, decimal, percent
from mindgauge.reports.draw.canvas import (
    GREY,
    INK,
    MUTED,
    NARROW,
    QUARTERS,
    SMALL,
    LinearAxis,
    RowChart,
    axis_title,
    level_ticks,
    style,
)
from mindgauge.reports.draw.records import DotRow, Dots, Point

if TYPE_CHECKING:
    from mindgauge.reports.content import Figure

_EACH = 13


def draw(picture: Dots, width: int) -> str:
    """Draw dots as SVG, `width` pixels wide."""
    step = (picture.high - picture.low) / 4
    ticks = [picture.low + step * number for number in range(5)]
    write = percent if picture.share else partial(decimal, signed=picture.signed)
    chart, axis = _rows(picture, width)
    chart.rule(axis, ticks, write, strong=0.0 if picture.signed else None)
    chart.ends(axis, *picture.ends)
    return chart.canvas.svg(width, chart.y + 40)


def draw_figure(figure: Figure, width: int) -> str:
    """Draw a figure as SVG, `width` pixels wide."""
    rows = [_row(figure, row) for row in figure.rows]
    low, high = figure.low, figure.high
    picture = Dots(
        anchor=figure.anchor, finding=figure.finding, measure=figure.measure, sheet=figure.sheet, low=low, high=high, ends=("", ""), rows=rows
    )  # fmt: skip
    chart, axis = _rows(picture, width, exact=bool(figure.targets))
    if figure.unit == "share":
        chart.rule(axis, QUARTERS, percent)
    else:
        chart.rule(axis, level_ticks(low, high, 8), partial(decimal, digits=0))
    lines = chart.title(axis, axis_title(figure.measure))
    return chart.canvas.svg(width, chart.y + 25 + 15 * lines)


def _row(figure: Figure, name: str) -> DotRow:
    """Put a row's dots in the order of the systems; a system without one says so."""
    dots = {dot.system.number: dot for dot in figure.dots if dot.row == name}
    ns = sorted({dot.n for dot in dots.values()})
    n = [f"n {count(ns[0])}" if len(ns) == 1 else f"n {count(ns[0])}–{count(ns[-1])}"] if ns else []
    unranked = ["not ranked"] if name in figure.few and len(figure.few) < len(figure.rows) else []
    spots = [
        Point(system, dot.value, dot.low, dot.high, dot.n, dot.missing) if dot else Point(system, None, None, None)
        for system in figure.systems
        for dot in [dots.get(system.number)]
    ]
    target = (figure.targets[name], None, None) if name in figure.targets else None
    return DotRow(words(name), ", ".join([*n, *unranked]), spots, people=target)


def _rows(picture: Dots, width: int, *, exact: bool = False) -> tuple[RowChart, LinearAxis]:
    """Draw the rows; `exact` values need no interval, and are full without one."""
    narrow = width == NARROW
    axis = LinearAxis(picture.low, picture.high, *((20, 300) if narrow else (228, 660)))
    chart = RowChart(40 if narrow else 29, above=narrow)
    for row in picture.rows:
        if row.head:
            chart.head(row.head)
        marks = _EACH * len(row.spots)
        top = chart.row(row.label, row.note, marks)
        _behind(chart, axis, row, top, top + marks)
        for number, spot in enumerate(row.spots):
            _spot(chart, axis, spot, top + _EACH * (number + 0.5), exact=exact)
    return chart, axis


def _behind(chart: RowChart, axis: LinearAxis, row: DotRow, top: float, bottom: float) -> None:
    """Draw what guessing and what people would give."""
    if row.people is not None:
        value, low, high = row.people
        if low is not None and high is not None:
            chart.canvas.box(axis.at(low), top, axis.at(high) - axis.at(low), bottom - top, GREY)
        chart.canvas.line((axis.at(value), top - 3), (axis.at(value), bottom + 3), INK, thick=2)
    if row.chance is not None:
        chance_x = axis.at(row.chance)
        chart.canvas.line((chance_x, top - 3), (chance_x, bottom + 3), MUTED, thick=1.5, dash="2 3")


def _spot(chart: RowChart, axis: LinearAxis, spot: Point, y: float, *, exact: bool) -> None:
    canvas = chart.canvas
    if spot.floor is not None:
        canvas.box(axis.at(-spot.floor), y - 6, axis.at(spot.floor) - axis.at(-spot.floor), 12, GREY)
    if spot.value is None:
        canvas.text(spot.why or "no value", axis.left + 4, y + 4, size=SMALL, shade=MUTED)
        return
    hollow = spot.low is None and not exact
    canvas.estimate(style(spot.system), axis, (spot.value, spot.low, spot.high), y, hollow=hollow)
