"""`mindgauge logs`."""

from pathlib import Path
from typing import Annotated

import typer

from mindgauge.cli import answer, options, render
from mindgauge.records.text import visible


def logs(
    files: Annotated[list[Path], typer.Argument(help="Logs or transcripts: files, folders, zips.")],
    out: Annotated[
        Path | None,
        typer.Option(help="Write dialogues here, one a line: sample.jsonl. If not given, only say what is there."),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(min=1, help="Draw so many by lot, each written with its probability; all, if not given."),
    ] = None,
    by: Annotated[
        list[str],
        typer.Option(
            help="As many of each model, month, language, length or risk, or of each value of a tag. May be repeated."
        ),
    ] = [],  # noqa: B006
    seed: Annotated[int, typer.Option(min=0, help="Of the lot.")] = 0,
    names: Annotated[
        Path | None,
        typer.Option(help="Replace these names, too, one a line, and those by which people introduce themselves."),
    ] = None,
    keep_personal: Annotated[
        bool, typer.Option("--keep-personal", help="Write addresses, numbers, accounts and ids as they are.")
    ] = False,
    no_text: Annotated[
        bool, typer.Option("--no-text", help="Write what is known of dialogues, and nothing that was said.")
    ] = False,
    map_: options.Map = [],  # noqa: B006 - how typer spells an empty list
    json: options.Json = False,
) -> None:
    """Say what is in logs, without a word of it; draw a sample that speaks for all, without personal data, for `rate --dialogues`."""
    from mindgauge.commands.logs.logs import logs as function

    result = function(
        files, out=out, sample=sample, by=by, seed=seed, names=names, scrub=not keep_personal, text=not no_text, columns=options.mapping(map_),
    )  # fmt: skip
    if json:
        render.as_json(result)
        return
    for line in result.summary():
        render.sentence(visible(line))
    if result.out and not no_text:
        answer.then("rate", "BENCHMARK", "--dialogues", result.out, "--judge", "JUDGE")
