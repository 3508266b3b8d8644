"""What is said where there is no score: too few answers could be used, or the judge cannot be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.analysis import fitness
from mindgauge.benchmarks.metrics import UNMOVED
from mindgauge.records.english import named, words
from mindgauge.reports.runs import scores_of, void_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.reports.content import System
    from mindgauge.reports.runs import OpenRun, Section

ONLY_UNFIT = "Its replies were rated only by judges that cannot be used, so nothing can be said of them."


def unfit(runs: Sequence[OpenRun]) -> list[str]:
    """Say which judges cannot be used, before anything else is said; with the run's name, where there are several."""
    said = []
    for run in runs:
        where = f"In {run.folder.resolve().name}: " if len(runs) > 1 else ""
        said += [f"{where}{sentence}" for sentence in fitness.told(run.scores.unfit)]
    return said


def told(run: OpenRun, section: Section, system: System) -> Iterator[str]:
    """Say of one system in one benchmark where too few answers or verdicts could be used, and what follows."""
    found = list(void_of(run, system, section))
    judges = {(one.judge, one.criterion) for one in run.scores.unfit if one.benchmark == section.benchmark.name}
    few = [score for score in found if (score.rater, score.criterion) not in judges]
    whole = [score for score in few if score.slice == "all"]
    for rater, reason in dict.fromkeys((score.rater, score.void) for score in whole):
        who = "It" if section.benchmark.closed else f"The judge {rater}"
        yield f"{who} gave {reason}, so there is no score."
    raters = {score.rater for score in whole}
    parts = dict.fromkeys(score.slice for score in few if score.rater not in raters)
    if parts:
        yield f"There is no score on {named([words(part) for part in parts])}: more than half of what was asked there could not be used."
    rest = [score for score in scores_of(run, system, section) if score.name not in UNMOVED]
    if not section.benchmark.closed and found and not few and not rest:
        yield ONLY_UNFIT


def silenced(runs: Sequence[OpenRun]) -> set[str]:
    """Return the judges of which nothing at all is shown."""
    speaking = {
        score.rater for run in runs for score in run.scores.metrics if not score.void and score.name not in UNMOVED
    }
    return {one.judge for run in runs for one in run.scores.unfit} - speaking
