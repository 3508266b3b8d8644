"""Any OpenAI-compatible chat endpoint, over aiohttp, with as many calls under way as it keeps up with.

Additive increase, multiplicative decrease (Chiu and Jain 1989), as in TCP. One overload cuts once: answers to calls
that began before the last cut say nothing about the new limit.

Retries with full jitter (Brooker, "Exponential Backoff And Jitter", 2015) that honour `Retry-After`; adaptive
concurrency; every way a server can misbehave ends in a status. What no later call can repair is an `EndpointError`.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack
from urllib.parse import urlsplit

import aiohttp
import msgspec

from mindgauge.models import completion, transport
from mindgauge.models.completion import FailureKind, RetryableError, pause_after
from mindgauge.models.model_config import TOKEN_LIMITS
from mindgauge.records import Exchange, Status
from mindgauge.records.errors import EndpointError
from mindgauge.records.redaction import in_use
from mindgauge.records.request import BARE, asked_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mindgauge.records.request import Price, Request, Setup


class Throttle:
    """A gate for at most `limit` calls at once, where `limit` moves between 1 and `most`."""

    def __init__(self, limit: int) -> None:
        self.most = limit
        self.limit = float(limit)
        self.under_way = 0
        """Calls that are being answered."""
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._epoch = 0

    @property
    def free(self) -> int:
        """Places that are free; below 0 just after a cut."""
        return int(self.limit) - self.under_way

    async def enter(self) -> int:
        """Wait for a place; returns the epoch in which the call begins."""
        while self.free <= 0:
            place = asyncio.get_running_loop().create_future()
            self._waiting.append(place)
            await place
        self.under_way += 1
        return self._epoch

    def leave(self) -> None:
        """Give the place back."""
        self.under_way -= 1
        free = self.free
        while free > 0 and self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                free -= 1

    def succeeded(self) -> None:
        """Grow by one for every `limit` calls that went well."""
        if self.limit < self.most:
            self.limit = min(self.most, self.limit + 1 / self.limit)

    def pushed_back(self, epoch: int) -> None:
        """Halve, unless the limit was already cut since that call began."""
        if epoch == self._epoch:
            self._epoch += 1
            self.limit = max(1.0, self.limit / 2)


# Any OpenAI-compatible chat endpoint, over aiohttp.


_encode = msgspec.json.Encoder().encode


class CallLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How calls to an endpoint are tried, and how often."""

    concurrency: int = 32
    """The most calls under way at once."""
    timeout: float = 120.0
    """Seconds for one attempt, from connecting to the last byte."""
    connect: float | None = None
    """Seconds of these for connecting; all of them if not given."""
    tries: int = 5
    """Attempts per call."""
    at_once: int | None = None
    """Calls that may wait for it at once; None for as many as the command says."""
    pause: float = 0.5
    """Seconds; attempt k waits a random time up to `pause * 2**k` before the next."""


class CallLimitOptions(TypedDict, total=False):
    """`CallLimits` as keyword arguments."""

    concurrency: int
    timeout: float
    connect: float | None
    tries: int
    at_once: int | None
    pause: float


