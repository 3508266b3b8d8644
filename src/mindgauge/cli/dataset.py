"""`mindgauge dataset`: a data set of one's own, built by a recipe and released with what must be known of it."""

from pathlib import Path
from typing import Annotated

import typer

from mindgauge.cli import answer, options, render
from mindgauge.cli.calling import NONE, Chosen, takes_calls
from mindgauge.records.rounding import count
from mindgauge.records.text import visible
from mindgauge.runs.options import NOT_OF_TRANSFORMS, RunConfig

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


@app.command("transform", cls=options.Command)
@takes_calls(RunConfig(), without=NOT_OF_TRANSFORMS)
def transform(
    folder: Annotated[Path, typer.Argument(help="A data set that was built.")],
    form: Annotated[
        list[str],
        typer.Option(
            help="plain, noise, personas, jailbreak, options, or part of one (noise:word); by a model: utterance, dialogue, story, secret, identity. Several separated by commas."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The folder to write.")],
    model: Annotated[str | None, typer.Option(help="That writes, or reads, the items.")] = None,
    checker: Annotated[str | None, typer.Option(help="A model that checks it; the same if not given.")] = None,
    sample: Annotated[int, typer.Option(min=0, help="Draw so many of what was written for people to look at.")] = 0,
    seed: Annotated[int, typer.Option(help="Of all draws.")] = 0,
    run: Annotated[
        Path | None, typer.Option(help="The run directory of the calls; if not given, one that follows from the plan.")
    ] = None,
    chosen: Chosen = NONE,
    dry_run: options.DryRun = False,
    json: options.Json = False,
) -> None:
    """Write items in other forms: by rule, or by a model whose every text is checked. The same command goes on where it stopped."""
    from mindgauge.commands.dataset.transform import dataset_transform
    from mindgauge.runs.forecast import DryRun

    with render.progress() as progress:
        result = dataset_transform(
            folder, form=options.several(form), out=out, model=model, checker=checker, sample=sample, seed=seed, run=run,
            dry_run=dry_run, progress=progress, notice=render.Notices(), command=render.command(), **chosen,
        )  # fmt: skip
    if json:
        render.as_json(result)
    elif isinstance(result, DryRun):
        render.foreseen(result)
    else:
        for line in result.summary():
            render.sentence(visible(line))
        if result.sample:
            answer.then(
                f"mindgauge annotate new labels --items {result.transforms[-1].run} --order {out / 'sample.csv'} --annotators ana,ben"
            )


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
