"""Requests to a batch service: patient with what passes, clear about what does not."""

from __future__ import annotations

import asyncio
import random
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from mindgauge.models import completion, transport
from mindgauge.records.errors import EndpointError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from typing import BinaryIO

T = TypeVar("T")
LONGEST_PAUSE = 60.0
"""Seconds between two tries."""
PACE = 16 << 10
"""Bytes a second; what goes or comes more slowly, beyond the time that an attempt has, is given up."""


class PassingError(Exception):
    """This did not work, and may later. `pause` is the server's wish, in seconds; `arrived`: it may have been acted on."""

    def __init__(self, message: str, *, pause: float | None = None, arrived: bool = True) -> None:
        super().__init__(message)
        self.pause = pause or 0.0
        self.arrived = arrived


class UnsureError(Exception):
    """What was sent may or may not have been acted on."""


class RefusedError(Exception):
    """The service does not take what was sent."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class MissingError(EndpointError):
    """There is nothing at an address."""


class GoneError(MissingError):
    """There is nothing at an address any more."""


class OverdueError(Exception):
    """It did not work for as long as waiting is allowed."""


class Transport:
    """A connection to one batch service."""

    def __init__(self, name: str, url: str, *, timeout: float, tries: int, pause: float) -> None:
        """Describe the service; nothing is sent.

        Args:
            name: of the model, for messages.
            url: the base address, up to and including the version.
            timeout: seconds for an attempt, beside the time that its bytes take at the slowest pace.
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
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=self._timeout, sock_read=self._timeout)
        self._session = transport.session(headers={}, timeout=timeout)

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

    async def post(self, path: str, data: Callable[[], Any], *, size: int = 0, kind: str = "") -> dict[str, Any]:
        """Send what may safely be sent twice, and has about `size` bytes; see `get`."""
        return await self._patiently(lambda: self._object("POST", path, size, data=data(), headers=_of_kind(kind)))

    async def post_once(self, path: str, data: Callable[[], Any], *, size: int = 0, kind: str = "") -> dict[str, Any]:
        """Send what must not be sent twice, and has about `size` bytes.

        Raises:
            UnsureError: it may have been acted on. Otherwise see `get`.
        """

        async def once() -> dict[str, Any]:
            try:
                return await self._object("POST", path, size, data=data(), headers=_of_kind(kind))
            except PassingError as problem:
                if problem.arrived:
                    raise UnsureError(str(problem)) from problem
                raise

        return await self._patiently(once)

    async def download(self, address: str, file: BinaryIO, size_limit: int) -> bool:
        """Write what lies at an address into a file, see `get`; say whether that is all of it.

        What is longer than `size_limit` bytes, or has broken off `tries` times no later than before, is written as far as it
        goes: it holds answers that were paid for.
        """
        farthest, vain = 0, 0

        async def fetch() -> bool:
            file.seek(0)  # what an earlier attempt wrote stays behind: it may have come farther
            async with self._sending("GET", address) as (response, limit):
                if response.status != 200:
                    self._refuse(response, await transport.read(response))
                began = limit.when() or 0.0
                async for part in transport.parts(response):
                    file.write(part[: size_limit - file.tell()])
                    limit.reschedule(began + file.tell() / PACE)
                    if file.tell() >= size_limit:
                        return False
            file.truncate()
            return True

        async def attempt() -> bool:
            nonlocal farthest, vain
            try:
                return await self._sent(fetch)
            except PassingError:
                vain = 0 if file.tell() > farthest else vain + 1
                farthest = max(farthest, file.tell())
                if farthest and vain >= self._tries:
                    return False
                raise

        complete = await self._patiently(attempt)
        file.flush()
        return complete

    def address(self, path: str) -> str:
        """Return the whole address of a path; one that is whole already only if it leads to the same server."""
        if not path.startswith(("http://", "https://")):
            return self.url + path
        try:
            named = URL(path)
            same = named.origin() == URL(self.url).origin()
        except ValueError:
            return ""
        return str(named.with_user(None)) if same else ""

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
                outcome = await act()
            except PassingError as problem:
                attempt += 1
                await self.rest(attempt, problem, problem.pause)
            else:
                self._answered = True
                return outcome

    async def _object(self, method: str, path: str, size: int = 0, **arguments: Any) -> dict[str, Any]:
        async def fetch() -> dict[str, Any]:
            async with self._sending(method, self.url + path, size, **arguments) as (response, _):
                content = await transport.read(response)
                if response.status not in {200, 201, 202}:
                    self._refuse(response, content)
            try:
                answer = completion.parsed(content)
            except ValueError:
                answer = None
            if not isinstance(answer, dict):
                raise PassingError("the answer is not a JSON object")
            return answer

        return await self._sent(fetch)

    @asynccontextmanager
    async def _sending(
        self, method: str, address: str, size: int = 0, **arguments: Any
    ) -> AsyncIterator[tuple[aiohttp.ClientResponse, asyncio.Timeout]]:
        """Send a request; the time for its answer grows with the bytes that are sent, and with those that come."""
        assert self._session is not None, "open the connection before sending"
        headers = {**self.headers, **arguments.pop("headers", {})}
        async with (
            asyncio.timeout(self._timeout + size / PACE) as limit,
            transport.send(self._session, method, address, headers=headers, **arguments) as response,
        ):
            yield response, limit

    async def _sent(self, act: Callable[[], Awaitable[T]]) -> T:
        """Do something with the network, whose faults pass."""
        try:
            return await act()
        except aiohttp.ClientConnectorError as error:
            # One about a certificate has no `os_error`.
            raise PassingError(str(getattr(error, "os_error", error)), arrived=False) from error
        except TimeoutError as error:
            message = f"no answer within {self._timeout:g} s, or one slower than {PACE >> 10} KiB/s"
            raise PassingError(message) from error
        except (aiohttp.ClientError, ConnectionError, ValueError) as error:
            raise PassingError(transport.fault(error)) from error

    def _refuse(self, response: aiohttp.ClientResponse, content: bytes) -> None:
        """Say what a status other than success means."""
        status, message = response.status, completion.fault(content)
        if status in {408, 409, 425, 429} or status >= 500:
            wish = completion.retry_after(response.headers.get("Retry-After"))
            raise PassingError(f"{status}: {message}", pause=wish, arrived=status == 408 or status >= 500)
        if status < 300:
            raise PassingError(f"{status} instead of an answer")
        self._answered = True
        if status < 400:
            raise EndpointError(f"{self.name}: {response.url.origin()}{response.url.path} leads elsewhere ({status}); redirects are not followed")  # fmt: skip
        if status in {401, 403}:
            raise EndpointError(f"{self.name}: {self.host} refuses our key ({status}: {message})")
        if status in {404, 405, 410}:
            kind = MissingError if status == 405 else GoneError
            raise kind(f"{self.name}: {response.url.origin()}{response.url.path} is not the address of a batch service ({status}: {message})")  # fmt: skip
        raise RefusedError(status, message)


def _of_kind(content_type: str) -> dict[str, str]:
    return {"Content-Type": content_type} if content_type else {}
