"""`mindgauge demo`."""

from pathlib import Path
from typing import Annotated

import typer

from mindgauge.cli import options, render, score


def demo(
    out: Annotated[Path, typer.Option(help="The run directory.")] = Path("demo-run"),
    full: options.Full = False,
    json: options.Json = False,
) -> None:
    """Run the embedded model end to end, on samples of our own, and write the report."""
    from mindgauge.commands.demo import demo as function

    with render.progress() as progress:
        result = function(out=out, progress=progress, command=render.command())
    if json:
        render.as_json(result)
        return
    score.show(result.scores, full=full)
    print(f"\n{result.warning}\n\nThe report: {Path(result.report).resolve()}")
