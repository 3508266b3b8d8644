"""`compare`: which system is better, by how much, on what, and at what cost? Over a suite, in Python `profile`: what models score in every dimension."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mindgauge.analysis import classifiers
from mindgauge.analysis import compare as analysis
from mindgauge.analysis.profile import profile as profiled
from mindgauge.analysis.score import open_run, still_missing
from mindgauge.commands.command import CommandOption, Count, command
from mindgauge.commands.status import unasked
from mindgauge.reports.reliability_gate import of_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.pairing import SystemComparison
    from mindgauge.analysis.profile import Profile


@command(without="resamples seed", doing="Comparing")
def compare(
    runs: str | Path | Sequence[str | Path],
    *,
    by: Annotated[str, CommandOption(metavar="TAG")] = "",
    resamples: int = 2000,
    seed: int = 0,
) -> SystemComparison:
    """Say which system is better, by how much, on what and at what cost; over a suite, what models score in each of its dimensions.

    Each measure says where every system stands and how each two differ: paired by sample, dialogues of several turns by
    their `id` or `cluster` or else what the person says first, each conversation counting once, with intervals, p-values adjusted for all pairs, and ranks that say how uncertain they are.

    Args:
        runs: Run directories; one will do where it holds several models, or is of a suite.
        by: Compare each model with itself: its replies to the samples with one value of a tag and with another, such as
            variant of what `dataset transform` made.
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


@command(without="seed", doing="Resampling")
def profile(
    runs: str | Path | Sequence[str | Path], *, judge: str | None = None, resamples: Count = 10_000, seed: int = 0
) -> Profile:
    """Profile models over the dimensions of a suite: scores, ranks, and whom they cannot be told apart from.

    A task's score is scaled to [0, 1], 1 best; a dimension is the mean over the tasks that all its models have, nothing
    imputed. One bootstrap over the conversations of all tasks gives intervals, ranks and paired differences; a task that
    is a single share has exact bounds.

    Args:
        runs: Run directories; the models may be in different ones.
        judge: Of a suite: whose ratings of replies count; the runs' first judge if not given.
        resamples: Of a suite: resamples of conversations, for intervals and ranks.
        seed: of their generator.

    Raises:
        UsageError: there is no run in a folder, no task of a suite in any, or no rating by that judge.
        DataError: the ratings of a run's judges cannot be compared with people's.
    """
    paths = [runs] if isinstance(runs, str | Path) else runs
    folders = list({Path(run).resolve(): Path(run) for run in paths}.values())
    result = profiled(folders, judge=judge, resamples=resamples, seed=seed)
    judged = {(score.benchmark, score.rater): score.title for score in result.tasks if score.rater}
    for folder in folders:
        for standing in of_run(folder).cards.values():
            title = judged.get((standing.benchmark, standing.card.judge))
            if title is not None and standing.limited:
                result.notes.append(
                    f"{title}: {standing.card.judge} agrees too little with people on {standing.criterion}, who must rate"
                )
    return result
