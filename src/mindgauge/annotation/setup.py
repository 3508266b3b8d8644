"""How a project is set up: its tables, its items in batches, and an order of work for every annotator; and its rubric.

All versions of the rubric are kept; a batch has that of its first label.
"""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import func, insert, inspect, select

from mindgauge.annotation import schema
from mindgauge.annotation.records import Item, Person, Phase, Project, Role
from mindgauge.annotation.schema import people_of
from mindgauge.records import digest, encode
from mindgauge.records.errors import UsageError
from mindgauge.records.files import private, sealed
from mindgauge.records.rubric import Rubric

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sqlalchemy import Connection

    from mindgauge.annotation.database import Database


def set_up(
    database: Database, project: Project, rubric: Rubric, people: Sequence[Person], items: Sequence[Item]
) -> None:
    """Make the tables and fill them, all or nothing.

    Raises:
        UsageError: a project is in the database already.
    """
    named = [identified(person) for person in people]

    def fill(c: Connection) -> None:
        if inspect(c).has_table("project") and c.execute(select(schema.project.c.id)).first() is not None:
            if {person.id for person in people_of(c)} == {person.id for person in named}:
                return  # the answer to the commit was lost
            raise UsageError(f"{database.name}: a project is in this database already; give each one of its own")
        schema.metadata.create_all(c)
        c.execute(insert(schema.project).values(id=1, version=schema.SCHEMA_VERSION, body=_json(project)))
        add_rubric(c, rubric)
        _add_items(c, items)
        for person in named:
            add_person(c, person, items)

    database.write(fill)


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
                "id": item.id, "subject": item.subject, "position": position, "batch": item.batch, "tier": item.tier, "crisis": item.crisis,
                "graphic": item.graphic, "body": _json(item),
            }
            for position, item in enumerate(items)
        ],
    )  # fmt: skip


def identified(person: Person) -> Person:
    """Give a person an id, drawn by lot."""
    return msgspec.structs.replace(person, id=secrets.token_hex(8))


def add_person(c: Connection, person: Person, items: Sequence[Item]) -> None:
    """Add a person; an annotator's tasks stand in an order of their own, within the tiers of each batch."""
    position = c.execute(select(func.count()).select_from(schema.people)).scalar_one()
    c.execute(insert(schema.people).values(position=position, **msgspec.structs.asdict(person)))
    if person.role is Role.ANNOTATOR:
        for batch in sorted({item.batch for item in items}):
            phase = Phase.LABELLING if batch else Phase.TRAINING
            put_before(c, person, batch, phase, [item for item in items if item.batch == batch])


def put_before(c: Connection, person: Person, batch: int, phase: Phase, items: Sequence[Item]) -> None:
    """Put items before a person, in an order of their own within tiers; of anchors, which have none, over all.

    The order hangs on ids that were drawn by lot and are not shown, so that nobody can reckon back from it to another.
    """
    order = sorted(items, key=lambda item: (item.tier if batch else 0, digest("order", person.id, phase, item.id)))
    tasks = [
        {
            "person": person.id, "item": item.id, "phase": phase, "batch": batch, "place": place, "state": "open",
            "turn": 0,
        }
        for place, item in enumerate(order)
    ]  # fmt: skip
    if tasks:
        c.execute(insert(schema.tasks), tasks)


def _json(record: object) -> str:
    return encode(record).decode()


RUBRIC_FILE = "rubric.toml"
"""The copy in the project's folder, which its owner may revise."""


def instrument(rubric: Rubric) -> str:
    """Return how ratings name a rubric: its id, its version and the hash of its words."""
    return f"{rubric.name}#{rubric.hash[:12]}"


def add_rubric(c: Connection, rubric: Rubric) -> None:
    """Add a version, as the newest."""
    row = {"instrument": instrument(rubric), "body": encode(rubric).decode(), "at": time.time()}
    c.execute(insert(schema.rubrics).values(**row))


def take_up(database: Database, path: Path, newest: Rubric) -> None:
    """Take up the file, if it was revised, for the batches that nobody has begun; write it, if it is gone.

    Raises:
        UsageError: it was changed after labels were given without a new version, or other things than words were.
    """
    if not path.exists():
        newest.write(path)
        return
    revised = Rubric.load(path)
    if revised.hash == newest.hash:
        _seal(path)
        return
    if _frame(revised) != _frame(newest):
        raise UsageError(
            f"{path}: its id, a criterion or a level differs from this project's; only words may change: otherwise begin "
            "a new project"
        )

    def take(c: Connection) -> None:
        versions = list(c.execute(select(schema.rubrics.c.instrument).order_by(schema.rubrics.c.number)).scalars())
        if versions[-1] == instrument(revised):  # the answer to the commit was lost
            return
        labels = c.execute(select(func.count()).select_from(schema.labels)).scalar_one()
        if labels and revised.name in {version.partition("#")[0] for version in versions}:
            raise UsageError(
                f"{path}: changed after {labels} labels were given; raise its version (now {revised.version}), and the "
                "batches that nobody has begun use it, or put the old file back"
            )
        if instrument(revised) in versions:
            raise UsageError(
                f"{path}: an earlier version of the rubric; put the newest back, or raise this one's version"
            )
        add_rubric(c, revised)

    database.write(take)
    _seal(path)


def _seal(path: Path) -> None:
    """Give the owner's file its checksum, once it is known to be what they mean: runs are scored by its levels."""
    content = path.read_bytes()
    if sealed.seal(content) != content:
        private.write(path, sealed.seal(content))


def _frame(rubric: Rubric) -> object:
    """Return what labels hang on: another version has other words, not other names or levels."""
    return rubric.id, [(criterion.name, criterion.scale, criterion.values) for criterion in rubric.criteria]
