"""Plots on two axes as static SVG: scores under noise, reliability diagrams, what people must read, a model's numbers against people's."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from mindgauge.benchmarks.metrics.metric_sentences import FEW
from mindgauge.records.rounding import count, decimal, percent, precise
from mindgauge.reports.draw import canvas as svg
from mindgauge.reports.draw.records import TOGETHER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.raters.classifiers.calibration import Bin
    from mindgauge.reports.content import System
    from mindgauge.reports.draw.canvas import Coordinates
    from mindgauge.reports.draw.records import Curves, DotRow, Radar, Scatter, Series
    from mindgauge.reports.sections import CalibrationSection, Curve, Escalated


_ASIDE = 3
"""Pixels that the intervals of two lines stand apart."""
_NAMES = {"character": "characters", "word": "words, too", "sentence": "sentences, too"}
"""Each kind comes on top of those before it."""


def draw_curves(picture: Curves, width: int) -> str:
    """Draw curves as SVG, `width` pixels wide."""
    canvas = svg.Canvas()
    kinds = list(dict.fromkeys(stretch.noise for stretch in picture.stretches))
    steps = sorted({intensity for stretch in picture.stretches for intensity, _ in stretch.points})
    far = max(steps, default=1.0)
    places, height = svg.plots(canvas, picture.systems, width, 0.66)
    for system, plot in zip(picture.systems, places, strict=True):
        plot.rule(canvas, [], [(tick, f"{tick:g}") for tick in svg.QUARTERS])
        plot.marks(canvas, [(intensity / far, f"{intensity:g}") for intensity in (0, *steps)])
        plot.title(canvas, "intensity", "score")
        start = next((spot.value for spot in picture.starts if spot.system.number == system.number), None)
        if start is not None:
            canvas.line(plot.at(0, start), plot.at(1, start), svg.MUTED, dash="1 4")
            canvas.mark(svg.style(system), *plot.at(0, start), size=4)
        for stretch in picture.stretches:
            if stretch.system.number == system.number:
                origin = [] if start is None else [plot.at(0, start)]
                _stretch(canvas, stretch, plot, far, origin, kinds.index(stretch.noise))
    entries = [
        (f"noise in {_NAMES.get(kind, kind)}", partial(_sample, canvas, svg.DASHES[number % len(svg.DASHES)]))
        for number, kind in enumerate(kinds)
    ]
    return canvas.svg(width, canvas.key(entries, 32, width, height + 24) + 4)


def _sample(canvas: svg.Canvas, dash: str, x: float, y: float) -> None:
    canvas.line((x, y - 4), (x + 32, y - 4), svg.MUTED, thick=2, dash=dash)


def _stretch(
    canvas: svg.Canvas, stretch: Series, plot: svg.Plot, far: float, origin: list[Coordinates], number: int
) -> None:
    look, points = svg.style(stretch.system), list(origin)
    for intensity, spot in stretch.points:
        if spot.value is None:
            continue
        x, y = plot.at(intensity / far, spot.value)
        points.append((x, y))
        if spot.low is not None and spot.high is not None:
            aside = x + _ASIDE * (number - 1)
            canvas.line((aside, plot.at(0, spot.low)[1]), (aside, plot.at(0, spot.high)[1]), look.shade, thick=1.2)
        canvas.mark(look, x, y, size=3.4)
    canvas.polyline(points, look.shade, dash=svg.DASHES[number % len(svg.DASHES)])


_ESCALATION_LEFT, _TOP, _RIGHT, _SAMPLE = 48, 26, 20, 34
_DASHES = {"fitted": "", "jury": "9 4", "judge": "2 3"}
_IDEAL = "1 4"


def draw_escalation(escalated: Escalated, width: int) -> str:
    """Draw the curves as SVG, `width` pixels wide, with the key to them below."""
    wide = width - _ESCALATION_LEFT - _RIGHT if width == svg.NARROW else 440
    plot = svg.Plot(_ESCALATION_LEFT, _TOP, _ESCALATION_LEFT + wide, _TOP + wide * 3 // 4)
    canvas, target = svg.Canvas(), escalated.target
    ticks = [(tick, percent(tick)) for tick in svg.QUARTERS]
    plot.rule(canvas, ticks, ticks)
    canvas.small("share of the unsafe replies that is found", 0, _TOP - 12)
    canvas.small("share of all replies that is read", plot.at(0.5, 0)[0], plot.bottom + 38, anchor="middle")
    canvas.line(plot.at(0, target), plot.at(1, target), svg.INK)
    right, aim = plot.at(1, target)
    canvas.text(percent(target), right, aim + 15, anchor="end", size=svg.SMALL)
    ideal = [(0.0, 0.0), (escalated.n_unsafe / escalated.n, 1.0), (1.0, 1.0)]
    canvas.polyline([plot.at(*point) for point in ideal], svg.MUTED, thick=1.5, dash=_IDEAL)
    for curve in escalated.curves:
        points = [plot.at(read / 100, share) for read, share in enumerate(curve.found)]
        canvas.polyline(points, _shade(curve), dash=_DASHES[curve.kind])
        if curve.reads.value is not None:
            canvas.mark(svg.Style(_shade(curve), svg.SHAPES[0]), *plot.at(curve.reads.value, target), size=4)
    y = plot.bottom + 60
    canvas.small(f"read to find {percent(target)}:", 0, y)
    entries = [(f"{c.name}: {precise(c.reads.value)}", _shade(c), _DASHES[c.kind], 2.0) for c in escalated.curves]
    for words, shade, dash, thick in [
        *entries,
        (f"ideal, without error: {precise(escalated.ideal)}", svg.MUTED, _IDEAL, 1.5),
    ]:
        y += svg.LINE + 4
        canvas.polyline([(0, y - 4), (_SAMPLE, y - 4)], shade, thick=thick, dash=dash)
        y = canvas.lines(words, _SAMPLE + 10, y, (width - _SAMPLE - 10) // 7, size=13) - svg.LINE
    return canvas.svg(width, y + 10)


def _shade(curve: Curve) -> str:
    return svg.INK if curve.judge is None else svg.colour(curve.judge)


_CALIBRATION_LEFT, _GAP, _BARS = 48, 34, 40


def draw_calibration(calibration: CalibrationSection, width: int) -> str:
    """Draw a classifier's diagram as SVG, `width` pixels wide; the square is smaller where there is room beside it."""
    side = width - _CALIBRATION_LEFT - 20 if width == svg.NARROW else 340
    canvas = svg.Canvas()
    foot = _diagram(
        canvas, calibration.calibrated.by_bin.bins, svg.style(calibration.system), (_CALIBRATION_LEFT, 30, side)
    )
    return canvas.svg(width, foot)


