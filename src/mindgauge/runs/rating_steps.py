"""The steps of a run in which subjects are rated: samples of a closed benchmark, replies to an open one.

A judge is called (`RatingStep`); classifiers, rules and what a benchmark reads by rule need no calls.
"""

from __future__ import annotations

import json
from functools import partial
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any

from mindgauge.models.by_hand import ByHand
from mindgauge.records import RaterKind, Rating, Reply, Sample, Status
from mindgauge.records.files import private
from mindgauge.records.prompt import Nonces
from mindgauge.runs.judge_work import JudgeWork
from mindgauge.runs.steps import CallStep, LocalStep, PlannedStep, PlannedSubject

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from mindgauge.benchmarks import Benchmark
    from mindgauge.raters.classifier import Classifier
    from mindgauge.raters.judge import Judge
    from mindgauge.raters.rule import Rule
    from mindgauge.records.request import Request
    from mindgauge.runs.session import Job, Progress, Session
    from mindgauge.runs.step_outputs import StepOutput
    from mindgauge.store import ReplyScope, Store


FENCE_KEY = "fence.key"
"""In a run's folder, readable for its owner only: the secret of the marks in requests that are filed."""
SHARING = 1
"""Calls at once to a model on this machine when they share a long beginning, which each place would read for itself."""
VERDICT_TOKENS = 150
_UNREAD = """SELECT subject, run, json_extract(provenance, '$.problem'), json_extract(provenance, '$.calls') FROM ratings
WHERE benchmark = ? AND rater = ? AND status = 'unparsable' AND json_array_length(provenance, '$.calls')
GROUP BY subject, run, 4 ORDER BY 1, 2"""


