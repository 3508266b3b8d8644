"""Labels as they were given, and which of them bind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import select

from mindgauge.annotation import schema
from mindgauge.annotation.records import Answered, Label, Phase
from mindgauge.records import Evidence

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection, Row, Select


def last(labels: Iterable[Label], *phases: Phase) -> dict[tuple[str, str, str], Label]:
    """Return (item, person, criterion) → the label that binds; without those that were taken back.

    Args:
        labels: oldest first.
        phases: that count; all but the training round if none is named.
    """
    latest: dict[tuple[str, str, str], Label] = {}
    for label in labels:
        if label.phase in phases if phases else label.phase is not Phase.TRAINING:
            latest[label.item, label.person, label.criterion] = label
    return {key: label for key, label in latest.items() if label.answered is not Answered.WITHDRAWN}


def labels_of(
    c: Connection, *, batch: int | None = None, item: str | None = None, person: str | None = None
) -> list[Label]:
    """Return labels, oldest first, as a running transaction sees them."""
    query: Select[tuple[object, ...]] = select(schema.labels, schema.rubrics.c.instrument).join(
        schema.rubrics, schema.rubrics.c.number == schema.labels.c.rubric
    )
    if batch is not None:
        query = query.join(schema.items, schema.items.c.id == schema.labels.c.item).where(schema.items.c.batch == batch)
    if item is not None:
        query = query.where(schema.labels.c.item == item)
    if person is not None:
        query = query.where(schema.labels.c.person == person)
    return [_label(row) for row in c.execute(query.order_by(schema.labels.c.number))]


def _label(r: Row[tuple[object, ...]]) -> Label:
    return Label(
        r.number, r.person, r.item, r.criterion, Phase(r.phase), Answered(r.answered),
        None if r.value is None else msgspec.json.decode(r.value),
        msgspec.json.decode(r.path, type=tuple[tuple[int, str], ...]), r.note,
        msgspec.json.decode(r.evidence, type=tuple[Evidence, ...]), r.instrument, r.at, r.seconds, r.source,
    )  # fmt: skip
