"""The order of work by need: a queue first, then crises, then the rest as chance has it; cut into batches.

Within a tier of a batch, items stand by their ids, which are drawn by lot, and everybody has an order of their own. So
need decides which items come early, and nobody learns more than the tier from an item's place or number: not where it
stood in its source or in the queue, and not what a hash of it begins with.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mindgauge.records.errors import DataError
from mindgauge.records.files import tables

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from mindgauge.annotation.records import Item
    from mindgauge.records.files.texts import Frame

COLUMNS = ("subject", "review_id", "id")
"""Of a queue, the first that is there: as in a table of ratings, in the review list, or in the file of the items."""
BLOCK = 10
"""Items of a queue that make one tier: what stands so close together in it is needed alike."""


def read_queue(source: str | Path | Frame, names: Mapping[str, str], left_out: Collection[str] = ()) -> list[str]:
    """Read a queue: the subjects of items, each once, in its order.

    Args:
        source: a table, with one of `COLUMNS`.
        names: what an item may be called → its subject.
        left_out: names of what stands in the items' source but cannot be labelled; they are passed over.

    Raises:
        DataError: it has none of the columns, is empty, or names something else.
    """
    title = str(source) if isinstance(source, str | Path) else "the queue"
    column_map = tables.beside(source, COLUMNS)
    rows = list(tables.open_table(source, column_map.layout).rows(column_map.columns))
    if not rows:
        raise DataError(f"{title}: an empty queue")
    present = dict.fromkeys(name for _, row in rows for name in row)
    column = next((name for name in COLUMNS if name in present), None)
    if column is None:
        raise DataError(f"{title}: a queue needs a column {', '.join(COLUMNS)}; found {', '.join(present)}")
    queue: dict[str, None] = {}
    for line, row in rows:
        name = str(row.get(column, "")).strip()
        if name in names:
            queue[names[name]] = None
        elif not name:
            raise DataError(f"{title}:{line}: no {column}")
        elif name not in left_out:
            raise DataError(f"{title}:{line}: {column} {name!r} is none of the items; is this a queue of theirs?")
    return list(queue)


def chosen(items: Sequence[Item], limit: int | None, queue: Sequence[str] = ()) -> list[Item]:
    """Take at most so many items: the first of the queue, and then by lot, so that no part of a file is preferred."""
    if limit is None or len(items) <= limit:
        return list(items)
    places = _places(queue)
    ranked = sorted(items, key=lambda item: (places.get(item.subject, len(places)), item.id))
    selected = {item.id for item in ranked[:limit]}
    return [item for item in items if item.id in selected]


def batched(items: Sequence[Item], size: int, queue: Sequence[str] = ()) -> list[Item]:
    """Return items in the order of work, with their batch (from 1) and tier.

    A last batch of less than a tenth of the size would have a gate that says nothing; it joins the one before. Items of
    one source dialogue are not kept together: the gate's intervals resample dialogues, and a queue's order binds.

    Args:
        items: in any order, which does not matter.
        size: of a batch.
        queue: subjects of items that come first, in this order.
    """
    places = _places(queue)
    blocks = -(-len(places) // BLOCK)

    def tier(item: Item) -> int:
        return places[item.subject] // BLOCK if item.subject in places else blocks + (not item.crisis)

    def need(item: Item) -> tuple[int, int, str]:
        return tier(item), places.get(item.subject, 0), item.id

    batches = max(len(items) // size, 1)
    if len(items) > size and (len(items) % size) * 10 >= size:
        batches += 1
    placed = [
        msgspec.structs.replace(item, batch=min(place // size + 1, batches), tier=tier(item))
        for place, item in enumerate(sorted(items, key=need))
    ]
    return sorted(placed, key=lambda item: (item.batch, item.tier, item.id))


def _places(queue: Sequence[str]) -> dict[str, int]:
    return {subject: place for place, subject in enumerate(queue)}
