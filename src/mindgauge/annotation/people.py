"""What people may be called, and how they come in: a personal link, good once, is exchanged for a session.

Only hashes of link and session are kept.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import func, insert, select, update

from mindgauge.annotation.records import Person
from mindgauge.annotation.schema import invitations, log, people, person_of, sessions
from mindgauge.annotation.web.guard import own_address
from mindgauge.records.text import compatible

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection, Row

    from mindgauge.annotation.project import Annotation


LONGEST_NAME = 80
RESERVED_NAME = "gold"
"""What a data set's own labels are called among the raters of a run."""


def tidy_name(name: str) -> str:
    """Return a name as it is kept: composed letters, no blanks at its ends."""
    return compatible(name, "NFC").strip()


def readable_name(name: str) -> bool:
    """Whether a name can be read: 1 to 80 characters, none of them invisible."""
    return bool(name) and len(name) <= LONGEST_NAME and name.isprintable()


def reserved_name(name: str) -> bool:
    """Whether it is what something else is called."""
    return name.casefold() == RESERVED_NAME


IDLE = 30 * 24 * 3600.0
"""Seconds for which an unused link, or a session that nobody comes back to, stays good."""
SEEN_EVERY = 300.0
"""Seconds between two notes of when somebody was last seen, so that reading a page seldom writes."""


class BrowserSession(msgspec.Struct, frozen=True):
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

    def make(connection: Connection) -> str:
        token = secrets.token_urlsafe(32)
        _end_links(connection, person)
        connection.execute(insert(invitations).values(secret=hashed(token), person=person, created=_now()))
        log(connection, person, "invited")
        return token

    return annotation.database.write(make)


def link(annotation: Annotation, person: str, url: str) -> str:
    """Make a link for a person (by id), as `invite` does, under an address; on this machine, under a host of their own."""
    return f"{own_address(annotation.secret, person, url.rstrip('/'))}/join/{invite(annotation, person)}"


def invited(annotation: Annotation, token: str) -> Person | None:
    """Say whom a link is for, if it can be used; looking uses nothing up.

    Raises:
        DatabaseError: it could not be read.
    """
    query = select(people).join(invitations).where(invitations.c.secret == hashed(token), people.c.active)
    row = annotation.database.read(lambda connection: connection.execute(query.where(*_good_link(_now()))).first())
    return None if row is None else person_of(row)


def exchange(annotation: Annotation, token: str) -> str | None:
    """Give a session's secret for a link's token: once, whoever comes second gets None.

    Raises:
        DatabaseError: it could not be written; the link can still be used.
    """
    moment = _now()
    secret = secrets.token_urlsafe(32)
    existing = select(sessions.c.person).where(sessions.c.secret == hashed(secret))
    active = select(people.c.id).where(people.c.active)

    def use(connection: Connection) -> str | None:
        if connection.execute(existing).first() is not None:  # the answer to the commit was lost
            return secret
        used = connection.execute(
            update(invitations)
            .where(invitations.c.secret == hashed(token), *_good_link(moment), invitations.c.person.in_(active))
            .values(used=moment)
        )
        if used.rowcount != 1:
            return None
        person = connection.execute(
            select(invitations.c.person).where(invitations.c.secret == hashed(token))
        ).scalar_one()
        csrf = secrets.token_urlsafe(32)
        row = {"secret": hashed(secret), "person": person, "csrf": csrf, "created": moment, "seen": moment}
        connection.execute(insert(sessions).values(row))
        log(connection, person, "came_in")
        return secret

    return annotation.database.write(use)


def find_session(annotation: Annotation, secret: str) -> BrowserSession | None:
    """Find the session of a cookie, unless it ended or nobody came back for `IDLE` seconds.

    Raises:
        DatabaseError: it could not be read.
    """
    moment = _now()
    row = _session(annotation, secret)
    if row is None or row.seen <= moment - IDLE:
        return None
    if row.seen < moment - SEEN_EVERY:
        visit = update(sessions).where(sessions.c.secret == hashed(secret)).values(seen=moment)
        annotation.database.write(lambda connection: connection.execute(visit))
    return BrowserSession(person=person_of(row), csrf=row.csrf, secret=hashed(secret))


