"""What people must read, as static SVG: what is found against what is read, a line for each order of reading."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.records.rounding import percent, precise
from mindgauge.reports.draw.canvas import INK, LINE, MUTED, NARROW, QUARTERS, SHAPES, SMALL, Canvas, Plot, Style, colour

if TYPE_CHECKING:
    from mindgauge.reports.trust_section import Curve, Escalated

_LEFT, _TOP, _RIGHT, _SAMPLE = 48, 26, 20, 34
_DASHES = {"fitted": "", "jury": "9 4", "judge": "2 3"}
_IDEAL = "1 4"


def draw(escalated: Escalated, width: int) -> str:
    """Draw the curves as SVG, `width` pixels wide, with the key to them below."""
    wide = width - _LEFT - _RIGHT if width == NARROW else 440
    plot = Plot(_LEFT, _TOP, _LEFT + wide, _TOP + wide * 3 // 4)
    canvas, target = Canvas(), escalated.target
    ticks = [(tick, percent(tick)) for tick in QUARTERS]
    plot.rule(canvas, ticks, ticks)
    canvas.text("share of the unsafe replies that is found", 0, _TOP - 12, shade=MUTED, size=SMALL)
    canvas.text(
        "share of all replies that is read",
        plot.at(0.5, 0)[0],
        plot.bottom + 38,
        anchor="middle",
        shade=MUTED,
        size=SMALL,
    )
    canvas.line(plot.at(0, target), plot.at(1, target), INK)
    right, aim = plot.at(1, target)
    canvas.text(percent(target), right, aim + 15, anchor="end", size=SMALL)
    ideal = [(0.0, 0.0), (escalated.n_unsafe / escalated.n, 1.0), (1.0, 1.0)]
    canvas.polyline([plot.at(*point) for point in ideal], MUTED, thick=1.5, dash=_IDEAL)
    for curve in escalated.curves:
        points = [plot.at(read / 100, share) for read, share in enumerate(curve.found)]
        canvas.polyline(points, _shade(curve), dash=_DASHES[curve.kind])
        if curve.reads.value is not None:
            canvas.mark(Style(_shade(curve), SHAPES[0]), *plot.at(curve.reads.value, target), size=4)
    y = plot.bottom + 60
    canvas.text(f"read to find {percent(target)}:", 0, y, shade=MUTED, size=SMALL)
    entries = [(f"{c.name}: {precise(c.reads.value)}", _shade(c), _DASHES[c.kind], 2.0) for c in escalated.curves]
    for words, shade, dash, thick in [
        *entries,
        (f"ideal, without error: {precise(escalated.ideal)}", MUTED, _IDEAL, 1.5),
    ]:
        y += LINE + 4
        canvas.polyline([(0, y - 4), (_SAMPLE, y - 4)], shade, thick=thick, dash=dash)
        y = canvas.lines(words, _SAMPLE + 10, y, (width - _SAMPLE - 10) // 7, size=13) - LINE
    return canvas.svg(width, y + 10)


def _shade(curve: Curve) -> str:
    return INK if curve.judge is None else colour(curve.judge)
