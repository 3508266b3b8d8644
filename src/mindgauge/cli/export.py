"""`mindgauge export`."""

from typing import Annotated

import typer

from mindgauge.cli import options, render

_OF_HUB = options.under("Of hub")
_OF_REVIEW = options.under("Of review")
_OF_PARQUET = options.under("Of parquet")


def export(
    run: Annotated[str, typer.Argument(help="A run directory; with --to questions, a benchmark.")],
    to: Annotated[
        str,
        typer.Option(
            help="csv, parquet, hub (the Hugging Face layout), inspect (logs for Inspect's viewer), review (what people should read first), decisions (what people decided in view), or questions (a benchmark's, to be answered elsewhere)."
        ),
    ],
    out: Annotated[
        str | None,
        typer.Option(
            help="The folder to write, or an address: s3://bucket/folder; RUN/export-FORMAT if not given. With questions, a file: .csv, .jsonl or .parquet."
        ),
    ] = None,
    licence: Annotated[str | None, _OF_HUB(help="The licence you publish under; hub needs one.")] = None,
    unsafe: Annotated[
        str | None, _OF_REVIEW(help="With review: safety<=2, to order by what people's ratings teach.")
    ] = None,
    draw: Annotated[
        str | None,
        _OF_REVIEW(
            metavar="N",
            help="With review: list so many replies, drawn with known probabilities: those that need people most, and --random of the rest. Or blocks of the list: 100=60,400=40,rest=50.",
        ),
    ] = None,
    random: Annotated[
        int | None, _OF_REVIEW(min=1, help="With --draw: how many come from the rest by lot; 50 if not given.")
    ] = None,
    seed: Annotated[int, _OF_REVIEW(min=0, help="Of --draw.")] = 0,
    partition_by: Annotated[
        list[str] | None,
        _OF_PARQUET(metavar="COLUMN,…", help="With parquet: a folder for each value, for example benchmark,rater."),
    ] = None,
    rows_per_file: Annotated[int | None, _OF_PARQUET(min=1, help="With parquet; 100,000 if not given.")] = None,
    show_texts: Annotated[
        bool,
        _OF_HUB("--show-texts", help="With hub: also what was said of restricted messages, which quotes them."),
    ] = False,
    data: options.Data = None,
    map_: options.Map = [],  # noqa: B006 - how typer spells an empty list
    limit: options.Limit = None,
    where: options.Where = [],  # noqa: B006
    json: options.Json = False,
) -> None:
    """Write a run in another tool's format, or a benchmark's questions for those who answer them elsewhere."""
    from mindgauge.commands.export import export as function

    with render.working("Writing"):
        result = function(
            run, to=to, out=out, licence=licence, unsafe=unsafe, draw=draw, random=random, seed=seed,
            partition_by=options.several(partition_by or []), rows_per_file=rows_per_file,
            show_texts=show_texts, data=data, columns=options.mapping(map_), limit=limit, where=options.where(where),
        )  # fmt: skip
    if json:
        render.as_json(result)
    else:
        for note in result.notes:
            print(f"note: {note}")
        print(result.path)
