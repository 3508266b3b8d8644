"""The page of an annotation project: the application, served until somebody stops it."""

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
from mindgauge.annotation.web import serving
from mindgauge.annotation.web.guard import Guard
from mindgauge.models.address import loopback

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from mindgauge.annotation.project import Annotation


HERE = Path(__file__).parent


def create_app(annotation: Annotation, host: str = "127.0.0.1", port: int = 8765, *, needed: object = None) -> FastAPI:
    """Make the page of a project.

    Args:
        annotation: the opened project; whoever opened it closes it.
        host: the address that is listened on. The page answers to each person's own host (`web.origin`), and if it is
            not a loopback address, to any other numeric address, each with the port; and to the project's URL. Other Host
            headers get 400 (in tests, too: `origin.own_host(annotation.secret, "")` makes one that will do).
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
    public = annotation.project.url
    app.add_middleware(
        Guard,
        secret=annotation.secret,
        port=port,
        refuse=refusals.error_page,
        names={host},
        public=public,
        addresses=not loopback(host),
    )
    return app


def serve(
    annotation: Annotation, listener: socket.socket, host: str, ready: Callable[[], None], needed: object = None
) -> None:
    """Serve a project until Ctrl-C.

    Args:
        annotation: the opened project.
        listener: from `serving.listen`.
        host: as it was given to `listen`.
        ready: called once requests are answered.
        needed: what the owner reads before labelling starts, as `create_app` takes it.
    """
    app = create_app(annotation, host, listener.getsockname()[1], needed=needed)
    behind_tls = annotation.project.url.startswith("https:")  # we speak no TLS, so that a proxy does
    serving.serve(app, listener, ready, proxied=behind_tls)
