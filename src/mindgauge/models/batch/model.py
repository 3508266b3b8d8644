"""A model whose calls are gathered, sent as batches, and answered when these are done, perhaps in another process."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Self

from mindgauge.models.batch.anthropic_batches import AnthropicBatches
from mindgauge.models.batch.calls import BatchCall, BatchConfig
from mindgauge.models.batch.carrier import BatchRunner, UnderWayError
from mindgauge.models.batch.openai_batches import OpenAIBatches
from mindgauge.models.batch.transport import MissingError, OverdueError, RefusedError, Transport
from mindgauge.records.errors import EndpointError, UsageError
from mindgauge.records.request import identity

if TYPE_CHECKING:
    from collections.abc import Callable

    from mindgauge.models.batch.service import Service
    from mindgauge.models.chat_endpoint import ChatModel
    from mindgauge.models.settings import Settings
    from mindgauge.records import Exchange
    from mindgauge.records.request import Price, Request
    from mindgauge.store.batches import Batches

AT_ONCE = 2
"""Batches' worth of calls that wait at once."""


class BatchModel:
    """A model behind a batch service."""

    own_machine = False

    def __init__(self, chat: ChatModel, service: Service | None, *, price: Price | None, settings: Settings) -> None:
        """Describe the model; nothing is sent before it is entered.

        Args:
            chat: the model whose requests are carried, and its address.
            service: the protocol; found out from the server if not given.
            price: US dollars per token in a batch.
            settings: how endpoints are called.
        """
        self.name = chat.name
        self.host = chat.host
        self.price = price
        self.max_tokens = chat.max_tokens
        self.context = chat.context
        self.setup = chat.setup
        self._chat = chat
        self._service = service
        self._terms = BatchConfig.of(chat.name, chat.host, price, settings)
        self.at_once: int | None = AT_ONCE * self._terms.calls
        pause = min(0.5, self._terms.pause)
        self._transport = Transport(chat.name, chat.url, timeout=settings.timeout, tries=settings.tries, pause=pause)
        self._batches: Batches | None = None
        self._told: Callable[[str, int, int], None] = lambda *_: None
        self._carrier: BatchRunner | None = None
        self._worker: asyncio.Task[None] | None = None
        self._error: BaseException | None = None

    def keep(self, batches: Batches, progress: Callable[[str, int, int], None]) -> None:
        """Take the run's record of batches, and whom to tell how far they are."""
        self._batches = batches
        self._told = progress

    def leave(self) -> str:
        """Stop waiting; say what goes on at the provider, nothing if nothing does."""
        if self._carrier is None or self._error is not None:
            return ""
        under_way = self._carrier.under_way()
        self._fail(UnderWayError(under_way or "stopped"))
        return under_way

    async def __aenter__(self) -> Self:
        assert self._batches is not None, "a session opens a batch model, and keeps its batches in the run"
        if self._terms.wait is not None and self._transport.deadline is None:
            self._transport.deadline = time.monotonic() + 60 * self._terms.wait
        await self._transport.open()
        try:
            self._service = self._service or await self._spoken()
        except BaseException:
            await self._transport.close()
            raise
        self._transport.headers = self._service.headers
        self._error = None
        self._carrier = BatchRunner(self._terms, self._service, self._transport, self._batches, self._told)
        self._worker = asyncio.create_task(self._carrier.work())
        self._worker.add_done_callback(self._ended)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.wait([self._worker])
        if self._carrier is not None:
            self._carrier.close()
        self._worker = self._carrier = None
        await self._transport.close()

    async def ask(self, request: Request) -> Exchange:
        """Answer one request when the batch that carries it is done; see `Model.ask`."""
        if self._error is not None:
            raise self._error
        assert self._carrier is not None, "enter the model before asking it"
        calls, key = self._carrier.calls, request.key(identity(self))
        call = calls.get(key)
        if call is None:
            call = BatchCall(key, request)
            self._carrier.add(call)
            calls[key] = call
        try:
            return await call.done
        finally:
            calls.pop(key, None)

    async def _spoken(self) -> Service:
        """Ask the server which protocol it speaks."""
        refused: EndpointError | None = None
        services: list[tuple[Service, str]] = [
            (OpenAIBatches(self._chat), "/batches"),
            (AnthropicBatches(self._chat), "/messages/batches"),
        ]
        for service, path in services:
            self._transport.headers = service.headers
            try:
                page = await self._transport.get(path, limit=1)
            except (MissingError, RefusedError):
                continue
            except OverdueError as error:
                raise EndpointError(f"{self.name}: {self._transport.url} did not answer: {error}") from error
            except EndpointError as error:
                refused = refused or error
                continue
            if isinstance(page.get("data"), list):
                return service
        if refused is not None:
            raise refused
        raise UsageError(
            f"--batch: {self._transport.url} has no batch service, neither OpenAI's nor Anthropic's; leave --batch out"
        )

    def _ended(self, worker: asyncio.Task[None]) -> None:
        if not worker.cancelled() and (error := worker.exception()) is not None:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        """Let everybody who waits, or asks later, have the error."""
        self._error = error
        if self._worker is not None:
            self._worker.cancel()
        for call in self._carrier.calls.values() if self._carrier is not None else ():
            if not call.done.done():
                call.done.set_exception(error)
