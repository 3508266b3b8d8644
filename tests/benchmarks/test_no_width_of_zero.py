"""No interval of width zero: every metric of every benchmark, where all answers agree and no resample differs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from mindgauge import benchmarks
from mindgauge.benchmarks.metrics import RatingTable, estimate
from tests.thinned import sampled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.benchmarks import Benchmark
    from mindgauge.benchmarks.metrics import Estimate
    from mindgauge.records.rubric import Criterion

ALL = [benchmarks.find_one(name) for name in benchmarks.names()]
SAMPLES = 40
"""Of each benchmark: enough for every tag's values, few enough for many estimates."""


def tables(benchmark: Benchmark, criterion: Criterion) -> Iterator[tuple[str, RatingTable]]:
    """Yield answers that all agree: each level throughout, and what samples have as their target."""
    samples = benchmark.samples(None)[:SAMPLES]
    n, values = len(samples), list(map(str, criterion.values))
    first = criterion.name == benchmark.rubric.criteria[0].name
    targets = [str(s.target if first else s.tags.get(f"target.{criterion.name}")) for s in samples]
    target = np.array([values.index(t) if t in values else -1 for t in targets], dtype=np.intp)
    cluster = np.unique([s.cluster for s in samples], return_inverse=True)[1]
    tags = {name: np.array([s.tags.get(name, "") for s in samples], dtype=object) for name in benchmark.metric_tags}

    def table(code: np.ndarray[tuple[int], np.dtype[np.intp]]) -> RatingTable:
        status = np.where(code < 0, "unparsable", "ok")
        return RatingTable(criterion.values, code, target, cluster, np.arange(n), status, None, tags)

    for code, value in enumerate(criterion.values):
        yield f"all {value}", table(np.full(n, code, dtype=np.intp))
    yield "as the target", table(target)


def honest(found: Estimate) -> bool:
    """Whether an interval has a width, or there is none and it is said why."""
    if found.value is None:
        return True
    if found.low is None or found.high is None:
        return found.clusters < 2 or bool(found.note)
    return found.low < found.high and found.low - 1e-9 <= found.value <= found.high + 1e-9


@pytest.mark.parametrize("benchmark", sampled(ALL, 4), ids=lambda b: b.name)
def test_where_all_agree_intervals_have_a_width_or_a_reason(benchmark: Benchmark) -> None:
    false = []
    for criterion in benchmark.criteria:
        for name, table in tables(benchmark, criterion):
            for metric in benchmark.metrics:
                found = estimate(metric, table, resamples=100)
                if not honest(found):
                    false.append((criterion.name, name, metric.name, metric.label, found))
    assert false == []
