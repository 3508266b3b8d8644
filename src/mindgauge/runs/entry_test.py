"""The entry test: before they judge replies, judges rate replies whose level is known; and which this machine has seen pass.

It is taken by every judge that this machine has not seen pass with the instrument at hand, unless somebody says
otherwise (`--qualify`, `--no-qualify`). The anchors stand in the run under a name of their own (`Benchmark.anchored`)
and are no part of its plan: a run may be continued with them or without.

Names of models and hashes of instruments (`state`). Where they cannot be read or written, the test is taken again.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, NamedTuple

from mindgauge.benchmarks import passed_tests
from mindgauge.benchmarks.anchors import limits
from mindgauge.models.replay import Replay
from mindgauge.models.scripted import Scripted
from mindgauge.records import digest
from mindgauge.records.errors import DataError, EndpointError, UsageError, WaitingError
from mindgauge.records.request import Setup, identity
from mindgauge.records.rounding import plural
from mindgauge.runs import plan, run_folder
from mindgauge.runs.forecast import calls_by_model
from mindgauge.runs.steps import PlannedSubject, endpoint
from mindgauge.store import Store, manifest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from mindgauge.benchmarks import Benchmark
    from mindgauge.benchmarks.anchors import Anchor
    from mindgauge.raters.judge import Instrument
    from mindgauge.records.request import Model
    from mindgauge.runs.options import RunConfig
    from mindgauge.runs.steps import CallStep


_ALL_FAILED = """
SELECT model, error, count(*), min(at) FROM calls WHERE benchmark = ? GROUP BY model HAVING sum(status != 'failed') = 0"""
USUAL = 40
"""Anchors of a benchmark that a judge rates where nobody asked for the test: enough to tell it from guessing."""


class EntryTest(NamedTuple):
    """The anchors of one benchmark, and the judges that are to rate them; `asked` for, or taken since they are not known."""

    benchmark: Benchmark
    anchors: list[Anchor]
    judges: list[Model]
    asked: bool

    def steps(self, folder: Path, config: RunConfig) -> list[CallStep]:
        """Return the steps in which judges rate the anchors, those asked for and those that the run holds from before."""
        anchored = self.benchmark.anchored

        def subjects() -> Iterator[PlannedSubject]:
            planned = {
                reply.id: PlannedSubject(anchor.sample, reply)
                for anchor in self.anchors
                for reply in (anchor.records("")[0],)
            }
            with Store.begun(folder) as store:
                if store is not None:
                    for reply in store.replies(anchored.name):
                        planned[reply.id] = PlannedSubject(store.sample(anchored.name, reply.sample), reply)
            return iter(planned.values())

        return plan.judging(anchored, subjects, self.judges, config, of_anchors=True)


def entry_tests(
    benchmarks: Sequence[Benchmark],
    judges: Sequence[Model],
    config: RunConfig,
    where: dict[str, tuple[str, ...]] | None = None,
) -> list[EntryTest]:
    """Read the anchors of every open benchmark of which a judge is to be tested.

    Args:
        benchmarks: of the run.
        judges: models that judge.
        config: how, and whether all judges are tested, or none (`qualify`); None for those that this machine has not seen
            pass. A function and a replay are tested only if that is asked for: the one is the user's own, the other holds
            no such answers. `anchors` limits the anchors per benchmark: all, or `USUAL` of them where nobody asked.
        where: tag → values of the samples to keep.

    Raises:
        UsageError: the test is asked for, and there is nobody to be tested.
        DataError: it is asked for, and a benchmark's anchors are missing or bad, or `where` leaves none.
    """
    qualify, limit = config.judging.qualify, config.judging.anchors
    if limit is not None and (qualify is False or limit < 1):
        raise UsageError(
            "--anchors says how many anchors the entry test takes, at least 1, and --no-qualify takes none"
        )
    opened = [benchmark for benchmark in benchmarks if not benchmark.closed]
    if qualify is False:
        return []
    if qualify and any(benchmark.brought is not None for benchmark in opened):
        raise UsageError(
            "--qualify tests judges on replies whose level is known by our own words; with --instrument leave it out"
        )
    if qualify and any(benchmark.names_in for benchmark in opened):
        raise UsageError(
            "--qualify tests judges on replies whose level is known, and as published this one is asked in free words; leave it out"
        )
    if qualify is None:
        return list(_unknown([b for b in opened if b.brought is None and not b.names_in], judges, config, where))
    if not judges:
        raise UsageError("--qualify tests models that judge; name one with --judge")
    if not opened:
        raise UsageError("--qualify tests judges of replies, and this is a closed question, which has none")
    return [EntryTest(b, b.anchors(where, limit), list(judges), asked=True) for b in opened]


def _unknown(
    benchmarks: Sequence[Benchmark],
    judges: Sequence[Model],
    config: RunConfig,
    where: dict[str, tuple[str, ...]] | None,
) -> Iterator[EntryTest]:
    """Yield the tests of judges that this machine has not seen pass; a benchmark without anchors has none."""
    for benchmark in benchmarks:
        instruments = plan.instruments(benchmark, config.judging)
        unknown = [
            judge
            for judge in judges
            if not isinstance(judge, Scripted | Replay)
            and not all(seen(judge, instrument) for instrument in instruments)
        ]
        try:
            anchors = benchmark.anchors(where, config.judging.anchors or USUAL) if unknown else []
        except DataError:
            continue
        if unknown:
            yield EntryTest(benchmark, anchors, unknown, asked=False)


def announce(folder: Path, tests: Sequence[EntryTest], config: RunConfig) -> None:
    """Say which judges take a test that nobody asked for, and what it takes; nothing of what a run holds already."""
    steps = [step for test in tests if not test.asked for step in test.steps(folder, config)]
    for judge, calls in calls_by_model(folder, steps).items():
        if calls:
            config.notice(
                f"the judge {judge} has not been seen to pass here: its entry test comes first, {plural(calls, 'call')} "
                "(--no-qualify leaves it out)"
            )


def note_untested(folder: Path, benchmarks: Sequence[Benchmark], judges: Sequence[Model], config: RunConfig) -> None:
    """Note in the manifest which judges took no test since they were to take none, and were never seen to pass here."""
    if config.judging.qualify is not False:
        return
    content = manifest.read(folder)
    noted: dict[str, list[str]] = content.get("no_entry_test", {})
    for benchmark in benchmarks:
        untested = {
            instrument.rater(judge.name)
            for instrument in (() if benchmark.closed else plan.instruments(benchmark, config.judging))
            for judge in judges
            if not isinstance(judge, Scripted | Replay) and not seen(judge, instrument)
        }
        if untested:
            noted[benchmark.name] = sorted({*noted.get(benchmark.name, []), *untested})
    if noted:
        manifest.write(folder, {**content, "no_entry_test": noted})


def take(store: Store, tests: Sequence[EntryTest], config: RunConfig) -> None:
    """Let judges rate the anchors once, as they will rate replies, and note it in the manifest.

    Requests that are filed wait with those about replies, and say so there.

    Raises:
        EndpointError: every call to a judge failed, and none of its requests waits.
    """
    if not tests:
        return
    for test in tests:
        records = [anchor.records(test.benchmark.rubric.name) for anchor in test.anchors]
        run_folder.put_known(
            store, test.benchmark.anchored.name, (anchor.sample for anchor in test.anchors),
            (reply for reply, _ in records), (rating for _, ratings in records for rating in ratings),
        )  # fmt: skip
    content = manifest.read(store.folder)
    noted = {
        test.benchmark.name: {
            "anchors": len(test.anchors),
            "hash": digest([(a.sample.id, a.reply, a.ratings) for a in test.anchors]),
        }
        for test in tests
    }
    manifest.write(store.folder, {**content, "entry_test": {**content.get("entry_test", {}), **noted}})
    with contextlib.suppress(WaitingError):
        plan.perform(store, [step for test in tests for step in test.steps(store.folder, config)], config)
    for test in tests:
        for judge, error, calls, _ in store.select(_ALL_FAILED, (test.benchmark.anchored.name,)):
            if judge in {model.name for model in test.judges if not getattr(model, "waiting", "")}:
                raise EndpointError(
                    f"{judge}: all {plural(calls, 'call')} of its entry test failed, so nothing else was sent. The first: {error}"
                )


# Which judges this machine has seen pass their entry test, with which instrument, under which limits.


def seen(judge: Model, instrument: Instrument) -> bool:
    """Say whether this machine has seen a judge pass with an instrument, under the limits of today."""
    return _key(judge, instrument) in passed_tests.read()


def remember(judge: Model, instrument: Instrument, worst: Mapping[str, str]) -> None:
    """Note that a judge passed, and by criterion why it does not use the worst level; empty where it does."""
    machine_knows = passed_tests.read()
    machine_knows[_key(judge, instrument)] = passed_tests.Passed(
        instrument.rater(judge.name), endpoint(judge), instrument.name, limits().name, manifest.now(),
        judge.name, Setup(manifest.clean(judge.setup.facts)).hash, tuple(worst.items()),
    )  # fmt: skip
    passed_tests.write(machine_knows)


def _key(judge: Model, instrument: Instrument) -> str:
    """Hash who judges, by which code where that is known, where, with which words and method, and under which limits."""
    return digest(
        judge.name,
        judge.host,
        identity(judge),
        instrument.rater(""),
        str(instrument.mode),
        instrument.name,
        limits().name,
    )
