"""Coming in by a personal link, reading the notice, choosing a language, leaving."""

from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Match

from mindgauge.annotation import people
from mindgauge.annotation.page.access import (
    Anyone,
    Fields,
    Guesses,
    Opened,
    Ours,
    Passerby,
    PostedAnyone,
    forget,
    remember,
)
from mindgauge.annotation.page.pages import LANGUAGES, page

router = APIRouter()


@router.get("/join/{token}")
def look(request: Request, token: str, annotation: Opened, visitor: Passerby) -> Response:
    """Say whom a link is for. Nothing is used up by looking, as mail programs look at links, too."""
    guesses: Guesses = request.app.state.guesses
    guesses.check(request, visitor)
    person = people.invited(annotation, token)
    if person is None:
        return _no_good(request, visitor)
    return page(request, "join", visitor, person=person, token=token)


@router.post("/join")
def come_in(
    request: Request, fields: Fields, annotation: Opened, visitor: Passerby, _: Annotated[None, Ours]
) -> Response:
    """Exchange a link for a session, once."""
    guesses: Guesses = request.app.state.guesses
    guesses.check(request, visitor)
    secret = people.exchange(annotation, fields.get("token", ""))
    if secret is None:
        return _no_good(request, visitor)
    if visitor:
        people.leave(annotation, visitor.session)
    response = RedirectResponse("/", 303)
    remember(request, response, secret)
    return response


def _no_good(request: Request, visitor: Passerby) -> Response:
    """Answer a link that was used, revoked or never given. Who is in already, as by clicking twice, just goes on."""
    guesses: Guesses = request.app.state.guesses
    guesses.wrong(request, visitor)
    if visitor:
        return RedirectResponse("/", 303)
    raise HTTPException(404, "link")


@router.post("/leave")
def leave(request: Request, annotation: Opened, visitor: PostedAnyone) -> Response:
    """End this browser's session."""
    people.leave(annotation, visitor.session)
    request.state.visitor = None
    response = page(request, "left", None)
    forget(request, response)
    return response


@router.get("/notice")
def notice(request: Request, visitor: Anyone) -> Response:
    """Say what kind of texts are coming, before the first one."""
    return page(request, "notice", visitor)


@router.post("/notice")
def noticed(annotation: Opened, visitor: PostedAnyone) -> Response:
    """Remember that the notice was read."""
    annotation.set_noticed(visitor.person.id)
    return RedirectResponse("/", 303)


@router.post("/language")
def speak(request: Request, fields: Fields, annotation: Opened, visitor: PostedAnyone) -> Response:
    """Choose the language of the page, and go back to where that was asked for."""
    chosen = fields.get("language", "")
    if chosen not in LANGUAGES:
        raise HTTPException(422)
    annotation.set_language(visitor.person.id, chosen)
    return RedirectResponse(_page_before(request), 303)


def _page_before(request: Request) -> str:
    """Return the path of the page that the form stood on; the front page where it is not one of ours."""
    try:
        before = urlsplit(request.headers.get("referer", ""))
    except ValueError:
        return "/"
    if before.netloc.lower() != request.headers["host"].lower():
        return "/"
    path = "/" + before.path.lstrip("/\\")  # two slashes would begin another host's address
    scope = {"type": "http", "method": "GET", "path": path, "headers": []}
    if not any(route.matches(scope)[0] is Match.FULL for route in request.app.router.routes):
        return "/"  # a page that answered a form cannot be asked for again
    return path + (f"?{before.query}" if before.query else "")
