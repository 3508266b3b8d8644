"""The model's numbers against people's as static SVG, a small picture for each system; the diagonal is full agreement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.records.rounding import decimal
from mindgauge.reports.draw.canvas import MUTED, SMALL, Canvas, plots, style

if TYPE_CHECKING:
    from mindgauge.reports.draw.records import Scatter


def draw(picture: Scatter, width: int) -> str:
    """Draw clouds as SVG, `width` pixels wide."""
    canvas, span = Canvas(), picture.high - picture.low
    ticks = [
        (share, decimal(value, 0 if value.is_integer() else 1))
        for share in (0, 0.5, 1)
        for value in [picture.low + share * span]
    ]
    places, height = plots(canvas, picture.systems, width, 0.85, foot=66)
    clouds = {cloud.system.number: cloud for cloud in picture.clouds}
    for system, plot in zip(picture.systems, places, strict=True):
        plot.rule(canvas, ticks, ticks)
        plot.title(canvas, picture.across, "model")
        canvas.line(plot.at(0, 0), plot.at(1, 1), MUTED, dash="2 3")
        for people, model in clouds[system.number].points:
            x, y = plot.at((people - picture.low) / span, (model - picture.low) / span)
            canvas.mark(style(system), x, y, size=3.2, opacity=0.55)
        canvas.text(clouds[system.number].said, plot.left, plot.bottom + 54, shade=MUTED, size=SMALL)
    return canvas.svg(width, height)
