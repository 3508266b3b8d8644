"""Requests to a batch service: patient with what passes, clear about what does not."""

from __future__ import annotations

import asyncio
import json
import random
import time
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import aiohttp

from mindgauge.errors import EndpointError
from mindgauge.models import completion

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import BinaryIO

T = TypeVar("T")
LONGEST_PAUSE = 60.0
"""Seconds between two tries."""
LARGEST_ANSWER = 16 << 20
"""Bytes of an answer that is no file of results."""
LARGEST_FILE = 8 << 30
"""Bytes of a file of results."""
_SLOWEST = 3600.0
"""Seconds that one file may take on its way."""


class PassingError(Exception):
    """This did not work, and may later. `pause` is the server's wish, in seconds; `arrived`: it may have been acted on."""

    def __init__(self, why: str, *, pause: float | None = None, arrived: bool = True) -> None:
        super().__init__(why)
        self.pause = pause or 0.0
        self.arrived = arrived


class UnsureError(Exception):
    """What was sent may or may not have been acted on."""


class RefusedError(Exception):
    """The service does not take what was sent."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(f"{status}: {said}")
        self.status = status


class MissingError(EndpointError):
    """There is nothing at an address."""


class OverdueError(Exception):
    """It did not work for as long as waiting is allowed."""


class Transport:
    """A connection to one batch service."""

    def __init__(self, name: str, url: str, *, timeout: float, tries: int, pause: float) -> None:
        """Describe the service; nothing is sent.

        Args:
            name: of the model, for messages.
            url: the base address, up to and including the version.
            timeout: seconds without a byte before an attempt is given up.
            tries: before a service that never answered is taken for none.
            pause: seconds before the second try; later ones double.
        """
        self.name = name
        self.url = url
        self.host = urlsplit(url).hostname or ""
        self.headers: dict[str, str] = {}
        self.deadline: float | None = None
        """When to stop trying, on the monotonic clock."""
        self._timeout = timeout
        self._tries = tries
        self._pause = pause
        self._answered = False
        self._session: aiohttp.ClientSession | None = None

    async def open(self) -> None:
        """Make ready to send."""
        timeout = aiohttp.ClientTimeout(total=_SLOWEST, sock_connect=self._timeout, sock_read=self._timeout)
        self._session = aiohttp.ClientSession(timeout=timeout, headers={"Accept-Encoding": "identity"})

    async def close(self) -> None:
        """Let go of connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def get(self, path: str, **params: str | int) -> dict[str, Any]:
        """Read an object, for as long as waiting is allowed.

        Raises:
            EndpointError: our key is refused, or nothing listens there.
            MissingError: there is no such object.
            RefusedError: the request is wrong.
            OverdueError: it did not work in time.
        """
        return await self._patiently(lambda: self._object("GET", path, params=params))

    async def post(self, path: str, data: Callable[[], Any], **headers: str) -> dict[str, Any]:
        """Send what may safely be sent twice; see `get`."""
        return await self._patiently(lambda: self._object("POST", path, data=data(), headers=headers))

    async def post_once(self, path: str, data: Callable[[], Any], **headers: str) -> dict[str, Any]:
        """Send what must not be sent twice.

        Raises:
            UnsureError: it may have been acted on. Otherwise see `get`.
        """

        async def once() -> dict[str, Any]:
            try:
                return await self._object("POST", path, data=data(), headers=headers)
            except PassingError as problem:
                if problem.arrived:
                    raise UnsureError(str(problem)) from problem
                raise

        return await self._patiently(once)

    async def download(self, address: str, file: BinaryIO) -> None:
        """Write what lies at an address into a file; see `get`."""

        async def whole() -> None:
            file.seek(0)
            file.truncate()
            async with self._sending("GET", address) as response:
                if response.status != 200:
                    self._refuse(response, await _read(response))
                size = 0
                async for part in response.content.iter_chunked(1 << 18):
                    size += file.write(part)
                    if size > LARGEST_FILE:
                        raise PassingError(f"results of more than {LARGEST_FILE >> 30} GiB")

        await self._patiently(lambda: self._sent(whole))
        file.flush()

    def address(self, path: str) -> str:
        """Return the whole address of a path; one that is whole already only if it leads to the same server."""
        if not path.startswith(("http://", "https://")):
            return self.url + path
        ours, theirs = urlsplit(self.url), urlsplit(path)
        return path if (ours.scheme, ours.netloc) == (theirs.scheme, theirs.netloc) else ""

    async def rest(self, attempt: int, problem: Exception, wish: float = 0.0) -> None:
        """Wait before another try.

        Raises:
            EndpointError: nothing ever answered.
            OverdueError: waiting is not allowed for so long.
        """
        if attempt >= self._tries and not self._answered:
            raise EndpointError(f"{self.name}: {self.url} did not answer after {attempt} tries: {problem}") from problem
        pause = min(LONGEST_PAUSE, max(wish, random.uniform(0.5, 1) * self._pause * 2 ** min(attempt, 16)))
        if attempt >= self._tries and self.deadline is not None and time.monotonic() + pause > self.deadline:
            raise OverdueError(str(problem)) from problem
        await asyncio.sleep(pause)

    async def _patiently(self, act: Callable[[], Awaitable[T]]) -> T:
        attempt = 0
        while True:
            try:
                done = await act()
            except PassingError as problem:
                attempt += 1
                await self.rest(attempt, problem, problem.pause)
            else:
                self._answered = True
                return done

    async def _object(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        async def whole() -> dict[str, Any]:
            async with self._sending(method, self.url + path, **more) as response:
                content = await _read(response)
                if response.status not in {200, 201, 202}:
                    self._refuse(response, content)
            try:
                found = json.loads(content)
            except (ValueError, RecursionError):
                found = None
            if not isinstance(found, dict):
                raise PassingError("an answer that is no JSON object")
            return found

        return await self._sent(whole)

    def _sending(self, method: str, address: str, **more: Any) -> Any:
        assert self._session is not None, "open the connection before sending"
        headers = {**self.headers, **more.pop("headers", {})}
        return self._session.request(method, address, allow_redirects=False, headers=headers, **more)

    async def _sent(self, act: Callable[[], Awaitable[T]]) -> T:
        """Do something with the network, whose faults pass."""
        try:
            return await act()
        except aiohttp.ClientConnectorError as error:
            # One about a certificate has no `os_error`.
            raise PassingError(str(getattr(error, "os_error", error)), arrived=False) from error
        except TimeoutError as error:
            raise PassingError(f"no answer within {self._timeout:g} s") from error
        except (aiohttp.ClientError, ConnectionError, ValueError) as error:
            raise PassingError(" ".join(completion.words(f"{type(error).__name__}: {error}").split())) from error

    def _refuse(self, response: aiohttp.ClientResponse, content: bytes) -> None:
        """Say what a status other than success means."""
        status, said = response.status, completion.fault(content)
        if status in {408, 409, 425, 429} or status >= 500:
            wish = completion.retry_after(response.headers.get("Retry-After"))
            raise PassingError(f"{status}: {said}", pause=wish, arrived=status == 408 or status >= 500)
        self._answered = True
        if status in {401, 403}:
            raise EndpointError(f"{self.name}: {self.host} refuses our key ({status}: {said})")
        if status in {404, 405, 410} or status < 400:
            raise MissingError(f"{self.name}: {response.url.origin()}{response.url.path} is no address of a batch service ({status}: {said})")  # fmt: skip
        raise RefusedError(status, said)


async def _read(response: aiohttp.ClientResponse) -> bytes:
    content = bytearray()
    async for part in response.content.iter_any():
        content += part
        if len(content) > LARGEST_ANSWER:
            raise ValueError(f"an answer of more than {LARGEST_ANSWER >> 20} MiB")
    return bytes(content)
