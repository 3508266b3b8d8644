"""The application: pages and data for whoever came by the link, answers from our own page alone, and one line of JSON where something is wrong."""

from __future__ import annotations

import gzip
import hmac
import secrets
from typing import TYPE_CHECKING, TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route

from mindgauge.annotation.labels import LONGEST_NOTE
from mindgauge.annotation.web.guard import Guard, is_ours, own_host
from mindgauge.records.errors import MindgaugeError
from mindgauge.reports.view.answers import AnswerBook, AnswerForm
from mindgauge.store.locks import LockedRunError

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    Form = TypeVar("Form")

_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".txt": "text/plain"}
_SENTENCES = {
    400: "This cannot be read, so nothing was changed.",
    401: "Open the link that `mindgauge view` printed in the terminal: this browser has no key to the reader.",
    403: "This did not come from the reader's own page, so nothing was changed.",
    404: "There is nothing here.",
    405: "There is nothing here.",
    413: "That is more than an answer may be.",
    422: "That is no answer that can be read.",
    500: "Something went wrong in Mindgauge; the terminal says where. Nothing was changed.",
}


class ViewAccess:
    """The keys of one process. Path and cookie's name are among them: another port of the host neither gets nor sets it."""

    def __init__(self, book: AnswerBook, port: int) -> None:
        self.book = book
        self.token, self.session, self.csrf = (secrets.token_urlsafe(32) for _ in range(3))
        self.secret, self.path = secrets.token_bytes(32), f"/{secrets.token_hex(16)}"
        self.cookie = f"mindgauge-{secrets.token_hex(8)}"
        self.port = port

    @property
    def link(self) -> str:
        """The address that lets a browser in."""
        return f"http://{own_host(self.secret, '')}:{self.port}{self.path}/open/{self.token}"


class _LineOnly(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    line: str


class _Look(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    line: str
    seconds: float


def create_app(access: ViewAccess) -> Starlette:
    """Make the application; it answers under the host and the path of the link alone."""
    routes = [
        Route("/open/{token}", _enter),
        Route("/state", _state),
        Route("/lines/{key}", _line),
        Route("/answers", _answer, methods=["POST"]),
        Route("/withdrawn", _withdraw, methods=["POST"]),
        Route("/read", _look, methods=["POST"]),
        Route("/{name:path}", _file),
    ]
    app = Starlette(
        routes=[Mount(access.path, routes=routes)],
        middleware=[Middleware(Guard, secret=access.secret, port=access.port, refuse=_refused)],
        exception_handlers={HTTPException: _refused},
    )
    app.state.access = access
    return app


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    sentence = error.detail if error.status_code == 409 else _SENTENCES.get(error.status_code, _SENTENCES[400])
    if request.url.path.endswith("/") or "/open/" in request.url.path:
        return PlainTextResponse(f"{sentence}\n", error.status_code)
    return _json({"error": sentence}, error.status_code)


def _json(content: object, status: int = 200) -> Response:
    return Response(msgspec.json.encode(content), status, media_type="application/json")


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode(), wanted.encode())


def _enter(request: Request) -> Response:
    access: ViewAccess = request.app.state.access
    if not _same(request.path_params["token"], access.token):
        raise HTTPException(401)
    response = RedirectResponse(f"{access.path}/", 303)
    response.set_cookie(access.cookie, access.session, path=f"{access.path}/", httponly=True, samesite="lax")
    return response


def _inside(request: Request) -> ViewAccess:
    """Return the keys to who came by the link."""
    access: ViewAccess = request.app.state.access
    if not _same(request.cookies.get(access.cookie, ""), access.session):
        raise HTTPException(401)
    return access


def _file(request: Request) -> Response:
    access = _inside(request)
    name = request.path_params["name"] or "index.html"
    content = access.book.served.files.get(name)
    if content is None:
        raise HTTPException(404)
    kind = _TYPES[name[name.rindex(".") :]]
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(gzip.decompress(content), media_type=kind)
    return Response(content, media_type=kind, headers={"Content-Encoding": "gzip"})


def _state(request: Request) -> Response:
    access = _inside(request)
    book = access.book
    return _json({
        "csrf": access.csrf, "who": book.who, "lines": len(book.served.lines), "longest": LONGEST_NOTE,
        "answered": book.answered(), "read": book.read(),
    })  # fmt: skip


def _line(request: Request) -> Response:
    access = _inside(request)
    try:
        return _json(access.book.line(request.path_params["key"]))
    except KeyError as error:
        raise HTTPException(404) from error


async def _posted(request: Request, kind: type[Form]) -> tuple[AnswerBook, Form]:
    """Read what our own page sends."""
    access = _inside(request)
    if not is_ours(request) or not _same(request.headers.get("x-csrf", ""), access.csrf):
        raise HTTPException(403)
    if not request.headers.get("content-type", "").startswith("application/json"):
        raise HTTPException(422)
    try:
        return access.book, msgspec.json.decode(await request.body(), type=kind)
    except (ValueError, RecursionError) as error:
        raise HTTPException(422) from error


async def _changed(change: Callable[[], None], book: AnswerBook, key: str) -> Response:
    """Make a change, and answer with the line as it is then, and all lines that are about the same."""
    try:
        await run_in_threadpool(change)
        return _json({"line": book.line(key), "lines": book.keys(key)})
    except KeyError as error:
        raise HTTPException(404) from error
    except LockedRunError as error:
        return _json({"error": str(error)}, 503)
    except MindgaugeError as error:
        raise HTTPException(409, str(error)) from error


async def _answer(request: Request) -> Response:
    book, form = await _posted(request, AnswerForm)
    return await _changed(lambda: book.save(form), book, form.line)


async def _withdraw(request: Request) -> Response:
    book, form = await _posted(request, _LineOnly)
    return await _changed(lambda: book.withdraw(form.line), book, form.line)


async def _look(request: Request) -> Response:
    book, form = await _posted(request, _Look)
    try:
        read = await run_in_threadpool(book.looked, form.line, form.seconds)
        return _json({"read": read, "lines": book.keys(form.line)})
    except KeyError as error:
        raise HTTPException(404) from error
    except (MindgaugeError, OSError) as error:
        raise HTTPException(409, f"what was read cannot be kept ({error})") from error
