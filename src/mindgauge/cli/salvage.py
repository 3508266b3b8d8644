"""`mindgauge salvage`."""

from pathlib import Path
from typing import Annotated

import typer

from mindgauge.cli import options, render


def salvage(
    run: Annotated[Path, typer.Argument(help="The damaged run's directory; it is not changed.")],
    out: Annotated[Path, typer.Option(help="The folder to write: new, or empty.")],
    json: options.Json = False,
) -> None:
    """Write what can be read of a damaged run into a new one."""
    from mindgauge.commands.salvage import salvage as function

    with render.working("Salvaging"):
        result = function(run, out=out)
    if json:
        render.as_json(result)
        return
    rows = [[table.table, f"{table.kept:,}", f"{table.lost:,}", f"{table.pages:,}"] for table in result.tables]
    render.table(f"Salvaged from {result.run}", ["table", "rows kept", "rows lost", "pages lost"], rows)
    for note in result.notes:
        print(f"note: {note}")
    if result.whole:
        print("No page and no row was found damaged.")
    else:
        print("How many rows stood on a lost page is not known.")
    print(f"{result.out}: run the command that made the run with this --out; it pays only for what was lost.")
