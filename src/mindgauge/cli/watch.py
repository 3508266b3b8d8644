"""`mindgauge watch`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mindgauge.cli import options, render, terminal
from mindgauge.cli.calling import NONE, Chosen, takes_calls
from mindgauge.records.text import visible
from mindgauge.runs.options import ONLY_TESTED, RunConfig

if TYPE_CHECKING:
    from mindgauge.commands.watch.watch import WatchResult

_MINUTE = 60


@takes_calls(RunConfig(), without=ONLY_TESTED)
def watch(
    source: Annotated[Path, typer.Argument(help="Where logs are written: a file or folder of transcripts.")],
    policy: Annotated[Path, typer.Option(help="A gate's policy, whose [[must]] rules are held.")],
    judge: options.Judges,
    out: Annotated[Path, typer.Option(help="The folder of the watch: its looks, and a page with charts.")],
    benchmark: Annotated[str | None, typer.Option(help="By which is rated; if not given, the policy's.")] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            help="Rate every `turn` of the assistant, the whole `dialogue`, each message of the person alone (`client`), or several: `turn,client,dialogue`; `both` is `turn,dialogue`."
        ),
    ] = None,
    sample: Annotated[int, typer.Option(min=1, help="Dialogues drawn of what is new, at each look.")] = 50,
    apart: Annotated[int, typer.Option(min=2, help="Looks between false alarms on average, at least.")] = 200,
    every: Annotated[
        float | None, typer.Option(min=0, help="Look again after so many minutes, until interrupted; else once.")
    ] = None,
    map_: options.Map = [],  # noqa: B006 - how typer spells an empty list
    chosen: Chosen = NONE,
    json: options.Json = False,
) -> None:
    """Look at what is new in a folder of logs: draw some, rate it, hold it against bounds. Exit code 0: no alarm, 1: alarm, 3: cannot tell."""
    from mindgauge.commands.watch.watch import watch as function

    while True:
        notices = render.Notices()
        with render.progress() as progress:
            result = function(
                source, policy=policy, judge=judge, out=out, name=benchmark, unit=unit, sample=sample,
                apart=apart, columns=options.mapping(map_), progress=progress, notice=notices, command=render.command(),
                **chosen,
            )  # fmt: skip
        if json:
            render.as_json(result)
        else:
            _show(result)
        if every is None or terminal.left(every * _MINUTE):
            raise typer.Exit(result.exit_code)


def _show(result: "WatchResult") -> None:
    """Print what a look says in one line, what must be known of it, and where the charts are."""
    if result.look is None:
        sentence, *notes = result.summary()
        print(render.one_line(visible(sentence)), flush=True)
        render.notes(map(visible, notes), full=False)
        return
    print(render.one_line(visible(result.look.line())), flush=True)
    render.notes(map(visible, result.look.notes), full=False)
    print(f"Charts: {result.page}", flush=True)
