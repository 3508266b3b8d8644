"""Scores under noise as static SVG: score by intensity, a line for each kind of noise, a small picture for each system."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.reports.charts import MUTED, colour
from mindgauge.reports.profile.canvas import DASHES, SMALL, Canvas, key
from mindgauge.reports.profile.facets import Facet, place

if TYPE_CHECKING:
    from mindgauge.reports.profile.picture import Curves, Stretch

_TICKS = (0, 0.25, 0.5, 0.75, 1)
_ASIDE = 3
"""Pixels that the intervals of two lines stand apart."""


def draw(picture: Curves, width: int) -> str:
    """Draw curves as SVG, `width` pixels wide."""
    canvas = Canvas()
    kinds = list(dict.fromkeys(stretch.noise for stretch in picture.stretches))
    far = max((at for stretch in picture.stretches for at, _ in stretch.points), default=1.0)
    steps = sorted({at for stretch in picture.stretches for at, _ in stretch.points})
    facets, height = place(canvas, picture.systems, width, 0.66)
    for system, facet in zip(picture.systems, facets, strict=True):
        for tick in _TICKS:
            canvas.line(facet.at(0, tick), facet.at(1, tick))
            canvas.text(f"{tick:g}", facet.left - 7, facet.at(0, tick)[1] + 4, anchor="end", shade=MUTED, size=SMALL)
        for at in (0, *steps):
            x, y = facet.at(at / far, 0)
            canvas.text(f"{at:g}", x, y + 17, anchor="middle", shade=MUTED, size=SMALL)
        canvas.text("intensity", facet.at(0.5, 0)[0], facet.bottom + 33, anchor="middle", shade=MUTED, size=SMALL)
        start = next((spot for spot in picture.starts if spot.system.number == system.number), None)
        if start is not None and start.value is not None:
            canvas.line(facet.at(0, start.value), facet.at(1, start.value), MUTED, dash="1 4")
            canvas.mark(system, *facet.at(0, start.value), size=4)
        for stretch in picture.stretches:
            if stretch.system.number == system.number:
                before = [facet.at(0, start.value)] if start is not None and start.value is not None else []
                _stretch(canvas, stretch, facet, far, before, kinds.index(stretch.noise))
    foot = key(
        canvas,
        [(f"noise in {_NAMES.get(k, k)}", DASHES[i % len(DASHES)]) for i, k in enumerate(kinds)],
        width,
        height + 24,
    )
    return canvas.svg(width, foot + 4)


_NAMES = {"character": "characters", "word": "words, too", "sentence": "sentences, too"}
"""Each kind comes on top of those before it."""


def _stretch(
    canvas: Canvas, stretch: Stretch, facet: Facet, far: float, before: list[tuple[float, float]], number: int
) -> None:
    shade = colour(stretch.system)
    points = list(before)
    for at, spot in stretch.points:
        if spot.value is None:
            continue
        x, y = facet.at(at / far, spot.value)
        points.append((x, y))
        if spot.low is not None and spot.high is not None:
            aside = x + _ASIDE * (number - 1)
            canvas.line((aside, facet.at(0, spot.low)[1]), (aside, facet.at(0, spot.high)[1]), shade, thick=1.2)
        canvas.mark(stretch.system, x, y, size=3.4)
    canvas.polyline(points, shade, dash=DASHES[number % len(DASHES)])
