"""How replies end, by method, as static SVG: stacked bars of shares, methods under each other, a bar for each system."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.english import words
from mindgauge.reports.charts import GREY, INK, MUTED, NARROW, PAPER, broken, colour
from mindgauge.reports.profile.canvas import LETTER, LINE, SMALL, Canvas
from mindgauge.rounding import percent

if TYPE_CHECKING:
    from mindgauge.reports.profile.picture import Bar, Outcomes

_THICK, _EACH, _GAP = 12, 17, 12
_SHADES = (1.0, 0.4, 0.0)
"""How strongly the system's colour fills the bar of each outcome, the worst first; the last is empty."""


def draw(picture: Outcomes, width: int) -> str:
    """Draw bars as SVG, `width` pixels wide."""
    narrow = width == NARROW
    left, right, letters = (0.0, 272.0, 40) if narrow else (200.0, 630.0, 26)
    canvas = Canvas()
    y = _key(canvas, picture, width) + 8
    for method in dict.fromkeys(bar.method for bar in picture.bars):
        bars = [bar for bar in picture.bars if bar.method == method]
        lines = broken(words(method), letters)
        deep = _EACH * len(bars)
        top = y + LINE * len(lines) + 2 if narrow else y
        first = y + 13 if narrow else y + max(deep - LINE * len(lines), 0) / 2 + 12.5
        canvas.lines(words(method), 0, first, letters)
        for number, bar in enumerate(bars):
            _bar(canvas, bar, left, right, top + _EACH * number)
        y = max(top + deep, y + LINE * len(lines)) + _GAP
    for tick in (0, 0.5, 1):
        anchor = "start" if tick == 0 else "end" if tick == 1 else "middle"
        canvas.text(percent(tick), left + tick * (right - left), y + 8, anchor=anchor, shade=MUTED, size=SMALL)
    return canvas.svg(width, y + 16)


def _bar(canvas: Canvas, bar: Bar, left: float, right: float, y: float) -> None:
    """Draw one bar, with the share of its worst outcome in words."""
    x, span = left, right - left
    for number, share in enumerate(bar.shares):
        wide = share * span
        if number >= len(_SHADES):
            canvas.box(x, y, wide, _THICK, GREY)
        elif wide:
            strong = _SHADES[number]
            canvas.box(x, y, wide, _THICK, colour(bar.system) if strong else PAPER, opacity=strong or 1)
        x += wide
    canvas.box(left, y, span, _THICK, "none", stroke=colour(bar.system))
    canvas.text(percent(bar.shares[0]), right + 8, y + 11, size=SMALL)


def _key(canvas: Canvas, picture: Outcomes, width: int) -> float:
    """Say what each filling means; return where that ends."""
    x, y = 0.0, 14.0
    for number, outcome in enumerate(picture.outcomes):
        said = words(outcome)
        wide = 30 + len(said) * LETTER
        if x and x + wide > width:
            x, y = 0.0, y + LINE + 3
        if number >= len(_SHADES):
            canvas.box(x, y - 10, 18, _THICK, GREY)
        else:
            strong = _SHADES[number]
            canvas.box(x, y - 10, 18, _THICK, INK if strong else PAPER, opacity=strong or 1)
            canvas.box(x, y - 10, 18, _THICK, "none", stroke=INK)
        canvas.text(said, x + 25, y, size=SMALL, shade=MUTED)
        x += wide + 12
    return y + 8
