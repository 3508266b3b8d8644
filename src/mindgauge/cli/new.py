"""`mindgauge new`."""

from pathlib import Path
from typing import Annotated

import typer

from mindgauge.cli import options, render


def new(
    folder: Annotated[Path, typer.Argument(help="The folder to write: new, or empty.")],
    from_: Annotated[
        Path | None,
        typer.Option("--from", help="A table of messages, one a row, copied as it is; two examples if not given."),
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
    asked = (
        "the model under test answers each"
        if result.closed
        else "the model under test replies, and raters rate each reply"
    )
    print(f"{result.folder}: {result.samples} messages; {asked} by {', '.join(result.criteria)}")
    print(f"Written: {', '.join(result.files)}")
    for note in result.notes:
        print(f"Note: {note}")
    if result.placeholder:
        print(f"The rubric is a placeholder: write into {result.folder}/rubric.toml what you mean.")
    typed = result.folder if result.folder.startswith((".", "/")) else f"./{result.folder}"
    judge = "" if result.closed else " --judge JUDGE"
    print(f"Run it: mindgauge run {typed} --model MODEL{judge}")
