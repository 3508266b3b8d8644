"""The Anthropic Message Batches protocol: requests go in one body, and their results are read line by line.

Source: the provider's guide to batch processing and its API reference; a batch has at most 100,000 requests and 256 MB,
and its results can be read for 29 days.
"""

from __future__ import annotations

import datetime
import os
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from mindgauge.models import completion
from mindgauge.models.batch import service
from mindgauge.models.batch.files import reader
from mindgauge.models.batch.service import BatchOutcome, State
from mindgauge.models.completion import without_lengths
from mindgauge.records import Exchange, Status, Usage

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from mindgauge.models.batch.transport import Transport
    from mindgauge.models.chat_endpoint import ChatModel
    from mindgauge.records.request import Price, Request
    from mindgauge.store.batches import Submission

VERSION = "2023-06-01"
SKEW = 600.0
"""Seconds by which the provider's clock and ours may differ."""
_PAGES = 50
_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}
_COUNTS = ("processing", "succeeded", "errored", "canceled", "expired")
"""Where a batch counts its requests; all but the first are done."""
_PASSING = {"overloaded_error", "api_error", "rate_limit_error", "timeout_error"}
_FATAL = {"authentication_error", "permission_error", "not_found_error", "billing_error"}
_encode = msgspec.json.Encoder().encode


