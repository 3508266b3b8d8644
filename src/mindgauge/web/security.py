"""What holds for every request and every answer: hosts, sizes, headers, one line of log without content, no bare 500."""

from __future__ import annotations

import ipaddress
import logging
import time
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request

from mindgauge.web import errors

if TYPE_CHECKING:
    from collections.abc import Collection

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = logging.getLogger(__name__)

LARGEST = 1_000_000
"""Bytes that a request's body may have."""
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
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
    """The outermost layer, around everything that the page answers."""

    def __init__(self, app: ASGIApp, hosts: Collection[str], addresses: bool) -> None:
        """Take the names by which the page may be called, and whether any numeric address will do, too.

        A name that somebody else points at this machine (DNS rebinding) is none of them; an address cannot be pointed.
        """
        self.app = app
        self.hosts = LOOPBACK | {host.lower() for host in hosts}
        self.addresses = addresses

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
            refused = self._refused(scope)
            if refused:
                await errors.answer(request, refused)(scope, receive, answer)
            else:
                await self.app(scope, _limited(receive), answer)
        except Exception as error:  # noqa: BLE001  # nobody above us may print it: its text can hold what somebody typed
            errors.log_fault(error)
            if status == 0:
                await errors.answer(request, HTTPException(500))(scope, receive, answer)
        finally:
            milliseconds = 1000 * (time.perf_counter() - began)
            log.info("%s %s %d %.0f ms", _method(scope), _template(scope), status, milliseconds)

    def _refused(self, scope: Scope) -> HTTPException | None:
        headers = Headers(scope=scope)
        if not self._known(headers.get("host", "")):
            return HTTPException(400, "host")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 18:
            return HTTPException(400)
        if int(length) > LARGEST:
            return HTTPException(413)
        if "\0" in scope["path"] or b"%00" in scope["query_string"]:
            return HTTPException(404)
        return None

    def _known(self, host: str) -> bool:
        name = host_name(host)
        return name in self.hosts or (self.addresses and is_address(name))


def host_name(host: str) -> str:
    """Return the name in a Host header, without its port and brackets."""
    name = host.rpartition("]")[0].removeprefix("[") if host.startswith("[") else host.partition(":")[0]
    return name.lower()


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