class RatingStep(CallStep, frozen=True, kw_only=True):
    """A judge rates every subject of a benchmark, as far as it has not yet.

    The subjects are the samples of a closed benchmark, the replies of an open one. With `recognise`, the judge first
    says itself which protocol a sample falls under; without, the sample's tag says so.
    """

    judge: Judge
    recognise: Judge | None = None
    of_anchors: bool = False
    scope: ReplyScope | None = None
    """The replies that are rated, of an open benchmark; all that the run holds, if not given."""

    @property
    def asked_as(self) -> str:
        """The rater."""
        return self.judge.rater

    @property
    def own_parameters(self) -> dict[str, Any]:
        """See `CallStep`."""
        return self.judge.parameters

    @property
    def later(self) -> bool:
        """Whether it waits until replies are written."""
        return self.within or not self.benchmark.closed

    @property
    def stage(self) -> str:
        """What progress calls it."""
        verb = "classifies" if self.benchmark.closed else "judges"
        return f"{self.judge.rater} {verb}{' anchors' * self.of_anchors}"

    @property
    def criteria(self) -> list[str]:
        """The criteria that are rated."""
        return [criterion.name for criterion in self.judge.instrument.rubric.criteria]

    @property
    def answer_tokens(self) -> int:
        """A verdict's length, longer where each criterion has a reason of its own."""
        instrument = self.judge.instrument
        parts = max(1, len(instrument.parts(next(self._protocols(), None))))
        return max(VERDICT_TOKENS, instrument.method.expected_tokens * len(self.criteria) // parts)

    def _protocols(self) -> Iterator[str]:
        return (name for criterion in self.benchmark.rubric.criteria for name in criterion.protocols)

    def protocol(self, sample: Sample) -> str | None:
        """Return the protocol that a judge is shown; where it finds it out itself, the usual one, or any."""
        if not self.benchmark.protocol or self.within:
            return None
        tagged = sample.tags.get(self.benchmark.protocol)
        return tagged or (next(self._protocols(), None) if self.recognise is not None else None)

    def requests(self, subject: PlannedSubject) -> list[Request]:
        """Return every call that rating a subject once may take; none where there is nothing to judge or no protocol to judge by."""
        sample, reply, _ = subject
        protocol = self.protocol(sample)
        unknown = bool(self.benchmark.protocol) and not self.within and protocol is None
        if unknown or (reply is not None and reply.status is not Status.OK):
            return []
        return self.judge.requests(sample, reply, protocol)

    def done(self, store: Store) -> set[tuple[str, int]]:
        """Return the subjects and repeats that are rated on every criterion."""
        return set.intersection(*(store.rated(self.benchmark.name, self.judge.rater, name) for name in self.criteria))

    def at_hand(self, store: Store) -> Iterator[PlannedSubject]:
        """Return what is rated, as a judge is shown it."""
        wanted = self.wanted(store)
        return self._presented(
            store, (s for s in _subjects(store, self.benchmark, self.scope) if (s[1] or s[0]).id in wanted)
        )

    def _held(self, store: Store) -> Iterator[PlannedSubject]:
        return self._presented(store, _subjects(store, self.benchmark))

    def _presented(self, store: Store, subjects: Iterator[tuple[Sample, Reply | None]]) -> Iterator[PlannedSubject]:
        find = partial(store.sample, self.benchmark.name)
        for sample, reply in subjects:
            presented = (sample, None) if reply is None else self.benchmark.shown(sample, reply, find)
            if presented is not None:
                yield PlannedSubject(*presented)

    def ratings(self) -> Iterator[tuple[str, str, int]]:
        """Return rater, criterion and number of times of every rating of a subject."""
        yield from ((self.judge.rater, name, self.repeats) for name in self.criteria)

    def _same(self, request: Request, subject: PlannedSubject) -> Hashable:  # noqa: ARG002 - one call, whatever it is about
        return request.key(self.identity)

    def _known(self, store: Store, request: Request, *, done: bool) -> bool:  # noqa: ARG002 - an answer is never asked for twice
        return store.called(request.key(self.identity))

    def _likely(self, subject: PlannedSubject, calls: int) -> int:
        parts = self.judge.instrument.parts(self.protocol(subject.sample), subject.sample.tags)
        return min(calls, sum(part.calls_to(subject.sample.target) for part in parts))

    async def work(self, session: Session) -> None:
        """Ask for the ratings that the run lacks, and keep them."""
        store, benchmark = session.store, self.benchmark
        existing, anew = self.done(store), set[bytes]()
        judge, recognise = self.judge, self.recognise
        if isinstance(self.model, ByHand):  # what is filed is the same in every command
            nonces = Nonces(private.secret(store.folder / FENCE_KEY, "file the requests in a new folder"))
            judge, recognise = judge.fenced_by(nonces), recognise and recognise.fenced_by(nonces)
            for subject, run, _, keys in self.unread(store):
                if any(self.model.corrected(key, store.exchange(key)) for key in keys):
                    existing.discard((subject, run))
                    anew.update(keys)
        wanted, total = self.wanted(store), self.left(store, existing)
        ask = session.asker(self.model, benchmark.name, judging=not benchmark.closed, anew=anew)
        judging = JudgeWork(
            benchmark, judge, ask, find=partial(store.sample, benchmark.name),
            keep=partial(store.add_rating, benchmark.name), recognise=recognise,
        )  # fmt: skip
        at_once = SHARING if self.model.own_machine else session.places(self.model)

        def jobs() -> Iterator[Job]:
            subjects = ((s, r) for s, r in _subjects(store, benchmark, self.scope) if (r or s).id in wanted)
            requests = ((sample, reply, run) for sample, reply in subjects for run in range(self.repeats))
            missing = (
                (sample, reply, run) for sample, reply, run in requests if ((reply or sample).id, run) not in existing
            )
            for sample, reply, run in _beginnings_first(missing, min(at_once, session.concurrency)):
                yield partial(judging.rate, sample, reply, run)

        if total > 0:
            async with session.using(self.model):
                await session.work(jobs(), self.stage, total, at_once)

    def unread(self, store: Store) -> list[tuple[str, int, str, list[bytes]]]:
        """Return what the judge rated without a readable verdict: subject, run, why, and the keys of the calls."""
        rows = store.select(_UNREAD, (self.benchmark.name, self.judge.rater))
        return [(subject, run, why or "", [*map(bytes.fromhex, json.loads(keys))]) for subject, run, why, keys in rows]

    def wanted(self, store: Store) -> set[str]:
        """Return the ids of what is rated, as far as it is in the run."""
        name = self.benchmark.name
        if self.benchmark.closed:
            return {subject.sample.id for subject in self.subjects()} & {*store.sample_ids(name)}
        places = store.replies_by_sample(name, self.scope)
        return {ident for sample in store.sample_ids(name) for ident, _ in places.get(sample, ())}


def _count(store: Store, benchmark: Benchmark) -> int:
    """Count a benchmark's subjects: the samples of a closed one, the replies of an open one."""
    return store.count_samples(benchmark.name) if benchmark.closed else store.count_replies(benchmark.name)


def _subjects(
    store: Store, benchmark: Benchmark, scope: ReplyScope | None = None
) -> Iterator[tuple[Sample, Reply | None]]:
    if benchmark.closed:
        yield from ((sample, None) for sample in store.samples(benchmark.name))
        return
    places = store.replies_by_sample(benchmark.name, scope)
    # Replies that are judged by the same protocol share the beginning of their prompts, so they come together.
    ordered = sorted((s.tags.get(benchmark.protocol, ""), i, s.id) for i, s in enumerate(store.samples(benchmark.name)))
    for _, _, ident in ordered:
        for _, place in places.get(ident, ()):
            yield store.sample(benchmark.name, ident), store.reply_at(place)


def _beginnings_first(
    requests: Iterator[tuple[Sample, Reply | None, int]], at_once: int
) -> Iterator[tuple[Sample, Reply | None, int]]:
    """Put what is asked about one dialogue together, but the first of several dialogues before the rest of any.

    What is asked about a dialogue begins alike. Were it all sent at once, each call would find the server's cache cold.
    """
    dialogues = ([*group] for _, group in groupby(requests, key=lambda subject: subject[0].id))
    while batch := [*islice(dialogues, at_once)]:
        yield from (first for first, *_ in batch)
        yield from (subject for _, *others in batch for subject in others)


# -- without calls -----------------------------------------------------------------------------------------------------


class ReadingStep(LocalStep, frozen=True):
    """What a benchmark reads by rule is read from every reply, as far as it has not been."""

    def work(self, store: Store, progress: Progress | None = None) -> None:  # noqa: ARG002 - it takes no time
        """Read what the run lacks."""
        for reading in self.benchmark.readings:
            existing = {
                subject for subject, _ in store.rated(self.benchmark.name, reading.rater, reading.criterion.name)
            }
            for sample, reply in _subjects(store, self.benchmark):
                if reply is not None and reply.id not in existing:
                    store.add_rating(self.benchmark.name, reading.rate(sample, reply))
        store.flush()

    def ratings(self) -> Iterator[tuple[str, str, int]]:
        """Return rater, criterion and number of times of every rating that a reply is to have by this step."""
        yield from ((reading.rater, reading.criterion.name, 1) for reading in self.benchmark.readings)

    def outputs(self) -> list[StepOutput]:
        """Return nothing: what is read by rule is asked of nobody."""
        return []


class RuleStep(LocalStep, frozen=True):
    """A rule rates every reply."""

    rule: Rule

    def work(self, store: Store, progress: Progress | None = None) -> None:  # noqa: ARG002 - it takes no time
        """Rate them all, anew."""
        for reply in store.replies(self.benchmark.name):
            store.add_rating(self.benchmark.name, self.rule.rate(reply))
        store.flush()

    def ratings(self) -> Iterator[tuple[str, str, int]]:
        """Return rater, criterion and number of times of every rating that a reply is to have by this step."""
        yield self.rule.name, self.rule.criterion, 1


class ClassifierStep(LocalStep, frozen=True):
    """A classifier rates every subject, as far as it has not yet; each block is kept when it is done."""

    rater: Classifier
    count: int = 0
    """The subjects that a plan expects."""

    @property
    def apart(self) -> bool:
        """Whether it rates on a criterion of its own, which the benchmark's rubric does not have."""
        return self.rater.criterion.name not in {c.name for c in self.benchmark.rubric.criteria}

    def done(self, store: Store) -> set[tuple[str, int]]:
        """Return the subjects and repeats that a run is done with."""
        return store.rated(self.benchmark.name, self.rater.name, self.rater.criterion.name)

    def ratings(self) -> Iterator[tuple[str, str, int]]:
        """Return rater, criterion and number of times of every rating that a reply is to have by this step."""
        yield self.rater.name, self.rater.criterion.name, 1

    def expected(self, store: Store | None) -> tuple[PlannedStep, int]:
        """Count the subjects that are left: it makes no calls and costs nothing."""
        remaining = max(0, self.count - (len(self.done(store)) if store is not None else 0))
        purpose = f"classify {remaining} {'samples' if self.benchmark.closed else 'replies'}"
        return PlannedStep(self.rater.name, purpose, 0, 0, 0, 0, 0.0), 0

    def work(self, store: Store, progress: Progress | None = None) -> None:
        """Rate what the run lacks."""
        existing = {subject for subject, _ in self.done(store)}
        stage, total = f"{self.rater.name} classifies", _count(store, self.benchmark) - len(existing)

        def told(rated: int) -> None:
            store.flush()
            if progress is not None:
                progress(stage, rated, total)

        if total > 0:
            told(0)
            subjects = (
                entry for entry in _subjects(store, self.benchmark) if (entry[1] or entry[0]).id not in existing
            )
            waiting = ((reply.answered(sample) if reply else sample, reply) for sample, reply in subjects)
            for rating in self.rater.rate(waiting, told):
                store.add_rating(self.benchmark.name, rating)


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
