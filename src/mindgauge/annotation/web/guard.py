"""What holds for every request to a page that this machine serves, and every answer: hosts, sizes, headers, one line of log without content.

A cookie of `127.0.0.1` goes to every server on it that the browser opens, and each may set or push out such cookies.
Browsers know `NAME.localhost` for this machine (RFC 6761), and its cookies are its own: who does not know the name can
neither lead a browser to it nor ask for it. Whoever knows theirs does not know another's.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import logging
import re
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse

from mindgauge.models.address import loopback

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    Refusal: TypeAlias = Callable[[Request, HTTPException], Response]

log = logging.getLogger(__name__)

LARGEST = 1_000_000
"""Bytes that a request's body may have."""
_AUTHORITY = re.compile(r"(?:(?P<name>[^\s:@/\[\]\\]+)|\[(?P<address>[0-9a-f:.]+)\])(?::(?P<port>[0-9]{1,5}))?")
_STRANGE = (
    "This address opens nothing. Open the link that the terminal printed, or that you were sent, as it is written there.\n"
    "此地址下没有内容。请原样打开终端中显示的链接，或发给您的链接。\n"
)
"""What every other host is told: not what is served here, nor where."""
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    # Not `no-referrer`: with it, browsers say `Origin: null` of our own forms, and we could not tell them from others'.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Guard:
    """The outermost layer, around everything that a page answers."""

    def __init__(
        self,
        app: ASGIApp,
        secret: bytes,
        port: int,
        refuse: Refusal,
        host: str = "127.0.0.1",
        public: str = "",
    ) -> None:
        """Say how the page may be called: by whom else it is, its links would lead elsewhere.

        A name that somebody else points at this machine (DNS rebinding) is none of the names; an address cannot be
        pointed. What everybody knows of this machine (`127.0.0.1`, `localhost`) opens nothing.

        Args:
            app: what is guarded.
            secret: of the hosts that are given out, `own_host`.
            port: that is listened on.
            refuse: what is answered where something else is wrong than the host.
            host: that is listened on; where the network reaches it, any numeric address will do, too.
            public: the address that people use, with its own port.
        """
        self.app = app
        self.secret = secret
        self.host = host.lower()
        self.port = port
        self.refuse = refuse
        scheme, authority = urlsplit(public).scheme, split_authority(urlsplit(public).netloc)
        self.default = 443 if scheme == "https" else 80
        self.public = None
        if authority is not None and not is_here(authority[0]):
            self.public = (authority[0], authority[1] or self.default)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, as ASGI has it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                _add_headers(scope, message)
            await send(message)

        request = Request(scope, receive)
        try:
            if not self._known(request.headers.get("host", "")):
                await PlainTextResponse(_STRANGE, 400)(scope, receive, answer)
            elif refused := _refused(scope):
                await self.refuse(request, refused)(scope, receive, answer)
            else:
                await self.app(scope, _limited(receive), answer)
        except Exception as error:  # noqa: BLE001  # nobody above us may print it: its text can hold what somebody typed
            log_fault(error)
            if status == 0:
                await self.refuse(request, HTTPException(500))(scope, receive, answer)
        finally:
            milliseconds = 1000 * (time.perf_counter() - began)
            log.info("%s %s %d %.0f ms", _method(scope), _template(scope), status, milliseconds)

    def _known(self, host: str) -> bool:
        authority = split_authority(host)
        if authority is None:
            return False
        name, port = authority
        if (name, port or self.default) == self.public:
            return True
        if (port or 80) != self.port:
            return False
        abroad = not is_here(name) and (name == self.host or (is_address(name) and not loopback(self.host)))
        return is_own(self.secret, name) or abroad


def _refused(scope: Scope) -> HTTPException | None:
    length = Headers(scope=scope).get("content-length", "0")
    if not length.isdecimal() or len(length) > 18:
        return HTTPException(400)
    if int(length) > LARGEST:
        return HTTPException(413)
    if "\0" in scope["path"] or b"%00" in scope["query_string"]:
        return HTTPException(404)
    return None


