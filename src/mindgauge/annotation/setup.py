"""How a project is set up: its tables, its items in batches, and an order of work for every annotator."""

from __future__ import annotations

import random
import secrets
from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import func, insert, inspect, select

from mindgauge.annotation import schema, versions
from mindgauge.annotation.records import Item, Person, Phase, Project, Role
from mindgauge.errors import UsageError
from mindgauge.records import digest, encode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from mindgauge.annotation.database import Database
    from mindgauge.rubric import Rubric


def set_up(
    database: Database, project: Project, rubric: Rubric, people: Sequence[Person], items: Sequence[Item]
) -> None:
    """Make the tables and fill them, all or nothing.

    Raises:
        UsageError: a project is in the database already.
    """
    with database.writing() as c:
        if inspect(c).has_table("project") and c.execute(select(schema.project.c.id)).first() is not None:
            raise UsageError(f"{database.name}: a project is in this database already; give each one of its own")
        schema.metadata.create_all(c)
        c.execute(insert(schema.project).values(id=1, version=schema.SCHEMA_VERSION, body=_json(project)))
        versions.add(c, rubric)
        _add_items(c, items)
        for person in people:
            add_person(c, project, person, items)


def _add_items(c: Connection, items: Sequence[Item]) -> None:
    numbers = sorted({item.batch for item in items})
    c.execute(
        insert(schema.batches),
        [{"number": n, "phase": Phase.LABELLING if n else Phase.TRAINING, "decided": ""} for n in numbers],
    )
    c.execute(
        insert(schema.items),
        [
            {
                "id": item.id, "position": position, "batch": item.batch, "tier": item.tier, "crisis": item.crisis,
                "graphic": item.graphic, "body": _json(item),
            }
            for position, item in enumerate(items)
        ],
    )  # fmt: skip


def add_person(c: Connection, project: Project, person: Person, items: Sequence[Item]) -> Person:
    """Add a person; an annotator's tasks stand in an order of their own, within the tiers of each batch."""
    found = msgspec.structs.replace(person, id=secrets.token_hex(8))
    position = c.execute(select(func.count()).select_from(schema.people)).scalar_one()
    c.execute(insert(schema.people).values(position=position, **msgspec.structs.asdict(found)))
    if found.role is Role.ANNOTATOR:
        order = random.Random(digest("order", project.seed, found.name))
        shuffled = sorted((item.batch, item.tier if item.batch else 0, order.random(), item.id) for item in items)
        tasks = [
            {
                "person": found.id, "item": item, "batch": batch, "place": place, "state": "open", "turn": 0,
                "phase": Phase.LABELLING if batch else Phase.TRAINING,
            }
            for place, (batch, _, _, item) in enumerate(shuffled)
        ]  # fmt: skip
        if tasks:
            c.execute(insert(schema.tasks), tasks)
    return found


def _json(record: object) -> str:
    return encode(record).decode()
