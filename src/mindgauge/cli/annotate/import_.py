"""`mindgauge annotate import`."""

from pathlib import Path
from typing import Annotated

import typer

from mindgauge.cli import options, render


def import_(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The project's folder.")],
    file: Annotated[
        Path,
        typer.Argument(help=f"Ratings ({options.TABLE}), Label Studio's JSON or JSON-MIN, or a file of Potato's."),
    ],
    form: Annotated[
        str, typer.Option("--from", help="csv, parquet, label-studio or potato; told from the file if not given.")
    ] = "",
    names: options.Map = [],  # noqa: B006 - how typer spells an empty list
    supersede: Annotated[
        bool, typer.Option("--supersede", help="Add labels that contradict those that are there; both are kept.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Take labels that people gave elsewhere into the labelling phase: all of a file, or nothing."""
    from mindgauge.cli.annotate.extra import needed

    with needed():
        from mindgauge.commands.annotate.import_ import annotate_import

    result = annotate_import(folder, file, form=form, names=options.mapping(names), supersede=supersede)
    if json:
        render.as_json(result)
        return
    for note in result.notes:
        print(f"note: {note}")
    replaced = f", {result.superseded} of them in place of others" if result.superseded else ""
    print(
        f"{result.labels} labels taken in{replaced}, {result.handed_on} items handed on, {result.same} were there already "
        f"({result.form})"
    )
    if result.closed:
        print(f"closed: batch {', '.join(map(str, result.closed))}")
