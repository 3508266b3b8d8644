"""`mindgauge data`: the authors' released files; `data fetch` brings those that may be had freely."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mindgauge.cli import options, render
from mindgauge.records.rounding import count, decimal
from mindgauge.records.shell import command_line

if TYPE_CHECKING:
    from mindgauge.commands.data.released import DataListing

app = options.group("The authors' released files: which there are, which are here, and how to get the others.")
Out = Annotated[Path | None, typer.Option(help="The folder of the files; if not given, data/FAMILY.")]


@app.command("list", cls=options.Command)
def list_(
    names: Annotated[list[str], typer.Argument(help="Benchmarks or families; all if none is named.")] = [],  # noqa: B006
    out: Out = None,
    json: options.Json = False,
) -> None:
    """List the released files: how many may be had freely, which are here, how to ask for the others."""
    from mindgauge.commands.data.released import data_list as function

    result = function(names, out=out)
    if json:
        render.as_json(result)
        return
    rows = [
        [e.benchmark, str(e.files), _megabytes(e.size), str(e.here), e.folder, str(len(e.on_request))]
        for e in result.data
    ]
    render.table("", ["benchmark", "files to be had freely", "MB", "here", "in", "others"], rows)
    for entry in result.data if names else ():
        _show_one(entry)
    if not names:
        print(
            "mindgauge data list NAME says under which terms, and how to ask for the others; mindgauge data fetch NAME brings them."
        )


def _show_one(entry: DataListing) -> None:
    print(f"{entry.benchmark}. Terms: {entry.licence}")
    if entry.on_request:
        print(f"Others: {', '.join(entry.on_request)}. {entry.obtain}")


def _megabytes(size: int) -> str:
    return decimal(size / 1e6, 1) if size else ""


@app.command("fetch", cls=options.Command)
def fetch(
    name: Annotated[str, typer.Argument(help="A benchmark or family.")],
    out: Out = None,
    mirror: Annotated[
        str | None, typer.Option(help="Ask here in place of the authors' servers; also MINDGAUGE_MIRROR.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Bring the released files that may be had freely, each by its SHA-256. Exit code 1: not all could be had."""
    from mindgauge.commands.data.fetch import data_fetch

    result = data_fetch(name, out=out, mirror=mirror, say=None if json else print)
    if json:
        render.as_json(result)
    else:
        from mindgauge.commands.data.released import families, terms

        if result.files:
            here = len(result.files) - len(result.failed)
            print(
                f"{here} of {count(len(result.files))} files of {name} are in {result.folder}. Terms: {terms(families([name])[0])}"
            )
        if result.on_request:
            print(f"Not fetched: {', '.join(result.on_request)}. {result.obtain}")
        if result:
            print(command_line("run", name, "--data", result.folder, "--model", "MODEL"))
    raise typer.Exit(0 if result else 1)
