"""`mindgauge judges panel`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mindgauge.cli import options, render

if TYPE_CHECKING:
    from mindgauge.analysis.jury.card import JuryCard


def panel(
    ratings: Annotated[
        list[Path], typer.Argument(help="Run directories, or ratings files, as `reliability` reads them.")
    ],
    how: Annotated[
        str, typer.Option("--panel", help="Juries: mean, median, majority, minimum, weighted; several with commas.")
    ] = "mean,median,majority,minimum,weighted",
    judge: Annotated[list[str], typer.Option(help="A member; all models if none is named. May be repeated.")] = [],  # noqa: B006 - typer copies it
    quorum: Annotated[int | None, typer.Option(min=1, help="Members that need a verdict; all if not given.")] = None,
    reference: Annotated[list[str], typer.Option(help="Whom to compare with, if not people. May be repeated.")] = [],  # noqa: B006
    criterion: Annotated[list[str], typer.Option(help="Only this criterion. May be repeated.")] = [],  # noqa: B006
    scale: Annotated[list[str], typer.Option(help="1:5, or worst,…,best; or CRITERION=1:5. May be repeated.")] = [],  # noqa: B006
    columns: options.Map = [],  # noqa: B006 - how typer spells an empty list
    resamples: Annotated[int, typer.Option(min=100, help="Of the bootstrap.")] = 2000,
    seed: Annotated[int, typer.Option(help="Of the bootstrap and the folds.")] = 0,
    json: options.Json = False,
) -> None:
    """Put judges together to juries, beside their members and the best single judge; nothing is asked."""
    from mindgauge.commands.judges.panel import panel as function

    result = function(
        list(ratings), how=[name.strip() for name in how.split(",")], judges=judge, quorum=quorum, reference=reference,
        criteria=criterion, scale=options.scales(scale), columns=options.mapping(columns), resamples=resamples,
        seed=seed,
    )  # fmt: skip
    if json:
        render.as_json(result)
        return
    for jury in result.panels:
        _show(jury)
    for note in result.notes:
        print(f"note: {note}")


def _show(panel: "JuryCard") -> None:
    from mindgauge.reports import juries

    print(f"{panel.criterion}: {', '.join(panel.members)}")
    print(f"all have a verdict on {panel.complete} subjects, not all on {panel.incomplete}")
    for table in juries.sheets("", {panel.criterion: panel}):
        render.sheet(table)
    if panel.cards:
        folds = ", ".join(f"{judge} in {n} folds" for judge, n in panel.chosen.items())
        print(f"best single judge on these subjects: {panel.best or 'none'}; best on the other conversations: {folds or 'none'}")  # fmt: skip
    for sentence in juries.together(panel):
        print(sentence)
    if not panel.without and panel.means and len(next(iter(panel.means.values()))) < 2:
        print("one system only, so there is no ranking")
    print()
