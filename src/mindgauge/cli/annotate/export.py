"""`mindgauge annotate export`."""

from pathlib import Path
from typing import Annotated

import typer

from mindgauge.cli import options, render


def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The project's folder.")],
    to: Annotated[str, typer.Option(help="csv, parquet, label-studio or potato.")] = "csv",
    out: Annotated[Path | None, typer.Option(help="The folder to write; DIR/export-FORMAT if not given.")] = None,
    everything: Annotated[
        bool,
        typer.Option(
            "--all", help="Also batches that are not closed; people who see those labels are no longer blind."
        ),
    ] = False,
    json: options.Json = False,
) -> None:
    """Write people's labels, their history and the gold for other tools."""
    from mindgauge.cli.annotate.extra import needed

    with needed():
        from mindgauge.commands.annotate.export import annotate_export

    result = annotate_export(folder, to=to, out=out, everything=everything)
    if json:
        render.as_json(result)
        return
    for note in result.notes:
        print(f"note: {note}")
    batches = f"batch {', '.join(map(str, result.batches))}" if result.batches else "no batch"
    print(f"{result.labels} labels of {batches}: {', '.join(w.file for w in result.files)}")
    print(result.path)