class AnthropicBatches:
    """Batches behind `{url}/messages/batches`."""

    opening, between, closing = b'{"requests":[', b",\n", b"]}"
    known_by_id = False

    def __init__(self, chat: ChatModel) -> None:
        """Args: chat: the model whose requests are carried."""
        self._chat = chat
        self.unsupported = {"seed"}
        key = chat.headers.get("Authorization", "").removeprefix("Bearer ")
        self.headers = {"anthropic-version": VERSION, **({"x-api-key": key} if key else {})}

    def request(self, key: bytes, request: Request) -> bytes:
        """Write one request of the body."""
        params = {name: value for name, value in self._params(request).items() if name not in self.unsupported}
        return _encode({"custom_id": key.hex(), "params": params})

    def _params(self, request: Request) -> dict[str, Any]:
        """Say a request in this protocol, which has system messages apart, no seed, and schemas without lengths."""
        system = "\n\n".join(m.content for m in request.messages if m.role == "system")
        messages = [{"role": m.role, "content": m.content} for m in request.messages if m.role != "system"]
        params = {name: value for name, value in request.parameters.items() if name not in {"seed", "max_tokens"}}
        if not messages:
            messages, system = [{"role": "user", "content": system}], ""
        if system:
            params["system"] = system
        if request.schema is not None:
            schema = without_lengths(request.schema)
            params["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        longest = request.parameters.get("max_tokens") or self._chat.max_tokens
        return {"model": self._chat.body(request)["model"], "max_tokens": longest, "messages": messages, **params}

    async def submit(
        self, transport: Transport, submission: Submission, file: BinaryIO, uploaded: Callable[[str], None]
    ) -> str:
        """Send all requests in one body."""
        del submission, uploaded  # there is no room for our id, and no file
        size = os.fstat(file.fileno()).st_size
        begun = await transport.post_once("/messages/batches", lambda: reader(file), size=size, kind="application/json")
        return service.ident(begun, transport)

    async def find(self, transport: Transport, submission: Submission, others: set[str]) -> str:
        """Look for a batch with as many requests that was begun at about the same time; its results tell whether it is ours."""
        after: dict[str, str] = {}
        near: list[tuple[float, str]] = []
        for _ in range(_PAGES):
            page = await transport.get("/messages/batches", limit=100, **after)
            batches = service.listed(page)
            ages = [_seconds(batch.get("created_at")) - submission.began for batch in batches]
            for batch, age in zip(batches, ages, strict=True):
                remote = service.told_id(batch.get("id"))
                right = age >= -SKEW and service.total(batch.get("request_counts"), _COUNTS) == submission.calls
                if right and remote and remote not in others:
                    near.append((abs(age), remote))
            last = service.told_id(batches[-1].get("id")) if batches else ""
            if not page.get("has_more") or not last or min(ages) < -SKEW:
                break
            after = {"after_id": last}
        return min(near)[1] if near else ""

    async def look(self, transport: Transport, remote: str) -> State:
        """See how far a batch is."""
        path = f"/messages/batches/{quote(remote, safe='')}"
        batch = await transport.get(path)
        counts = batch.get("request_counts")
        finished = service.total(counts, _COUNTS[1:])
        if batch.get("processing_status") != "ended":
            return State(finished)
        named = batch.get("results_url")
        address = transport.address(named) if isinstance(named, str) and named else ""
        return State(finished, ended=True, addresses=(address or f"{path}/results",))

    def outcome(self, line: dict[str, Any], request: Request, price: Price | None, attempt: int) -> BatchOutcome:
        """Read a line of results."""
        content = line.get("result")
        result = content if isinstance(content, dict) else {}
        kind = result.get("type")
        if kind == "succeeded":
            return _succeeded(result.get("message"), price, attempt)
        if kind == "errored":
            return self._errored(result.get("error"), request, attempt)
        return BatchOutcome(retry=f"the request {'expired' if kind == 'expired' else 'was cancelled' if kind == 'canceled' else 'has no result'}")  # fmt: skip

    def _errored(self, error: object, request: Request, attempt: int) -> BatchOutcome:
        while isinstance(error, dict) and isinstance(error.get("error"), dict):
            error = error["error"]
        kind = completion.name(error.get("type")) if isinstance(error, dict) else ""
        message = f"{kind or 'error'}: {completion.reason({'error': error})}"
        if kind in _FATAL:
            return BatchOutcome(fatal=message)
        if kind in _PASSING or not kind:
            return BatchOutcome(retry=message)
        if completion.blocked(message):
            return BatchOutcome(Exchange(Status.FILTERED, attempts=attempt, error=message, at=time.time()))
        named = completion.unsupported(message, self._params(request).keys() - {"max_tokens"})
        if named:
            self.unsupported |= {named, "response_format"} if named == "output_config" else {named}
            return BatchOutcome(retry=message)
        return BatchOutcome(Exchange(Status.FAILED, attempts=attempt, error=message, at=time.time()))


def _succeeded(message: object, price: Price | None, attempt: int) -> BatchOutcome:
    """Read a message as a completion."""
    if not isinstance(message, dict) or not isinstance(message.get("content"), list):
        return BatchOutcome(retry="a result without a message")
    blocks = [b["text"] for b in message["content"] if isinstance(b, dict) and isinstance(b.get("text"), str)]
    thoughts = [b["thinking"] for b in message["content"] if isinstance(b, dict) and isinstance(b.get("thinking"), str)]
    reason = message.get("stop_reason")
    reason = reason if isinstance(reason, str) else ""
    text = "".join(blocks)
    if len(text) > completion.LONGEST_TEXT:
        return BatchOutcome(retry=f"a text of more than {completion.LONGEST_TEXT:,} characters")
    answer = completion.Completion(
        completion.words(text),
        _FINISH.get(reason, completion.name(reason)),
        "",
        _usage(message.get("usage"), text),
        completion.name(message.get("model")),
        "",
        completion.words("\n\n".join(thoughts)) if sum(map(len, thoughts)) <= completion.LONGEST_TEXT else "",
    )
    exchange = completion.exchange(answer, price, attempt=attempt)
    return BatchOutcome(
        msgspec.structs.replace(exchange, status=Status.REFUSED, error="") if reason == "refusal" else exchange
    )


def _usage(usage: object, text: str) -> Usage:
    """Read the tokens of a message, whose prompt is counted in three parts."""
    if not isinstance(usage, dict):
        return Usage()
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    parts = [completion.count(usage.get(name) or 0) for name in names]
    counted = [part for part in parts if part is not None]
    return completion.tokens(sum(counted) if counted == parts else None, usage.get("output_tokens"), parts[2], text)


def _seconds(timestamp: object) -> float:
    """Read a time; one that cannot be read is now."""
    try:
        return datetime.datetime.fromisoformat(str(timestamp)).timestamp()
    except (ValueError, OverflowError):
        return time.time()
