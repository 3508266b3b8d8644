"""The two steps that need models: samples → replies (`answer`), subjects → ratings (`rate`)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from mindgauge.manifest import now, software
from mindgauge.models.request import Request
from mindgauge.records import Message, RaterKind, Rating, Reply, Sample, Status, Value
from mindgauge.rubric import in_language

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.benchmark import Benchmark
    from mindgauge.engine.session import Job, Session
    from mindgauge.models.request import Model
    from mindgauge.raters.judge import Judge
    from mindgauge.raters.rule import Rule
    from mindgauge.store import Store


def provenance(model: Model, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return where an answer comes from, as far as it is the same for all of a model's answers."""
    return {"endpoint": model.host or "in process", "parameters": parameters, "software": software(), "began": now()}


# -- samples → replies ------------------------------------------------------------------------------------------------


def reply_request(benchmark: Benchmark, sample: Sample, run: int, parameters: dict[str, Any]) -> Request:
    """Put a sample to a model under test: the bare dialogue, or `reply.md` filled with it as a system message."""
    messages = sample.messages
    if "reply" in benchmark.prompts:
        system = in_language({k: p.text for k, p in benchmark.prompts["reply"].items()}, sample.tags.get("language", "en"))
        messages = (Message("system", system), *messages)
    return Request(messages, run, {**parameters, "seed": run}, sample=sample)


async def answer(
    session: Session, benchmark: Benchmark, model: Model, *, runs: int, parameters: dict[str, Any] | None = None
) -> None:
    """Let a model reply to every sample of a benchmark, `runs` times, as far as it has not yet."""
    store, parameters = session.store, parameters or {}
    store.forget_failed(benchmark.name, model.name)
    done = store.answered(benchmark.name, model.name)
    total = store.count_samples(benchmark.name) * runs - len(done)
    origin = provenance(model, parameters)

    async def one(sample: Sample, run: int) -> None:
        request = reply_request(benchmark, sample, run, parameters)
        got = await session.call(model, request)
        reply = Reply.of(
            sample.id, model.name, run, got.status, got.text,
            finish_reason=got.finish_reason, usage=got.usage, seconds=got.seconds,
            provenance={**origin, "model": got.model_resolved, "fingerprint": got.fingerprint, "seed": run, "at": got.at,
                        **({"error": got.error} if got.error else {})},
        )  # fmt: skip
        key = request.key(model.name)
        store.add_call(key, request.prompt_hash(), benchmark.name, model.name, run, got, text=False)
        store.add_reply(benchmark.name, reply)
        await session.committed()

    def jobs() -> Iterator[Job]:
        for sample in store.samples(benchmark.name):
            for run in range(runs):
                if (sample.id, run) not in done:
                    yield lambda sample=sample, run=run: one(sample, run)  # type: ignore[misc]

    if total > 0:
        async with model:
            await session.work(jobs(), f"{model.name} replies", total)


# -- subjects → ratings -----------------------------------------------------------------------------------------------


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
    store = session.store
    criteria = [criterion.name for criterion in judge.instrument.rubric.criteria]
    done = set.intersection(*(store.rated(benchmark.name, judge.rater, name) for name in criteria))
    count = store.count_samples(benchmark.name) if benchmark.closed else store.count_replies(benchmark.name)
    ask = session.asker(model, benchmark.name)
    recognised: dict[tuple[str, int], asyncio.Task[Rating]] = {}

    async def recognition(sample: Sample, run: int) -> Rating:
        assert recognise is not None
        rating = (await recognise.rate(ask, sample, None, run))[0]
        store.add_rating(benchmark.name, rating)
        return rating

    async def protocol_of(sample: Sample, run: int) -> tuple[Status, Value | None]:
        if not benchmark.protocol:
            return Status.OK, None
        if recognise is None:
            tag = sample.tags.get(benchmark.protocol)
            return (Status.OK, tag) if tag else (Status.NOT_APPLICABLE, None)
        if (sample.id, run) not in recognised:
            recognised[sample.id, run] = asyncio.ensure_future(recognition(sample, run))
        rating = await recognised[sample.id, run]
        return rating.status, rating.value

    async def one(sample: Sample, reply: Reply | None, run: int) -> None:
        status, protocol = await protocol_of(sample, run)
        if status is Status.OK:
            name = str(protocol) if protocol is not None else None
            ratings = await judge.rate(ask, sample, reply, run, name)
        else:
            subject = reply.id if reply else sample.id
            problem = {**judge.provenance, "problem": "no protocol: the category is unknown"}
            ratings = [
                Rating(subject, name, judge.rater, RaterKind.MODEL, run, status, instrument=judge.instrument.name, provenance=problem)
                for name in criteria
            ]  # fmt: skip
        for rating in ratings:
            store.add_rating(benchmark.name, rating)
        # Free when nothing was asked; otherwise the call itself is already committed.
        if not ratings or ratings[0].status is not Status.OK:
            await session.committed()

    def subjects() -> Iterator[tuple[Sample, Reply | None]]:
        if benchmark.closed:
            yield from ((sample, None) for sample in store.samples(benchmark.name))
            return
        latest: Sample | None = None
        for reply in store.replies(benchmark.name):
            if latest is None or latest.id != reply.sample:
                latest = store.sample(benchmark.name, reply.sample)
            yield latest, reply

    def jobs() -> Iterator[Job]:
        for sample, reply in subjects():
            for run in range(runs):
                if ((reply.id if reply else sample.id), run) not in done:
                    yield lambda sample=sample, reply=reply, run=run: one(sample, reply, run)  # type: ignore[misc]

    total = count * runs - len(done)
    if total > 0:
        async with model:
            await session.work(jobs(), f"{judge.rater} {'classifies' if benchmark.closed else 'judges'}", total)


def rate_by_rule(store: Store, benchmark: Benchmark, rule: Rule) -> None:
    """Let a rule rate every reply."""
    for reply in store.replies(benchmark.name):
        store.add_rating(benchmark.name, rule.rate(reply))
    store.flush()


def put_gold(store: Store, benchmark: Benchmark) -> None:
    """Keep the samples' targets as ratings of the rater `gold`; a sample without one is `not_applicable` to it."""
    criterion = benchmark.rubric.criteria[0].name
    for sample in store.samples(benchmark.name):
        status = Status.NOT_APPLICABLE if sample.target is None else Status.OK
        rating = Rating(
            sample.id, criterion, "gold", RaterKind.GOLD, 0, status, sample.target, instrument=benchmark.rubric.name
        )
        store.add_rating(benchmark.name, rating)
    store.flush()
