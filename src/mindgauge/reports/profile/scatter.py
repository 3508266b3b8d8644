"""The model's numbers against people's as static SVG, a small picture for each system; the diagonal is full agreement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.reports.charts import MUTED
from mindgauge.reports.profile.canvas import SMALL, Canvas
from mindgauge.reports.profile.facets import place
from mindgauge.rounding import decimal

if TYPE_CHECKING:
    from mindgauge.reports.profile.picture import Scatter


def draw(picture: Scatter, width: int) -> str:
    """Draw clouds as SVG, `width` pixels wide."""
    canvas = Canvas()
    low, high = picture.low, picture.high
    ticks = [low, (low + high) / 2, high]
    facets, height = place(canvas, picture.systems, width, 0.85)
    clouds = {cloud.system.number: cloud for cloud in picture.clouds}
    for system, facet in zip(picture.systems, facets, strict=True):
        cloud = clouds[system.number]
        for tick in ticks:
            share = (tick - low) / (high - low)
            canvas.line(facet.at(0, share), facet.at(1, share))
            canvas.line(facet.at(share, 0), facet.at(share, 1))
            said = decimal(tick, 0 if float(tick).is_integer() else 1)
            canvas.text(said, facet.left - 6, facet.at(0, share)[1] + 4, anchor="end", shade=MUTED, size=SMALL)
            canvas.text(said, facet.at(share, 0)[0], facet.bottom + 18, anchor="middle", shade=MUTED, size=SMALL)
        canvas.line(facet.at(0, 0), facet.at(1, 1), MUTED, dash="2 3")
        for people, model in cloud.points:
            x, y = facet.at((people - low) / (high - low), (model - low) / (high - low))
            canvas.mark(system, x, y, size=3.2, opacity=0.55)
        canvas.text(cloud.said, facet.left, facet.bottom + 36, shade=MUTED, size=SMALL)
    return canvas.svg(width, height + 4)
