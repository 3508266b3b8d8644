"""The command line: one command, one file. It parses, calls the command's function, and renders what comes back."""

from __future__ import annotations

import sys
from collections import UserDict
from contextlib import suppress
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from mindgauge.cli import deferred, terminal
from mindgauge.records.errors import FaultsError, MindgaugeError
from mindgauge.records.redaction import redacted

MODULES = {
    "demo": "demo", "list": "list_", "new": "new", "run": "run", "rate": "rate", "load": "load", "status": "status", "score": "score",
    "ratings": "ratings", "reliability": "reliability", "audit": "audit", "compare": "compare", "profile": "profile", "train": "train",
    "report": "report", "reproduce": "reproduce", "export": "export", "salvage": "salvage", "judges": "judges",
    "clients": "clients", "annotate": "annotate", "gate": "gate", "watch": "watch", "logs": "logs", "data": "data",
}  # fmt: skip
"""Command → the module here that holds a function of the module's name, or an `app` of several commands."""


class _Commands(UserDict[str, Any]):
    """Commands by name, each imported when somebody asks for it."""

    def __getitem__(self, name: str) -> Any:
        command = super().__getitem__(name)
        if isinstance(command, str):
            module = import_module(f"mindgauge.cli.{command}")
            group = getattr(module, "app", None)
            if group is None:
                from mindgauge.cli.options import Command

                group = typer.Typer(add_completion=False, rich_markup_mode=None)
                group.command(name, cls=Command)(getattr(module, command))
            self.data[name] = command = typer.main.get_command(group)
        return command


class _Mindgauge(TyperGroup):
    """The command `mindgauge`."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _Commands(MODULES)


app = typer.Typer(
    name="mindgauge",
    cls=_Mindgauge,
    help="Measures how safely and how well language models talk with people in distress, and how far each number can be trusted.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from mindgauge.store.manifest import software

        print(software())
        raise typer.Exit


@app.callback()
def _options(
    *, version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Show the version.")
) -> None:
    """Nothing to do: `--version` has done it."""


def main() -> None:
    """Run the command line; whatever goes wrong is one line and an exit code, not a traceback."""
    deferred.defer()
    with suppress(ImportError, AttributeError):  # another Typer inside: it reads all values its own way
        import_module("mindgauge.cli.values").read_as_typed()
    terminal.guard()
    try:
        code = app(standalone_mode=False)
    except FaultsError as error:
        sys.exit(_say_all(error))
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


def _say_all(faults: FaultsError) -> int:
    """Print faults below each other; a lone one in a line with its heading."""
    if len(faults.lines) == 1:
        return _say(str(faults), faults.exit_code)
    _say(f"{faults.heading}:", faults.exit_code)
    for line in faults.lines:
        print(redacted(f"  {' '.join(line.split())}"), file=sys.stderr)
    return faults.exit_code


def _say(message: str, code: int) -> int:
    print(redacted(f"mindgauge: {' '.join(message.split())}"), file=sys.stderr)
    return code