class ChatModel:
    """A model behind `POST {url}/chat/completions`."""

    own_machine = False
    takes_lengths = False
    """Whether a schema may bound lengths; strict endpoints refuse a schema that does."""

    def __init__(
        self,
        name: str,
        url: str,
        model: str,
        *,
        key: str = "",
        key_name: str = "",
        price: Price | None = None,
        max_tokens: int = 4096,
        max_tokens_field: str = "max_tokens",
        context: int | None = None,
        setup: Setup = BARE,
        headers: Mapping[str, str] | None = None,
        **limits: Unpack[CallLimitOptions],
    ) -> None:
        """Describe the endpoint; nothing is sent before it is entered.

        Args:
            name: how the user calls it; part of every call's key.
            url: the base address, up to and including the version (`https://host/v1`).
            model: the name sent to the server.
            key: the secret, sent as a bearer token; never stored.
            key_name: the environment variable it came from, for messages.
            price: US dollars per token, None if unknown.
            max_tokens: the longest answer.
            max_tokens_field: the parameter's name with this provider.
            context: tokens that question and answer may have together, None if unknown.
            setup: what is sent beside messages and parameters of a request.
            headers: sent with every call; they are not stored.
            limits: how it is tried, and how often; see `CallLimits`.
        """
        how = CallLimits(**limits)
        self.name = name
        self.host = urlsplit(url).hostname or ""
        self.price = price
        self.max_tokens = max_tokens
        self.context = context
        self.throttle = Throttle(how.concurrency)
        self.setup = setup
        self.at_once = how.at_once
        path, mark, query = url.partition("?")
        self.url = path.rstrip("/")
        self._url = f"{self.url}/chat/completions{mark}{query}"
        in_use.keep(key)
        self._model = model
        self.headers = {
            "Content-Type": "application/json",
            **({"Authorization": f"Bearer {key}"} if key else {}),
            **(headers or {}),
        }
        self._key_name = key_name
        self._timeout = how.timeout
        self._connect = how.connect
        self.tries = how.tries
        self._pause = how.pause
        self._parameters = {name: v for name, v in setup.parameters.items() if name not in TOKEN_LIMITS}
        self._max_tokens_field = max_tokens_field
        self._set_up_limit = 0
        for field in TOKEN_LIMITS:
            if field in setup.parameters:
                self.max_tokens, self._max_tokens_field = setup.parameters[field], field
                self._set_up_limit = self.max_tokens
        self._unsupported: set[str] = set()
        self._bare_schema: tuple[dict[str, Any] | None, Any] = None, None
        self._answered = False
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        timeout = aiohttp.ClientTimeout(total=self._timeout, sock_connect=self._connect)
        self._session = transport.session(headers=self.headers, timeout=timeout, limit=self.throttle.most)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def ask(self, request: Request) -> Exchange:
        """Answer one request, trying again while that may help and costs nothing; see `Model.ask`."""
        for attempt in range(1, self.tries + 1):
            try:
                return await self.attempt(request, attempt)
            except RetryableError as problem:
                if problem.fault is FailureKind.FATAL and not self._answered:
                    raise EndpointError(f"{self.name}: {problem.lost}") from problem
                last = problem
            if last.fault is FailureKind.OVERDUE:
                break
            if attempt < self.tries:
                await asyncio.sleep(self.pause_after(last, attempt))
        if last.lost and not self._answered:
            raise EndpointError(f"{self.name}: {last.lost} after {self.tries} tries: {last}")
        failure = Exchange(Status.FAILED, seconds=last.seconds, attempts=attempt, error=str(last), at=time.time())
        return msgspec.structs.replace(failure, overdue=int(last.fault is FailureKind.OVERDUE))

    async def attempt(self, request: Request, attempt: int) -> Exchange:
        """Ask once, when the throttle has a place; `attempt` counts from 1.

        Raises:
            RetryableError: another attempt may help.
        """
        epoch = await self.throttle.enter()
        began = time.perf_counter()
        try:
            exchange = await self._post(request, attempt, began)
        except RetryableError as problem:
            problem.seconds = time.perf_counter() - began
            if problem.fault is FailureKind.BUSY:
                self.throttle.pushed_back(epoch)
            raise
        else:
            self._answered = self._answered or exchange.status is not Status.FAILED
            self.throttle.succeeded()
            return exchange
        finally:
            self.throttle.leave()

    def pause_after(self, problem: RetryableError, failures: int) -> float:
        """Return how long to wait, in seconds, after so many failures: the server's wish and a random time."""
        return pause_after(problem, failures, self._pause)

    def body(self, request: Request) -> dict[str, Any]:
        """Return what is posted for a request."""
        body: dict[str, Any] = {
            "model": self._model,
            "messages": self.setup.opened(request.messages),
            **request.parameters,
            **self._parameters,
        }
        if limit := body.pop("max_tokens", self.max_tokens) or self._set_up_limit:
            body[self._max_tokens_field] = limit
        if request.schema is not None:
            schema = request.schema if self.takes_lengths else self._without_lengths(request.schema)
            verdict = {"name": "verdict", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": verdict}
        for name in self._unsupported:
            body.pop(name, None)
        return body

    def _without_lengths(self, schema: dict[str, Any]) -> Any:
        """Return a schema without bounds on lengths; one call after the other has the very same."""
        if self._bare_schema[0] is not schema:
            self._bare_schema = schema, completion.without_lengths(schema)
        return self._bare_schema[1]

    async def _post(self, request: Request, attempt: int, began: float) -> Exchange:
        assert self._session is not None, "enter the model before asking it"
        body = self.body(request)
        try:
            async with transport.send(self._session, "POST", self._url, data=_encode(body)) as response:
                content = await transport.read(response)
                status, headers = response.status, response.headers
        except aiohttp.ClientConnectorError as error:
            raise RetryableError(
                str(getattr(error, "os_error", None) or error), lost=f"{self._url} did not answer"
            ) from error
        except aiohttp.ConnectionTimeoutError as error:
            raise RetryableError(
                f"no connection within {self._connect or self._timeout:g} s", lost=f"{self._url} did not answer"
            ) from error
        except TimeoutError as error:
            raise RetryableError(completion.overdue(self._timeout), FailureKind.OVERDUE) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise RetryableError(transport.fault(error)) from error
        if status == 200:
            exchange = self._completed(content, attempt, began)
            left_out = self._left_out(request)
            return msgspec.structs.replace(exchange, unsupported=left_out) if left_out else exchange
        return self._refused(status, headers, content, body, attempt)

    def _completed(self, content: bytes, attempt: int, began: float) -> Exchange:
        try:
            answer = completion.read(content)
        except completion.UnreadableError as error:
            lost = f"{self._url} does not speak the chat protocol" if error.foreign else ""
            raise RetryableError(str(error), lost=lost) from error
        return completion.exchange(answer, self.price, seconds=time.perf_counter() - began, attempt=attempt)

    def _refused(self, status: int, headers: Any, content: bytes, body: dict[str, Any], attempt: int) -> Exchange:
        elsewhere = headers.get("Location", "") if 300 <= status < 400 else ""
        message = completion.one_line(f"it sends calls on to {elsewhere}") if elsewhere else completion.fault(content)
        if fatal := self._fatal(status, message):
            raise RetryableError(f"{status}: {message}", FailureKind.FATAL, lost=fatal)
        if status < 300 or status in {408, 409, 425, 429} or status >= 500:
            fault = FailureKind.BUSY if status in {429, 503, 529} else FailureKind.BROKEN
            raise RetryableError(
                f"{status}: {message}", fault, pause=completion.retry_after(headers.get("Retry-After"))
            )
        if completion.blocked(message):
            return Exchange(Status.FILTERED, attempts=attempt, error=f"{status}: {message}", at=time.time())
        if named := completion.unsupported(message, body):
            self._without(named)
            raise RetryableError(f"{status}: {message}", FailureKind.UNSUPPORTED_PARAMETER)
        return Exchange(Status.FAILED, attempts=attempt, error=f"{status}: {message}", at=time.time())

    def _fatal(self, status: int, message: str) -> str:
        """Say why no call to this address can succeed; empty if one may."""
        if status in {401, 403}:
            secret = f"the key in {self._key_name}" if self._key_name else "us"
            return f"{urlsplit(self._url).netloc} refuses {secret} ({status}: {message})"
        if status in {404, 405} or 300 <= status < 400:
            return f"{self._url} is no chat endpoint or has no model {self._model!r} ({status}: {message})"
        return ""

    def _left_out(self, request: Request) -> tuple[str, ...]:
        """Return what of a request this server does not take and was asked without."""
        if not self._unsupported:
            return ()
        asked = {*asked_for(request), *self._parameters} - {*TOKEN_LIMITS}
        limit = next((name for name in TOKEN_LIMITS if name in self.setup.parameters), "max_tokens")
        unlimited = [limit] if self._max_tokens_field in self._unsupported else []
        return tuple(sorted([*(self._unsupported & asked), *unlimited]))

    def _without(self, parameter: str) -> None:
        """Stop sending a parameter that this server does not take; the token limit has two names to try."""
        if parameter == "max_tokens" and self._max_tokens_field == "max_tokens":
            self._max_tokens_field = "max_completion_tokens"
        else:
            self._unsupported.add(parameter)
