"""`--qualify`: before they judge replies, judges rate replies whose level is known, as `run` and `rate` share it.

The anchors stand in the run under a name of their own (`Benchmark.anchored`) and are no part of its plan: a run may be
continued with them or without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from mindgauge import manifest
from mindgauge.errors import UsageError
from mindgauge.records import digest
from mindgauge.verbs import plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.anchors import Anchor
    from mindgauge.benchmark import Benchmark
    from mindgauge.engine import Progress
    from mindgauge.models.request import Model
    from mindgauge.store import Store


class EntryTest(NamedTuple):
    """The anchors that judges of one benchmark are to rate."""

    benchmark: Benchmark
    anchors: list[Anchor]


def entry_tests(
    benchmarks: Sequence[Benchmark],
    judges: Sequence[Model],
    *,
    qualify: bool,
    limit: int | None,
    where: dict[str, tuple[str, ...]] | None = None,
) -> list[EntryTest]:
    """Read the anchors of every open benchmark; none where nobody asked for an entry test.

    Raises:
        UsageError: there is nobody to be tested.
        DataError: a benchmark's anchors are missing or bad, or `where` leaves none.
    """
    if limit is not None and (not qualify or limit < 1):
        raise UsageError("--anchors says how many anchors --qualify takes, at least 1")
    if not qualify:
        return []
    if not judges:
        raise UsageError("--qualify tests models that judge; name one with --judge")
    found = [EntryTest(b, b.anchors(where, limit)) for b in benchmarks if not b.closed]
    if not found:
        raise UsageError("--qualify tests judges of replies, and this is a closed question, which has none")
    return found


def take(
    store: Store, tests: Sequence[EntryTest], judges: Sequence[Model], asked: plan.Asked, progress: Progress | None
) -> None:
    """Let every judge rate the anchors once, as it will rate replies, and note it in the manifest."""
    if not tests:
        return
    for test in tests:
        _keep(store, test)
    content = manifest.read(store.folder)
    noted = {
        benchmark.name: {"anchors": len(anchors), "hash": digest([(a.sample.id, a.reply, a.ratings) for a in anchors])}
        for benchmark, anchors in tests
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
                step for test in tests for step in plan.judging(session, test.benchmark.anchored, judges, once)
            ]
        ],
    )


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
