"""Who is asking, with which form, and may they: sessions, roles, forged forms, and guesses.

A route says in its signature whom it answers: `visitor: Annotator` to read, `visitor: PostedAnnotator` to change.
Nobody in: 401. Not their part: 403. A forged or outdated form: 403. Before the content notice was read: on to it.
"""

import hashlib
import hmac
import ipaddress
import json
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, NamedTuple

from fastapi import Depends, HTTPException
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, ImmutableMultiDict
from starlette.requests import Request
from starlette.responses import Response

from mindgauge.annotation import people
from mindgauge.annotation.project import Annotation
from mindgauge.annotation.records import Person, Role
from mindgauge.annotation.rounds import adjudicates
from mindgauge.annotation.web.guard import is_ours
from mindgauge.records.files import bounds


async def _fields(request: Request) -> ImmutableMultiDict[str, str]:
    form: FormData = await request.form(max_files=0)
    return ImmutableMultiDict(
        (clean(name), clean(value)) for name, value in form.multi_items() if isinstance(value, str)
    )


async def _body(request: Request) -> dict[str, Any]:
    if not request.headers.get("content-type", "").startswith("application/json"):
        raise HTTPException(422)
    try:
        body = clean(json.loads(await request.body()))
    except (ValueError, RecursionError) as error:  # broken bytes and broken JSON are ValueErrors
        raise HTTPException(422) from error
    if not isinstance(body, dict):
        raise HTTPException(422)
    return body


Fields = Annotated[ImmutableMultiDict[str, str], Depends(_fields)]
"""The fields of a posted form by name; `.get(name, "")` for one, `.getlist(name)` for several. Never a file."""
Body = Annotated[dict[str, Any], Depends(_body)]
"""A posted JSON object; its numbers are as JSON has them, and may be larger than expected."""


def clean(value: Any) -> Any:
    """Replace NUL characters and lone surrogates, which no database takes, in all texts of a JSON-like value."""
    if isinstance(value, str):
        return bounds.clean(value)
    if isinstance(value, list):
        return [clean(part) for part in value]
    if isinstance(value, dict):
        return {clean(name): clean(part) for name, part in value.items()}
    return value


COOKIE_AGE = 400 * 24 * 3600
"""Seconds that a browser keeps the cookie, the most that browsers allow; the session in it ends earlier if not used."""


class Visitor(NamedTuple):
    """Somebody who came in."""

    person: Person
    csrf: str
    """What every form of theirs must carry."""
    session: str
    """The hash of their session's secret."""
    roles: frozenset[Role]
    """What they may do: their role; an owner decides, too, where there is no adjudicator."""


class Guesses:
    """Wrong links and cookies: of each visitor so many at once, then one a second; of all visitors together, more.

    A visitor is who is in, else an address, of which a proxy may tell: whoever can make up addresses meets the limit of
    all together. What is kept of them is bounded.
    """

    def __init__(self, burst: int = 20, refill: float = 1.0, visitors: int = 4096, together: int = 20) -> None:
        """Take the limits.

        Args:
            burst: how many of one visitor may come at once.
            refill: how many come back a second.
            visitors: of how many visitors this is kept.
            together: how many times as many those who are not in may make together.
        """
        self.burst, self.refill, self.most, self.together = burst, refill, visitors, together
        self._spent: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._all = (0.0, 0.0)
        self._lock = threading.Lock()

    def check(self, request: Request, visitor: Visitor | None) -> None:
        """Let a visitor go on who has guesses left.

        Raises:
            HTTPException: 429, with the seconds to wait.
        """
        with self._lock:
            excess = _after(self._spent.get(_who(request, visitor)), self.refill) - self.burst + 1
            wait = excess / self.refill
            if visitor is None:
                excess = _after(self._all, self.refill * self.together) - self.burst * self.together + 1
                wait = max(wait, excess / (self.refill * self.together))
        if wait > 0:
            raise HTTPException(429, headers={"Retry-After": str(math.ceil(wait))})

    def wrong(self, request: Request, visitor: Visitor | None) -> None:
        """Count a wrong guess."""
        guesser = _who(request, visitor)
        with self._lock:
            moment = time.monotonic()
            self._spent[guesser] = (_after(self._spent.get(guesser), self.refill) + 1, moment)
            self._spent.move_to_end(guesser)
            while len(self._spent) > self.most:
                self._spent.popitem(last=False)
            if visitor is None:
                self._all = (_after(self._all, self.refill * self.together) + 1, moment)


def _after(before: tuple[float, float] | None, refill: float) -> float:
    """Return how many guesses are spent now, of those that were at a time before."""
    spent, since = before or (0.0, 0.0)
    return max(0.0, spent - refill * (time.monotonic() - since))


def _who(request: Request, visitor: Visitor | None) -> str:
    return _address(request) if visitor is None else f"person {visitor.person.id}"


def _address(request: Request) -> str:
    """Return the visitor's address; of IPv6 the network, since one line has as many addresses as it likes."""
    host = request.client.host if request.client else ""
    try:
        parsed = ipaddress.ip_address(host)
    except ValueError:
        return host
    return host if parsed.version == 4 else str(ipaddress.ip_network((parsed, 64), strict=False))


# -- sessions -----------------------------------------------------------------------------------------------------------


