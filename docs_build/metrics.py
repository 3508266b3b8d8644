"""The page of all metrics, benchmark by benchmark, with the words that each brings with it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from docs_build.tables import code, page, table
from mindgauge import benchmarks
from mindgauge.benchmarks.registry import shipped
from mindgauge.records.english import words as in_words
from mindgauge.records.text import text

if TYPE_CHECKING:
    from mindgauge.benchmarks.benchmark import Benchmark
    from mindgauge.benchmarks.metrics import Metric

INTRODUCTION = (
    "A metric is called by its name in `mindgauge score RUN --json`, in a gate's policy and from Python; terminal and report"
    " say it in words. Its value is a share of replies or dialogues, or a level: a mean, a coefficient, a difference."
    " *Goes by* marks what stands first in terminal and report."
)
COLUMNS = ("name", "in words", "value", "better", "")


def written() -> str:
    """Return the page."""
    known = [benchmarks.find_one(name) for name in benchmarks.names() if shipped(name)]
    count = Counter(metric.name for benchmark in known for metric in benchmark.metrics)
    shared = {name for name, n in count.items() if n == len(known)}
    common = [metric for metric in known[0].metrics if metric.name in shared]
    parts = [
        INTRODUCTION,
        "What is computed on more than one criterion is computed on each; `mindgauge list NAME` has the criteria.",
        "## Every benchmark",
        "What became of the answers that were asked for; none of them is left out of n.",
        table(COLUMNS[:4], (_row(metric)[:4] for metric in common)),
    ]
    for benchmark in known:
        parts += [f"## {benchmark.name}", text(benchmark.card.title), table(COLUMNS, _rows(benchmark, shared))]
    return page("Metrics", *parts)


def _rows(benchmark: Benchmark, shared: set[str]) -> list[list[str]]:
    own = {metric.name: metric for metric in benchmark.metrics if metric.name not in shared}
    first = [name for name in benchmark.headline if name in own]
    names = [*first, *(name for name in own if name not in first)]
    return [[*_row(own[name]), "goes by" if name in first else ""] for name in names]


def _row(metric: Metric) -> list[str]:
    title = (metric.words.title or in_words(metric.name)).format("a criterion")
    better = metric.better or ("as the criterion says" if metric.of_level else "")
    return [code(metric.name), text(title), "share" if metric.unit == "share" else "level", better]
