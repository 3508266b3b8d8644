"""`mindgauge rate`."""

from pathlib import Path
from typing import Annotated

import typer

from mindgauge.cli import options, render, score
from mindgauge.cli.calling import NONE, Chosen, takes_calls
from mindgauge.runs.options import ONLY_TESTED, RunConfig


@takes_calls(RunConfig(), without=ONLY_TESTED)
def rate(
    judge: options.Judges,
    name: options.NameIfAny = None,
    rubric: options.Rubric = None,
    instrument: options.Instrument = None,
    as_published: options.AsPublished = False,
    replies: Annotated[
        Path | None,
        typer.Option(help=f"A table of replies with their dialogues ({options.TABLE}), or a run directory."),
    ] = None,
    dialogues: Annotated[
        Path | None,
        typer.Option(
            help=f"Dialogues of several turns: a table of `messages` or of single messages ({options.TABLE}), text with `user:` and `chatbot:`, or a folder or zip of such files."
        ),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            help="Of --dialogues, rate every `turn` of the assistant, the whole `dialogue`, each message of the person alone (`client`), or several: `turn,client,dialogue`; `both` is `turn,dialogue`."
        ),
    ] = None,
    write_items: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Of --dialogues, write the items that they are cut into, with dialogue and turn: .csv, .jsonl or .parquet.",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="The authors' released files, where judges are to rate by the questions in them (vera_mh)."),
    ] = None,
    out: options.Out = None,
    map_: options.Map = [],  # noqa: B006 - how typer spells an empty list
    limit: Annotated[int | None, typer.Option(min=1, help="At most this many replies of the file.")] = None,
    chosen: Chosen = NONE,
    no_text: options.NoText = False,
    dry_run: options.DryRun = False,
    show_requests: options.ShowRequests = 0,
    full: options.Full = False,
    json: options.Json = False,
) -> None:
    """Rate replies that exist already, on an open benchmark or by a closed question about replies (dialogue_safety).

    Models, classifiers and rules may rate together. The same command continues where it stopped.
    """
    from mindgauge.analysis.score import Scores
    from mindgauge.commands.rate import rate as function

    notices = render.Notices()
    with render.progress() as progress:
        result = function(
            name, replies=replies, judge=judge, rubric=rubric, instrument=instrument, as_published=as_published, dialogues=dialogues, unit=unit, write_items=write_items, data=data, out=out,
            columns=options.mapping(map_), limit=limit, text=not no_text, dry_run=dry_run, show_requests=show_requests, progress=progress,
            notice=notices, command=render.command(), **chosen,
        )  # fmt: skip
    if json:
        render.as_json(result)
    elif isinstance(result, Scores):
        score.show(result, full=full, told_before=notices)
    else:
        render.foreseen(result)
    if isinstance(result, Scores):
        render.verdict_on(result)
