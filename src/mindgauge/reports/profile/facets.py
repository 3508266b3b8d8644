"""Small pictures of one shape beside and below each other, one for each system, each with its name above it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from mindgauge.reports.charts import NARROW
from mindgauge.reports.profile.canvas import LETTER, SIZE, Canvas

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.reports.content import System

_LEFT, _RIGHT, _NAME, _FOOT = 42, 14, 30, 44
_ALONE = 460
"""The width of a single one, at most."""


class Facet(NamedTuple):
    """Where a small picture stands, in pixels."""

    left: float
    top: float
    right: float
    bottom: float

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return where two shares of the way stand: to the right, and up."""
        return self.left + x * (self.right - self.left), self.bottom - y * (self.bottom - self.top)


def place(canvas: Canvas, systems: Sequence[System], width: int, shape: float) -> tuple[list[Facet], float]:
    """Write the names and return a place for each system, and where the last row ends.

    Args:
        canvas: to write on.
        systems: who is drawn.
        width: of the whole, in pixels.
        shape: height by width of one.
    """
    across = 1 if width == NARROW else 2 if len(systems) in {1, 2, 4} else 3
    each = width / across if len(systems) > 1 else min(width, _ALONE)
    wide = each - _LEFT - _RIGHT
    high = wide * shape
    step = _NAME + high + _FOOT
    facets = []
    for number, system in enumerate(systems):
        left, top = number % across * each, number // across * step
        canvas.mark(system, left + 8, top + 12)
        most = int((each - 30) / LETTER)
        label = system.label if len(system.label) <= most else f"{system.label[: most - 1]}…"
        canvas.text(label, left + 22, top + 17, size=SIZE)
        facets.append(Facet(left + _LEFT, top + _NAME, left + _LEFT + wide, top + _NAME + high))
    return facets, step * math.ceil(len(systems) / across)
