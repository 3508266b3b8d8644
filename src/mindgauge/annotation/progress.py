"""How far the work is, per person, batch and phase: counts only, nothing of what anybody said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import func, select

from mindgauge.annotation.records import Phase
from mindgauge.annotation.schema import tasks

if TYPE_CHECKING:
    from mindgauge.annotation.project import Annotation


class Progress(msgspec.Struct, frozen=True):
    """The items of one person in one phase of a batch."""

    batch: int
    phase: Phase
    person: str
    """Id."""
    of: int
    done: int
    handed_on: int

    @property
    def left(self) -> int:
        """Count the items that still wait for them."""
        return self.of - self.done - self.handed_on


def progress(annotation: Annotation) -> list[Progress]:
    """Count everybody's items, by batch; phases that a batch has not come to are not in it.

    Raises:
        DatabaseError: it could not be read.
    """
    t = tasks.c
    finished, handed_on = (func.count().filter(t.state == state) for state in ("done", "handed_on"))
    query = select(t.batch, t.phase, t.person, func.count(), finished, handed_on).group_by(t.batch, t.phase, t.person)
    rows = annotation.database.read(lambda connection: connection.execute(query.order_by(t.batch)).all())
    return [Progress(batch, Phase(phase), *rest) for batch, phase, *rest in rows]
