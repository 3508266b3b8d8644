"""One released file over HTTP: taken up where it broke off, and kept only if it is the very file that is known."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, NamedTuple

import aiohttp

from mindgauge.models import transport
from mindgauge.records.errors import DataError, EndpointError
from mindgauge.records.files import checksum
from mindgauge.records.rounding import count

if TYPE_CHECKING:
    from pathlib import Path

PART = ".part"
"""What the name of a file ends in that is not whole yet."""
_TRIES = 4
"""Tries one after the other that bring nothing new; one that does begins the count again."""
_MOST_TRIES = 100
_LONGEST_WAIT = 60.0
"""Seconds that a server may ask for between two tries."""
_TOO_MANY, _NOT_SATISFIABLE, _SERVER = 429, 416, 500
_RANGE = re.compile(r"bytes (\d+)-")
_FINAL = {401: "wants a log-in", 403: "refuses it", 404: "has no such file", 410: "has no such file any more"}


class PublicFile(NamedTuple):
    """A released file: where it stands below the folder of its benchmark, where it may be had, and which file it is."""

    path: str
    url: str
    size: int
    sha256: str


class UnreachableError(EndpointError):
    """A server that cannot be reached at all, for any file."""


class _InterruptedError(Exception):
    """The answer is not whole; another try may be better, after some seconds if the server says so."""

    def __init__(self, reason: str, pause: float = 0.0) -> None:
        super().__init__(reason)
        self.pause = pause


def session() -> aiohttp.ClientSession:
    """Make a session for public files, within a running loop."""
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=60)
    return transport.session(headers={"User-Agent": "mindgauge"}, timeout=timeout, limit=4)


def is_whole(file: PublicFile, place: Path) -> bool:
    """Whether the very file is at a place."""
    return place.is_file() and place.stat().st_size == file.size and checksum.sha256(place) == file.sha256


async def download(via: aiohttp.ClientSession, file: PublicFile, url: str, place: Path, *, pause: float = 1.0) -> None:
    """Bring a file to its place; what has come of it stays beside it until it is whole.

    Args:
        via: the session.
        file: which file it is.
        url: where it is asked for.
        place: where it goes.
        pause: seconds before the second try, doubled before each further one.

    Raises:
        DataError: the server has another file in its place.
        UnreachableError: there is no such server.
        EndpointError: it cannot be had from there, now or at all.
        OSError: it cannot be written.
    """
    part = place.with_name(f"{place.name}{PART}")
    place.parent.mkdir(parents=True, exist_ok=True)
    idle = 0
    for _ in range(_MOST_TRIES):
        begun = _size(part)
        interruption = await _tried(via, file, url, part)
        if interruption is None:
            if checksum.sha256(part) == file.sha256:
                part.replace(place)
                return
            other = _other_file(file, part)
            _drop(part)
            if not begun:
                raise DataError(f"{url} is another file than the released {file.path}{other}; nothing of it is kept")
            interruption = _InterruptedError("what had come before was of another file")
        idle = 0 if _size(part) > begun else idle + 1
        if idle == _TRIES:
            raise EndpointError(f"{url}: {interruption}; the same command goes on from there")
        await asyncio.sleep(max(interruption.pause, pause * (2**idle - 1)))
    raise EndpointError(f"{url}: the server breaks off again and again; the same command goes on from there")


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _drop(part: Path) -> None:
    part.unlink(missing_ok=True)


async def _tried(via: aiohttp.ClientSession, file: PublicFile, url: str, part: Path) -> _InterruptedError | None:
    """Try once to bring what is missing of a file; what kept it from being whole, if anything."""
    try:
        await _receive(via, file, url, part)
    except _InterruptedError as interruption:
        return interruption
    except TimeoutError:
        return _InterruptedError("the server does not answer in time")
    except aiohttp.ClientConnectorError as error:
        reason = error.os_error.strerror or error.os_error
        raise UnreachableError(f"cannot reach {error.host} ({reason})") from error
    except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError) as error:
        raise EndpointError(f"{url}: no address of a file") from error
    except aiohttp.TooManyRedirects as error:
        raise EndpointError(f"{url}: sends in a circle") from error
    except aiohttp.ClientError as error:
        return _InterruptedError(f"the answer breaks off ({type(error).__name__})")
    except ValueError as error:
        _drop(part)
        return _InterruptedError(str(error))
    return None


async def _receive(via: aiohttp.ClientSession, file: PublicFile, url: str, part: Path) -> None:
    """Add what is missing of a file to its part, as far as the answer goes.

    Raises:
        _InterruptedError: the answer is no part of the file, or ends before it does.
        EndpointError: the server will never give it.
    """
    size = _size(part)
    if size == file.size:
        return
    headers = {"Range": f"bytes={size}-"} if 0 < size < file.size else {}
    async with transport.follow(via, url, headers) as response:
        _check(response, url, part)
        goes_on = response.status == 206 and bool(headers)
        if goes_on and not _continues(response, size):
            _drop(part)
            raise _InterruptedError("the server sends another part than was asked for")
        size = size if goes_on else 0
        with part.open("ab" if goes_on else "wb") as content:
            async for piece in transport.parts(response):
                content.write(piece[: file.size - size])
                size = min(size + len(piece), file.size)
                if size == file.size:
                    return  # more than that is no part of the file
    raise _InterruptedError(f"the answer ends after {count(size)} of {count(file.size)} bytes")


def _continues(response: aiohttp.ClientResponse, size: int) -> bool:
    match = _RANGE.match(response.headers.get("Content-Range", ""))
    return match is not None and int(match[1]) == size and "Content-Encoding" not in response.headers


def _check(response: aiohttp.ClientResponse, url: str, part: Path) -> None:
    """Refuse what is no answer with the file in it.

    Raises:
        _InterruptedError: it may be there later, or from the beginning.
        EndpointError: it is not there.
    """
    if response.status == _NOT_SATISFIABLE:
        _drop(part)
        raise _InterruptedError("the server has no such part of the file")
    if response.status == _TOO_MANY or response.status >= _SERVER:
        raise _InterruptedError(f"the server answers with status {response.status}", _asked_pause(response))
    if response.status not in {200, 206}:
        reason = _FINAL.get(response.status, f"answers with status {response.status}")
        raise EndpointError(f"{url}: the server {reason}")


def _asked_pause(response: aiohttp.ClientResponse) -> float:
    text = response.headers.get("Retry-After", "")
    return min(float(text), _LONGEST_WAIT) if text.isdecimal() else 0.0


def _other_file(file: PublicFile, part: Path) -> str:
    """Say how what came differs from the file."""
    with part.open("rb") as content:
        beginning = content.read(256).lstrip().lower()
    if beginning.startswith((b"<!doctype html", b"<html")) and not file.path.endswith((".html", ".htm")):
        return " (it is a web page: a log-in, or a proxy's)"
    return f" (its SHA-256 is {checksum.sha256(part)[:12]}…, and {file.sha256[:12]}… is known)"