def split_authority(authority: str) -> tuple[str, int | None] | None:
    """Return the name (of an IPv6 address without brackets) and the port, if it has one; None where it is none."""
    match = _AUTHORITY.fullmatch(authority.lower())
    if match is None:
        return None
    return match["name"] or match["address"], int(match["port"]) if match["port"] else None


def is_address(host: str) -> bool:
    """Say whether a host is a numeric address."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _add_headers(scope: Scope, message: Message) -> None:
    headers = MutableHeaders(scope=message)
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
    lasting = scope["path"].startswith("/static/") and message["status"] < 400
    headers.setdefault("Cache-Control", "max-age=300" if lasting else "no-store")


def _limited(receive: Receive) -> Receive:
    """Count the bytes of a body whose length was not announced."""
    read = 0

    async def counted() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > LARGEST:
            raise HTTPException(413)
        return message

    return counted


def _method(scope: Scope) -> str:
    return scope["method"] if scope["method"] in {"GET", "POST", "HEAD"} else "other"


def _template(scope: Scope) -> str:
    """Return the path as the route is written: without tokens and ids; a path of no route is not shown."""
    if scope["path"].startswith("/static/"):
        return "/static"
    return getattr(scope.get("route"), "path", "-")


def is_ours(request: Request, *addresses: str) -> bool:
    """Say whether our own page sends a request, or no browser does; another site's page is told by its origin.

    Args:
        request: that changes something.
        addresses: by which else the page is known.
    """
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        return site in {"same-origin", "none"}
    return origin is None or _netloc(origin) in {request.headers["host"].lower(), *map(_netloc, addresses)}


def _netloc(url: str) -> str:
    try:
        return urlsplit(url).netloc.lower() or "none"
    except ValueError:
        return "none"


def log_fault(error: Exception) -> None:
    """Log what went wrong and where, without the message: it can hold what somebody typed."""
    log.error("%s", described(error))


def described(error: BaseException) -> str:
    """Name a fault by its kind and place, without its message."""
    causes = [error, getattr(error.__cause__, "orig", error.__cause__)]
    names = " from ".join(type(cause).__name__ for cause in causes if cause is not None)
    return f"{names} at {_place(error)}"


def _place(error: BaseException) -> str:
    """Return where it was raised: files, lines and functions, no values."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "mindgauge" in Path(frame.filename).parts]
    places = [*own[-1:], *frames[-1:]] if frames[-1:] != own[-1:] else frames[-1:]
    return " > ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in places)


_HANDLE = 8
_END = ".localhost"


def own_host(secret: bytes, person: str) -> str:
    """Return the host under which a person reaches a page: the same as long as the secret is, and never to be guessed."""
    handle = _digest(secret, "person", person)[:_HANDLE]
    return f"{handle}{_digest(secret, 'host', handle)}{_END}"


def is_own(secret: bytes, host: str) -> bool:
    """Whether a host is some person's, as `own_host` makes them."""
    handle, mark = host[:_HANDLE], host[_HANDLE:]
    return hmac.compare_digest(mark.encode(), f"{_digest(secret, 'host', handle)}{_END}".encode())


def own_address(secret: bytes, person: str, url: str) -> str:
    """Return an address with the person's host in the place of this machine's; one that names another stays."""
    parts = urlsplit(url)
    _, colon, port = parts.netloc.rpartition("]")[2].partition(":")
    return f"{parts.scheme}://{own_host(secret, person)}{colon}{port}" if is_here(parts.hostname or "") else url


def is_here(host: str) -> bool:
    """Whether a host is this machine by a name that is no secret: knowing the port is enough to ask under it."""
    name = host.lower().removesuffix(".")
    return loopback(name) or name in {"0.0.0.0", "::"} or name.endswith(_END) or name.startswith("::ffff:")  # noqa: S104


def _digest(secret: bytes, *parts: str) -> str:
    return hashlib.blake2b("\0".join(parts).encode(), key=secret, digest_size=12).hexdigest()
