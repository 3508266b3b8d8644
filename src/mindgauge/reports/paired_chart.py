"""Systems on one measure as static SVG: dots with intervals and, beside them, the ranks that each may have."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, NamedTuple

from mindgauge.reports.charts import GREY, INK, MUTED, NARROW, PAPER, SHAPES, broken, colour, shape
from mindgauge.rounding import percent

if TYPE_CHECKING:
    from mindgauge.reports.compared_section import Contrast, Place

_SIZE, _SMALL, _LINE = 14, 12, 17
_TOP, _GAP = 30, 18


class Layout(NamedTuple):
    """Where columns stand, in pixels: values and ranks, names under `letters` long, above their row if `above`."""

    values: tuple[int, int]
    ranks: tuple[int, int]
    end: int
    letters: int
    above: bool


_WIDE, _NARROW = (
    Layout((222, 478), (520, 620), 680, 26, above=False),
    Layout((14, 176), (206, 276), 320, 36, above=True),
)


def draw(contrast: Contrast, width: int) -> str:
    """Draw a contrast as SVG, `width` pixels wide."""
    drawing = _Drawing(contrast, _NARROW if width == NARROW else _WIDE)
    for place in contrast.places:
        drawing.row(place)
    return drawing.svg(width)


class _Drawing:
    """Rows from the top down; `y` is the lower edge of the last one."""

    def __init__(self, contrast: Contrast, layout: Layout) -> None:
        self.contrast, self.layout = contrast, layout
        self.valued = any(place.value is not None for place in contrast.places)
        self.ranked = any(place.rank_low is not None for place in contrast.places)
        self.y = float(_TOP if self.ranked else 6)
        self.parts: list[str] = []

    def row(self, place: Place) -> None:
        """Draw a system's name, its value with the interval, and its ranks."""
        lines = broken(place.label, self.layout.letters)
        shade, ink = (colour(place.system), INK) if place.system else (MUTED, MUTED)
        depth = _LINE * len(lines)
        top = self.y + _GAP / 2
        middle = top + depth + 9 if self.layout.above else top + max(depth, _LINE) / 2
        for number, line in enumerate(lines):
            self._text(line, 0, top + _LINE * number + 12.5, "start", ink, _SIZE)
        if place.value is not None:
            path = shape(place.system) if place.system else SHAPES[0]
            if place.low is not None and place.high is not None:
                self._line(self._x(place.low), middle, self._x(place.high), shade, 2)
            fill = shade if place.system and place.low is not None else PAPER
            self.parts.append(
                f'<path d="{path}" transform="translate({self._x(place.value):.1f},{middle:.1f}) scale(5)" fill="{fill}" stroke="{shade}" '
                'stroke-width="0.4"/>'
            )
        self._ranks(place, middle, shade, ink)
        self.y = (middle + 9 if self.layout.above else top + max(depth, _LINE)) + _GAP / 2

    def _ranks(self, place: Place, middle: float, shade: str, ink: str) -> None:
        if place.rank_low is None or place.rank_high is None:
            return
        left, right = self.layout.ranks
        step = (right - left) / max(len(self.contrast.places) - 1, 1)
        self._line(left, middle, right, GREY, 1)
        low, high = (left + step * (rank - 1) for rank in (place.rank_low, place.rank_high))
        self._line(low - 3, middle, high + 3, shade, 6)
        said = f"{place.rank_low}" if place.rank_low == place.rank_high else f"{place.rank_low}–{place.rank_high}"
        self._text(said, self.layout.end, middle + 5, "end", ink, _SIZE)

    def _x(self, value: float) -> float:
        left, right = self.layout.values
        low, high = self.contrast.low, self.contrast.high
        return left + (min(max(value, low), high) - low) / (high - low) * (right - left)

    def svg(self, width: int) -> str:
        """Return the picture, with the grid behind it."""
        rows, bottom = self.parts, self.y
        self.parts = []
        if self.ranked:
            self._text(f"possible ranks of {len(self.contrast.places)}", self.layout.end, 14, "end", MUTED, _SMALL)
        height = bottom + 24 if self.valued else bottom + 4
        for tick in self._ticks() if self.valued else ():
            x = self._x(tick)
            self.parts.append(f'<line x1="{x:.1f}" y1="{_TOP - 6}" x2="{x:.1f}" y2="{bottom:.1f}" stroke="{GREY}"/>')
            said = percent(tick) if self.contrast.unit == "share" else f"{tick:g}"
            self._text(said, x, bottom + 18, "middle", MUTED, _SMALL)
        frame = f'width="{width}" height="{height:g}" viewBox="0 0 {width} {height:g}"'
        return f"<svg {frame}>{''.join(self.parts + rows)}</svg>"

    def _ticks(self) -> list[float]:
        if self.contrast.unit == "share":
            return [0, 0.5, 1] if self.layout.above else [0, 0.25, 0.5, 0.75, 1]
        low, high = int(self.contrast.low), int(self.contrast.high)
        step = max(1, (high - low) // 5)
        return [float(tick) for tick in range(low, high + 1, step)]

    def _line(self, x1: float, y: float, x2: float, shade: str, thick: int) -> None:
        self.parts.append(
            f'<line x1="{x1:.1f}" y1="{y:.1f}" x2="{x2:.1f}" y2="{y:.1f}" stroke="{shade}" stroke-width="{thick}"/>'
        )

    def _text(self, said: str, x: float, y: float, anchor: str, shade: str, size: int) -> None:
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{shade}">{escape(said)}</text>'
        )
