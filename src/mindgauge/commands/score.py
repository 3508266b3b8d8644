"""`score`: the metrics of runs, from what they hold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mindgauge.analysis import score as analysis

if TYPE_CHECKING:
    from mindgauge.analysis.score import Scores


def score(run: str | Path, *, resamples: int = 2000, seed: int = 0) -> Scores:
    """Compute every metric of a run for every model and rater in it.

    Args:
        run: a run directory.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Raises:
        UsageError: there is no run in the folder.
    """
    return analysis.score(Path(run), resamples=resamples, seed=seed)
