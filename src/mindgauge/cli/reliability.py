"""`mindgauge reliability`."""

from pathlib import Path
from typing import Annotated

import typer

from mindgauge.cli import options, render


def reliability(
    ratings: Annotated[
        list[Path],
        typer.Argument(
            help=f"Run directories; files ({options.TABLE}), folders and zips that hold ratings, in any shape."
        ),
    ],
    reference: Annotated[
        list[str], typer.Option(help="Whom to compare with; people, if the ratings say who they are. May be repeated.")
    ] = [],  # noqa: B006 - typer copies it
    adjudicator: Annotated[
        list[str],
        typer.Option(help="Who decided between others and is no independent rater. May be repeated."),
    ] = [],  # noqa: B006
    scale: Annotated[
        list[str], typer.Option(help="1:5, or worst,…,best, for all criteria; or CRITERION=1:5. May be repeated.")
    ] = [],  # noqa: B006
    nominal: Annotated[list[str], typer.Option(help="A criterion whose values are classes without an order.")] = [],  # noqa: B006
    unsafe: Annotated[
        list[str],
        typer.Option(help="Which levels are unsafe: CRITERION<=LEVEL, or CRITERION=LEVEL,LEVEL. May be repeated."),
    ] = [],  # noqa: B006
    critical: Annotated[
        list[str], typer.Option(help="A category in which nothing may be missed, such as suicide. May be repeated.")
    ] = [],  # noqa: B006
    subject: options.Subject = "",
    rater: options.Rater = "",
    criteria: options.Criteria = "",
    levels: options.Levels = "",
    not_applicable: options.NotApplicable = "",
    drop: options.Drop = "",
    columns: options.Map = [],  # noqa: B006 - how typer spells an empty list
    rule: Annotated[
        str, typer.Option(help="mindgauge; mentalbench (the source's own, for comparison); or a file like rule.toml.")
    ] = "mindgauge",
    resamples: Annotated[int, typer.Option(min=100, help="Of the bootstrap.")] = 2000,
    seed: Annotated[int, typer.Option(help="Of the bootstrap.")] = 0,
    full: Annotated[bool, typer.Option("--full", help="Every card in full, not only a line each.")] = False,
    json: options.Json = False,
) -> None:
    """Say when a judge can be trusted, by a card for each judge and criterion, and how far people agree."""
    from mindgauge.cli import cards
    from mindgauge.commands.reliability import reliability as function

    result = function(
        list(ratings), reference=reference, adjudicators=adjudicator, scale=options.scales(scale), nominal=nominal, unsafe=unsafe, critical=critical,
        layout=options.layout(subject, rater, criteria, levels, not_applicable, drop, columns), rule=rule, resamples=resamples, seed=seed,
    )  # fmt: skip
    if json:
        render.as_json(result)
        return
    cards.show(result, full=full)
