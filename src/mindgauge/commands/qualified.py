"""This machine remembers which judges passed their entry test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.analysis import scoring_views
from mindgauge.benchmarks.anchors import EntryResult
from mindgauge.models.replay import Replay
from mindgauge.models.scripted import Scripted
from mindgauge.runs import entry_test, plan
from mindgauge.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mindgauge.analysis.fitness import Qualification
    from mindgauge.runs.entry_test import EntryTest
    from mindgauge.runs.options import RunConfig


def remember(
    folder: Path, tests: Sequence[EntryTest], qualifications: Sequence[Qualification], config: RunConfig
) -> None:
    """Note on this machine which judges of a run passed: on a criterion at least, and failed on none."""
    if not tests:
        return
    with Store(folder) as store:
        worst = scoring_views.entry_tests(store, [test.benchmark for test in tests])
    for test in tests:
        for judge in test.judges:
            if isinstance(judge, Scripted | Replay):
                continue
            for instrument in plan.instruments(test.benchmark, config.judging):
                pair = (test.benchmark.name, instrument.rater(judge.name))
                results = {q.result for q in qualifications if (q.benchmark, q.judge) == pair}
                if EntryResult.PASSED in results and EntryResult.FAILED not in results:
                    by_criterion = {name: why for (b, name, j), why in worst.items() if (b, j) == pair}
                    entry_test.remember(judge, instrument, by_criterion)
