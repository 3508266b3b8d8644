"""Dots with intervals as static SVG: a row for each thing, in it a line for each system, all on one axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mindgauge.reports.charts import GREY, INK, MUTED, NARROW, broken, colour
from mindgauge.reports.profile.canvas import LINE, SMALL, Canvas
from mindgauge.rounding import decimal, percent

if TYPE_CHECKING:
    from mindgauge.reports.profile.picture import Dots, Row, Spot

_EACH, _GAP, _HEAD = 15, 14, 26


class Layout(NamedTuple):
    """Where the axis begins and ends, in pixels; labels are `letters` long and stand above their row if `above`."""

    left: float
    right: float
    letters: int
    above: bool


_WIDE, _NARROW = Layout(228, 664, 29, above=False), Layout(12, 306, 40, above=True)


def draw(picture: Dots, width: int) -> str:
    """Draw dots as SVG, `width` pixels wide."""
    drawing = _Drawing(picture, _NARROW if width == NARROW else _WIDE)
    for row in picture.rows:
        drawing.row(row)
    return drawing.svg(width)


class _Drawing:
    """Rows from the top down; `y` is the lower edge of the last one."""

    def __init__(self, picture: Dots, layout: Layout) -> None:
        self.picture, self.layout = picture, layout
        self.canvas = Canvas()
        self.y = 6.0
        self.grid: list[tuple[float, float]] = []

    def x(self, value: float) -> float:
        """Return where a value stands; what lies beyond the axis stands at its end."""
        low, high = self.picture.low, self.picture.high
        share = (min(max(value, low), high) - low) / (high - low)
        return self.layout.left + share * (self.layout.right - self.layout.left)

    def row(self, row: Row) -> None:
        """Draw a row: its label, what lies behind the dots, and a line for each system."""
        if row.head:
            self.y += _HEAD
            self.canvas.text(row.head, 0, self.y - 8, bold=True)
        label, note = broken(row.label, self.layout.letters), broken(row.note, self.layout.letters + 5)
        words = LINE * len(label) + (LINE - 2) * len(note if row.note else [])
        marks = _EACH * len(row.spots)
        if self.layout.above:
            first, top, depth = self.y + 16, self.y + words + 6, words + marks + 6
        else:
            depth = max(words, marks)
            first, top = self.y + (depth - words) / 2 + 13, self.y + (depth - marks) / 2
        after = self.canvas.lines(row.label, 0, first, self.layout.letters)
        if row.note:
            self.canvas.lines(row.note, 0, after - 1, self.layout.letters + 5, shade=MUTED, size=SMALL)
        self.grid.append((top - 4, top + marks + 4) if self.layout.above else (self.y - 2, self.y + depth + _GAP - 2))
        self._behind(row, top, marks)
        for number, spot in enumerate(row.spots):
            self._spot(spot, top + _EACH * (number + 0.5))
        self.y += depth + _GAP

    def _behind(self, row: Row, top: float, marks: float) -> None:
        """Draw what guessing and what people would give."""
        if row.people is not None:
            value, low, high = row.people
            if low is not None and high is not None:
                self.canvas.box(self.x(low), top, self.x(high) - self.x(low), marks, GREY)
            self.canvas.line((self.x(value), top - 3), (self.x(value), top + marks + 3), INK, thick=2)
        if row.chance is not None:
            at = self.x(row.chance)
            self.canvas.line((at, top - 3), (at, top + marks + 3), MUTED, thick=1.5, dash="2 3")

    def _spot(self, spot: Spot, y: float) -> None:
        if spot.floor is not None:
            self.canvas.box(self.x(-spot.floor), y - 6, self.x(spot.floor) - self.x(-spot.floor), 12, GREY)
        if spot.value is None:
            self.canvas.text(spot.why or "no value", self.layout.left + 4, y + 4, size=SMALL, shade=MUTED)
            return
        if spot.low is not None and spot.high is not None:
            self.canvas.line((self.x(spot.low), y), (self.x(spot.high), y), colour(spot.system), thick=2)
        self.canvas.mark(spot.system, self.x(spot.value), y, hollow=spot.low is None)

    def svg(self, width: int) -> str:
        """Return the picture, with the grid behind it and the axis below."""
        back, bottom = Canvas(), self.y
        for tick in self._ticks():
            for top, end in self.grid:
                strong = self.picture.signed and not tick
                back.line((self.x(tick), top), (self.x(tick), end), MUTED if strong else GREY)
            plus = "+" if tick > 0 and self.picture.signed else ""
            said = percent(tick) if self.picture.share else f"{plus}{decimal(tick, 2)}"
            self.canvas.text(said, self.x(tick), bottom + 14, anchor="middle", shade=MUTED, size=SMALL)
        low, high = self.picture.ends
        self.canvas.text(low, self.layout.left - 10, bottom + 32, shade=MUTED, size=SMALL)
        self.canvas.text(high, self.layout.right + 10, bottom + 32, anchor="end", shade=MUTED, size=SMALL)
        self.canvas.parts = back.parts + self.canvas.parts
        return self.canvas.svg(width, bottom + 40)

    def _ticks(self) -> list[float]:
        low, high = self.picture.low, self.picture.high
        return [low + (high - low) * step / 4 for step in range(5)]
