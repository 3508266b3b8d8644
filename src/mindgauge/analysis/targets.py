"""What can be said of texts of the user's own, which may have no target: how often each label was given, and perhaps accuracy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mindgauge.benchmarks.metrics import distribution_of, with_others
from mindgauge.benchmarks.own_columns import FILE, VARIANT, targeted
from mindgauge.records.rounding import count

if TYPE_CHECKING:
    from mindgauge.benchmarks import Benchmark
    from mindgauge.store import Store

NO_TARGETS = "no targets: how often each label was given; accuracy cannot be said"
PARTLY = "accuracy and its like are over these; how often each label was given is over all"


class TargetCount(NamedTuple):
    """How many samples there are, how many have a target on any criterion, and by which tags they are looked at apart."""

    samples: int
    targets: int
    slices: list[str]


def of_user(benchmark: Benchmark, manifest: dict[str, Any]) -> bool:
    """Whether a run put a closed question about texts or dialogues of the user's own."""
    plan = manifest.get("plan", {})
    return benchmark.closed and ("rate" in plan or benchmark.name in plan.get("own_texts", ()))


def counted(store: Store, benchmark: Benchmark) -> TargetCount:
    """Count the samples of a benchmark in a run; what else an answer is compared with counts as a target."""
    samples, targets, values = 0, 0, {FILE: {""}, VARIANT: {""}}
    for sample in store.samples(benchmark.name):
        samples += 1
        compared = benchmark.closed and any(tag in sample.tags for tag in benchmark.wants)
        targets += compared or targeted(sample)
        for tag, distinct in values.items():
            distinct.add(sample.tags.get(tag, ""))
    return TargetCount(samples, targets, [tag for tag, distinct in values.items() if len(distinct) > 2])


def described(benchmark: Benchmark, store: Store, manifest: dict[str, Any]) -> Benchmark:
    """Return a benchmark with what is computed of texts of the user's own; where none has a target, it goes by that alone."""
    plan = manifest.get("plan", {})
    tags = counted(store, benchmark).slices if benchmark.name in plan.get("own_texts", ()) else []
    slices = (*benchmark.slices, *tags, *(["model"] if benchmark.closed and "rate" in plan else []))
    if not of_user(benchmark, manifest):
        return msgspec.structs.replace(benchmark, slices=slices)
    distribution = benchmark.distribution or distribution_of(benchmark.rubric.criteria)
    shares = tuple(metric.name for metric in distribution)
    headline = (*benchmark.headline, *shares) if counted(store, benchmark).targets else shares
    return msgspec.structs.replace(
        benchmark,
        distribution=distribution,
        metrics=with_others(benchmark.metrics, distribution, benchmark.rubric.criteria),
        headline=headline,
        slices=slices,
    )


def notes(benchmark: Benchmark, store: Store, manifest: dict[str, Any]) -> list[str]:
    """Say of how many texts it is known what is right, where that is not all of them."""
    if not of_user(benchmark, manifest):
        return []
    known = counted(store, benchmark)
    if not known.targets:
        return [f"{benchmark.name}: {NO_TARGETS}"]
    if known.targets == known.samples:
        return []
    return [f"{benchmark.name}: {count(known.targets)} of {count(known.samples)} samples have a target: {PARTLY}"]
