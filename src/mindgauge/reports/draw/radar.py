"""The radar as static SVG: up to three systems on one circle, more on circles of their own; bands are intervals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from mindgauge.reports.draw.canvas import GREY, INK, NARROW, SIZE, SMALL, Canvas, broken, cut, style
from mindgauge.reports.draw.records import TOGETHER

if TYPE_CHECKING:
    from mindgauge.reports.content import System
    from mindgauge.reports.draw.canvas import Coordinates
    from mindgauge.reports.draw.records import DotRow, Radar

FEWEST = 3
"""With fewer axes there is no circle."""
_RINGS = (0.25, 0.5, 0.75, 1.0)


class _CircleLayout(NamedTuple):
    """One circle: the size of its place, its radius, and how long a line of an axis's label may be."""

    wide: int
    high: int
    radius: int
    letters: int
    size: int


_LARGE, _SMALL = _CircleLayout(680, 500, 196, 16, SIZE), _CircleLayout(320, 280, 72, 12, SMALL)


def draw(picture: Radar, width: int) -> str:
    """Draw a radar as SVG, `width` pixels wide."""
    systems, canvas = picture.systems, Canvas()
    separate = len(systems) > TOGETHER
    layout = _SMALL if separate or width == NARROW else _LARGE
    if not separate:
        _Circle(canvas, picture.rows, layout, (layout.wide / 2, layout.high / 2)).draw(systems)
        return canvas.svg(width, layout.high)
    across = 1 if width == NARROW else 2
    step = layout.high + 26
    for number, system in enumerate(systems):
        edge, top = number % across * (width / across), number // across * step
        canvas.mark(style(system), edge + 8, top + 12)
        canvas.text(cut(system.label, 38), edge + 22, top + 17)
        centre = (edge + width / across / 2, top + 26 + layout.high / 2)
        _Circle(canvas, picture.rows, layout, centre).draw([system])
    return canvas.svg(width, step * math.ceil(len(systems) / across))


class _Circle(NamedTuple):
    """A circle with an axis for each row."""

    canvas: Canvas
    rows: list[DotRow]
    layout: _CircleLayout
    centre: Coordinates

    def place(self, axis: int, value: float, offset: float = 0.0) -> Coordinates:
        """Return where a value stands on an axis, or so many pixels beyond."""
        angle = 2 * math.pi * axis / len(self.rows) - math.pi / 2
        far = self.layout.radius * min(max(value, 0.0), 1.0) + offset
        return self.centre[0] + far * math.cos(angle), self.centre[1] + far * math.sin(angle)

    def draw(self, systems: list[System]) -> None:
        """Draw the rings and axes, and the systems over them."""
        for ring in _RINGS:
            points = [self.place(axis, ring) for axis in range(len(self.rows))]
            self.canvas.polyline([*points, points[0]], GREY, thick=1)
        for axis, row in enumerate(self.rows):
            self.canvas.line(self.centre, self.place(axis, 1.0), GREY)
            self._label(row.label, self.place(axis, 1.0, 12))
        for system in systems:
            self._system(system)
        for ring in (0.5, 1.0) if self.layout is _LARGE else (1.0,):
            x, y = self.place(0, ring)
            self.canvas.small(f"{ring:g}", x + 5, y + 13)

    def _label(self, label: str, spot: Coordinates) -> None:
        (x, y), (middle, centre) = spot, self.centre
        lines = broken(label, self.layout.letters)
        anchor = "middle" if abs(x - middle) < 8 else "start" if x > middle else "end"
        deep, edge = 15 * len(lines), self.layout.radius * 0.9
        first = y - deep + 12 if y < centre - edge else y + 8 if y > centre + edge else y - deep / 2 + 11
        for number, line in enumerate(lines):
            self.canvas.text(line, x, first + 15 * number, anchor=anchor, shade=INK, size=self.layout.size)

    def _system(self, system: System) -> None:
        """Draw a band and a line around, both with gaps where there is no value."""
        values: dict[int, float] = {}
        bounds: dict[int, tuple[float, float]] = {}
        for axis, row in enumerate(self.rows):
            for spot in row.spots:
                if spot.system.number == system.number and spot.value is not None:
                    values[axis] = spot.value
                    if spot.low is not None and spot.high is not None:
                        bounds[axis] = (spot.low, spot.high)
        look, axes = style(system), len(self.rows)
        for run in _runs([axis in bounds for axis in range(axes)]):
            low = [self.place(axis, bounds[axis][0]) for axis in run]
            high = [self.place(axis, bounds[axis][1]) for axis in run]
            self.canvas.area([low, high] if len(run) == axes else [[*high, *reversed(low)]], look.shade, 0.16)
        for run in _runs([axis in values for axis in range(axes)]):
            points = [self.place(axis, values[axis]) for axis in run]
            self.canvas.polyline([*points, points[0]] if len(run) == axes else points, look.shade)
        for axis, value in values.items():
            self.canvas.mark(look, *self.place(axis, value), hollow=axis not in bounds, size=4)


def _runs(has_value: list[bool]) -> list[list[int]]:
    """Return the stretches of axes that have values, around the circle."""
    axes = len(has_value)
    if all(has_value):
        return [list(range(axes))]
    runs = []
    for start in (axis for axis in range(axes) if has_value[axis] and not has_value[axis - 1]):
        run = [start]
        while has_value[(run[-1] + 1) % axes]:
            run.append((run[-1] + 1) % axes)
        runs.append(run)
    return runs
