"""How replies end, by method, as static SVG: stacked bars of shares, methods under each other, a bar for each system."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mindgauge.records.english import words
from mindgauge.records.rounding import percent
from mindgauge.reports.draw.canvas import (
    GREY,
    INK,
    LINE,
    MUTED,
    NARROW,
    PAPER,
    SMALL,
    Canvas,
    LinearAxis,
    broken,
    colour,
)

if TYPE_CHECKING:
    from mindgauge.reports.draw.records import Bar, Outcomes

_THICK, _EACH, _GAP = 12, 17, 12
_SHADES = (1.0, 0.4, 0.0)
"""How strongly the system's colour fills the bar of each outcome, the worst first; the last is empty."""


def draw(picture: Outcomes, width: int) -> str:
    """Draw bars as SVG, `width` pixels wide."""
    narrow = width == NARROW
    axis = LinearAxis(0, 1, *((0, 272) if narrow else (200, 630)))
    letters = 40 if narrow else 26
    canvas = Canvas()
    entries = [(words(outcome), partial(_sample, canvas, number)) for number, outcome in enumerate(picture.outcomes)]
    y = canvas.key(entries, 18, width, 14.0) + 8
    for method in dict.fromkeys(bar.method for bar in picture.bars):
        bars = [bar for bar in picture.bars if bar.method == method]
        high = LINE * len(broken(words(method), letters))
        deep = _EACH * len(bars)
        top = y + high + 2 if narrow else y
        canvas.lines(words(method), 0, y + 13 if narrow else y + max(deep - high, 0) / 2 + 12.5, letters)
        for number, bar in enumerate(bars):
            _bar(canvas, bar, axis, top + _EACH * number)
        y = max(top + deep, y + high) + _GAP
    for tick, anchor in ((0, "start"), (0.5, "middle"), (1, "end")):
        canvas.text(percent(tick), axis.at(tick), y + 8, anchor=anchor, shade=MUTED, size=SMALL)
    canvas.text("share of replies", axis.at(0.5), y + 26, anchor="middle", shade=MUTED, size=SMALL)
    return canvas.svg(width, y + 34)


def _bar(canvas: Canvas, bar: Bar, axis: LinearAxis, y: float) -> None:
    """Draw one bar, with the share of its worst outcome in words."""
    before = 0.0
    for number, share in enumerate(bar.shares):
        left = axis.at(before)
        before += share
        if share:
            _fill(canvas, number, colour(bar.system), left, y, axis.at(before) - left)
    canvas.box(axis.left, y, axis.right - axis.left, _THICK, "none", stroke=colour(bar.system))
    canvas.text(percent(bar.shares[0]), axis.right + 8, y + 11, size=SMALL)


def _fill(canvas: Canvas, outcome: int, shade: str, x: float, y: float, width: float) -> None:
    strong = _SHADES[outcome] if outcome < len(_SHADES) else 1.0
    fill = GREY if outcome >= len(_SHADES) else shade if strong else PAPER
    canvas.box(x, y, width, _THICK, fill, opacity=strong or 1)


def _sample(canvas: Canvas, outcome: int, x: float, y: float) -> None:
    _fill(canvas, outcome, INK, x, y - 10, 18)
    if outcome < len(_SHADES):
        canvas.box(x, y - 10, 18, _THICK, "none", stroke=INK)
