"""`compare`: which system is better, by how much, on what, and at what cost?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mindgauge.analysis import classifiers
from mindgauge.analysis import compare as analysis
from mindgauge.analysis.score import open_run, still_missing
from mindgauge.commands.status import unasked
from mindgauge.reports.reliability_gate import of_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.pairing import SystemComparison


def compare(
    runs: str | Path | Sequence[str | Path], *, by: str = "", resamples: int = 2000, seed: int = 0
) -> SystemComparison:
    """Compare all systems of some runs, chat models, classifiers and ways of asking alike, on the samples they share.

    Each measure says where every system stands and how each two differ: paired by sample, dialogues of several turns by
    their `id` or `cluster` or else what the person says first, each conversation counting once, with intervals, p-values adjusted for all pairs, and ranks that say how uncertain they are.

    Args:
        runs: run directories; one will do where it holds several models, or with `by`.
        by: a tag of the samples, such as `variant` of what `dataset_transform` made: each model's replies to one value are
            compared with its replies to another, item by item, and no model with another.
        resamples: of conversations.
        seed: of their generator.

    Raises:
        UsageError: there is no run in a folder, or nothing can be compared; the message says why.
        DataError: the ratings of a run's judges cannot be compared with people's.
    """
    paths = [runs] if isinstance(runs, str | Path) else runs
    folders = list({Path(run).resolve(): Path(run) for run in paths}.values())
    gates = {str(folder): of_run(folder) for folder in folders}
    standings = [standing for gate in gates.values() for standing in gate.cards.values()]
    cards = {(s.run, s.benchmark, s.criterion, s.card.judge): s.card for s in standings}
    unused = {(run, *place): reason for run, gate in gates.items() for place, reason in gate.unused.items()}
    comparison = analysis.compare(folders, cards=cards, unused=unused, tag=by, resamples=resamples, seed=seed)
    for folder in folders:
        if missing := still_missing(unasked(folder)):
            comparison.notes.append(f"{folder.resolve().name}: {missing}")
        store, benchmarks, manifest = open_run(folder)
        with store:
            comparison.notes.extend(classifiers.notes(store, [benchmark.name for benchmark in benchmarks], manifest))
    return comparison
