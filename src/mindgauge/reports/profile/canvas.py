"""Lines, marks and words as SVG in pixels; colours are those that the style sheet knows."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from mindgauge.reports.charts import GREY, INK, MUTED, PAPER, broken, colour, shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.reports.content import System

SIZE, SMALL, LINE = 14, 12, 17
LETTER = 7.2
"""Pixels that a letter takes, at most on average."""
DASHES = ("", "9 4", "2 3", "9 4 2 4")

Point = tuple[float, float]


class Canvas:
    """Parts of a picture, the first drawn behind those that follow."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def text(
        self, said: str, x: float, y: float, *, anchor: str = "start", shade: str = INK, size: int = SIZE, bold: bool = False
    ) -> None:  # fmt: skip
        """Write words on the line `y`."""
        weight = ' font-weight="600"' if bold else ""
        place = f'x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{shade}"'
        self.parts.append(f"<text {place}{weight}>{escape(said)}</text>")

    def lines(self, said: str, x: float, y: float, letters: int, *, shade: str = INK, size: int = SIZE) -> float:
        """Write words in lines of about so many letters, the first on the line `y`; return the line after the last."""
        for line in broken(said, letters):
            self.text(line, x, y, shade=shade, size=size)
            y += LINE if size == SIZE else LINE - 2
        return y

    def line(self, start: Point, end: Point, shade: str = GREY, *, thick: float = 1, dash: str = "") -> None:
        """Draw a straight line."""
        ends = f'x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"'
        self.parts.append(f'<line {ends} stroke="{shade}" stroke-width="{thick:g}"{_dashed(dash)}/>')

    def polyline(self, points: Sequence[Point], shade: str, *, thick: float = 2, dash: str = "") -> None:
        """Draw a line through points."""
        drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(
            f'<polyline points="{drawn}" fill="none" stroke="{shade}" stroke-width="{thick:g}" stroke-linejoin="round"{_dashed(dash)}/>'
        )

    def area(self, rings: Sequence[Sequence[Point]], shade: str, opacity: float) -> None:
        """Fill what lies between closed lines."""
        drawn = "".join("M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in ring) + "Z" for ring in rings)
        self.parts.append(f'<path d="{drawn}" fill="{shade}" fill-rule="evenodd" fill-opacity="{opacity:g}"/>')

    def box(
        self, x: float, y: float, wide: float, high: float, fill: str, *, opacity: float = 1, stroke: str = ""
    ) -> None:
        """Draw a rectangle."""
        line = f' stroke="{stroke}"' if stroke else ""
        faint = f' fill-opacity="{opacity:g}"' if opacity < 1 else ""
        place = f'x="{x:.1f}" y="{y:.1f}" width="{max(wide, 0):.1f}" height="{high:.1f}"'
        self.parts.append(f'<rect {place} fill="{fill}"{faint}{line}/>')

    def mark(
        self, system: System, x: float, y: float, *, hollow: bool = False, size: float = 5, opacity: float = 1
    ) -> None:
        """Draw a system's point."""
        shade = colour(system)
        faint = f' fill-opacity="{opacity:g}"' if opacity < 1 else ""
        self.parts.append(
            f'<path d="{shape(system)}" transform="translate({x:.1f},{y:.1f}) scale({size:g})" '
            f'fill="{PAPER if hollow else shade}" stroke="{shade}" stroke-width="0.4"{faint}/>'
        )

    def svg(self, width: int, height: float) -> str:
        """Return the picture."""
        frame = f'width="{width}" height="{height:.0f}" viewBox="0 0 {width} {height:.0f}"'
        return f"<svg {frame}>{''.join(self.parts)}</svg>"


def key(canvas: Canvas, dashes: Sequence[tuple[str, str]], width: int, y: float) -> float:
    """Draw what kinds of line mean, beside each other as far as there is room; return where that ends."""
    x = 0.0
    for said, dash in dashes:
        wide = 44 + len(said) * LETTER
        if x and x + wide > width:
            x, y = 0.0, y + LINE + 3
        canvas.line((x, y - 4), (x + 32, y - 4), MUTED, thick=2, dash=dash)
        canvas.text(said, x + 38, y, size=SMALL, shade=MUTED)
        x += wide + 12
    return y + 8


def _dashed(dash: str) -> str:
    return f' stroke-dasharray="{dash}"' if dash else ""
