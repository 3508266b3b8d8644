"""`mindgauge load`."""

from pathlib import Path
from typing import Annotated

import typer

from mindgauge.cli import options, render


def load(
    name: options.Name,
    data: Annotated[Path, typer.Option(help="A copy of the authors' released files, whole or in part.")],
    map_: options.Map = [],  # noqa: B006 - how typer spells an empty list
    out: options.Out = None,
    json: options.Json = False,
) -> None:
    """Make a run of the authors' released replies and ratings."""
    from mindgauge.commands.load import load as function

    mapping = options.mapping(map_)
    result = function(name, data=data, mapping=mapping, out=out, command=render.command())
    if json:
        render.as_json(result)
        return
    for note in result.notes:
        print(f"note: {note}")
    print(result.run)
