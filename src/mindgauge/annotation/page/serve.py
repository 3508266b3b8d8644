"""The page of an annotation project: the application."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from mindgauge.annotation.database import DatabaseError
from mindgauge.annotation.labels import InvalidAnswerError
from mindgauge.annotation.page import refusals
from mindgauge.annotation.page.access import Guesses
from mindgauge.annotation.page.routes import discussion, item, join, owner, standing
from mindgauge.annotation.tasks import StaleError
from mindgauge.annotation.web.guard import Guard

if TYPE_CHECKING:
    from mindgauge.annotation.project import Annotation


HERE = Path(__file__).parent


def create_app(annotation: Annotation, host: str = "127.0.0.1", port: int = 8765, *, needed: object = None) -> FastAPI:
    """Make the page of a project.

    Args:
        annotation: the opened project; whoever opened it closes it.
        host: the address that is listened on; to which names the page answers says `Guard` (in tests, too:
            `origin.own_host(annotation.secret, "")` makes one that will do).
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
    app.add_exception_handler(HTTPException, refusals.http_error)
    app.add_exception_handler(RequestValidationError, refusals.incomplete)
    app.add_exception_handler(DatabaseError, refusals.no_database)
    app.add_exception_handler(StaleError, refusals.stale)
    app.add_exception_handler(InvalidAnswerError, refusals.incomplete)
    app.add_middleware(
        Guard, secret=annotation.secret, port=port, refuse=refusals.error_page, host=host, public=annotation.project.url
    )
    return app
