"""Rows that several read or write within a running transaction."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import insert, select

from mindgauge.annotation import schema
from mindgauge.annotation.records import Item, Person, Role

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row


def log(c: Connection, person: str, event: str, about: str = "", form: str = "") -> None:
    """Keep that something happened, within a transaction; never a text."""
    c.execute(insert(schema.events).values(at=time.time(), person=person, what=event, about=about, form=form))


def logged(c: Connection, person: str, event: str, about: str, form: str) -> bool:
    """Say whether a person's form asked for this before; whatever it was about if `about` is empty."""
    e = schema.events.c
    query = select(e.number).where(e.form == form, e.person == person, e.what == event)
    if about:
        query = query.where(e.about == about)
    return c.execute(query.limit(1)).first() is not None


def people_of(c: Connection) -> list[Person]:
    """Return everybody, in the order in which they were named."""
    return [person_of(row) for row in c.execute(select(schema.people).order_by(schema.people.c.position))]


def items_of(c: Connection, batch: int | None = None) -> list[Item]:
    """Return items in the order of work, of one batch or all."""
    query = select(schema.items.c.body).order_by(schema.items.c.position)
    if batch is not None:
        query = query.where(schema.items.c.batch == batch)
    return [msgspec.json.decode(body, type=Item) for body in c.execute(query).scalars()]


def person_of(row: Row[tuple[object, ...]]) -> Person:
    """Return the person that a row of `people` is."""
    return Person(row.id, row.name, Role(row.role), row.language, row.noticed, row.active)
