"""`mindgauge view`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mindgauge.cli import options, render
from mindgauge.cli.report import ShowTexts

if TYPE_CHECKING:
    from mindgauge.commands.view import ViewServed


def view(
    run: Annotated[Path, typer.Argument(help="A run directory.")],
    who: Annotated[
        str | None,
        typer.Option("--as", metavar="NAME", help="Under which name you answer; that of your account if not given."),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0 takes any port that is free.")] = 8766,
    draw: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="Answer so many replies, drawn with known probabilities, blind: no model's name and no verdict until you have answered. As in export --to review.",
        ),
    ] = None,
    random: Annotated[
        int | None,
        typer.Option(min=1, help="With --draw: how many come from the rest by lot; 50 if not given."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of --draw.")] = 0,
    show_texts: ShowTexts = False,
    json: options.Json = False,
) -> None:
    """Read every reply of a run in the browser, on this machine alone, and answer: your ratings stand in the run."""
    from mindgauge.commands.view import view as function

    def ready(served: "ViewServed") -> None:
        if json:
            render.as_json(served)
        else:
            for note in served.notes:
                render.notice(note)
            for line in served.summary():
                print(line)
        sys.stdout.flush()

    function(run, name=who, port=port, draw=draw, random=random, seed=seed, show_texts=show_texts, ready=ready)
