"""Reliability diagrams as static SVG: how often a classifier is right when it says that it is so and so sure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.benchmarks.metrics.sentences import FEW
from mindgauge.records.rounding import count, decimal, percent
from mindgauge.reports.draw.canvas import (
    COLOURS,
    GREY,
    MUTED,
    NARROW,
    QUARTERS,
    SHAPES,
    SMALL,
    Canvas,
    LinearAxis,
    Plot,
    Style,
    style,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mindgauge.raters.classifiers.calibration import Bin
    from mindgauge.raters.classifiers.calibration import Calibration as Binned
    from mindgauge.reports.trust_section import CalibrationSection

_LEFT, _GAP, _BARS = 48, 34, 40


def draw(calibration: CalibrationSection, width: int) -> str:
    """Draw a classifier's diagram as SVG, `width` pixels wide; the square is smaller where there is room beside it."""
    side = width - _LEFT - 20 if width == NARROW else 340
    canvas = Canvas()
    foot = _diagram(canvas, calibration.calibrated.by_bin.bins, style(calibration.system), (_LEFT, 30, side))
    return canvas.svg(width, foot)


def draw_file(sides: Mapping[str, Binned], title: str) -> str:
    """Draw diagrams beside each other as an SVG file of its own, each under its name, `what: of which part, n`."""
    canvas, side, foot = Canvas(), 260, 0.0
    for number, (name, binned) in enumerate(sides.items()):
        left = 14 + number * (side + 70)
        head, _, part = name.partition(": ")
        canvas.text(head, left, 24, bold=True)
        canvas.text(part, left, 42, shade=MUTED, size=SMALL)
        foot = _diagram(canvas, binned.bins, Style(COLOURS[0], SHAPES[0]), (left + 36, 84, side))
    descriptions = [f"{name}, expected calibration error {decimal(binned.ece)}" for name, binned in sides.items()]
    return canvas.file(14 + len(sides) * (side + 70), foot, title, f"{'. '.join(descriptions)}.")


def _diagram(canvas: Canvas, bins: Sequence[Bin], look: Style, place: tuple[float, float, float]) -> float:
    """Draw the share right of each bin with its interval, above how many are in it; return where that ends.

    Args:
        canvas: to draw on.
        bins: of equal width, from 0 to 1.
        look: of the points.
        place: the left edge, the upper edge and the side of the square.
    """
    left, top, side = place
    plot = Plot(left, top, left + side, top + side)
    right = LinearAxis(0, 1, plot.bottom, plot.top)
    foot = plot.bottom + _GAP + _BARS
    plot.rule(canvas, [(tick, "") for tick in QUARTERS], [(tick, percent(tick)) for tick in QUARTERS])
    canvas.line(plot.at(0, 0), plot.at(1, 1), MUTED, thick=1.5, dash="2 3")
    tallest = max((b.n for b in bins), default=0)
    for b in bins:
        if b.confidence is None or b.accuracy is None:
            continue
        x = plot.at(b.confidence, 0)[0]
        if b.accuracy_low is not None and b.accuracy_high is not None:
            canvas.line((x, right.at(b.accuracy_low)), (x, right.at(b.accuracy_high)), look.shade, thick=2)
        canvas.mark(look, x, right.at(b.accuracy), hollow=b.n < FEW)
        high = max(b.n / tallest * (_BARS - 14), 1.0)
        bar, wide = plot.at(b.low, 0)[0], (b.high - b.low) * side
        canvas.box(bar + 1, foot - high, wide - 2, high, GREY)
        canvas.text(count(b.n), bar + wide / 2, foot - high - 4, anchor="middle", shade=MUTED, size=11)
    for tick in QUARTERS:
        canvas.text(percent(tick), plot.at(tick, 0)[0], foot + 18, anchor="middle", shade=MUTED, size=SMALL)
    canvas.text("probability of the label", left + side / 2, foot + 38, anchor="middle", shade=MUTED, size=SMALL)
    canvas.text("share right", left - 42, top - 14, shade=MUTED, size=SMALL)
    canvas.text("n", left - 8, foot - 4, anchor="end", shade=MUTED, size=SMALL)
    return foot + 46
