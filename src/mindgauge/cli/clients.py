"""`mindgauge clients`: the models that play persons: is one fit for it?"""

from typing import Annotated

import typer

from mindgauge.cli import fidelity, options, render
from mindgauge.cli.calling import NONE, Chosen, takes_calls
from mindgauge.runs.options import RunConfig

app = options.group("The models that play persons in dialogues: is one fit for it?")


@takes_calls(
    RunConfig(),
    without=(
        "ask", "shots", "shot_seed", "protocol", "qualify", "anchors", "client", "turns", "person", "keep_reasoning", "max_tokens", "system",
        "header", "label", "temperature", "context", "batch", "wait",
    ),
)  # fmt: skip
def check(
    client: Annotated[str, typer.Argument(help="The model that plays the person.")],
    judge: options.Judges = [],  # noqa: B006 - how typer spells an empty list
    situation: Annotated[str, typer.Option(help="Whose personas it plays.")] = "risk",
    turns: Annotated[int, typer.Option(min=1, help="Of a dialogue; the scripted listener asks in the fourth.")] = 8,
    limit: options.Limit = None,
    where: options.Where = [],  # noqa: B006
    out: options.Out = None,
    chosen: Chosen = NONE,
    dry_run: options.DryRun = False,
    json: options.Json = False,
) -> None:
    """Let a client play persons to a target of fixed replies, and hold it against the limits; no model is under test."""
    from mindgauge.commands.clients.check import ClientCheck
    from mindgauge.commands.clients.check import clients_check as function

    notices = render.Notices()
    with render.progress() as progress:
        result = function(
            client, judge=judge, situation=situation, turns=turns, limit=limit, where=options.where(where), out=out,
            dry_run=dry_run, progress=progress, notice=notices, command=render.command(), **chosen,
        )  # fmt: skip
    if json:
        render.as_json(result)
    elif isinstance(result, ClientCheck):
        fidelity.show([result.fidelity])
        print(f"Its dialogues: {result.run}")
    else:
        render.foreseen(result)


app.command(cls=options.Command)(check)


@app.callback()
def group() -> None:
    """The models that play persons in dialogues: is one fit for it?"""
