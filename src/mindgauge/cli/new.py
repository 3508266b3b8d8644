"""`mindgauge new`."""

from pathlib import Path
from typing import Annotated

import typer

from mindgauge.cli import options, render


def new(
    folder: Annotated[Path, typer.Argument(help="The folder to write: new, or empty.")],
    from_: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="A table of messages, one a row, copied as it is, or a benchmark card of the public schema (card.json); two example messages if not given.",
        ),
    ] = None,
    map_: options.Map = [],  # noqa: B006 - how typer spells an empty list
    rubric: Annotated[Path | None, typer.Option(help="A rubric file, in the place of placeholders.")] = None,
    with_: Annotated[
        list[str], typer.Option("--with", help="prompts: write the usual prompts out, to change them.")
    ] = [],  # noqa: B006
    json: options.Json = False,
) -> None:
    """Write a benchmark of your own: a folder in which every slot is explained, and which runs as it is."""
    from mindgauge.commands.new import new as function

    result = function(folder, items=from_, columns=options.mapping(map_), rubric=rubric, extras=options.several(with_))
    if json:
        render.as_json(result)
        return
    for line in result.summary():
        print(line)
