"""`mindgauge dataset`: a data set of one's own, built by a recipe and released with what must be known of it."""

from pathlib import Path
from typing import Annotated

import typer

from mindgauge.cli import answer, options, render
from mindgauge.records.rounding import count
from mindgauge.records.text import visible

app = typer.Typer(
    cls=options.CommandGroup,
    help="A data set of your own: built by a recipe, and released with card, datasheet and checksums.",
    no_args_is_help=True, add_completion=False, rich_markup_mode=None,
)  # fmt: skip


@app.command("build", cls=options.Command)
def build(
    recipe: Annotated[Path, typer.Argument(help="RECIPE.toml: sources with their licences, and steps in order.")],
    out: Annotated[Path, typer.Option(help="The folder to write.")],
    json: options.Json = False,
) -> None:
    """Build a data set: every row of its sources becomes an item, or is dropped with a reason."""
    from mindgauge.commands.dataset.build import dataset_build

    with render.working("Building"):
        result = dataset_build(recipe, out=out)
    if json:
        render.as_json(result)
        return
    for line in result.summary():
        render.sentence(visible(line))
    rows = [[step.step, count(step.rows), count(step.dropped)] for step in result.steps]
    render.table("", ["step", "rows", "dropped"], rows)
    answer.then(f"mindgauge audit {out / 'items.parquet'}")


@app.command("release", cls=options.Command)
def release(
    folder: Annotated[Path, typer.Argument(help="A data set that was built.")],
    to: Annotated[str, typer.Option(help="hub (the layout of Hugging Face) or folder (CSV and Parquet).")],
    out: Annotated[Path, typer.Option(help="The folder to write.")],
    licence: Annotated[str, typer.Option(help="Under which it is released; if not given, the recipe's.")] = "",
    json: options.Json = False,
) -> None:
    """Release a data set with card, datasheet and checksums; not while the audit finds errors, or a licence forbids it."""
    from mindgauge.commands.dataset.release import dataset_release

    with render.working("Auditing"):
        result = dataset_release(folder, to=to, out=out, licence=licence)
    if json:
        render.as_json(result)
        return
    for line in result.summary():
        render.sentence(visible(line))
