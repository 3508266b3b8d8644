"""Systems on one measure as static SVG: dots with intervals and, beside them, the ranks that each may have."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mindgauge.records.rounding import decimal, percent
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

if TYPE_CHECKING:
    from mindgauge.reports.compared import MeasureComparison, SystemPlace


def draw(contrast: MeasureComparison, width: int) -> str:
    """Draw a contrast as SVG, `width` pixels wide."""
    narrow = width == NARROW
    left, right, first, last = (14, 176, 206, 276) if narrow else (228, 478, 520, 620)
    values = LinearAxis(contrast.low, contrast.high, left, right)
    ranks = LinearAxis(1, max(len(contrast.places), 2), first, last)
    ranked = any(place.rank_low is not None for place in contrast.places)
    chart = RowChart(36 if narrow else 26, above=narrow, y=28 if ranked else 6)
    for place in contrast.places:
        _row(chart, place, values, ranks, width)
    if ranked:
        chart.canvas.text(f"possible ranks of {len(contrast.places)}", width, 14, anchor="end", shade=MUTED, size=SMALL)
    if all(place.value is None for place in contrast.places):
        return chart.canvas.svg(width, chart.y)
    if contrast.unit == "share":
        chart.rule(values, (0, 0.5, 1) if narrow else QUARTERS, percent)
    else:
        chart.rule(values, level_ticks(contrast.low, contrast.high, 5), partial(decimal, digits=0))
    lines = chart.title(values, axis_title(contrast.measure))
    return chart.canvas.svg(width, chart.y + 25 + 15 * lines)


def _row(chart: RowChart, place: SystemPlace, values: LinearAxis, ranks: LinearAxis, width: int) -> None:
    y = chart.row(place.label, "", 17) + 8.5
    look, canvas = style(place.system), chart.canvas
    if place.value is not None:
        hollow = place.system is None or place.low is None
        canvas.estimate(look, values, (place.value, place.low, place.high), y, hollow=hollow)
    if place.rank_low is None or place.rank_high is None:
        return
    canvas.line((ranks.left, y), (ranks.right, y), GREY)
    canvas.line((ranks.at(place.rank_low) - 3, y), (ranks.at(place.rank_high) + 3, y), look.shade, thick=6)
    span = f"{place.rank_low}" if place.rank_low == place.rank_high else f"{place.rank_low}–{place.rank_high}"
    canvas.text(span, width, y + 5, anchor="end", shade=INK if place.system else MUTED)
