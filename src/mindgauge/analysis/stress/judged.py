"""A run's stress tests, as far as it holds any."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mindgauge.analysis.stress import reading
from mindgauge.analysis.stress.design import INAPPLICABLE
from mindgauge.analysis.stress.effects import outcome
from mindgauge.analysis.stress.items import judges_in
from mindgauge.analysis.stress.result import Stress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.benchmarks import Benchmark
    from mindgauge.store import Store


def judges(store: Store, benchmark: Benchmark) -> list[str]:
    """Return the judges that were put under stress, by name."""
    names = store.select("SELECT DISTINCT benchmark FROM replies").fetchall()
    return judges_in((name for (name,) in names), benchmark.name)


def stress(store: Store, benchmark: Benchmark, judge: str, *, seed: int = 0) -> Stress:
    """Say what a judge makes of the form of a reply.

    Args:
        store: of the run that holds its verdicts.
        benchmark: that the test is about.
        judge: its name as a rater.
        seed: of the sign flips.
    """
    design, values = reading.read(store, benchmark, judge)
    result = outcome(design, values, seed=seed)
    usable = int((np.isfinite(values) & (values != INAPPLICABLE)).sum())
    return Stress(
        run=str(store.folder), benchmark=benchmark.name, judge=judge, items=design.items,
        conversations=design.conversations, judge_runs=values.shape[1], verdicts=usable,
        unusable=int(np.isnan(values).sum()), effects=result.effects, injections=result.injections, repeats=result.repeats,
        notes=design.notes,
    )  # fmt: skip


def stressed(store: Store, benchmarks: Sequence[Benchmark], judge: str) -> list[Stress]:
    """Return a judge's stress tests that a run holds; empty where it holds none."""
    return [stress(store, b, judge) for b in benchmarks if not b.closed and judge in judges(store, b)]
