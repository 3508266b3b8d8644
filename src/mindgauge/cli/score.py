"""`mindgauge score`."""

from pathlib import Path
from typing import Annotated

import typer

from mindgauge.cli import options, render


def score(
    runs: Annotated[list[Path], typer.Argument(help="Run directories.")],
    json: options.Json = False,
) -> None:
    """Compute the metrics of runs, from what they hold."""
    from mindgauge.verbs.score import score as verb

    found = [verb(run) for run in runs]
    if json:
        render.as_json(found[0] if len(found) == 1 else found)
        return
    for scores in found:
        render.scores(scores)
