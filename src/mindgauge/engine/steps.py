"""The steps of a run: samples → replies (`answer`), subjects → ratings (`rate`; without a model `classify`, `rate_by_rule`)."""

from __future__ import annotations

import asyncio
from functools import partial
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any

from mindgauge.errors import MindgaugeError
from mindgauge.manifest import now, software
from mindgauge.models.request import Request
from mindgauge.raters.rule import unread_because
from mindgauge.records import Message, RaterKind, Rating, Reply, Sample, Status, Value
from mindgauge.rubric import in_language

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.benchmark import Benchmark
    from mindgauge.engine.session import Job, Progress, Session
    from mindgauge.models.request import Model
    from mindgauge.raters.classifier import ClassifierRater
    from mindgauge.raters.judge import Ask, Judge
    from mindgauge.raters.rule import Rule
    from mindgauge.records import Exchange
    from mindgauge.store import Store


NO_PROTOCOL = "no protocol: the category is unknown"
NO_PART = "the reply has not the part that is judged"
SHARING = 1
"""Calls at once to a model on this machine when they share a long beginning, which each place would read for itself."""


def provenance(model: Model, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return where an answer comes from, as far as it is the same for all of a model's answers."""
    return {"endpoint": model.host or "in process", "parameters": parameters, "software": software(), "began": now()}


# -- samples → replies ------------------------------------------------------------------------------------------------


def reply_request(benchmark: Benchmark, sample: Sample, run: int, parameters: dict[str, Any]) -> Request:
    """Put a sample to a model under test: the bare dialogue, or `reply.md` filled with it as a system message."""
    messages = sample.messages
    if "reply" in benchmark.prompts:
        system = in_language(
            {k: p.text for k, p in benchmark.prompts["reply"].items()}, sample.tags.get("language", "en")
        )
        messages = (Message("system", system), *messages)
    return Request(messages, run, {**parameters, "seed": run}, sample=sample)


async def answer(
    session: Session, benchmark: Benchmark, model: Model, *, runs: int, parameters: dict[str, Any] | None = None
) -> None:
    """Let a model reply to every sample of a benchmark, `runs` times, as far as it has not yet.

    What it was asked in just the same words for another benchmark is not asked again.
    """
    store, parameters = session.store, parameters or {}
    store.forget_failed(benchmark.name, model.name)
    done = store.answered(benchmark.name, model.name)
    elsewhere = store.replied_elsewhere(benchmark.name, model.name)
    total = store.count_samples(benchmark.name) * runs - len(done)
    origin = provenance(model, parameters)

    async def one(sample: Sample, run: int) -> None:
        request = reply_request(benchmark, sample, run, parameters)
        key = request.key(model.name)
        if (sample.id, run) in elsewhere and store.called(key):
            store.add_reply(benchmark.name, store.reply_at(elsewhere[sample.id, run]))
            await session.committed()
            return
        got = await session.call(model, request)
        reply = Reply.of(
            sample.id, model.name, run, got.status, got.text,
            finish_reason=got.finish_reason, usage=got.usage, seconds=got.seconds,
            provenance={**origin, "model": got.model_resolved, "fingerprint": got.fingerprint, "seed": run, "at": got.at,
                        **({"unsupported": got.unsupported} if got.unsupported else {}),
                        **({"error": got.error} if got.error else {})},
        )  # fmt: skip
        store.add_call(key, request.prompt_hash, benchmark.name, model.name, run, got, text=False)
        store.add_reply(benchmark.name, reply)
        await session.committed()

    def jobs() -> Iterator[Job]:
        for sample in store.samples(benchmark.name):
            for run in range(runs):
                if (sample.id, run) not in done:
                    yield partial(one, sample, run)

    if total > 0:
        async with session.using(model):
            await session.work(jobs(), f"{model.name} replies", total, session.places(model))


# -- subjects → ratings ------------------------------------------------------------------------------------------------


async def rate(
    session: Session,
    benchmark: Benchmark,
    judge: Judge,
    model: Model,
    *,
    runs: int,
    recognise: Judge | None = None,
) -> None:
    """Let a judge rate every subject of a benchmark, `runs` times, as far as it has not yet.

    The subjects are the samples of a closed benchmark, the replies of an open one. With `recognise`, the judge first
    says itself which protocol a sample falls under; without, the sample's tag says so.
    """
    store, criteria = session.store, [criterion.name for criterion in judge.instrument.rubric.criteria]
    done = set.intersection(*(store.rated(benchmark.name, judge.rater, name) for name in criteria))
    count = store.count_samples(benchmark.name) if benchmark.closed else store.count_replies(benchmark.name)
    total = count * runs - len(done)
    judging = _Judging(session, benchmark, judge, session.asker(model, benchmark.name), recognise)

    at_once = SHARING if model.own_machine else session.places(model)

    def jobs() -> Iterator[Job]:
        asked = ((sample, reply, run) for sample, reply in _subjects(store, benchmark) for run in range(runs))
        left = ((sample, reply, run) for sample, reply, run in asked if ((reply or sample).id, run) not in done)
        for sample, reply, run in _beginnings_first(left, min(at_once, session.concurrency)):
            yield partial(judging.rate, sample, reply, run)

    if total > 0:
        async with session.using(model):
            stage = f"{judge.rater} {'classifies' if benchmark.closed else 'judges'}"
            await session.work(jobs(), stage, total, at_once)


def _subjects(store: Store, benchmark: Benchmark) -> Iterator[tuple[Sample, Reply | None]]:
    if benchmark.closed:
        yield from ((sample, None) for sample in store.samples(benchmark.name))
        return
    places = store.replies_by_sample(benchmark.name)
    # Replies that are judged by the same protocol share the beginning of their prompts, so they come together.
    ordered = sorted((s.tags.get(benchmark.protocol, ""), i, s.id) for i, s in enumerate(store.samples(benchmark.name)))
    for _, _, ident in ordered:
        for place in places.get(ident, ()):
            yield store.sample(benchmark.name, ident), store.reply_at(place)


def _beginnings_first(
    asked: Iterator[tuple[Sample, Reply | None, int]], at_once: int
) -> Iterator[tuple[Sample, Reply | None, int]]:
    """Put what is asked about one dialogue together, but the first of several dialogues before the rest of any.

    What is asked about a dialogue begins alike. Were it all sent at once, each call would find the server's cache cold.
    """
    dialogues = ([*group] for _, group in groupby(asked, key=lambda subject: subject[0].id))
    while some := [*islice(dialogues, at_once)]:
        yield from (first for first, *_ in some)
        yield from (subject for _, *others in some for subject in others)


class _Judging:
    """One judge at work on one benchmark."""

    def __init__(self, session: Session, benchmark: Benchmark, judge: Judge, ask: Ask, recognise: Judge | None) -> None:
        self._session = session
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
            self._session.store.add_rating(self._benchmark.name, rating)

    async def _ratings(self, sample: Sample, reply: Reply | None, run: int) -> list[Rating]:
        status, protocol = await self._protocol(sample, run)
        shown = None if reply is None else self._shown(sample, reply)
        if status is not Status.OK:
            return self._unrated(reply.id if reply else sample.id, run, status, NO_PROTOCOL)
        if shown is None and reply is not None:
            return self._unrated(reply.id, run, Status.UNPARSABLE, NO_PART)
        sample, reply = shown or (sample, None)
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
            return self._session.store.sample(self._benchmark.name, ident)
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
        self._session.store.add_rating(self._benchmark.name, rating)
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


def read_replies(store: Store, benchmark: Benchmark) -> None:
    """Read from every reply what the benchmark reads by rule, as far as it has not been."""
    for reading in benchmark.readings:
        done = {subject for subject, _ in store.rated(benchmark.name, reading.rater, reading.criterion.name)}
        for sample, reply in _subjects(store, benchmark):
            if reply is not None and reply.id not in done:
                store.add_rating(benchmark.name, reading.rate(sample, reply))
    store.flush()


def rate_by_rule(store: Store, benchmark: Benchmark, rule: Rule) -> None:
    """Let a rule rate every reply."""
    for reply in store.replies(benchmark.name):
        store.add_rating(benchmark.name, rule.rate(reply))
    store.flush()


def classify(store: Store, benchmark: Benchmark, rater: ClassifierRater, progress: Progress | None = None) -> None:
    """Let a classifier rate every subject, as far as it has not yet; each block is kept when it is done."""
    done = {subject for subject, _ in store.rated(benchmark.name, rater.name, rater.criterion.name)}
    every = store.count_samples(benchmark.name) if benchmark.closed else store.count_replies(benchmark.name)
    stage, total = f"{rater.name} classifies", every - len(done)

    def told(rated: int) -> None:
        store.flush()
        if progress is not None:
            progress(stage, rated, total)

    if total > 0:
        told(0)
        waiting = ((s, r) for s, r in _subjects(store, benchmark) if (r.id if r else s.id) not in done)
        for rating in rater.rate(waiting, told):
            store.add_rating(benchmark.name, rating)


def put_gold(store: Store, benchmark: Benchmark) -> None:
    """Keep the samples' targets as ratings of the rater `gold`; a sample without one is `not_applicable` to it.

    The target on the first criterion is the sample's own, that on another its tag `target.…`.
    """
    first, *others = (criterion.name for criterion in benchmark.rubric.criteria)
    for sample in store.samples(benchmark.name):
        for criterion, target in (
            (first, sample.target),
            *((name, sample.tags.get(f"target.{name}")) for name in others),
        ):
            if target is None and criterion != first:
                continue
            status = Status.NOT_APPLICABLE if target is None else Status.OK
            rating = Rating(
                sample.id, criterion, "gold", RaterKind.GOLD, 0, status, target, instrument=benchmark.rubric.name
            )
            store.add_rating(benchmark.name, rating)
    store.flush()
