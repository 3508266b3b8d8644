"""`mindgauge score`."""

from pathlib import Path
from typing import Annotated

import typer

from mindgauge.cli import entry_test, labels, options, render
from mindgauge.cli.report import ShowUnreliable


def score(
    runs: Annotated[list[Path], typer.Argument(help="Run directories.")],
    show_unreliable: ShowUnreliable = False,
    json: options.Json = False,
) -> None:
    """Compute the metrics of runs, from what they hold."""
    from mindgauge.commands.score import score as function

    result = [function(run) for run in runs]
    if json:
        render.as_json(result[0] if len(result) == 1 else result)
        return
    from mindgauge.reports.standing import masked, of_run

    for scores in result:
        standings = of_run(Path(scores.run), shown=show_unreliable)
        visible = masked(scores, standings)
        render.scores(visible, standings)
        labels.show(visible)
        entry_test.show(scores.qualifications)
