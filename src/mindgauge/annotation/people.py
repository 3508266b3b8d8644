"""How people come in: a personal link, good once, is exchanged for a session. Only hashes of both are kept."""

from __future__ import annotations

import hashlib
import secrets
import time
from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import func, insert, select, update

from mindgauge.annotation.records import Person
from mindgauge.annotation.rows import log, person_of
from mindgauge.annotation.schema import invitations, people, sessions

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection

    from mindgauge.annotation.project import Annotation

IDLE = 30 * 24 * 3600.0
"""Seconds for which an unused link, or a session that nobody comes back to, stays good."""
SEEN_EVERY = 300.0
"""Seconds between two notes of when somebody was last seen, so that reading a page seldom writes."""


class Session(msgspec.Struct, frozen=True):
    """A browser that somebody has come in with."""

    person: Person
    csrf: str
    """What every form of this session must carry."""
    secret: str
    """SHA-256 of what the cookie holds, in hex."""


class Access(msgspec.Struct, frozen=True):
    """How far a person has come in. Times are seconds since 1970, UTC; None where it has not happened."""

    invited: float | None
    """When the link that can still be used was made."""
    joined: float | None
    """When they first came in."""
    seen: float | None
    sessions: int
    """How many browsers are in."""


def invite(annotation: Annotation, person: str) -> str:
    """Make a link's token for a person (by id), 256 random bits; the person's earlier unused links end.

    Raises:
        DatabaseError: it could not be written.
    """
    token = secrets.token_urlsafe(32)
    with annotation.database.writing() as connection:
        _end_links(connection, person)
        connection.execute(insert(invitations).values(secret=hashed(token), person=person, created=time.time()))
        log(connection, person, "invited")
    return token


def invited(annotation: Annotation, token: str) -> Person | None:
    """Say whom a link is for, if it can be used; looking uses nothing up.

    Raises:
        DatabaseError: it could not be read.
    """
    query = select(people).join(invitations).where(invitations.c.secret == hashed(token), people.c.active)
    with annotation.database.reading() as connection:
        row = connection.execute(query.where(*_good_link(time.time()))).first()
    return None if row is None else person_of(row)


def exchange(annotation: Annotation, token: str) -> str | None:
    """Give a session's secret for a link's token: once, whoever comes second gets None.

    Raises:
        DatabaseError: it could not be written; the link can still be used.
    """
    now = time.time()
    secret = secrets.token_urlsafe(32)
    active = select(people.c.id).where(people.c.active)
    with annotation.database.writing() as connection:
        used = connection.execute(
            update(invitations)
            .where(invitations.c.secret == hashed(token), *_good_link(now), invitations.c.person.in_(active))
            .values(used=now)
        )
        if used.rowcount != 1:
            return None
        person = connection.execute(
            select(invitations.c.person).where(invitations.c.secret == hashed(token))
        ).scalar_one()
        csrf = secrets.token_urlsafe(32)
        row = {"secret": hashed(secret), "person": person, "csrf": csrf, "created": now, "seen": now}
        connection.execute(insert(sessions).values(row))
        log(connection, person, "came_in")
    return secret


def find_session(annotation: Annotation, secret: str) -> Session | None:
    """Find the session of a cookie, unless it ended or nobody came back for `IDLE` seconds.

    Raises:
        DatabaseError: it could not be read.
    """
    now = time.time()
    good = (sessions.c.secret == hashed(secret), sessions.c.revoked.is_(None), sessions.c.seen > now - IDLE)
    query = select(people, sessions.c.csrf, sessions.c.seen).join(sessions).where(*good, people.c.active)
    with annotation.database.reading() as connection:
        row = connection.execute(query).first()
    if row is None:
        return None
    if row.seen < now - SEEN_EVERY:
        with annotation.database.writing() as connection:
            connection.execute(update(sessions).where(*good).values(seen=now))
    return Session(person=person_of(row), csrf=row.csrf, secret=hashed(secret))


def leave(annotation: Annotation, session: str) -> None:
    """End one session, named by its hash.

    Raises:
        DatabaseError: it could not be written.
    """
    with annotation.database.writing() as connection:
        ended = update(sessions).where(sessions.c.secret == session, sessions.c.revoked.is_(None))
        connection.execute(ended.values(revoked=time.time()))


def revoke(annotation: Annotation, person: str) -> None:
    """End all links and sessions of a person (by id). What they labelled stays.

    Raises:
        DatabaseError: it could not be written; nothing was revoked.
    """
    with annotation.database.writing() as connection:
        _end_links(connection, person)
        ended = update(sessions).where(sessions.c.person == person, sessions.c.revoked.is_(None))
        connection.execute(ended.values(revoked=time.time()))
        log(connection, person, "revoked")


def access(annotation: Annotation) -> dict[str, Access]:
    """Say of each person (by id) whether they were invited, came in, and when they were last seen.

    Raises:
        DatabaseError: it could not be read.
    """
    now = time.time()
    links = select(invitations.c.person, func.max(invitations.c.created)).where(*_good_link(now))
    joined = select(sessions.c.person, func.min(sessions.c.created), func.max(sessions.c.seen))
    open_ = select(sessions.c.person, func.count()).where(sessions.c.revoked.is_(None), sessions.c.seen > now - IDLE)
    with annotation.database.reading() as connection:
        everybody = connection.execute(select(people.c.id)).scalars().all()
        made = {row[0]: row[1] for row in connection.execute(links.group_by(invitations.c.person))}
        came = {row[0]: (row[1], row[2]) for row in connection.execute(joined.group_by(sessions.c.person))}
        browsers = {row[0]: row[1] for row in connection.execute(open_.group_by(sessions.c.person))}
    return {
        person: Access(made.get(person), *came.get(person, (None, None)), browsers.get(person, 0))
        for person in everybody
    }


def hashed(secret: str) -> str:
    """SHA-256 in hex. The secrets are random, so that they need no salt."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _good_link(now: float) -> tuple[ColumnElement[bool], ...]:
    return invitations.c.used.is_(None), invitations.c.revoked.is_(None), invitations.c.created > now - IDLE


def _end_links(connection: Connection, person: str) -> None:
    unused = (invitations.c.used.is_(None), invitations.c.revoked.is_(None))
    ended = update(invitations).where(invitations.c.person == person, *unused)
    connection.execute(ended.values(revoked=time.time()))
