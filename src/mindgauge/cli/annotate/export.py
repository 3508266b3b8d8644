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
        bool, typer.Option("--all", help="Also batches that are not closed; who sees those labels is not blind.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Write people's labels, their history and the gold for other tools."""
    from mindgauge.cli.annotate.extra import needed

    with needed():
        from mindgauge.commands.annotate.export import annotate_export

    written = annotate_export(folder, to=to, out=out, everything=everything)
    if json:
        render.as_json(written)
        return
    for note in written.notes:
        print(f"note: {note}")
    batches = f"batch {', '.join(map(str, written.batches))}" if written.batches else "no batch"
    print(f"{written.labels} labels of {batches}: {', '.join(w.file for w in written.files)}")
    print(written.path)
