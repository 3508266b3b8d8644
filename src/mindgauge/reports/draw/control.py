"""A control chart as static SVG: a rate from look to look with its intervals, and the limit that it must keep to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.records.rounding import write
from mindgauge.reports.draw.canvas import COLOURS, INK, MUTED, NARROW, SHAPES, SMALL, Canvas, Plot, Style

if TYPE_CHECKING:
    from mindgauge.reports.draw.records import ControlChart

_LEFT, _TOP, _HIGH = 52, 30, 190
_MOST_MARKS = {True: 5, False: 10}
"""Numbers of looks that are written below a narrow and a wide chart."""
_LOOK, _ALARM = Style(COLOURS[0], SHAPES[0]), Style(COLOURS[0], SHAPES[3])


def draw(chart: ControlChart, width: int) -> str:
    """Draw a chart as SVG, `width` pixels wide."""
    canvas = Canvas()
    plot = Plot(_LEFT, _TOP, width - 16, _TOP + _HIGH)
    low, high = chart.ends
    up = [(share, write(low + share * (high - low), chart.unit)) for share in (0.0, 0.5, 1.0)]
    plot.rule(canvas, [], up)
    last = max(len(chart.points) - 1, 1)
    step = -(-len(chart.points) // _MOST_MARKS[width == NARROW])
    plot.marks(
        canvas, [(place / last, str(point.number)) for place, point in enumerate(chart.points) if place % step == 0]
    )
    plot.title(canvas, "look", chart.measure)

    def height(value: float) -> float:
        return (min(max(value, low), high) - low) / (high - low)

    start, end = plot.at(0, height(chart.limit)), plot.at(1, height(chart.limit))
    canvas.line(start, end, INK, thick=1.5, dash="9 4")
    canvas.text(f"limit {write(chart.limit, chart.unit)}", end[0], end[1] - 6, anchor="end", size=SMALL)
    path = []
    for place, point in enumerate(chart.points):
        if point.value is None:
            continue
        x, y = plot.at(place / last, height(point.value))
        path.append((x, y))
        if point.low is not None and point.high is not None:
            canvas.line((x, plot.at(0, height(point.low))[1]), (x, plot.at(0, height(point.high))[1]), MUTED)
        canvas.mark(_ALARM if point.alarm else _LOOK, x, y, size=8 if point.alarm else 4, hollow=point.doubtful)
        if point.alarm and not (place and chart.points[place - 1].alarm):
            canvas.text("alarm", x, y - 14, anchor="middle", size=SMALL, bold=True)
    if len(path) > 1:
        canvas.polyline(path, COLOURS[0], thick=1)
    return canvas.svg(width, plot.bottom + 48)
