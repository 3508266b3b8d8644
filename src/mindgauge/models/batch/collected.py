"""Results of batches that are done: fetched once, and given to whoever asks for a call that was in them."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from msgspec.structs import replace

from mindgauge.models.batch.files import Results
from mindgauge.models.batch.service import BatchOutcome
from mindgauge.models.batch.transport import GoneError
from mindgauge.records import Status
from mindgauge.records.request import asked_for

if TYPE_CHECKING:
    from mindgauge.models.batch.calls import BatchCall, BatchConfig
    from mindgauge.models.batch.service import Service, State
    from mindgauge.models.batch.transport import Transport
    from mindgauge.store.batches import Batches, Submission

LARGEST_RESULT, RESERVE, LARGEST_FILE = 1 << 20, 16 << 20, 8 << 30
"""Bytes of a file of results: as many for each call, and these for whatever else stands there; in all at most."""


class BatchResults:
    """What is left of the results that were read."""

    def __init__(self, terms: BatchConfig, service: Service, transport: Transport, batches: Batches) -> None:
        self.count = 0
        """How many calls were answered."""
        self._terms = terms
        self._service = service
        self._transport = transport
        self._batches = batches
        self._read: dict[str, Results] = {}
        self._answered = False

    def __contains__(self, ident: str) -> bool:
        return ident in self._read

    async def fetch(self, submission: Submission, state: State) -> bool:
        """Fetch a batch's results; say whether it was ours at all."""
        results = await self._download(submission, state)
        confirmed = submission.remote in self._batches.confirmed()
        if not len(results) and results.strangers() and not confirmed:
            results.close()
            return False
        self._note(submission, results)
        self._read[submission.id] = results
        return True

    def outcome(self, call: BatchCall) -> BatchOutcome:
        """Say what became of a call whose batch was read."""
        results = self._read[call.batch]
        good = self._answered or results.good
        line = results.take(call.key)
        if line is None:
            return BatchOutcome(retry="the batch ended without a result for it")
        read = self._service.outcome(line, call.request, self._terms.price, call.attempt)
        if read.exchange is not None:
            self.count += 1
            self._answered = self._answered or read.exchange.status is not Status.FAILED
            lacking = asked_for(call.request).intersection(self._batches.submission(call.batch).unsupported)
            read = BatchOutcome(replace(read.exchange, unsupported=tuple(sorted(lacking))))
        # Where some calls succeed, one that is refused may be, too.
        return BatchOutcome(retry=read.fatal) if read.fatal and good else read

    def tidy(self, ident: str) -> None:
        """Let go of results of which nothing is left."""
        if ident in self._read and not len(self._read[ident]):
            self._read.pop(ident).close()

    def close(self) -> None:
        """Let go of everything; what was not asked for can be fetched again."""
        for results in self._read.values():
            results.close()

    async def _download(self, submission: Submission, state: State) -> Results:
        """Fetch results; those that are broken or not complete once more, since what they lack is paid for again."""
        keys = self._batches.keys(submission.id)
        limit = min(LARGEST_FILE, RESERVE + len(keys) * LARGEST_RESULT)
        for attempt in range(1, self._terms.tries + 1):
            results = Results(self._batches.folder)
            with contextlib.ExitStack() as undone:
                undone.callback(results.close)
                for address in state.addresses:
                    with contextlib.suppress(GoneError):  # no longer kept
                        place, file = self._transport.address(address), results.file()
                        results.cut |= not await self._transport.download(place, file, limit)
                await asyncio.to_thread(results.index, keys)
                undone.pop_all()
            page = results.oddities.broken and not len(results)  # a proxy's, perhaps
            if not page and (attempt > 1 or (len(results) == len(keys) and not results.oddities.broken)):
                break
            if attempt < self._terms.tries:
                results.close()
                await asyncio.sleep(self._terms.pause)
        return results

    def _note(self, submission: Submission, results: Results) -> None:
        strangers_kept = sum(self._batches.kept(key) for key in results.strangers())
        odd = results.oddities._replace(unknown=results.oddities.unknown - strangers_kept)
        cut = "results that never end or always break off, of which was read what came" if results.cut else ""
        oddities = " and ".join(filter(None, (cut, f"lines of no use: {odd}" if str(odd) else "")))
        if oddities:
            self._batches.remark(submission, f"{self._terms.name}: batch {submission.remote} had {oddities}")
