"""The reliability diagram as static SVG: the share right of each bin above how many labels are in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.metrics.words import FEW
from mindgauge.reports.charts import GREY, MUTED, NARROW, PAPER, colour, shape
from mindgauge.rounding import count, percent

if TYPE_CHECKING:
    from mindgauge.reports.trust_section import Calibration

_LEFT, _TOP, _GAP, _BARS = 48, 10, 34, 40
_TICKS = (0, 0.25, 0.5, 0.75, 1)


def draw(calibration: Calibration, width: int) -> str:
    """Draw a diagram as SVG, `width` pixels wide; the square is smaller where there is room beside it."""
    side = width - _LEFT - 14 if width == NARROW else 340
    bottom = _TOP + side
    foot = bottom + _GAP + _BARS
    parts = [
        *_axes(side, bottom),
        f'<line x1="{_LEFT}" y1="{bottom}" x2="{_LEFT + side}" y2="{_TOP}" stroke="{MUTED}" stroke-width="1.5" stroke-dasharray="2 3"/>',
    ]
    shade, path = colour(calibration.system), shape(calibration.system)
    most = max(b.n for b in calibration.calibrated.by_bin.bins)
    for b in calibration.calibrated.by_bin.bins:
        if b.confidence is None or b.accuracy is None:
            continue
        x, y = _LEFT + b.confidence * side, bottom - b.accuracy * side
        if b.accuracy_low is not None and b.accuracy_high is not None:
            ends = f'x1="{x:.1f}" x2="{x:.1f}" y1="{bottom - b.accuracy_low * side:.1f}" y2="{bottom - b.accuracy_high * side:.1f}"'
            parts.append(f'<line {ends} stroke="{shade}" stroke-width="2"/>')
        fill = PAPER if b.n < FEW else shade
        parts.append(
            f'<path d="{path}" transform="translate({x:.1f},{y:.1f}) scale(5)" fill="{fill}" stroke="{shade}" stroke-width="0.4"/>'
        )
        high = max(b.n / most * (_BARS - 14), 1.0)
        left, wide = _LEFT + b.low * side, (b.high - b.low) * side
        parts.append(
            f'<rect x="{left + 1:.1f}" y="{foot - high:.1f}" width="{wide - 2:.1f}" height="{high:.1f}" fill="{GREY}"/>'
        )
        parts.append(_text(count(b.n), left + wide / 2, foot - high - 4, "middle", size=11))
    parts += [
        *(_text(percent(tick), _LEFT + tick * side, foot + 18, "middle") for tick in _TICKS),
        _text("probability of the label", _LEFT + side / 2, foot + 38, "middle"),
        _text("right", 0, _TOP + side / 2 - 30, "start"),
        _text("n", _LEFT - 8, foot - 4, "end"),
    ]
    return f'<svg width="{width}" height="{foot + 46}" viewBox="0 0 {width} {foot + 46}">{"".join(parts)}</svg>'


def _axes(side: int, bottom: int) -> list[str]:
    """Draw the grid and what its lines across stand for."""
    parts = []
    for tick in _TICKS:
        x, y = _LEFT + tick * side, bottom - tick * side
        parts.append(f'<line x1="{_LEFT}" x2="{_LEFT + side}" y1="{y:.1f}" y2="{y:.1f}" stroke="{GREY}"/>')
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{bottom}" stroke="{GREY}"/>')
        parts.append(_text(percent(tick), _LEFT - 8, y + 4, "end"))
    return parts


def _text(said: str, x: float, y: float, anchor: str, size: int = 12) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{MUTED}">{said}</text>'
