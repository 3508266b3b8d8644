"""The tables of an annotation project, in SQLite or PostgreSQL, and what stands in their rows.

Labels, comments, gates and events are only added to.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import (
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    insert,
    select,
)

from mindgauge.annotation.records import Item, Person, Role

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row


metadata = MetaData()

project = Table(
    "project",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("version", Integer, nullable=False),  # of this schema
    Column("body", Text, nullable=False),  # JSON of records.Project
)
rubrics = Table(  # every version of the instrument, the newest last
    "rubrics",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("instrument", String(200), nullable=False, unique=True),
    Column("body", Text, nullable=False),  # JSON of rubric.Rubric
    Column("at", Float, nullable=False),
)
people = Table(
    "people",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("position", Integer, nullable=False),
    Column("name", String(80), nullable=False, unique=True),
    Column("role", String(20), nullable=False),
    Column("language", String(8), nullable=False, default=""),
    Column("noticed", Boolean, nullable=False, default=False),
    Column("active", Boolean, nullable=False, default=True),
)
invitations = Table(  # a link, good once; only the hash of its secret is kept
    "invitations",
    metadata,
    Column("secret", String(64), primary_key=True),
    Column("person", ForeignKey("people.id"), nullable=False, index=True),
    Column("created", Float, nullable=False),
    Column("used", Float),
    Column("revoked", Float),
)
sessions = Table(  # a browser that somebody has come in with
    "sessions",
    metadata,
    Column("secret", String(64), primary_key=True),
    Column("person", ForeignKey("people.id"), nullable=False, index=True),
    Column("csrf", String(64), nullable=False),
    Column("created", Float, nullable=False),
    Column("seen", Float, nullable=False),
    Column("revoked", Float),
)
batches = Table(  # 0 is the training round
    "batches",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("phase", String(20), nullable=False),
    Column("rubric", ForeignKey("rubrics.number")),  # settled when the first label of the batch is given
    Column("opened", Float),
    Column("closed", Float),
    Column("decided", String(20), nullable=False, default=""),  # how it closed: passed, adjudicated
)
items = Table(
    "items",
    metadata,
    Column("id", String(64), primary_key=True),  # drawn by lot
    Column("subject", String(64), nullable=False, unique=True),  # of its ratings; never shown
    Column("position", Integer, nullable=False),
    Column("batch", ForeignKey("batches.number"), nullable=False, index=True),
    Column("tier", Integer, nullable=False),
    Column("crisis", Boolean, nullable=False),
    Column("graphic", Boolean, nullable=False),
    Column("body", Text, nullable=False),  # JSON of records.Item
)
tasks = Table(  # one item before one person in one phase
    "tasks",
    metadata,
    Column("person", ForeignKey("people.id"), primary_key=True),
    Column("item", ForeignKey("items.id"), primary_key=True),
    Column("phase", String(20), primary_key=True),
    Column("batch", Integer, nullable=False),
    Column("place", Integer, nullable=False),  # in the person's own order
    Column("state", String(20), nullable=False),  # open, done, handed_on
    Column("turn", Integer, nullable=False, default=0),  # rises with every change, so that an old form is known as old
    Column("finished", Integer),  # the person's how-manieth it was; orders them, whatever clocks say
    Column("at", Float),
    Column("seconds", Float),
    Index("open_tasks", "person", "state", "batch"),
)
labels = Table(
    "labels",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("form", String(64), nullable=False),  # it came in with: sent once more while it stands, it counts once
    Column("person", ForeignKey("people.id"), nullable=False),
    Column("item", ForeignKey("items.id"), nullable=False),
    Column("criterion", String(120), nullable=False),
    Column("phase", String(20), nullable=False),
    Column("answered", String(20), nullable=False),
    Column("value", Text),  # JSON
    Column("path", Text, nullable=False),  # JSON
    Column("note", Text, nullable=False),
    Column("evidence", Text, nullable=False),  # JSON
    Column("rubric", ForeignKey("rubrics.number"), nullable=False),
    Column("at", Float, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("source", Text, nullable=False),
    Index("labels_of_item", "item", "person", "criterion"),
    sqlite_autoincrement=True,
)
comments = Table(
    "comments",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("form", String(64), nullable=False),  # hash of the form's id and of the text: sent twice, it counts once
    Column("person", ForeignKey("people.id"), nullable=False),
    Column("item", ForeignKey("items.id"), nullable=False),
    Column("text", Text, nullable=False),
    Column("at", Float, nullable=False),
    UniqueConstraint("item", "person", "form"),
)
drafts = Table(  # what is typed and not yet handed in
    "drafts",
    metadata,
    Column("person", ForeignKey("people.id"), primary_key=True),
    Column("item", ForeignKey("items.id"), primary_key=True),
    Column("phase", String(20), primary_key=True),
    Column("body", Text, nullable=False),  # JSON
    Column("at", Float, nullable=False),
)
gates = Table(
    "gates",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("batch", ForeignKey("batches.number"), nullable=False, index=True),
    Column("phase", String(20), nullable=False),
    Column("passed", Boolean, nullable=False),
    Column("figures", Text, nullable=False),  # JSON
    Column("at", Float, nullable=False),
)
events = Table(  # what happened besides: came in, handed on, skipped, phase begun, link revoked; never a text
    "events",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("at", Float, nullable=False),
    Column("person", String(32), nullable=False),
    Column("what", String(40), nullable=False),
    Column("about", String(80), nullable=False, default=""),
    Column("form", String(64), nullable=False, default=""),  # that asked for it: sent twice, it counts once
    Index("events_of_form", "form", "person"),
)
SCHEMA_VERSION = 2


def log(c: Connection, person: str, event: str, about: str = "", form: str = "") -> None:
    """Keep that something happened, within a transaction; never a text."""
    c.execute(insert(events).values(at=time.time(), person=person, what=event, about=about, form=form))


def logged(c: Connection, person: str, event: str, about: str, form: str) -> bool:
    """Say whether a person's form asked for this before; whatever it was about if `about` is empty."""
    e = events.c
    query = select(e.number).where(e.form == form, e.person == person, e.what == event)
    if about:
        query = query.where(e.about == about)
    return c.execute(query.limit(1)).first() is not None


def people_of(c: Connection) -> list[Person]:
    """Return everybody, in the order in which they were named."""
    return [person_of(row) for row in c.execute(select(people).order_by(people.c.position))]


def items_of(c: Connection, batch: int | None = None) -> list[Item]:
    """Return items in the order of work, of one batch or all."""
    query = select(items.c.body).order_by(items.c.position)
    if batch is not None:
        query = query.where(items.c.batch == batch)
    return [msgspec.json.decode(body, type=Item) for body in c.execute(query).scalars()]


def person_of(row: Row[tuple[object, ...]]) -> Person:
    """Return the person that a row of `people` is."""
    return Person(row.id, row.name, Role(row.role), row.language, row.noticed, row.active)


def rubric_of(c: Connection, batch: int) -> int | None:
    """Return the number of a batch's version of the rubric; None as long as nobody has begun it."""
    return c.execute(select(batches.c.rubric).where(batches.c.number == batch)).scalar()


def handed_on_of(c: Connection, batch: int | None = None, phase: str | None = None) -> set[tuple[str, str]]:
    """Return (person id, item id) of what somebody handed on; of one batch or phase, or all."""
    query = select(tasks.c.person, tasks.c.item).where(tasks.c.state == "handed_on")
    if batch is not None:
        query = query.where(tasks.c.batch == batch)
    if phase is not None:
        query = query.where(tasks.c.phase == phase)
    return {(row.person, row.item) for row in c.execute(query)}
