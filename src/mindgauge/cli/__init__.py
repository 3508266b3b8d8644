"""The command line: one verb, one file. It parses, calls the verb's function, and renders what comes back."""

from __future__ import annotations

import sys

import typer

from mindgauge.cli import (
    annotate,
    audit,
    compare,
    demo,
    export,
    judges,
    list_,
    load,
    profile,
    rate,
    reliability,
    report,
    reproduce,
    run,
    salvage,
    score,
    status,
    terminal,
    train,
)
from mindgauge.errors import MindgaugeError
from mindgauge.redaction import redacted

app = typer.Typer(
    name="mindgauge",
    help="Measures how safely and how well language models talk with people in distress, and how far each number can be trusted.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command()(demo.demo)
app.command("list")(list_.list_)
app.command()(run.run)
app.command()(rate.rate)
app.command()(load.load)
app.command()(status.status)
app.command()(score.score)
app.command()(reliability.reliability)
app.command()(audit.audit)
app.command()(compare.compare)
app.command()(profile.profile)
app.command()(train.train)
app.command()(report.report)
app.command()(reproduce.reproduce)
app.command()(export.export)
app.command()(salvage.salvage)
app.add_typer(judges.app)
app.add_typer(annotate.app)


def _show_version(wanted: bool) -> None:
    if wanted:
        from mindgauge.manifest import software

        print(software())
        raise typer.Exit


@app.callback()
def _options(
    *, version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Show the version.")
) -> None:
    """Nothing to do: `--version` has done it."""


def main() -> None:
    """Run the command line; whatever goes wrong is one line and an exit code, not a traceback."""
    terminal.guard()
    try:
        code = app(standalone_mode=False)
    except MindgaugeError as error:
        sys.exit(_say(str(error), error.exit_code))
    except typer.TyperException as error:
        sys.exit(_say(error.format_message(), error.exit_code))
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(_say("stopped; everything finished is kept, run the same command to go on", 130))
    except BrokenPipeError:
        sys.exit(1)
    except MemoryError:
        sys.exit(_say("out of memory; give less at once: smaller files, or parts of them", 1))
    except OSError as error:
        sys.exit(_say(f"{error.filename or 'the system'}: {error.strerror or error}", 1))
    sys.exit(code if isinstance(code, int) else 0)


def _say(message: str, code: int) -> int:
    print(redacted(f"mindgauge: {' '.join(message.split())}"), file=sys.stderr)
    return code
