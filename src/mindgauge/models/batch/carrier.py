"""What carries calls: batches are sent, looked at with growing pauses, and collected once, for whoever asks for a call in them."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import time
from typing import TYPE_CHECKING

from msgspec.structs import replace

from mindgauge.models.batch.calls import LONGEST, BatchCall, BatchConfig, Pool
from mindgauge.models.batch.files import Results
from mindgauge.models.batch.service import BatchOutcome, keepable
from mindgauge.models.batch.transport import GoneError, MissingError, OverdueError, RefusedError, UnsureError
from mindgauge.records import Status
from mindgauge.records.errors import EndpointError, MindgaugeError
from mindgauge.records.request import asked_for
from mindgauge.records.rounding import plural
from mindgauge.store.failures import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from mindgauge.models.batch.files import Requests
    from mindgauge.models.batch.service import Service, State
    from mindgauge.models.batch.transport import Transport
    from mindgauge.store.batches import Batches, Submission


KEPT_FOR = 29 * 86400
"""Seconds for which the providers keep results."""
FORGET = "MINDGAUGE_FORGET_BATCHES"
"""The environment variable that names batches which no longer exist at the provider."""
_LOOKS = 2
"""How often a batch that may have arrived is looked for."""


class UnderWayError(MindgaugeError):
    """Waiting is over; batches go on at the provider."""


class BatchRunner:
    """Carries a model's calls while it is open."""

    def __init__(
        self,
        terms: BatchConfig,
        service: Service,
        transport: Transport,
        batches: Batches,
        progress: Callable[[str, int, int], None],
    ) -> None:
        self.calls: dict[bytes, BatchCall] = {}
        """Those that somebody waits for."""
        self._terms = terms
        self._service = service
        self._transport = transport
        self._batches = batches
        self._told = progress
        self._pool = Pool(batches.folder, service, terms)
        self._collected = BatchResults(terms, service, transport, batches)
        self._open: dict[str, Submission] = {}
        self._done: dict[str, int] = {}
        self._foreign: set[str] = set()
        self._pause = terms.pause
        self._next_look = 0.0

    def add(self, call: BatchCall) -> None:
        """Wait for the batch that a call is in, or put it into the next one.

        Raises:
            EndpointError: the provider refuses every call.
        """
        place = self._batches.holding(call.key)
        if place is None:
            self._pool.put(call)
            return
        call.batch, call.attempt = place
        if place.batch in self._collected:
            self._settle(call)
            self._collected.tidy(place.batch)
        elif place.batch not in self._open:
            self._open[place.batch] = self._batches.submission(place.batch)
            self._next_look = 0.0
            self._pool.changed.set()

    def under_way(self) -> str:
        """Say what goes on at the provider when nobody waits; nothing if nothing does."""
        waiting = [call for call in self.calls.values() if call.batch in self._open]
        batches = len({call.batch for call in waiting})
        calls_there = f"{plural(batches, 'batch', 'batches')} with {plural(len(waiting), 'call')} {'is' if batches == 1 else 'are'}"
        return f"{calls_there} under way at {self._terms.host}" if waiting else ""

    def close(self) -> None:
        """Let go of files."""
        self._pool.close()
        self._collected.close()

    async def work(self) -> None:
        """Carry calls until cancelled.

        Raises:
            UnderWayError: waiting is over.
            EndpointError: the provider does not take or know a batch.
        """
        try:
            with one_line(self._batches.folder):
                while True:
                    await self._step()
        except OverdueError as error:
            raise self._overdue(str(error)) from error
        except RefusedError as error:
            raise EndpointError(
                f"{self._terms.name}: {self._terms.host} does not answer for its batches ({error})"
            ) from error

    async def _step(self) -> None:
        requests = self._pool.take()
        if requests is not None:
            await self._send(requests)
        elif self._open and time.monotonic() >= self._next_look:
            await self._look()
        else:
            due = min(self._pool.due(), self._next_look if self._open else math.inf)
            self._pool.changed.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._pool.changed.wait(), None if due == math.inf else due - time.monotonic())

    # -- sending ------------------------------------------------------------------------------------------------------

    async def _send(self, requests: Requests) -> None:
        """Submit a batch: an intent first, so that nothing is sent that the run does not know."""
        calls = [call for key in requests.keys if (call := self.calls.get(key)) is not None]
        submission = self._batches.intend(
            self._terms.name, [(call.key, call.attempt) for call in calls], self._service.unsupported
        )
        for call in calls:
            call.batch = submission.id
        self._open[submission.id] = submission
        try:
            remote = await self._arrived(submission, requests)
        except RefusedError as error:
            self._drop(submission)
            if error.status != 413 or len(calls) == 1:
                raise EndpointError(
                    f"{self._terms.name}: {self._terms.host} does not take the batch ({error})"
                ) from error
            self._pool.put_smaller(calls, 0.0)
        else:
            if not submission.remote:
                self._batches.submitted(submission, remote)
            self._pause = self._terms.pause
            self._next_look = self._soon()
        finally:
            requests.close()

    async def _arrived(self, submission: Submission, requests: Requests) -> str:
        """Submit until it is certain that the provider has the batch, once."""
        file, attempt = requests.sealed(), 0
        while True:
            try:
                return await self._service.submit(
                    self._transport, submission, file, lambda name: self._batches.uploaded(submission, name)
                )
            except UnsureError as problem:
                attempt += 1
                await self._transport.rest(attempt, problem)
                if await self._find(submission):
                    return submission.remote

    async def _find(self, submission: Submission) -> bool:
        """Look for a batch that may have arrived."""
        remote = await self._service.find(self._transport, submission, self._batches.confirmed() | self._foreign)
        if remote:
            keepable(remote, self._transport)
            self._batches.submitted(submission, remote, listed=not self._service.known_by_id)
        return bool(remote)

    def _soon(self) -> float:
        """Return when to look next; when waiting is over at the latest."""
        due, deadline = time.monotonic() + self._pause, self._transport.deadline
        return due if deadline is None else min(due, deadline)

    # -- looking ------------------------------------------------------------------------------------------------------

    async def _look(self) -> None:
        """Look at every batch that somebody waits for, and collect those that are done."""
        collected = False
        for submission in list(self._open.values()):
            if not submission.remote and not await self._found_again(submission):
                continue
            try:
                state = await self._service.look(self._transport, submission.remote)
            except MissingError as error:
                self._gone(submission, error)
                continue
            self._done[submission.id] = state.finished
            if state.failure:
                self._failed(submission, state)
            elif state.ended:
                await self._collect(submission, state)
                collected = True
        under_way = sum(submission.calls for submission in self._open.values())
        finished = sum(self._done.get(ident, 0) for ident in self._open)
        self._told(
            f"{self._terms.name} in batches", self._collected.count + finished, self._collected.count + under_way
        )
        if collected:  # those who were answered may ask more
            self._pause = self._terms.pause
            self._next_look = time.monotonic() + self._pause
            return
        deadline = self._transport.deadline
        if self._open and not self._pool and deadline is not None and time.monotonic() >= deadline:
            raise self._overdue()
        self._next_look = self._soon()
        self._pause = min(LONGEST * self._terms.pause, 1.5 * self._pause)

    async def _found_again(self, submission: Submission) -> bool:
        """Look for a batch that an earlier process may have sent; if it did not, its calls are put again."""
        for look in range(_LOOKS):
            if look:
                await asyncio.sleep(self._terms.pause)
            if await self._find(submission):
                return True
        for call in self._drop(submission):
            call.attempt -= 1
            self._pool.put(call)
        return False

    async def _collect(self, submission: Submission, state: State) -> None:
        """Read a batch's results, and answer everybody who waits for one of its calls."""
        if not await self._collected.fetch(submission, state):
            self._foreign.add(submission.remote)
            self._batches.submitted(submission, "")
            return
        del self._open[submission.id]
        for count, call in enumerate(self._of(submission)):
            self._settle(call)
            if count % 100 == 99:
                await asyncio.sleep(0)
        self._collected.tidy(submission.id)

    def _settle(self, call: BatchCall) -> None:
        """Answer a call whose batch was read, or put it again."""
        if call.done.done():
            return
        outcome = self._collected.outcome(call)
        if outcome.exchange is not None:
            call.done.set_result(outcome.exchange)
        elif outcome.fatal:
            self._drop(self._batches.submission(call.batch))
            raise EndpointError(f"{self._terms.name}: {self._terms.host} refuses every call ({outcome.fatal})")
        elif call.attempt >= self._terms.tries:
            call.fail(outcome.retry)
        else:
            self._pool.put(call)

    # -- what comes to nothing ----------------------------------------------------------------------------------------

    def _failed(self, submission: Submission, state: State) -> None:
        """Deal with a batch that the provider did not accept: it cost nothing, and its calls are free again."""
        calls = self._drop(submission)
        if not state.too_much or submission.calls == 1:
            raise EndpointError(f"{self._terms.name}: {self._terms.host} did not accept batch {submission.remote}: {state.failure}")  # fmt: skip
        self._pool.put_smaller(calls, LONGEST * self._terms.pause)

    def _gone(self, submission: Submission, error: MissingError) -> None:
        """Deal with a batch that the provider does not know: too old, or another account's."""
        old = time.time() - submission.began > KEPT_FOR
        if not old and submission.remote not in os.environ.get(FORGET, "").split(","):
            raise EndpointError(
                f"{self._terms.name}: {self._terms.host} does not know batch {submission.remote}; use the key it was submitted "
                f"with, or, to pay for its {plural(submission.calls, 'call')} again, set {FORGET}={submission.remote}"
            ) from error
        for call in self._drop(submission):
            self._pool.put(call)

    def _drop(self, submission: Submission) -> list[BatchCall]:
        """Forget a batch; return its calls that somebody waits for."""
        self._batches.drop(submission)
        self._open.pop(submission.id, None)
        return self._of(submission)

    def _of(self, submission: Submission) -> list[BatchCall]:
        return [call for call in self.calls.values() if call.batch == submission.id and not call.done.done()]

    def _overdue(self, problem: str = "") -> MindgaugeError:
        under_way = self.under_way()
        if not under_way:
            return EndpointError(
                f"{self._terms.name}: {self._transport.url} did not work for as long as wait in mindgauge.toml allows: {problem}"
            )
        return UnderWayError(
            f"waited {self._terms.wait:g} min: {under_way}; run the same command again to collect them"
        )


# Results of batches that are done: fetched once, and given to whoever asks for a call that was in them.


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
