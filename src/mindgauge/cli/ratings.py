"""`mindgauge ratings`."""

from pathlib import Path
from typing import Annotated

import typer

from mindgauge.cli import options, render


@options.takes_shape
def ratings(
    files: Annotated[
        list[Path], typer.Argument(help=f"Files ({options.TABLE}), folders and zips that hold ratings, in any shape.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="Write them, one a row: long.parquet, .csv or .jsonl. If not given, only say what is there."),
    ] = None,
    shape: options.Shape = {},  # noqa: B006 - stands for several options
    columns: options.Map = [],  # noqa: B006 - how typer spells an empty list
    json: options.Json = False,
) -> None:
    """Read ratings in any shape as one long table, and show how they were read before anything is computed."""
    from mindgauge.commands.ratings import ratings as function

    layout = options.layout(shape, columns)
    result = function(list(files), out=out, layout=layout)
    if json:
        render.as_json({"reading": result.reading, "out": result.out})
        return
    for line in result.summary():
        print(line)