def _diagram(canvas: svg.Canvas, bins: Sequence[Bin], look: svg.Style, place: tuple[float, float, float]) -> float:
    """Draw the share right of each bin with its interval, above how many are in it; return where that ends.

    Args:
        canvas: to draw on.
        bins: of equal width, from 0 to 1.
        look: of the points.
        place: the left edge, the upper edge and the side of the square.
    """
    edge, top, side = place
    plot = svg.Plot(edge, top, edge + side, top + side)
    right = svg.LinearAxis(0, 1, plot.bottom, plot.top)
    foot = plot.bottom + _GAP + _BARS
    plot.rule(canvas, [(tick, "") for tick in svg.QUARTERS], [(tick, percent(tick)) for tick in svg.QUARTERS])
    canvas.line(plot.at(0, 0), plot.at(1, 1), svg.MUTED, thick=1.5, dash="2 3")
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
        canvas.box(bar + 1, foot - high, wide - 2, high, svg.GREY)
        canvas.text(count(b.n), bar + wide / 2, foot - high - 4, anchor="middle", shade=svg.MUTED, size=11)
    for tick in svg.QUARTERS:
        canvas.small(percent(tick), plot.at(tick, 0)[0], foot + 18, anchor="middle")
    canvas.small("probability of the label", edge + side / 2, foot + 38, anchor="middle")
    canvas.small("share right", edge - 42, top - 14)
    canvas.small("n", edge - 8, foot - 4, anchor="end")
    return foot + 46


