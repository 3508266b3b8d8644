"""`mindgauge annotate serve`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mindgauge.cli import options, render

if TYPE_CHECKING:
    from mindgauge.commands.annotate.serve import Served


def serve(
    folder: Annotated[Path, typer.Argument(help="The project's folder.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0 takes any port that is free.")] = 8765,
    host: Annotated[
        str,
        typer.Option(
            help="The address to listen on. Anything but 127.0.0.1 lets others in the network try to come in."
        ),
    ] = "127.0.0.1",
    invite: Annotated[
        str | None, typer.Option(metavar="NAME", help="Print a new link for this person, who has lost theirs.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Serve the page on which people label, until Ctrl-C."""
    from mindgauge.commands.annotate.serve import annotate_serve as function

    def ready(served: "Served") -> None:
        if json:
            render.as_json(served)
        else:
            for note in served.notes:
                render.notice(note)
            print(f"The page runs at {served.url} (Ctrl-C stops it)")
            if served.link:
                print(f"New link for {invite}: {served.link}")
        sys.stdout.flush()

    function(folder, host=host, port=port, invite=invite, ready=ready)
