"""`mindgauge report`."""

from pathlib import Path
from typing import Annotated

import typer

from mindgauge.cli import options, render
from mindgauge.records.rounding import plural
from mindgauge.records.text import visible

ShowUnreliable = Annotated[
    bool,
    typer.Option("--show-unreliable", help="Show, marked, the scores of judges that agree too little with people."),
]
ShowTexts = Annotated[
    bool,
    typer.Option(
        "--show-texts", help="Show the restricted texts of the authors' files, which stand by their ids otherwise."
    ),
]


def report(
    runs: Annotated[list[Path], typer.Argument(help="Run directories; several stand side by side.")],
    show: Annotated[
        str | None,
        typer.Option(help="Print one reply instead, by its id as the gate and the report write it: reply-1a2b3c4d."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where to put it; the first run's directory if not given.")] = None,
    show_unreliable: ShowUnreliable = False,
    show_texts: ShowTexts = False,
    reader: Annotated[
        bool,
        typer.Option("--reader", help="Also write every reply, to search and filter, as a folder beside the page."),
    ] = False,
    language: Annotated[str, typer.Option(help="Of the page and the summary: en or zh (Chinese).")] = "en",
    card: Annotated[
        bool, typer.Option("--card", help="Also write the evaluation card: one page for governance, beside the report.")
    ] = False,
    card_facts: Annotated[
        Path | None,
        typer.Option(help="Write the card with what only the owner knows, from this TOML file (docs/tasks/write_an_evaluation_card.md)."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Write the report of runs: one HTML file that needs no network; or print one reply of them."""
    if show is not None:
        _show(runs[0], show, show_texts=show_texts, json=json)
        return
    from mindgauge.commands.report import report as function

    with render.working("Writing the report"):
        result = function(
            runs,
            out=out,
            show_unreliable=show_unreliable,
            show_texts=show_texts,
            reader=reader,
            language=language,
            card=card_facts or card,
        )
    if json:
        render.as_json(result)
    else:
        print(result.path)
        if result.reader is not None:
            print(result.reader / "index.html")
        if result.english:
            stayed = plural(len(result.english), "sentence")
            render.notice(f"{stayed} stayed English; `--json` lists them under english")
        if result.card is not None:
            print(result.card)


def _show(run: Path, ident: str, *, show_texts: bool, json: bool) -> None:
    """Print one reply of a run."""
    from mindgauge.commands.reply import reply

    result = reply(run, ident, show_texts=show_texts)
    if json:
        render.as_json(result)
        return
    for line in result.lines():
        print(visible(line))