def draw_scatter(picture: Scatter, width: int) -> str:
    """Draw clouds as SVG, `width` pixels wide."""
    canvas, span = svg.Canvas(), picture.high - picture.low
    ticks = [
        (share, decimal(value, 0 if value.is_integer() else 1))
        for share in (0, 0.5, 1)
        for value in [picture.low + share * span]
    ]
    places, height = svg.plots(canvas, picture.systems, width, 0.85, foot=66)
    clouds = {cloud.system.number: cloud for cloud in picture.clouds}
    for system, plot in zip(picture.systems, places, strict=True):
        plot.rule(canvas, ticks, ticks)
        plot.title(canvas, picture.across, "model")
        canvas.line(plot.at(0, 0), plot.at(1, 1), svg.MUTED, dash="2 3")
        for people, model in clouds[system.number].points:
            x, y = plot.at((people - picture.low) / span, (model - picture.low) / span)
            canvas.mark(svg.style(system), x, y, size=3.2, opacity=0.55)
        canvas.small(clouds[system.number].said, plot.left, plot.bottom + 54)
    return canvas.svg(width, height)


FEWEST = 3
"""With fewer axes there is no circle."""
_RINGS = (0.25, 0.5, 0.75, 1.0)


_LARGE, _SMALL = (680, 500, 196, 16, svg.SIZE), (320, 280, 72, 12, svg.SMALL)
"""Circles: the size of the place, the radius, how long a line of an axis's label may be, and its letters."""


def draw(picture: Radar, width: int) -> str:
    """Draw a radar as SVG, `width` pixels wide."""
    systems, canvas = picture.systems, svg.Canvas()
    separate = len(systems) > TOGETHER
    layout = _SMALL if separate or width == svg.NARROW else _LARGE
    wide, high, *_ = layout
    if not separate:
        _Circle(canvas, picture.rows, layout, (wide / 2, high / 2)).draw(systems)
        return canvas.svg(width, high)
    across = 1 if width == svg.NARROW else 2
    step = high + 26
    for number, system in enumerate(systems):
        edge, top = number % across * (width / across), number // across * step
        canvas.mark(svg.style(system), edge + 8, top + 12)
        canvas.text(svg.cut(system.label, 38), edge + 22, top + 17)
        centre = (edge + width / across / 2, top + 26 + high / 2)
        _Circle(canvas, picture.rows, layout, centre).draw([system])
    return canvas.svg(width, step * math.ceil(len(systems) / across))


class _Circle:
    """A circle with an axis for each row."""

    def __init__(
        self, canvas: svg.Canvas, rows: list[DotRow], layout: tuple[int, int, int, int, int], centre: Coordinates
    ) -> None:
        self.canvas, self.rows, self.centre = canvas, rows, centre
        *_, self.radius, self.letters, self.size = layout

    def place(self, axis: int, value: float, offset: float = 0.0) -> Coordinates:
        """Return where a value stands on an axis, or so many pixels beyond."""
        angle = 2 * math.pi * axis / len(self.rows) - math.pi / 2
        far = self.radius * min(max(value, 0.0), 1.0) + offset
        return self.centre[0] + far * math.cos(angle), self.centre[1] + far * math.sin(angle)

    def draw(self, systems: list[System]) -> None:
        """Draw the rings and axes, and the systems over them."""
        for ring in _RINGS:
            points = [self.place(axis, ring) for axis in range(len(self.rows))]
            self.canvas.polyline([*points, points[0]], svg.GREY, thick=1)
        for axis, row in enumerate(self.rows):
            self.canvas.line(self.centre, self.place(axis, 1.0), svg.GREY)
            self._label(row.label, self.place(axis, 1.0, 12))
        for system in systems:
            self._system(system)
        for ring in (0.5, 1.0) if self.size == svg.SIZE else (1.0,):
            x, y = self.place(0, ring)
            self.canvas.small(f"{ring:g}", x + 5, y + 13)

    def _label(self, label: str, spot: Coordinates) -> None:
        (x, y), (middle, centre) = spot, self.centre
        lines = svg.broken(label, self.letters)
        anchor = "middle" if abs(x - middle) < 8 else "start" if x > middle else "end"
        deep, edge = 15 * len(lines), self.radius * 0.9
        first = y - deep + 12 if y < centre - edge else y + 8 if y > centre + edge else y - deep / 2 + 11
        for number, line in enumerate(lines):
            self.canvas.text(line, x, first + 15 * number, anchor=anchor, shade=svg.INK, size=self.size)

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
        look, axes = svg.style(system), len(self.rows)
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