async def _opened(request: Request) -> Annotation:
    annotation: Annotation = request.app.state.annotation
    return annotation


Opened = Annotated[Annotation, Depends(_opened)]
"""The project that is served."""


def cookie_name(request: Request) -> str:
    """Name the cookie after the project, so that two on one machine do not end each other's sessions.

    Behind TLS the prefix holds it to this host and to TLS, whatever else runs in the same domain.
    """
    project = request.app.state.annotation.project
    own = hashlib.sha256(f"{project.name}\n{project.created}\n{project.seed}".encode()).hexdigest()[:8]
    return f"__Host-mindgauge-{own}" if _tls(request) else f"mindgauge-{own}"


def remember(request: Request, response: Response, secret: str) -> None:
    """Give the browser its session. `Lax`: a link in a mail may open the page, but no other site can post to it."""
    response.set_cookie(
        cookie_name(request), secret, max_age=COOKIE_AGE, httponly=True, samesite="lax", secure=_tls(request)
    )


def forget(request: Request, response: Response) -> None:
    """Take the session out of the browser."""
    response.delete_cookie(cookie_name(request), httponly=True, samesite="lax", secure=_tls(request))


def _tls(request: Request) -> bool:
    """Say whether the visitor came over TLS; a proxy on this machine tells in X-Forwarded-Proto."""
    return request.url.scheme == "https"


def find_visitor(request: Request) -> Visitor | None:
    """Find who is in with this browser; once per request.

    Raises:
        DatabaseError: it cannot be read.
    """
    visitor: Visitor | None = getattr(request.state, "visitor", None)
    secret = request.cookies.get(cookie_name(request), "")
    if visitor or not secret:
        return visitor
    annotation: Annotation = request.app.state.annotation
    session = people.find_session(annotation, secret)
    if session is None:
        return None
    roles = {session.person.role}
    if session.person.role is Role.OWNER and adjudicates(session.person, annotation.people()):
        roles.add(Role.ADJUDICATOR)
    request.state.visitor = visitor = Visitor(session.person, session.csrf, session.secret, frozenset(roles))
    return visitor


def _passerby(request: Request) -> Visitor | None:
    visitor = find_visitor(request)
    if visitor is None and cookie_name(request) in request.cookies:
        guesses: Guesses = request.app.state.guesses
        guesses.check(request, None)
        guesses.wrong(request, None)
    return visitor


Passerby = Annotated[Visitor | None, Depends(_passerby)]
"""Somebody, in or not."""


async def _inside(request: Request, visitor: Passerby) -> Visitor:
    if visitor is None:
        response = Response()
        secret = request.cookies.get(cookie_name(request))
        if secret is not None and not await run_in_threadpool(people.rests, request.app.state.annotation, secret):
            forget(request, response)  # but not one that is only idle: by a clock that was set wrong, too
        raise HTTPException(401, headers={k: v for k, v in response.headers.items() if k == "set-cookie"})
    return visitor


# -- forms --------------------------------------------------------------------------------------------------------------


async def _ours(request: Request) -> None:
    """Refuse what another site's page sends.

    Raises:
        HTTPException: 403.
    """
    if not is_ours(request, request.app.state.annotation.project.url):
        raise HTTPException(403, "form")


Ours = Depends(_ours)
"""For a route that is posted to before there is a session."""


async def _posted(
    request: Request, visitor: Annotated[Visitor, Depends(_inside)], fields: Fields, _: Annotated[None, Ours]
) -> Visitor:
    token = request.headers.get("x-csrf") or fields.get("csrf", "")
    if not hmac.compare_digest(token.encode(), visitor.csrf.encode()):
        raise HTTPException(403, "form")
    return visitor


# -- roles --------------------------------------------------------------------------------------------------------------


def _allowed(
    entry: Callable[..., Coroutine[Any, Any, Visitor]], *roles: Role, noticed: bool = True
) -> Callable[..., Coroutine[Any, Any, Visitor]]:
    async def check(visitor: Annotated[Visitor, Depends(entry)]) -> Visitor:
        if visitor.roles.isdisjoint(roles):
            raise HTTPException(403, "part")
        if noticed and not visitor.person.noticed:
            raise HTTPException(303, headers={"Location": "/notice"})
        return visitor

    return check


_EVERYBODY = tuple(Role)
_DISCUSSING = (Role.ANNOTATOR, Role.ADJUDICATOR)

Annotator = Annotated[Visitor, Depends(_allowed(_inside, Role.ANNOTATOR))]
Discussant = Annotated[Visitor, Depends(_allowed(_inside, *_DISCUSSING))]
Owner = Annotated[Visitor, Depends(_allowed(_inside, Role.OWNER, noticed=False))]
Anyone = Annotated[Visitor, Depends(_allowed(_inside, *_EVERYBODY, noticed=False))]
"""Whoever came in, in any role."""

PostedAnnotator = Annotated[Visitor, Depends(_allowed(_posted, Role.ANNOTATOR))]
PostedDiscussant = Annotated[Visitor, Depends(_allowed(_posted, *_DISCUSSING))]
PostedOwner = Annotated[Visitor, Depends(_allowed(_posted, Role.OWNER, noticed=False))]
PostedAnyone = Annotated[Visitor, Depends(_allowed(_posted, *_EVERYBODY, noticed=False))]
