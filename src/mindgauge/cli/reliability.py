"""`mindgauge reliability`."""

from pathlib import Path
from typing import Annotated

import typer

from mindgauge.cli import answer, options, render, terminal
from mindgauge.records.errors import UsageError


@options.takes_shape
def reliability(
    ratings: Annotated[
        list[Path],
        typer.Argument(
            help=f"Run directories; files ({options.TABLE}), folders and zips that hold ratings, in any shape. None with --plan before labelling begins."
        ),
    ] = [],  # noqa: B006 - typer copies it
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
    shape: options.Shape = {},  # noqa: B006 - stands for several options
    columns: options.Map = [],  # noqa: B006 - how typer spells an empty list
    rule: Annotated[
        str, typer.Option(help="mindgauge; mentalbench (the source's own, for comparison); or a file like rule.toml.")
    ] = "mindgauge",
    look_until: Annotated[
        int,
        typer.Option(
            min=0,
            help="You look while people still rate, and stop when a judge is good: how many replies they will rate at most.",
        ),
    ] = 0,
    resamples: Annotated[int, typer.Option(min=100, help="Of the bootstrap.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap.")] = 0,
    plan: Annotated[
        bool,
        typer.Option(
            "--plan", help="Say how many replies, people and judges a verdict takes, with or without ratings."
        ),
    ] = False,
    verdict: Annotated[str, typer.Option(help="With --plan: moderate or good; both if not given.")] = "",
    power: Annotated[float, typer.Option(help="With --plan: the chance of the verdict.")] = 0.8,
    assume: Annotated[
        list[str],
        typer.Option(
            help="With --plan: unsafe=0.1,agreement=0.8,people=3, and ceiling, repeat, judges, repeats, replies, alike, levels, classes."
        ),
    ] = [],  # noqa: B006
    full: options.Full = False,
    json: options.Json = False,
) -> None:
    """Say when a judge can be trusted, by a card for each judge and criterion, and how far people agree."""
    from mindgauge.analysis.reliability.card import GOOD
    from mindgauge.cli import cards

    layout = options.layout(shape, columns)
    if plan and look_until:
        raise UsageError("--plan says how many replies it takes for a single look; leave out --look-until")
    if plan:
        from mindgauge.commands.reliability_plan import reliability_plan

        planned = reliability_plan(
            list(ratings), verdict=verdict, power=power, assume=options.numbers(assume, "--assume"), reference=reference,
            scale=options.scales(scale), nominal=nominal, unsafe=unsafe, layout=layout, rule=rule,
        )  # fmt: skip
        if json:
            render.as_json(planned)
        else:
            cards.show_plan(planned)
        return
    if verdict or assume:
        raise UsageError("--verdict and --assume go with --plan")
    from mindgauge.commands.reliability import reliability as function

    with render.working("Estimating"):
        result = function(
            list(ratings), reference=reference, adjudicators=adjudicator, scale=options.scales(scale), nominal=nominal, unsafe=unsafe, critical=critical,
            layout=layout, rule=rule, look_until=look_until, resamples=resamples, seed=seed,
        )  # fmt: skip
    if json:
        render.as_json(result)
        return
    raters = [*(card.judge for card in result.cards), *(card.reference for card in result.cards)]
    with terminal.short(raters):
        cards.show(result, full=full)
    if any(card.verdict != GOOD for card in result.cards):
        settings = {"--reference": reference, "--scale": scale, "--nominal": nominal, "--unsafe": unsafe}
        flags = [text for name, values in settings.items() for value in values for text in (name, value)]
        answer.then("reliability", *ratings, *flags, "--plan")
