"""HTTP to servers that nobody vouches for: the one place that makes sessions, sends and reads.

What is sent to a model goes where the user said and nowhere else: redirects are not followed, and proxies of the
environment, `.netrc` and cookies are not used. A public file, known by its hash, may come by redirects and proxies (`follow`),
but `.netrc` is not read for it either. What comes is read within bounds, whatever a server claims about it.
"""

from __future__ import annotations

import functools
import zlib
from typing import TYPE_CHECKING, Any
from urllib.request import getproxies, proxy_bypass

import aiohttp
from aiohttp.client_proto import ResponseHandler
from yarl import URL

from mindgauge.models import completion

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

LARGEST_ANSWER = 16 << 20
"""Bytes, unpacked; an answer that goes on beyond is cut off."""
_REDIRECTS = 5
_PACKED = {"gzip", "x-gzip", "deflate"}
_PART = 1 << 18
"""Bytes that are unpacked at once."""
_LONGEST_CODING = 40
"""Characters of a coding that are repeated in a message."""


def session(*, headers: dict[str, str], timeout: aiohttp.ClientTimeout, limit: int = 100) -> aiohttp.ClientSession:
    """Make a session within a running loop.

    Args:
        headers: what every request carries.
        timeout: of a request.
        limit: the most connections at once.
    """
    return aiohttp.ClientSession(
        headers={"Accept-Encoding": "identity", **headers},
        timeout=timeout,
        connector=_Connector(limit=limit, ttl_dns_cache=300),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,  # what is unpacked must be bounded
    )


def send(via: aiohttp.ClientSession, method: str, address: str, **options: Any) -> Any:
    """Send a request; a context manager with its response, which may be a redirect."""
    return via.request(method, address, allow_redirects=False, **options)


def follow(via: aiohttp.ClientSession, address: str, headers: dict[str, str]) -> Any:
    """Ask for a public file wherever it is now, by the environment's proxy; a context manager with the response."""
    url = URL(address)
    proxy = None if proxy_bypass(url.host or "") else getproxies().get(url.scheme)  # aiohttp would read .netrc, too
    return via.get(url, headers=headers, max_redirects=_REDIRECTS, proxy=proxy)


async def read(response: aiohttp.ClientResponse) -> bytes:
    """Read an answer to its end, but not one that never ends.

    Raises:
        ValueError: it has more than `LARGEST_ANSWER` bytes, or is packed in a way that cannot be undone.
        aiohttp.ClientError: it breaks off.
    """
    if "Content-Encoding" not in response.headers and (response.content_length or LARGEST_ANSWER) < LARGEST_ANSWER:
        if response.content.is_eof():  # it came with its headers, as short ones do
            return response.content.read_nowait()
        return await response.content.read()  # which ends with the length that was announced
    content = bytearray()
    async for part in parts(response):
        content += part
        if len(content) > LARGEST_ANSWER:
            raise ValueError(f"an answer of more than {LARGEST_ANSWER >> 20} MiB")
    return bytes(content)


async def parts(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """Read an answer bit by bit, and undo its content coding (RFC 9110, 8.4.1), which some servers use unasked.

    Raises:
        ValueError: the coding is not known, nested, or broken.
        aiohttp.ClientError: the answer breaks off.
    """
    coding = ", ".join(response.headers.getall("Content-Encoding", ())).strip().lower()
    if coding in {"", "identity"}:
        async for part in response.content.iter_any():
            yield part
        return
    name = coding[:_LONGEST_CODING]
    if coding not in _PACKED:
        raise ValueError(f"an answer packed as {name}")
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
    try:
        async for part in response.content.iter_any():
            packed = part
            while packed or unpacker.unconsumed_tail:
                unpacked = unpacker.decompress(packed or unpacker.unconsumed_tail, _PART)
                packed = b""
                if unpacker.unused_data:
                    raise ValueError(f"the answer, packed as {name}, goes on after its end")
                yield unpacked
        while rest := unpacker.decompress(b"", _PART):
            yield rest
    except zlib.error as error:
        raise ValueError(f"the answer, packed as {name}, cannot be unpacked") from error
    if not unpacker.eof:
        raise ValueError(f"the answer, packed as {name}, breaks off")


class _Handler(ResponseHandler):
    """A connection that is closed when something comes on it that nobody asked for."""

    idle = False

    def data_received(self, data: bytes) -> None:
        if self.idle and data:  # it would be taken for the answer to the next question, or fill the memory
            self.close()
        else:
            super().data_received(data)


class _Connector(aiohttp.TCPConnector):
    """Keeps connections for the next question, except where an answer stands on them already."""

    _factory: Any

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._factory = functools.partial(_Handler, loop=self._loop)

    async def _get(self, *place: Any) -> Any:
        while (connection := await super()._get(*place)) is not None:
            handler: Any = connection.protocol
            if not handler.should_close:
                handler.idle = False
                return connection
            connection.close()
        return None

    def _release(self, key: Any, protocol: Any, *, should_close: bool = False) -> None:
        super()._release(key, protocol, should_close=should_close)
        protocol.idle = True


def fault(error: Exception) -> str:
    """Say on one line how an exchange broke; where a server sends no HTTP, without the status that aiohttp makes up."""
    if isinstance(error, aiohttp.ClientResponseError):
        reason = error.message.partition("\n\n")[0].rstrip(":")  # the bytes that were sent follow
        return completion.one_line(f"it does not speak HTTP as it should: {reason}")
    if isinstance(error, aiohttp.ClientPayloadError):
        reason = getattr(error.__cause__, "message", "")
        return completion.one_line(f"its answer breaks off{f': {reason}' if reason else ''}")
    return completion.one_line(f"{type(error).__name__}: {error}")
