"""`mindgauge dataset`: a data set of one's own, built by a recipe, written in other forms, labelled, and released with what must be known of it."""

from pathlib import Path
from typing import Annotated

import typer

from mindgauge.cli import annotate, answer, options, render
from mindgauge.cli.calling import NONE, Chosen, takes_calls
from mindgauge.records.rounding import count, percent
from mindgauge.records.text import visible
from mindgauge.runs.options import NOT_OF_TRANSFORMS, OF_REPLIES, RunConfig

app = options.group(
    "A data set of your own: built by a recipe, written in other forms, labelled by models and people, released with card, datasheet and checksums."
)
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A data set that was built.")]
Criterion = Annotated[str | None, typer.Option(help="Which criterion the labels are, where the rubric has several.")]


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
    answer.then("audit", out / "items.parquet")


@app.command("transform", cls=options.Command)
@takes_calls(RunConfig(), without=NOT_OF_TRANSFORMS)
def transform(
    folder: Folder,
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
    seed: Annotated[int, typer.Option(min=0, help="Of all draws.")] = 0,
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
                "annotate", "new", "labels", "--items", result.transforms[-1].run, "--order", out / "sample.csv", "--annotators", "ana,ben"
            )  # fmt: skip


@app.command("label", cls=options.Command)
@takes_calls(RunConfig(), without=OF_REPLIES)
def label(
    folder: Folder,
    judge: Annotated[
        list[str],
        typer.Option(help="A model that labels: provider/name, http://HOST:PORT/v1#name, local/…. May be repeated."),
    ],
    out: Annotated[Path, typer.Option(help="The run directory.")],
    rubric: Annotated[
        Path | None, typer.Option(help="A rubric file of your own about what a person says (docs/tasks/own_rubric.md).")
    ] = None,
    benchmark: Annotated[
        str | None,
        typer.Option(help="In place of a rubric: a benchmark with a closed question about what a person says."),
    ] = None,
    criterion: Criterion = None,
    chosen: Chosen = NONE,
    dry_run: options.DryRun = False,
    json: options.Json = False,
) -> None:
    """Let a panel of models label the items; the same command continues where it stopped."""
    from mindgauge.commands.dataset.label import LabelledByPanel, dataset_label

    with render.progress() as progress:
        result = dataset_label(
            folder, judge=judge, out=out, rubric=rubric, benchmark=benchmark, criterion=criterion, dry_run=dry_run,
            progress=progress, notice=render.Notices(), command=render.command(), **chosen,
        )  # fmt: skip
    if json:
        render.as_json(result)
    elif isinstance(result, LabelledByPanel):
        for line in result.summary():
            render.sentence(visible(line))
        answer.then("dataset", "check", out, "--annotators", "ana,ben", "--out", f"{out}-people")
    else:
        render.foreseen(result)


@app.command("check", cls=options.Command)
def check(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run of `dataset label`.")],
    annotators: Annotated[list[str], typer.Option(help="Who labels: names, separated by commas.")],
    out: Annotated[Path, typer.Option(help="The annotation project's folder.")],
    number: Annotated[int, typer.Option(min=1, help="Items drawn by lot, as many of each label of the panel.")] = 200,
    disputed: Annotated[
        int, typer.Option(min=0, help="At most so many come first because the panel disagrees most.")
    ] = 50,
    criterion: Criterion = None,
    adjudicator: Annotated[
        str | None, typer.Option(help="Who decides what is left after discussion; the owner if not given.")
    ] = None,
    batch: Annotated[int, typer.Option(min=1, help="Items that meet the gate together.")] = 200,
    gate: Annotated[float, typer.Option(help="The least agreement of people, 0 to 1.")] = 0.4,
    training: Annotated[
        int,
        typer.Option(min=0, help="Texts with known levels that everybody labels first, where a benchmark has them."),
    ] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Of the lot.")] = 0,
    json: options.Json = False,
) -> None:
    """Let people label a part of what a panel labelled, blind: set up their project, and print a link for each of them."""
    from mindgauge.commands.dataset.check import dataset_check

    result = dataset_check(
        run, annotators=options.several(annotators), out=out, number=number, disputed=disputed, criterion=criterion,
        adjudicator=adjudicator, batch=batch, gate=gate, training=training, seed=seed, command=render.command(),
    )  # fmt: skip
    if json:
        render.as_json(result)
        return
    annotate.made(result)


@app.command("gold", cls=options.Command)
def gold(
    folder: Folder,
    panel: Annotated[Path, typer.Option(help="The run of `dataset label`.")],
    people: Annotated[Path, typer.Option(help="The project of `dataset check`.")],
    criterion: Criterion = None,
    out: Annotated[Path | None, typer.Option(help="The folder to write; if not given, the data set's own.")] = None,
    json: options.Json = False,
) -> None:
    """Give the items people's labels and the panel's, and say how far the panel is from people."""
    from mindgauge.commands.dataset.gold import dataset_gold

    result = dataset_gold(folder, panel=panel, people=people, criterion=criterion, out=out)
    if json:
        render.as_json(result)
        return
    for line in [*result.summary()][:2]:
        render.sentence(visible(line))
    rows = [[entry.label, percent(entry.panel), entry.people.written("share"), entry.recall.written("share")] for entry in result.classes]  # fmt: skip
    render.table("Shares of all items", ["label", "by the panel", "by people", "of these the panel finds"], rows)
    cells = [[cell.panel, cell.people, cell.share.written("share"), count(cell.share.n)] for cell in result.met]
    render.table("What people say of what the panel says", ["the panel says", "people say", "share", "labelled"], cells)
    answer.then("dataset", "release", result.out, "--to", "hub", "--out", f"{result.out}-hub")


@app.command("release", cls=options.Command)
def release(
    folder: Folder,
    to: Annotated[str, typer.Option(help="hub (the layout of Hugging Face) or folder (CSV and Parquet).")],
    out: Annotated[Path, typer.Option(help="The folder to write.")],
    licence: Annotated[str, typer.Option(help="Under which it is released; if not given, the recipe's.")] = "",
    below_gate: Annotated[
        bool,
        typer.Option(
            "--below-gate",
            help="Also where people agree less on its labels than the gate asks for; the card then says so first.",
        ),
    ] = False,
    json: options.Json = False,
) -> None:
    """Release a data set with card, datasheet and checksums; not while the audit finds errors, a licence forbids it, or people do not agree on its labels."""
    from mindgauge.commands.dataset.release import dataset_release

    with render.working("Auditing"):
        result = dataset_release(folder, to=to, out=out, licence=licence, below_gate=below_gate)
    if json:
        render.as_json(result)
        return
    for line in result.summary():
        render.sentence(visible(line))
