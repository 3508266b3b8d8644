"""Scores under noise as static SVG: score by intensity, a line for each kind of noise, a small picture for each system."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mindgauge.reports.draw.canvas import DASHES, MUTED, QUARTERS, Canvas, Plot, plots, style

if TYPE_CHECKING:
    from mindgauge.reports.draw.canvas import Coordinates
    from mindgauge.reports.draw.records import Curves, Series

_ASIDE = 3
"""Pixels that the intervals of two lines stand apart."""
_NAMES = {"character": "characters", "word": "words, too", "sentence": "sentences, too"}
"""Each kind comes on top of those before it."""


def draw(picture: Curves, width: int) -> str:
    """Draw curves as SVG, `width` pixels wide."""
    canvas = Canvas()
    kinds = list(dict.fromkeys(stretch.noise for stretch in picture.stretches))
    steps = sorted({intensity for stretch in picture.stretches for intensity, _ in stretch.points})
    far = max(steps, default=1.0)
    places, height = plots(canvas, picture.systems, width, 0.66)
    for system, plot in zip(picture.systems, places, strict=True):
        plot.rule(canvas, [], [(tick, f"{tick:g}") for tick in QUARTERS])
        plot.marks(canvas, [(intensity / far, f"{intensity:g}") for intensity in (0, *steps)])
        plot.title(canvas, "intensity", "score")
        start = next((spot.value for spot in picture.starts if spot.system.number == system.number), None)
        if start is not None:
            canvas.line(plot.at(0, start), plot.at(1, start), MUTED, dash="1 4")
            canvas.mark(style(system), *plot.at(0, start), size=4)
        for stretch in picture.stretches:
            if stretch.system.number == system.number:
                origin = [] if start is None else [plot.at(0, start)]
                _stretch(canvas, stretch, plot, far, origin, kinds.index(stretch.noise))
    entries = [
        (f"noise in {_NAMES.get(kind, kind)}", partial(_sample, canvas, DASHES[number % len(DASHES)]))
        for number, kind in enumerate(kinds)
    ]
    return canvas.svg(width, canvas.key(entries, 32, width, height + 24) + 4)


def _sample(canvas: Canvas, dash: str, x: float, y: float) -> None:
    canvas.line((x, y - 4), (x + 32, y - 4), MUTED, thick=2, dash=dash)


def _stretch(canvas: Canvas, stretch: Series, plot: Plot, far: float, origin: list[Coordinates], number: int) -> None:
    look, points = style(stretch.system), list(origin)
    for intensity, spot in stretch.points:
        if spot.value is None:
            continue
        x, y = plot.at(intensity / far, spot.value)
        points.append((x, y))
        if spot.low is not None and spot.high is not None:
            aside = x + _ASIDE * (number - 1)
            canvas.line((aside, plot.at(0, spot.low)[1]), (aside, plot.at(0, spot.high)[1]), look.shade, thick=1.2)
        canvas.mark(look, x, y, size=3.4)
    canvas.polyline(points, look.shade, dash=DASHES[number % len(DASHES)])
