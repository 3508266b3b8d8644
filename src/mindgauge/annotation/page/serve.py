"""The page of an annotation project: the application."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.staticfiles import StaticFiles
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from mindgauge.annotation.database import DatabaseError
from mindgauge.annotation.labels import InvalidAnswerError
from mindgauge.annotation.page.access import Guesses, find_visitor
from mindgauge.annotation.page.pages import language, page, words
from mindgauge.annotation.page.routes import discussion, item, join, owner, standing
from mindgauge.annotation.tasks import StaleError
from mindgauge.annotation.web.guard import Guard, log_fault

if TYPE_CHECKING:
    from mindgauge.annotation.project import Annotation


HERE = Path(__file__).parent


def create_app(annotation: Annotation, host: str = "127.0.0.1", port: int = 8765, *, needed: object = None) -> FastAPI:
    """Make the page of a project.

    Args:
        annotation: the opened project; whoever opened it closes it.
        host: the address that is listened on; to which names the page answers says `Guard` (in tests, too:
            `guard.own_host(annotation.secret, "")` makes one that will do).
        port: that is listened on.
        needed: how many unsafe replies people must meet (`analysis.reliability.plan.UnsafeNeeded`), for the owner to read;
            None where that is not known.
    """
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    app.state.annotation = annotation
    app.state.guesses = Guesses()
    app.state.needed = needed
    for part in (join, item, discussion, standing, owner):
        app.include_router(part.router)
    app.mount("/static", StaticFiles(directory=HERE / "static"), name="static")
    app.add_exception_handler(HTTPException, http_error)
    app.add_exception_handler(RequestValidationError, incomplete)
    app.add_exception_handler(DatabaseError, no_database)
    app.add_exception_handler(StaleError, stale)
    app.add_exception_handler(InvalidAnswerError, incomplete)
    app.add_middleware(
        Guard, secret=annotation.secret, port=port, refuse=error_page, host=host, public=annotation.project.url
    )
    return app


NAMES = {
    400: "unreadable",
    401: "outside",
    403: "part",
    404: "missing",
    405: "missing",
    409: "stale",
    413: "large",
    422: "incomplete",
    429: "slow",
    500: "fault",
    503: "database",
}
"""Status → name of its texts in `words/<language>/error.toml`: `<name>_title` and `<name>`."""
RETRY = "5"
"""Seconds after which it makes sense to try a database again."""


def error_page(request: Request, error: HTTPException) -> Response:
    """Say what is wrong. The exception's detail may name other texts than its status does, such as `form` for 403."""
    if error.status_code < 400:
        return Response(status_code=error.status_code, headers=error.headers)
    visitor = getattr(request.state, "visitor", None)
    texts = words(language(request, visitor))["error"]
    name = error.detail if f"{error.detail}_title" in texts else NAMES.get(error.status_code, "unreadable")
    response: Response
    if _script(request):
        response = JSONResponse({"error": texts[name]}, error.status_code)
    else:
        draft = _kept(request) if name == "database" else None
        if name == "database" and draft is None:
            name = "away"
        response = page(request, "error", visitor, error.status_code, name=name, kept=draft)
    response.headers.update(error.headers or {})
    return response


def _script(request: Request) -> bool:
    """Say whether our script asks, which wants JSON, rather than a person's browser."""
    return request.headers.get("content-type", "").startswith("application/json")


def _kept(request: Request) -> list[tuple[str, str]] | None:
    """Return the fields of a form that could not be written, so that the page can send them once more; None for no form."""
    form = request._form  # noqa: SLF001  # read before, if it was; the connection may have nothing left to read
    if not isinstance(form, FormData):
        return None
    return [(name, value) for name, value in form.multi_items() if isinstance(value, str)] or None


def http_error(request: Request, error: Exception) -> Response:
    """Answer what a route or the router refused."""
    assert isinstance(error, HTTPException)
    with suppress(DatabaseError):  # the page is then in the browser's language
        find_visitor(request)
    return error_page(request, error)


def incomplete(request: Request, _: Exception) -> Response:
    """Answer a request whose fields are missing or of the wrong kind, or are no answers to the item's questions."""
    return error_page(request, HTTPException(422))


def stale(request: Request, _: Exception) -> Response:
    """Answer a form that was overtaken, where its route does not say more."""
    return error_page(request, HTTPException(409))


async def no_database(request: Request, error: Exception) -> Response:
    """Answer when the database is locked, full or gone; what was typed stays on the page, also if nobody has read it yet."""
    log_fault(error)
    if request.method == "POST" and not _script(request):
        with suppress(HTTPException, ClientDisconnect):
            await request.form(max_files=0)
    return error_page(request, HTTPException(503, headers={"Retry-After": RETRY}))