def rests(annotation: Annotation, secret: str) -> bool:
    """Say whether a cookie's session was only left idle, as far as this machine's clock can tell: it may come back.

    Raises:
        DatabaseError: it cannot be read.
    """
    return _session(annotation, secret) is not None


def _session(annotation: Annotation, secret: str) -> Row[Any] | None:
    """Return a session that nobody ended, however long ago it was seen."""
    conditions = (sessions.c.secret == hashed(secret), sessions.c.revoked.is_(None), people.c.active)
    query = select(people, sessions.c.csrf, sessions.c.seen).join(sessions).where(*conditions)
    return annotation.database.read(lambda connection: connection.execute(query).first())


def leave(annotation: Annotation, session: str) -> None:
    """End one session, named by its hash.

    Raises:
        DatabaseError: it could not be written.
    """
    ended = update(sessions).where(sessions.c.secret == session, sessions.c.revoked.is_(None)).values(revoked=_now())
    annotation.database.write(lambda connection: connection.execute(ended))


def revoke(annotation: Annotation, person: str) -> None:
    """End all links and sessions of a person (by id). What they labelled stays.

    Raises:
        DatabaseError: it could not be written; nothing was revoked.
    """

    def end(connection: Connection) -> None:
        _end_links(connection, person)
        ended = update(sessions).where(sessions.c.person == person, sessions.c.revoked.is_(None))
        connection.execute(ended.values(revoked=_now()))
        log(connection, person, "revoked")

    annotation.database.write(end)


def access(annotation: Annotation) -> dict[str, Access]:
    """Say of each person (by id) whether they were invited, came in, and when they were last seen.

    Raises:
        DatabaseError: it could not be read.
    """
    moment = _now()
    links = select(invitations.c.person, func.max(invitations.c.created)).where(*_good_link(moment))
    joined = select(sessions.c.person, func.min(sessions.c.created), func.max(sessions.c.seen))
    open_ = select(sessions.c.person, func.count()).where(sessions.c.revoked.is_(None), sessions.c.seen > moment - IDLE)

    def read(connection: Connection) -> dict[str, Access]:
        idents = connection.execute(select(people.c.id)).scalars().all()
        links_made = {row[0]: row[1] for row in connection.execute(links.group_by(invitations.c.person))}
        visits = {row[0]: (row[1], row[2]) for row in connection.execute(joined.group_by(sessions.c.person))}
        browsers = {row[0]: row[1] for row in connection.execute(open_.group_by(sessions.c.person))}
        return {
            person: Access(links_made.get(person), *visits.get(person, (None, None)), browsers.get(person, 0))
            for person in idents
        }

    return annotation.database.read(read)


def hashed(secret: str) -> str:
    """SHA-256 in hex. The secrets are random, so that they need no salt."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _elapsed() -> float:
    """Return the seconds since this machine was started, which no setting of its clock changes."""
    try:
        return time.clock_gettime(time.CLOCK_BOOTTIME)  # goes on while the machine sleeps
    except AttributeError:
        return time.monotonic()


_STARTED, _ELAPSED = time.time(), _elapsed()


def _now() -> float:
    """Return the time as this process has known it since it began: a clock that is set anew meanwhile ends no session."""
    return _STARTED + _elapsed() - _ELAPSED


def _good_link(moment: float) -> tuple[ColumnElement[bool], ...]:
    return invitations.c.used.is_(None), invitations.c.revoked.is_(None), invitations.c.created > moment - IDLE


def _end_links(connection: Connection, person: str) -> None:
    unused = (invitations.c.used.is_(None), invitations.c.revoked.is_(None))
    ended = update(invitations).where(invitations.c.person == person, *unused)
    connection.execute(ended.values(revoked=_now()))
