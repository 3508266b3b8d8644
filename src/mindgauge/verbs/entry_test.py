"""The entry test: before they judge replies, judges rate replies whose level is known.

It is taken by every judge that this machine has not seen pass with the instrument at hand, unless somebody says
otherwise (`--qualify`, `--no-qualify`). The anchors stand in the run under a name of their own (`Benchmark.anchored`)
and are no part of its plan: a run may be continued with them or without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from mindgauge import manifest
from mindgauge.analysis.fitness import Result
from mindgauge.errors import DataError, UsageError
from mindgauge.models.replay import Replay
from mindgauge.models.scripted import Scripted
from mindgauge.records import digest
from mindgauge.rounding import plural
from mindgauge.store import Store
from mindgauge.verbs import ahead, passes, plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from mindgauge.analysis.qualify import Qualification
    from mindgauge.anchors import Anchor
    from mindgauge.benchmark import Benchmark
    from mindgauge.engine import Progress
    from mindgauge.models.request import Model
    from mindgauge.records import Reply, Sample
    from mindgauge.verbs.ahead import Ahead
    from mindgauge.verbs.plan import Asked

USUAL = 40
"""Anchors of a benchmark that a judge rates where nobody asked for the test: enough to tell it from guessing."""


class EntryTest(NamedTuple):
    """The anchors of one benchmark, and the judges that are to rate them; `asked` for, or taken since they are not known."""

    benchmark: Benchmark
    anchors: list[Anchor]
    judges: list[Model]
    asked: bool


def entry_tests(
    benchmarks: Sequence[Benchmark],
    judges: Sequence[Model],
    asked: Asked,
    *,
    qualify: bool | None,
    limit: int | None,
    where: dict[str, tuple[str, ...]] | None = None,
) -> list[EntryTest]:
    """Read the anchors of every open benchmark of which a judge is to be tested.

    Args:
        benchmarks: of the run.
        judges: models that judge.
        asked: how.
        qualify: whether all judges are tested, or none; None for those that this machine has not seen pass. A function
            and a replay are tested only if that is asked for: the one is the user's own, the other holds no such answers.
        limit: anchors per benchmark; all, or `USUAL` of them where nobody asked for the test.
        where: tag → values of the samples to keep.

    Raises:
        UsageError: the test is asked for, and there is nobody to be tested.
        DataError: it is asked for, and a benchmark's anchors are missing or bad, or `where` leaves none.
    """
    if limit is not None and (qualify is False or limit < 1):
        raise UsageError(
            "--anchors says how many anchors the entry test takes, at least 1, and --no-qualify takes none"
        )
    opened = [benchmark for benchmark in benchmarks if not benchmark.closed]
    if qualify is False:
        return []
    if qualify is None:
        return list(_unknown(opened, judges, asked, limit or USUAL, where))
    if not judges:
        raise UsageError("--qualify tests models that judge; name one with --judge")
    if not opened:
        raise UsageError("--qualify tests judges of replies, and this is a closed question, which has none")
    return [EntryTest(b, b.anchors(where, limit), list(judges), asked=True) for b in opened]


def _unknown(
    benchmarks: Sequence[Benchmark],
    judges: Sequence[Model],
    asked: Asked,
    limit: int,
    where: dict[str, tuple[str, ...]] | None,
) -> Iterator[EntryTest]:
    """Yield the tests of judges that this machine has not seen pass; a benchmark without anchors has none."""
    for benchmark in benchmarks:
        its = plan.instruments(benchmark, asked)
        unknown = [
            judge
            for judge in judges
            if not isinstance(judge, Scripted | Replay) and not all(passes.seen(judge, each) for each in its)
        ]
        try:
            anchors = benchmark.anchors(where, limit) if unknown else []
        except DataError:
            continue
        if unknown:
            yield EntryTest(benchmark, anchors, unknown, asked=False)


def announce(path: Path, tests: Sequence[EntryTest], asked: Asked, notice: Callable[[str], None] | None) -> None:
    """Say which judges take a test that nobody asked for, and what it takes; nothing of what a run holds already."""
    calls: dict[str, int] = {}
    for found in ahead_of(path, [test for test in tests if not test.asked], asked):
        calls[found.step.model] = calls.get(found.step.model, 0) + found.step.calls
    for judge, n in calls.items():
        if n and notice is not None:
            notice(
                f"the judge {judge} has not been seen to pass here: its entry test comes first, {plural(n, 'call')} "
                "(--no-qualify leaves it out)"
            )


def ahead_of(path: Path, tests: Sequence[EntryTest], asked: Asked) -> Iterator[Ahead]:
    """Return the steps of entry tests, less what a run holds already."""
    once = msgspec.structs.replace(asked, judge_runs=1)
    for test in tests:
        subjects = _subjects(path, test.benchmark.anchored, test.anchors)
        for judge in test.judges:
            yield from ahead.judging(path, test.benchmark.anchored, judge, once, subjects, 1, "entry test")


def _subjects(path: Path, benchmark: Benchmark, anchors: Sequence[Anchor]) -> list[tuple[Sample, Reply]]:
    """Return the anchors that would be rated: those asked for, and those that the run holds from before."""
    written = [(anchor.sample, anchor.records("")[0]) for anchor in anchors]
    found = {reply.id: (sample, reply) for sample, reply in written}
    if (path / "run.sqlite").is_file():
        with Store(path) as store:
            for reply in store.replies(benchmark.name):
                found[reply.id] = (store.sample(benchmark.name, reply.sample), reply)
    return list(found.values())


def take(store: Store, tests: Sequence[EntryTest], asked: Asked, progress: Progress | None) -> None:
    """Let judges rate the anchors once, as they will rate replies, and note it in the manifest."""
    if not tests:
        return
    for test in tests:
        _keep(store, test)
    content = manifest.read(store.folder)
    noted = {
        test.benchmark.name: {
            "anchors": len(test.anchors),
            "hash": digest([(a.sample.id, a.reply, a.ratings) for a in test.anchors]),
        }
        for test in tests
    }
    manifest.write(store.folder, {**content, "entry_test": {**content.get("entry_test", {}), **noted}})

    def told(stage: str, done: int, total: int) -> None:
        assert progress is not None
        progress(f"{stage} anchors", done, total)

    once = msgspec.structs.replace(asked, judge_runs=1)
    plan.work(
        store,
        asked,
        told if progress else None,
        [
            lambda session: [
                step for test in tests for step in plan.judging(session, test.benchmark.anchored, test.judges, once)
            ]
        ],
    )


def remember(tests: Sequence[EntryTest], found: Sequence[Qualification], asked: Asked) -> None:
    """Note on this machine which judges passed: on a criterion at least, and failed on none."""
    for test in tests:
        for judge in test.judges:
            if isinstance(judge, Scripted | Replay):
                continue
            for instrument in plan.instruments(test.benchmark, asked):
                who = (test.benchmark.name, instrument.rater(judge.name))
                results = {q.result for q in found if (q.benchmark, q.judge) == who}
                if Result.PASSED in results and Result.FAILED not in results:
                    passes.remember(judge, instrument)


def _keep(store: Store, test: EntryTest) -> None:
    """Put anchors into a run, as far as they are not there: dialogues, replies, and the authors' ratings."""
    name = test.benchmark.anchored.name
    known = set(store.sample_ids(name))
    store.put_samples(name, {a.sample.id: a.sample for a in test.anchors if a.sample.id not in known}.values())
    for anchor in test.anchors:
        reply, ratings = anchor.records(test.benchmark.rubric.name)
        store.add_reply(name, reply)
        for rating in ratings:
            store.add_rating(name, rating)
    store.flush()
