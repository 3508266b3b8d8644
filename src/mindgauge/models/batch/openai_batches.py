"""The OpenAI Batch protocol: a file of requests is uploaded, a batch of it begun, and files of results are read.

Source: the provider's Batch guide and API reference; a file has at most 50,000 requests and 200 MB. Several other
providers and gateways speak it.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import aiohttp
import msgspec

from mindgauge.models import completion
from mindgauge.models.batch import service
from mindgauge.models.batch.files import reader
from mindgauge.models.batch.service import BatchOutcome, State
from mindgauge.records import Exchange, Status

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from typing import BinaryIO

    from mindgauge.models.batch.transport import Transport
    from mindgauge.models.chat_endpoint import ChatModel
    from mindgauge.records.request import Price, Request
    from mindgauge.store.batches import Submission

OURS = "mindgauge"
"""The name under which a batch's metadata holds our id of it."""
_PAGES = 50
_ENDED = {"completed", "expired", "cancelled", "canceled"}
_FULL = ("token_limit_exceeded", "enqueued token limit")
"""The account's queue is full; the batch would be taken later, or if it were smaller."""
_encode = msgspec.json.Encoder().encode


class OpenAIBatches:
    """Batches behind `{url}/files` and `{url}/batches`."""

    opening, between, closing = b"", b"\n", b"\n"
    known_by_id = True

    def __init__(self, chat: ChatModel) -> None:
        """Args: chat: the model whose requests are carried."""
        self._chat = chat
        self.unsupported: set[str] = set()
        self._renames_limit = False
        """Whether the limit of tokens has its other name here."""
        self.headers = {k: v for k, v in chat.headers.items() if k == "Authorization"}

    def request(self, key: bytes, request: Request) -> bytes:
        """Write one line of the file of requests."""
        body = self._chat.body(request)
        if self._renames_limit and "max_tokens" in body:
            body["max_completion_tokens"] = body.pop("max_tokens")
        body = {name: value for name, value in body.items() if name not in self.unsupported}
        return _encode({"custom_id": key.hex(), "method": "POST", "url": "/v1/chat/completions", "body": body})

    async def submit(
        self, transport: Transport, submission: Submission, file: BinaryIO, uploaded: Callable[[str], None]
    ) -> str:
        """Upload the requests, then begin a batch of them."""

        def form() -> aiohttp.FormData:
            data = aiohttp.FormData()
            data.add_field("purpose", "batch")
            name = f"mindgauge-{submission.id}.jsonl"
            data.add_field("file", reader(file), filename=name, content_type="application/jsonl")
            return data

        if not submission.file:
            size = os.fstat(file.fileno()).st_size
            uploaded(service.ident(await transport.post("/files", form, size=size), transport))
        body = _encode({
            "input_file_id": submission.file, "endpoint": "/v1/chat/completions", "completion_window": "24h",
            "metadata": {OURS: submission.id},
        })  # fmt: skip
        begun = await transport.post_once("/batches", lambda: body, kind="application/json")
        return service.ident(begun, transport)

    async def find(self, transport: Transport, submission: Submission, others: set[str]) -> str:
        """Look for our id in batches' metadata, or for our file among their inputs."""
        async for batch in _listed(transport):
            metadata = batch.get("metadata")
            submitted_here = isinstance(metadata, dict) and metadata.get(OURS) == submission.id
            if submitted_here or (submission.file and batch.get("input_file_id") == submission.file):
                remote = service.told_id(batch.get("id"))
                if remote and remote not in others:
                    return remote
        return ""

    async def look(self, transport: Transport, remote: str) -> State:
        """See how far a batch is."""
        batch = await transport.get(f"/batches/{quote(remote, safe='')}")
        status, counts = batch.get("status"), batch.get("request_counts")
        finished = service.total(counts, ("completed", "failed"))
        if status == "failed":
            reason = _reason(batch)
            return State(finished, failure=reason, too_much=any(mark in reason.lower() for mark in _FULL))
        files = map(service.told_id, (batch.get("output_file_id"), batch.get("error_file_id")))
        addresses = tuple(f"/files/{quote(file, safe='')}/content" for file in files if file)
        return State(finished, ended=isinstance(status, str) and status in _ENDED, addresses=addresses)

    def outcome(self, line: dict[str, Any], request: Request, price: Price | None, attempt: int) -> BatchOutcome:
        """Read a line of results or errors."""
        response = line.get("response")
        if not isinstance(response, dict):
            return BatchOutcome(retry=completion.reason({"error": line.get("error")}))
        status, body = response.get("status_code", 200), response.get("body")
        content = body.encode(errors="replace") if isinstance(body, str) else b""
        if status != 200:
            message = completion.reason(body) if isinstance(body, dict) else completion.fault(content)
            return self._refused(status if isinstance(status, int) else 0, message, request, attempt)
        try:
            answer = completion.read(content) if isinstance(body, str) else completion.converted(body)
        except completion.UnreadableError as problem:
            return BatchOutcome(retry=str(problem))
        return BatchOutcome(completion.exchange(answer, price, attempt=attempt))

    def _refused(self, status: int, message: str, request: Request, attempt: int) -> BatchOutcome:
        """Say what a status other than success means for one call, as for a call on its own."""
        message = f"{status}: {message}"
        if status in {401, 403, 404}:
            return BatchOutcome(fatal=message)
        if status < 300 or status in {408, 409, 425, 429} or status >= 500:
            return BatchOutcome(retry=message)
        if completion.blocked(message):
            return BatchOutcome(Exchange(Status.FILTERED, attempts=attempt, error=message, at=time.time()))
        named = completion.unsupported(message, self._chat.body(request))
        if named == "max_tokens":
            self._renames_limit = True
        elif named:
            self.unsupported.add(named)
        if named:
            return BatchOutcome(retry=message)
        return BatchOutcome(Exchange(Status.FAILED, attempts=attempt, error=message, at=time.time()))


def _reason(batch: dict[str, Any]) -> str:
    """Return why a batch was not accepted, on one line."""
    errors = batch.get("errors")
    listed = errors.get("data") if isinstance(errors, dict) else errors
    first = next(iter(listed), None) if isinstance(listed, list) else None
    return completion.reason({"error": first}) if first else "no reason given"


async def _listed(transport: Transport) -> AsyncIterator[dict[str, Any]]:
    """List batches, the newest first, as far back as it can matter."""
    after: dict[str, str] = {}
    for _ in range(_PAGES):
        page = await transport.get("/batches", limit=100, **after)
        batches = service.listed(page)
        for batch in batches:
            yield batch
        last = service.told_id(batches[-1].get("id")) if batches else ""
        if not page.get("has_more") or not last:
            return
        after = {"after": last}
