"""The steps of a run, each the calls to one model for one purpose: what it asks, what that takes, what of it is done.

A plan is a list of them. Forecast, warnings, execution and what is to exist are all read off the same steps: samples →
replies (`ReplyStep`, here), subjects → ratings (`runs/rating_steps.py`).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from mindgauge.benchmarks import Benchmark
from mindgauge.models.bots.bot import Bot
from mindgauge.models.by_hand import ByHand
from mindgauge.models.model_config import TOKEN_LIMITS
from mindgauge.models.replay import Replay
from mindgauge.models.scripted import Scripted
from mindgauge.raters.json_objects import apart
from mindgauge.records import BASE, HELD, REASONING, Message, Reply, Sample, Status
from mindgauge.records.request import Model, Request, identity, seeded, stated
from mindgauge.runs.session import system_tokens, tokens
from mindgauge.runs.step_outputs import RATING, REPLY, StepOutput
from mindgauge.store.manifest import now, software

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

    from mindgauge.records import Exchange
    from mindgauge.runs.session import Job, Progress, Session
    from mindgauge.store import Store


REPLY_TOKENS = 400
"""A reply's length where it is not known yet: between the published means of 228 and 550 words, in tokens."""


def provenance(model: Model, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return where an answer comes from, as far as it is the same for all of a model's answers."""
    return {
        "endpoint": endpoint(model),
        "parameters": {**stated(parameters), **model.setup.parameters},
        "software": software(),
        "began": now(),
    }


def endpoint(model: Model) -> str:
    """Return where a model answers, as provenance has it."""
    return model.host or "in process"


def place(sample: Sample, target: str) -> dict[str, Any]:
    """Return what a reply says of its place in a stored dialogue; nothing where there is none.

    Answers to several turns of one stored dialogue are put together: each was given to the same words before it. A message
    that somebody brings is a dialogue of its own.
    """
    tags = sample.tags
    if "unit" not in tags:
        return {}
    return {
        "unit": tags["unit"], "turn": int(tags["turn"]), "dialogue": tags.get(BASE, sample.id), "target": target,
        "rung": tags.get("rung", ""), "reaction": tags.get("reaction", ""),
    }  # fmt: skip


NO_REPLY = "nothing follows the model's reasoning"


def parted(exchange: Exchange) -> Exchange:
    """Return an exchange whose text is the reply alone: what a model thinks in a marked block becomes its `reasoning`.

    A block that never ends leaves no reply; nor does one that nothing follows.
    """
    before = tuple(
        Message(m.role, apart(m.content)[0] if m.role == "assistant" else m.content) for m in exchange.before
    )
    text, block = apart(exchange.text)
    reasoning = "\n\n".join(filter(None, (exchange.reasoning, block)))
    answer = replace(exchange, text=text, reasoning=reasoning, before=before)
    empty = exchange.status is Status.OK and not text.strip()
    return replace(answer, status=Status.UNPARSABLE, error=NO_REPLY) if empty else answer


class PlannedSubject(NamedTuple):
    """A sample, or a reply to it, that a plan expects; one that is not written yet stands for `times` of its kind."""

    sample: Sample
    reply: Reply | None = None
    times: int = 1

    @property
    def id(self) -> str:
        """What ratings call it."""
        return self.sample.id if self.reply is None else self.reply.id

    @property
    def written(self) -> bool:
        """Whether it exists, so that its calls are known to the letter."""
        return self.reply is None or bool(self.reply.model)


class PlannedStep(msgspec.Struct, frozen=True):
    """What a step will take. Tokens are estimates from the texts' sizes; cost is None without a price.

    A question that is asked node by node ends at the first yes: `calls`, tokens and cost are those it takes at most,
    `expected_calls` those it takes if every answer is right. Repairs of unreadable answers come on top.
    """

    model: str
    purpose: str
    calls: int
    expected_calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    cached_tokens: int = 0
    """Of those read: what a server's cache may serve, since each turn of a dialogue begins with all before it."""


Planned: TypeAlias = "Callable[[], Iterable[PlannedSubject]]"
"""Reads what a step is expected to be about, one after the other: there may be more than fits into memory."""


class CallStep(msgspec.Struct, frozen=True, kw_only=True):
    """Calls to one model for one purpose."""

    benchmark: Benchmark
    model: Model
    repeats: int = 1
    purpose: str = ""
    """What a forecast calls it."""
    subjects: Planned = tuple
    """What a plan expects it to be about. Where it is done, it takes what the run holds then."""
    within: bool = False
    """Whether its calls are made within other steps, as these need them."""

    @property
    def asked_as(self) -> str:
        """What the run calls the model where this step asks it."""
        return self.model.name

    @property
    def asked_with(self) -> dict[str, Any]:
        """The parameters of its calls, the longest answer among them where the model is told one."""
        parameters = {**stated(self.own_parameters), **self.model.setup.parameters}
        limited = not {*parameters, *self.own_parameters}.isdisjoint(TOKEN_LIMITS)
        if isinstance(self.model, Bot | Scripted | Replay | ByHand) or limited:
            return parameters
        return {**parameters, "max_tokens": self.model.max_tokens}

    @property
    def own_parameters(self) -> dict[str, Any]:
        """The parameters of its calls that the command gives, whoever the model is."""
        raise NotImplementedError

    @property
    def later(self) -> bool:
        """Whether it waits until replies are written."""
        return False

    @property
    def answer_tokens(self) -> int:
        """The expected length of an answer."""
        raise NotImplementedError

    @property
    def identity(self) -> str:
        """What of the model is part of every call's key."""
        return identity(self.model)

    def requests(self, subject: PlannedSubject) -> list[Request]:
        """Return every call that one subject may take once, repairs aside."""
        raise NotImplementedError

    def done(self, store: Store) -> set[tuple[str, int]]:
        """Return the subjects and repeats that a run is done with."""
        raise NotImplementedError

    def wanted(self, store: Store) -> set[str]:
        """Return the ids of what it is about, as far as that is in the run."""
        raise NotImplementedError

    def at_hand(self, store: Store) -> Iterator[PlannedSubject]:
        """Return what it is about, as far as that is in the run."""
        raise NotImplementedError

    def left(self, store: Store, finished: set[tuple[str, int]]) -> int:
        """Count the subjects and repeats that are left."""
        return sum((ident, run) not in finished for ident in self.wanted(store) for run in range(self.repeats))

    def next_request(self, store: Store) -> Request | None:
        """Return the first call that it would make; None where nothing is left to ask."""
        finished = set() if self.within else self.done(store)
        if self.within or not self.left(store, finished):
            return None
        for subject in self.at_hand(store):
            for run in range(self.repeats):
                for request in self.requests(subject) if (subject.id, run) not in finished else ():
                    repeated = request.repeated(run)
                    if not self._known(store, repeated, done=False):
                        return repeated
        return None

    def planned_request(self, store: Store) -> Request | None:
        """Return a call like those that it would make once what is planned joins the run; None where nothing is left to ask.

        Where only what nobody has written yet is left, it is about something that the run holds.
        """
        finished = set() if self.within else self.done(store)
        unwritten = False
        for subject in () if self.within else self.subjects():
            unwritten = unwritten or not subject.written
            for run in range(self.repeats if subject.written else 0):
                for request in self.requests(subject) if (subject.id, run) not in finished else ():
                    if not self._known(store, request.repeated(run), done=False):
                        return request.repeated(run)
        subjects_held = self._held(store) if unwritten else ()
        return next((request for subject in subjects_held for request in self.requests(subject)), None)

    def _held(self, store: Store) -> Iterator[PlannedSubject]:
        """Return everything of the kind it is about that a run holds."""
        return self.at_hand(store)

    async def work(self, session: Session) -> None:
        """Make the calls that the run lacks, and keep what comes of them."""
        raise NotImplementedError

    def ratings(self) -> Iterator[tuple[str, str, int]]:
        """Return rater, criterion and number of times of every rating that a reply is to have by this step."""
        return iter(())

    def outputs(self) -> list[StepOutput]:
        """Return what it leaves in the run; nothing where its calls are made within other steps."""
        return [] if self.within else _of_ratings(self.ratings())

    def _same(self, request: Request, subject: PlannedSubject) -> Hashable:
        """Return what two calls have in common of which only one is made."""
        raise NotImplementedError

    def _known(self, store: Store, request: Request, *, done: bool) -> bool:
        """Whether the run holds a call, where its subject is done, or serves this step though it is not."""
        raise NotImplementedError

    def _likely(self, subject: PlannedSubject, calls: int) -> int:  # noqa: ARG002 - depends on the kind
        """Return how many of so many calls are made if every answer is right."""
        return calls

    def expected(self, store: Store | None, counted: set[Hashable]) -> tuple[PlannedStep, int]:
        """Count the calls that are left, and estimate what they take.

        Args:
            store: the run, if there is one.
            counted: the calls of the steps before, which are not made again; it gains those of this one.
        """
        finished = self.done(store) if store is not None else set()
        calls = likely = existing = read = 0
        opening = system_tokens(self.model)
        for subject in self.subjects():
            requests = [(request, opening + tokens(request.messages)) for request in self.requests(subject)]
            if not subject.written:
                often = self.repeats * subject.times
                calls += often * len(requests)
                likely += often * self._likely(subject, len(requests))
                read += often * sum(size for _, size in requests)
                continue
            for run in range(self.repeats):
                is_done = (subject.id, run) in finished
                own = [(request.repeated(run), size) for request, size in requests]
                own = [(request, size) for request, size in own if self._same(request, subject) not in counted]
                counted.update(self._same(request, subject) for request, _ in own)
                in_run = [store is not None and self._known(store, request, done=is_done) for request, _ in own]
                fresh = 0 if is_done else in_run.count(False)
                existing += in_run.count(True) or (len(own) if is_done else 0)
                read += 0 if is_done else sum(size for (_, size), stored in zip(own, in_run, strict=True) if not stored)
                calls += fresh
                likely += min(fresh, self._likely(subject, fresh))
        answer_total = calls * self.answer_tokens
        cost = None if self.model.price is None else self.model.price.of(read, answer_total)
        return PlannedStep(self.model.name, self.purpose, calls, likely, read, answer_total, cost), existing


class LocalStep(msgspec.Struct, frozen=True):
    """Ratings that need no calls."""

    benchmark: Benchmark

    @property
    def later(self) -> bool:
        """Whether it waits until replies are written."""
        return not self.benchmark.closed

    @property
    def within(self) -> bool:
        """Whether it is done within other steps."""
        return False

    def ratings(self) -> Iterator[tuple[str, str, int]]:
        """Return rater, criterion and number of times of every rating that a subject is to have by this step."""
        raise NotImplementedError

    def outputs(self) -> list[StepOutput]:
        """Return what it leaves in the run."""
        return _of_ratings(self.ratings())

    def work(self, store: Store, progress: Progress | None = None) -> None:
        """Rate what the run lacks, and keep it."""
        raise NotImplementedError


def _of_ratings(ratings: Iterable[tuple[str, str, int]]) -> list[StepOutput]:
    """Return a task for each rater, whatever its criteria."""
    return list(dict.fromkeys(StepOutput(RATING, rater, times) for rater, _, times in ratings))


Step: TypeAlias = CallStep | LocalStep


# -- samples → replies ------------------------------------------------------------------------------------------------


def reply_request(benchmark: Benchmark, sample: Sample, run: int, parameters: dict[str, Any]) -> Request:
    """Put a sample to a model under test."""
    return Request(benchmark.asked(sample), run, seeded(parameters, run), sample=sample)


class ReplyStep(CallStep, frozen=True, kw_only=True):
    """A model replies to every sample of a benchmark, as far as it has not yet.

    What it was asked in just the same words for another benchmark is not asked again.
    """

    parameters: dict[str, Any] = {}
    keep_reasoning: bool = True
    """Whether what the model thought before a reply is kept with it."""

    def reasoned(self, exchange: Exchange) -> dict[str, str]:
        """Return what a reply's provenance says of the model's reasoning."""
        return {REASONING: exchange.reasoning} if self.keep_reasoning and exchange.reasoning else {}

    def kept(self, exchange: Exchange) -> Exchange:
        """Return an answer for a dialogue that begins alike: the reasoning is a marked block in its text, if it is kept."""
        answer = parted(exchange)
        block = f"<think>\n{answer.reasoning}\n</think>\n\n" if self.reasoned(answer) else ""
        return replace(answer, text=f"{block}{answer.text}", reasoning="")

    @property
    def own_parameters(self) -> dict[str, Any]:
        """See `CallStep`."""
        return self.parameters

    @property
    def answer_tokens(self) -> int:
        """A reply's length."""
        return REPLY_TOKENS

    def outputs(self) -> list[StepOutput]:
        """Return the replies that it leaves in the run."""
        return [StepOutput(REPLY, self.asked_as, self.repeats)]

    def request(self, sample: Sample, run: int) -> Request:
        """Put a sample to the model."""
        return reply_request(self.benchmark, sample, run, self.parameters)

    def requests(self, subject: PlannedSubject) -> list[Request]:
        """Return the question that a sample is."""
        return [self.request(subject.sample, 0)]

    def done(self, store: Store) -> set[tuple[str, int]]:
        """Return the samples and repeats that are answered."""
        return store.answered(self.benchmark.name, self.asked_as)

    def wanted(self, store: Store) -> set[str]:
        """Return the ids of the samples that are asked about."""
        return {subject.sample.id for subject in self.subjects()} & {*store.sample_ids(self.benchmark.name)}

    def at_hand(self, store: Store) -> Iterator[PlannedSubject]:
        """Return the samples that are asked about."""
        wanted = self.wanted(store)
        return (subject for subject in self.subjects() if subject.sample.id in wanted)

    def _same(self, request: Request, subject: PlannedSubject) -> Hashable:
        return request.key(self.identity), subject.id

    def _known(self, store: Store, request: Request, *, done: bool) -> bool:
        return done and store.called(request.key(self.identity))

    async def work(self, session: Session) -> None:
        """Ask for the replies that the run lacks, and keep them."""
        store, benchmark, model, name = session.store, self.benchmark, self.model, self.asked_as
        store.forget_failed(benchmark.name, name)
        existing = self.done(store)
        elsewhere = store.replied_elsewhere(benchmark.name, name)
        wanted, total = self.wanted(store), self.left(store, existing)
        origin, hashed = provenance(model, self.parameters), self.identity

        async def one(sample: Sample, run: int) -> None:
            request = self.request(sample, run)
            key = request.key(hashed)
            if (sample.id, run) in elsewhere and store.called(key):
                store.add_reply(benchmark.name, store.reply_at(elsewhere[sample.id, run]))
                await session.committed()
                return
            answer = await session.call(model, request)
            exchange = parted(answer)
            reply = Reply.of(
                sample.id, name, run, exchange.status, exchange.text,
                finish_reason=exchange.finish_reason, usage=exchange.usage, seconds=exchange.seconds,
                provenance={**origin, **place(sample, name), "model": exchange.model_resolved, "fingerprint": exchange.fingerprint, "seed": run, "at": exchange.at,
                            **({"unsupported": exchange.unsupported} if exchange.unsupported else {}),
                            **({"error": exchange.error} if exchange.error else {}),
                            **({HELD: exchange.before} if exchange.before else {}), **self.reasoned(exchange)},
            )  # fmt: skip
            store.add_call(key, request.prompt_hash, benchmark.name, model.name, run, answer, text=False)
            store.add_reply(benchmark.name, reply)
            await session.committed()

        def jobs() -> Iterator[Job]:
            for sample in store.samples(benchmark.name):
                for run in range(self.repeats):
                    if sample.id in wanted and (sample.id, run) not in existing:
                        yield partial(one, sample, run)

        if total > 0:
            async with session.using(model):
                await session.work(jobs(), f"{name} replies", total, session.places(model))
