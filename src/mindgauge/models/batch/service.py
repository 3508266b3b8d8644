"""What a batch service does, whichever protocol it speaks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from mindgauge.models import completion
from mindgauge.records.errors import EndpointError
from mindgauge.records.redaction import in_use

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import BinaryIO

    from mindgauge.models.batch.transport import Transport
    from mindgauge.records import Exchange
    from mindgauge.records.request import Price, Request
    from mindgauge.store.batches import Submission


LONGEST_ID = 512
"""Characters of an id that a service gives."""
_ID = re.compile(rf"(?!\.*$)[ -~]{{1,{LONGEST_ID}}}")
"""Of printable characters, and not of dots alone, which lead out of an address's path however they are escaped."""
LARGEST_BATCH = 10_000_000
"""Requests; no service takes as many."""


class State(NamedTuple):
    """How far a batch is: calls done, whether no more will be, why none ever will, and where the results lie."""

    finished: int = 0
    ended: bool = False
    failure: str = ""
    too_much: bool = False
    """It failed because the provider's queue is full; a smaller one may do later."""
    addresses: tuple[str, ...] = ()


class BatchOutcome(NamedTuple):
    """What became of one call: an exchange, or why it is to be put again, or why no call can succeed."""

    exchange: Exchange | None = None
    retry: str = ""
    fatal: str = ""


class Service(Protocol):
    """A batch service's protocol."""

    headers: dict[str, str]
    """What every request to it carries."""
    unsupported: set[str]
    """What of requests the provider does not take, so that they are written without it."""
    known_by_id: bool
    """Whether a batch that is found is surely ours."""
    opening: bytes
    between: bytes
    closing: bytes
    """What stands before, between and after the requests of a batch."""

    def request(self, key: bytes, request: Request) -> bytes:
        """Write one request of a batch."""
        ...

    async def submit(
        self, transport: Transport, submission: Submission, file: BinaryIO, uploaded: Callable[[str], None]
    ) -> str:
        """Send a batch and return the provider's id of it.

        Raises:
            UnsureError: it may or may not have arrived.
            RefusedError: the provider does not take it.
        """
        ...

    async def find(self, transport: Transport, submission: Submission, others: set[str]) -> str:
        """Look for a batch that may have arrived, not among `others`; return the provider's id, empty if there is none."""
        ...

    async def look(self, transport: Transport, remote: str) -> State:
        """See how far a batch is."""
        ...

    def outcome(self, line: dict[str, Any], request: Request, price: Price | None, attempt: int) -> BatchOutcome:
        """Read a request's line of the results."""
        ...


def listed(page: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the objects on a page of a list."""
    entries = page.get("data")
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def total(counts: object, names: Iterable[str]) -> int:
    """Add counts of requests, as far as they are counts."""
    by_name = counts if isinstance(counts, dict) else {}
    return sum(completion.count(by_name.get(name), LARGEST_BATCH) or 0 for name in names)


def told_id(ident: object) -> str:
    """Return an id that a service tells, which goes into addresses and is kept; empty where it is none."""
    return ident if isinstance(ident, str) and _ID.fullmatch(ident) else ""


def ident(answer: dict[str, Any], transport: Transport) -> str:
    """Return the id in an answer.

    Raises:
        EndpointError: it has none, or one that holds our key and may not be kept.
    """
    remote = told_id(answer.get("id"))
    if not remote:
        raise EndpointError(
            f"{transport.name}: {transport.url} does not speak the batch protocol: an answer without an id"
        )
    return keepable(remote, transport)


def keepable(ident: str, transport: Transport) -> str:
    """Return an id of the provider's, which a run keeps as it is.

    Raises:
        EndpointError: it holds our key.
    """
    if in_use.within(ident):
        raise EndpointError(f"{transport.name}: {transport.url} repeats our key in an id, so the id cannot be kept")
    return ident
