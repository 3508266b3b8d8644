"""`mindgauge annotate new`."""

from pathlib import Path
from typing import Annotated

import typer

from mindgauge.cli import options, render


def new(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The project's folder, which is a run directory, too.")],
    items: Annotated[
        Path,
        typer.Option(help=f"What is labelled: a table of dialogues ({options.TABLE}), or a run directory."),
    ],
    annotators: Annotated[list[str], typer.Option(help="Who labels: names, separated by commas.")],
    benchmark: Annotated[str | None, typer.Option(help="Whose rubric is used; a run knows its own.")] = None,
    rubric: Annotated[Path | None, typer.Option(help="A rubric file, in place of a benchmark.")] = None,
    adjudicator: Annotated[
        str | None, typer.Option(help="Who decides what is left after discussion; the owner if not given.")
    ] = None,
    owner: Annotated[str, typer.Option(help="Who sees how far the work is and gives out links.")] = "owner",
    batch: Annotated[int, typer.Option(min=1, help="Items that meet the gate together.")] = 200,
    gate: Annotated[float, typer.Option(help="The least agreement with which a batch closes, 0 to 1.")] = 0.4,
    training: Annotated[int, typer.Option(min=0, help="Anchors that everybody labels first; 0 for none.")] = 10,
    policy: Annotated[
        str, typer.Option(help="How gold is read off the labels: adjudicated or majority.")
    ] = "adjudicated",
    order: Annotated[
        Path | None,
        typer.Option(help="What comes first: review.csv of `export --to review`, or a table with `subject` or `id`."),
    ] = None,
    anchors: Annotated[
        Path | None, typer.Option(help="Texts with known levels for the training round, like an anchors.jsonl.")
    ] = None,
    language: Annotated[
        str | None, typer.Option(help="en or zh: of the page at first, and of items that name none.")
    ] = None,
    url: Annotated[str, typer.Option(help="Under which people reach the page.")] = "http://127.0.0.1:8765",
    database: Annotated[
        str | None, typer.Option(help="postgresql://USER@HOST/NAME, for a team; a file in DIR if not given.")
    ] = None,
    map_: options.Map = [],  # noqa: B006 - how typer spells an empty list
    limit: Annotated[
        int | None, typer.Option(min=1, help="At most this many items: the first of --order, then at random.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the gate's resamples.")] = 0,
    json: options.Json = False,
) -> None:
    """Set up a project in which people label, and print one invitation link for each of them."""
    from mindgauge.cli.annotate.extra import needed

    with needed():
        from mindgauge.commands.annotate.new import annotate_new

    result = annotate_new(
        folder, items=items, annotators=options.several(annotators), benchmark=benchmark, rubric=rubric,
        adjudicator=adjudicator, owner=owner, batch=batch, gate=gate, training=training, policy=policy, order=order,
        anchors=anchors, language=language, url=url, database=database, columns=options.mapping(map_),
        limit=limit, seed=seed, command=render.command(),
    )  # fmt: skip
    if json:
        render.as_json(result)
        return
    crisis = f", {result.crisis} of them with a sign of risk" if result.crisis else ""
    sizes = ", ".join(map(str, result.batches))
    print(f"{result.folder}: {result.items} items{crisis}; batches of {sizes}; {result.training} anchors to train on")
    print(f"{result.rubric}, gate {result.gate:g}, gold {result.policy}, labels in {result.database}")
    render.table(
        "Links, each for one person and good once; send each to its own person only", ["person", "role", "link"],
        [[link.name, link.role, link.link] for link in result.links],
    )  # fmt: skip
    if result.needed:
        print(f"How many to label: {result.needed}")
    for note in result.notes:
        print(f"Note: {note}")
    print(f"Go on: mindgauge annotate serve {result.folder}")
