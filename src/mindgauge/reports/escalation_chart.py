"""What people must read, as static SVG: what is found against what is read, a line for each order of reading."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from mindgauge.reports.charts import GREY, INK, MUTED, NARROW, broken, colour
from mindgauge.rounding import percent, precise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.reports.trust_section import Curve, Escalated

_LEFT, _TOP, _RIGHT = 48, 26, 14
_TICKS = (0, 0.25, 0.5, 0.75, 1)
_SAMPLE, _LINE = 34, 18
_DASHES = {"fitted": "", "jury": "9 4", "judge": "2 3"}
_LETTER = 7
"""Pixels that a letter takes, at most."""


def draw(found: Escalated, width: int) -> str:
    """Draw the curves as SVG, `width` pixels wide, with the key to them below."""
    wide = width - _LEFT - _RIGHT if width == NARROW else 440
    high = wide * 3 // 4
    bottom = _TOP + high

    def x(share: float) -> float:
        return _LEFT + share * wide

    def y(share: float) -> float:
        return bottom - share * high

    parts = [_text("share of the unsafe replies that is found", 0, _TOP - 12, "start")]
    for tick in _TICKS:
        parts.append(f'<line x1="{_LEFT}" x2="{x(1):.1f}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" stroke="{GREY}"/>')
        parts.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{_TOP}" y2="{bottom}" stroke="{GREY}"/>')
        parts.append(_text(percent(tick), _LEFT - 8, y(tick) + 4, "end"))
        parts.append(_text(percent(tick), x(tick), bottom + 18, "middle"))
    parts.append(_text("share of all replies that is read", x(0.5), bottom + 38, "middle"))
    aim = y(found.target)
    parts.append(f'<line x1="{_LEFT}" x2="{x(1):.1f}" y1="{aim:.1f}" y2="{aim:.1f}" stroke="{INK}" stroke-width="1"/>')
    parts.append(_text(percent(found.target), x(1), aim + 15, "end", INK))
    ideal = [(0.0, 0.0), (found.n_unsafe / found.n, 1.0), (1.0, 1.0)]
    parts.append(_path([(x(read), y(share)) for read, share in ideal], MUTED, "1 4", 1.5))
    for curve in found.curves:
        points = [(x(read / 100), y(share)) for read, share in enumerate(curve.found)]
        parts.append(_path(points, _shade(curve), _DASHES[curve.kind], 2))
        if curve.reads.value is not None:
            parts.append(f'<circle cx="{x(curve.reads.value):.1f}" cy="{aim:.1f}" r="4" fill="{_shade(curve)}"/>')
    key, foot = _key(found, width, bottom + 60)
    parts += key
    return f'<svg width="{width}" height="{foot}" viewBox="0 0 {width} {foot}">{"".join(parts)}</svg>'


def _key(found: Escalated, width: int, top: int) -> tuple[list[str], int]:
    """Draw each line's name and what it reads; return where that ends."""
    lines = [(f"{c.name}: {precise(c.reads.value)}", _shade(c), _DASHES[c.kind], 2.0) for c in found.curves]
    lines.append((f"ideal, without error: {precise(found.ideal)}", MUTED, "1 4", 1.5))
    parts = [_text(f"read to find {percent(found.target)}:", 0, top, "start")]
    for said, shade, dash, thick in lines:
        top += _LINE + 4
        parts.append(_path([(0, top - 4), (_SAMPLE, top - 4)], shade, dash, thick))
        for number, part in enumerate(broken(said, (width - _SAMPLE - 10) // _LETTER)):
            top += _LINE if number else 0
            parts.append(_text(part, _SAMPLE + 10, top, "start", INK, 13))
    return parts, top + 10


def _shade(curve: Curve) -> str:
    return INK if curve.judge is None else colour(curve.judge)


def _path(points: Sequence[tuple[float, float]], shade: str, dash: str, thick: float) -> str:
    drawn = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<polyline points="{drawn}" fill="none" stroke="{shade}" stroke-width="{thick:g}"{dashes}/>'


def _text(said: str, x: float, y: float, anchor: str, shade: str = MUTED, size: int = 12) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{shade}"'
    return f"<text {place}>{escape(said)}</text>"
