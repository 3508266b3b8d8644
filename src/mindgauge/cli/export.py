"""`mindgauge export`."""

from pathlib import Path
from typing import Annotated

import typer

from mindgauge.cli import options, render


def export(
    run: Annotated[Path, typer.Argument(help="A run directory.")],
    to: Annotated[
        str,
        typer.Option(help="csv, parquet, hub (the Hugging Face layout), or review (what people should read first)."),
    ],
    out: Annotated[
        str | None,
        typer.Option(help="The folder to write, or an address: s3://bucket/folder; RUN/export-FORMAT if not given."),
    ] = None,
    licence: Annotated[str | None, typer.Option(help="The licence you publish under; hub needs one.")] = None,
    unsafe: Annotated[
        str | None, typer.Option(help="With review: safety<=2, to order by what people's ratings teach.")
    ] = None,
    partition_by: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN,…", help="With parquet: a folder for each value, for example benchmark,rater."),
    ] = None,
    rows_per_file: Annotated[int | None, typer.Option(min=1, help="With parquet; 100,000 if not given.")] = None,
    show_texts: Annotated[
        bool,
        typer.Option("--show-texts", help="With hub: also what was said of restricted messages, which quotes them."),
    ] = False,
    json: options.Json = False,
) -> None:
    """Write a run in another tool's format."""
    from mindgauge.commands.export import export as function

    result = function(
        run, to=to, out=out, licence=licence, unsafe=unsafe,
        partition_by=options.several(partition_by or []), rows_per_file=rows_per_file,
        show_texts=show_texts,
    )  # fmt: skip
    if json:
        render.as_json(result)
    else:
        for note in result.notes:
            print(f"note: {note}")
        print(result.path)
