"""`compare` over a suite, in Python `profile`: what models score in every dimension of a suite, and how sure their ranks are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mindgauge.analysis.profile import profile as analysis
from mindgauge.commands.command import Count, command
from mindgauge.reports.reliability_gate import of_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.profile import Profile


@command(without=("seed",), doing="Resampling")
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
    result = analysis(folders, judge=judge, resamples=resamples, seed=seed)
    judged = {(score.benchmark, score.rater): score.title for score in result.tasks if score.rater}
    for folder in folders:
        for standing in of_run(folder).cards.values():
            title = judged.get((standing.benchmark, standing.card.judge))
            if title is not None and standing.limited:
                result.notes.append(
                    f"{title}: {standing.card.judge} agrees too little with people on {standing.criterion}, who must rate"
                )
    return result
