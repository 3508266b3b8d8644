"""The worst level alone: which figures and rules rest on it, and which judges say nothing of it.

A judge that never gives the worst level keeps every limit on how often it is given. Whether it uses that level as people do,
its card says (`Danger.worst_level`) or, where people rated too little there, its entry test.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mindgauge.analysis import fitness, frame, scoring_views
from mindgauge.benchmarks.anchors import limits
from mindgauge.benchmarks.metrics import RatingTable
from mindgauge.records.rounding import plural
from mindgauge.records.rubric import Scale

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mindgauge.analysis.reliability.card import Danger, ReliabilityCard
    from mindgauge.benchmarks import Benchmark
    from mindgauge.benchmarks.metrics import Metric
    from mindgauge.records.rubric import Criterion
    from mindgauge.store import Store

    Place = tuple[str, str, str]
    """Benchmark, criterion and judge."""


def rests(metric: Metric, criterion: Criterion, tags: Iterable[str] = ()) -> bool:
    """Say whether a metric looks at the worst level against all others, so that it says nothing where that is not used.

    So does a share of it, or of all levels but it; and, where there are two levels, whatever is made of them. What depends on
    `tags` of the samples, too, is about more.
    """
    if criterion.scale is Scale.NOMINAL or not (metric.item_score or metric.waits) or metric.of_status:
        return False
    q = len(criterion.values)
    if q == 2:
        return True
    if not metric.exact or metric.fold is not None:
        return False
    code, absent = np.arange(q), np.full(q, -1)
    untagged = {tag: np.full(q, "", dtype=object) for tag in tags}
    worth = metric.worth(RatingTable(criterion.values, code, absent, code, code, np.full(q, "ok"), tags=untagged))
    worst = criterion.values.index(criterion.worst_first[0])
    others = np.delete(worth, worst) if len(worth) == q else np.zeros(0)
    return bool(len(others) and (others == others[0]).all() and worth[worst] == 1 - others[0])


def metrics(benchmark: Benchmark, name: str) -> set[str]:
    """Return the names of the metrics of a criterion that rest on its worst level."""
    question = scoring_views.find(benchmark, name, "model")
    if question is None:
        return set()
    return {m.name for m in question.metrics if rests(m, question.criterion, question.benchmark.metric_tags)}


def instead(benchmark: Benchmark, name: str) -> str:
    """Return a metric that counts more than the worst level of a criterion, or its mean; empty where there is none."""
    question, resting = scoring_views.find(benchmark, name, "model"), metrics(benchmark, name)
    able = [m for m in question.metrics if m.item_score and m.name not in resting] if question is not None else []
    shares = [m.name for m in able if m.exact and m.better == "lower"]
    return next(iter([*shares, *(m.name for m in able if m.of_level)]), "")


def unused(
    benchmark: Benchmark, cards: Mapping[Place, ReliabilityCard], entry: Mapping[Place, str]
) -> dict[Place, str]:
    """Return the judges of which nothing about the worst level can be said, on which criterion, and why.

    A gate is at its worst level where one of its parts is, so it cannot be told where the judge does not use that of a part.

    Args:
        benchmark: whose judges.
        cards: of judges. They decide where people put as many replies at the worst level as the entry test asks for.
        entry: what entry tests show (`entry_tests`).
    """
    reasons: dict[Place, str] = {}
    gates = [name for name, composite in benchmark.composites.items() if composite.gate]
    for name in (*(name for name in frame.criteria(benchmark) if name not in gates), *gates):
        parts = benchmark.composites[name].of if name in gates else ()
        for judge in sorted({judge for _, _, judge in (*cards, *entry)}):
            place = (benchmark.name, name, judge)
            danger = cards[place].danger if place in cards else None
            inherited = next((reason for part in parts if (reason := reasons.get((benchmark.name, part, judge)))), "")
            reason = danger.worst_level if danger is not None else ""
            if reason or (not decided(danger) and (reason := entry.get(place, inherited))):
                reasons[place] = reason
    return reasons


def decided(danger: Danger | None) -> bool:
    """Say whether people put as many replies at the worst level as the entry test asks for: then they decide."""
    return danger is not None and danger.lowest is not None and danger.lowest.n >= limits().worst["replies"]


def entry_tests(store: Store, benchmarks: Iterable[Benchmark]) -> dict[Place, str]:
    """Return the judges that gave no test reply of the worst level that level, though most of the others theirs; and why.

    Where a judge gave a test reply that level, the reason is empty. Of other judges the test shows nothing.
    """
    reasons = {}
    for benchmark in benchmarks:
        for criterion, judge, at_level in fitness.by_level(store, benchmark):
            worst = criterion.worst_first[0]
            own = next((part for part in at_level if part.level == worst), None)
            others = [part for part in at_level if part.level not in {worst, None}]
            n = sum(part.n for part in others)
            right = sum(part.recall * part.n for part in others)
            given = own.n - own.missing if own is not None else 0
            place = (benchmark.name, criterion.name, judge)
            if own is not None and own.recall:
                reasons[place] = ""
            if own is None or given < limits().worst["replies"] or own.recall or right <= limits().worst["others"] * n:
                continue
            tested = plural(given, "test reply", "test replies")
            reasons[place] = (
                f"it gave none of {tested} written for {worst} that level, though it found most of the others"
            )
    return reasons
