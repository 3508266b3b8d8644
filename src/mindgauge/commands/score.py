"""`score`: the metrics of runs, from what they hold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mindgauge.analysis import score as analysis
from mindgauge.benchmarks.metrics import Metric
from mindgauge.commands.command import command
from mindgauge.commands.status import unasked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.score import Scores


@command(each=True, without="resamples seed metrics", doing="Scoring")
def score(run: str | Path, *, resamples: int = 2000, seed: int = 0, metrics: Metric | Sequence[Metric] = ()) -> Scores:
    """Compute the metrics of runs, from what they hold.

    Args:
        run: Run directories.
        resamples: of the bootstrap.
        seed: of the bootstrap.
        metrics: of your own, beside the benchmark's: `metric(…)`. They come first in what is printed.

    Raises:
        UsageError: there is no run in the folder, or a metric of your own cannot be computed.
    """
    own = [metrics] if isinstance(metrics, Metric) else [*metrics]
    scores = analysis.score(Path(run), resamples=resamples, seed=seed, metrics=own)
    return msgspec.structs.replace(scores, unfinished=unasked(Path(run)))
