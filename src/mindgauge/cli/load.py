"""`mindgauge load`."""

from pathlib import Path
from typing import Annotated

import typer

from mindgauge.cli import answer, options, render
from mindgauge.records.english import ended


@options.takes_shape
def load(
    name: options.Name,
    data: Annotated[Path, typer.Option(help="A copy of the authors' released files, whole or in part.")],
    map_: options.Map = [],  # noqa: B006 - how typer spells an empty list
    ratings: Annotated[
        list[Path],
        typer.Option(
            help="Your own people's ratings of these replies: files, folders, zips, in any shape. May be repeated."
        ),
    ] = [],  # noqa: B006
    shape: options.Shape = {},  # noqa: B006 - stands for several options
    out: options.Out = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Go on where the files contradict what their release says of them.")
    ] = False,
    full: options.Full = False,
    json: options.Json = False,
) -> None:
    """Make a run of the authors' released replies and ratings."""
    from mindgauge.commands.load import load as function

    mapping = options.mapping(map_)
    layout = options.layout(shape)
    with render.working("Loading"):
        result = function(
            name,
            data=data,
            mapping=mapping,
            ratings=ratings,
            layout=layout,
            out=out,
            anyway=anyway,
            command=render.command(),
        )
    if json:
        render.as_json(result)
    else:
        answer.first(*map(ended, result.summary()[: 1 + bool(result.ratings)]))
        render.notes(result.notes, full=full)
        print(f"The run: {result.run}")
        answer.then("report", result.run)
    if result.lacks_damaged():  # what could be read is in the run
        raise typer.Exit(1)
