"""How fast a person works, what weight they have had before them, and whether a pause is due."""

from __future__ import annotations

import math
import statistics
import time
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import func, select

from mindgauge.annotation import schema

if TYPE_CHECKING:
    from sqlalchemy import Connection

LONGEST = 86_400.0
"""Seconds that one item can count; more means that a page was left open."""
_RECENT = 20
"""Items whose median is the pace."""
_FEWEST = 3
_BREAK = 300.0
"""Seconds without an item after which a person has had a pause."""
_STRETCH = 45 * 60.0
_STRETCH_ITEMS = 400
"""Items looked back at: nobody does more in one stretch."""
_HEAVY = 10
"""Distressing items in one stretch after which a pause is due; both limits are our own."""


class Pace(NamedTuple):
    """A person's own. `seconds` is None until a few items are done."""

    seconds: float | None
    distressing: int
    pause: bool

    def left(self, items: int) -> float | None:
        """Return the seconds that so many items will take."""
        return None if self.seconds is None else self.seconds * items


def of(c: Connection, person: str, moment: float | None = None) -> Pace:
    """Return a person's pace over all that they have finished."""
    t, i = schema.tasks.c, schema.items.c
    finished = (t.person == person, t.state == "done", t.at.is_not(None))
    heavy_ones = (
        select(func.count()).select_from(schema.tasks).join(schema.items).where(*finished, i.crisis | i.graphic)
    )
    distressing = c.execute(heavy_ones).scalar_one()
    latest = select(t.at, t.seconds, i.crisis, i.graphic).join(schema.items, i.id == t.item).where(*finished)
    recent = c.execute(latest.order_by(t.finished.desc()).limit(_STRETCH_ITEMS)).all()
    took = [row.seconds for row in recent if row.seconds][:_RECENT]
    end = time.time() if moment is None else moment
    began, heavy = end, 0
    for row in recent:
        if began - row.at > _BREAK:
            break
        began, heavy = row.at, heavy + (row.crisis or row.graphic)
    pause = end - began >= _STRETCH or heavy >= _HEAVY
    return Pace(statistics.median(took) if len(took) >= _FEWEST else None, distressing, pause)


def sane(seconds: float) -> float:
    """Return a duration as a browser told it, within what can be."""
    return min(max(seconds, 0.0), LONGEST) if math.isfinite(seconds) else 0.0
