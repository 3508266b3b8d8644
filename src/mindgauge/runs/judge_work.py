"""A judge at work: what comes of one subject, whoever reaches the model, and wherever ratings are kept."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from mindgauge.raters.rule import unread_because
from mindgauge.records import RaterKind, Rating, Reply, Sample, Status, Value
from mindgauge.records.errors import MindgaugeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mindgauge.benchmarks import Benchmark
    from mindgauge.raters.judge import Ask, Judge
    from mindgauge.records import Exchange
    from mindgauge.records.request import Request

NO_PROTOCOL = "no protocol: the category is unknown"
NO_PART = "the reply has not the part that is judged"


class JudgeWork:
    """One judge at work on one benchmark."""

    def __init__(
        self,
        benchmark: Benchmark,
        judge: Judge,
        ask: Ask,
        *,
        find: Callable[[str], Sample],
        keep: Callable[[Rating], None],
        recognise: Judge | None = None,
    ) -> None:
        """Put it to work.

        Args:
            benchmark: whose replies, or samples, are rated.
            judge: who rates.
            ask: reaches its model.
            find: finds a sample by its id.
            keep: takes every rating.
            recognise: finds out by which protocol a sample is rated; if not given, the sample's tag says so.
        """
        self._find = find
        self._keep = keep
        self._benchmark = benchmark
        self._judge = judge
        self._ask = ask
        self._recognise = recognise
        self._recognised: dict[tuple[str, int], asyncio.Future[Rating]] = {}
        self._unasked: list[Exception] = []
        """What went wrong in asking, or in the run; nobody's answer is to blame for it."""

    async def rate(self, sample: Sample, reply: Reply | None, run: int) -> None:
        """Rate one subject once and keep the ratings. What fails in reading an answer costs that subject's ratings alone."""
        try:
            ratings = await self._ratings(sample, reply, run)
        except MindgaugeError:
            raise
        except Exception as error:
            if error in self._unasked:
                raise
            ratings = self._unrated(reply.id if reply else sample.id, run, Status.UNPARSABLE, unread_because(error))
        for rating in ratings:
            self._keep(rating)

    async def _ratings(self, sample: Sample, reply: Reply | None, run: int) -> list[Rating]:
        if reply is not None and reply.status is not Status.OK:  # there is nothing to judge, so nothing is asked
            return await self._judge.rate(self._asked, sample, reply, run)
        status, protocol = await self._protocol(sample, run)
        presented = None if reply is None else self._shown(sample, reply)
        if status is not Status.OK:
            return self._unrated(reply.id if reply else sample.id, run, status, NO_PROTOCOL)
        if presented is None and reply is not None:
            return self._unrated(reply.id, run, Status.UNPARSABLE, NO_PART)
        sample, reply = presented or (sample, None)
        return await self._judge.rate(self._asked, sample, reply, run, str(protocol) if protocol is not None else None)

    async def _asked(self, request: Request) -> Exchange:
        try:
            return await self._ask(request)
        except Exception as error:
            self._unasked.append(error)
            raise

    def _shown(self, sample: Sample, reply: Reply) -> tuple[Sample, Reply] | None:
        return self._benchmark.shown(sample, reply, self._found)

    def _found(self, ident: str) -> Sample:
        try:
            return self._find(ident)
        except Exception as error:
            self._unasked.append(error)
            raise

    async def _protocol(self, sample: Sample, run: int) -> tuple[Status, Value | None]:
        """Find the protocol to judge by; a sample whose category nobody knows has none."""
        if not self._benchmark.protocol:
            return Status.OK, None
        if self._recognise is None:
            tag = sample.tags.get(self._benchmark.protocol)
            return (Status.OK, tag) if tag else (Status.NOT_APPLICABLE, None)
        if (sample.id, run) not in self._recognised:
            self._recognised[sample.id, run] = asyncio.ensure_future(self._see(self._recognise, sample, run))
        rating = await self._recognised[sample.id, run]
        return rating.status, rating.value

    async def _see(self, recognise: Judge, sample: Sample, run: int) -> Rating:
        rating = (await recognise.rate(self._asked, sample, None, run))[0]
        self._keep(rating)
        return rating

    def _unrated(self, subject: str, run: int, status: Status, problem: str) -> list[Rating]:
        judge = self._judge
        provenance = {**judge.provenance, "problem": problem}
        return [
            Rating(
                subject, criterion.name, judge.rater, RaterKind.MODEL, run, status,
                instrument=judge.instrument.name, provenance=provenance,
            )
            for criterion in judge.instrument.rubric.criteria
        ]  # fmt: skip
