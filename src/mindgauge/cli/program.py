"""All commands by name, and how one runs: whatever goes wrong is one line and an exit code."""

from __future__ import annotations

import gc
import os
import re
import sys
import warnings
from collections import UserDict
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import typer
from typer.core import TyperGroup

from mindgauge.cli import deferred, terminal
from mindgauge.records.errors import FaultsError, HiddenContentWarning, MindgaugeError, UsageError
from mindgauge.records.redaction import redacted

if TYPE_CHECKING:
    from collections.abc import Iterator


class CommandEntry(NamedTuple):
    """A command: the module here that holds a function of the module's name, or an `app` of several commands; what it is for."""

    module: str
    purpose: str


COMMANDS = {
    "To begin": {
        "demo": CommandEntry("demo", "A small model, a judge and a report, here and now; no key."),
        "list": CommandEntry("list_", "The benchmarks, a line each; with a name, its card."),
    },
    "Measure": {
        "run": CommandEntry("run", "Run benchmarks on models; run it again to go on."),
        "rate": CommandEntry("rate", "Rate replies or conversations that exist already."),
        "load": CommandEntry("load", "Make a run of what a paper's authors released."),
        "new": CommandEntry("new", "Write a benchmark of your own, ready to run."),
        "train": CommandEntry("train", "Train a classifier on labelled dialogues."),
        "clients": CommandEntry("clients", "The models that play persons: is one fit for it?"),
    },
    "Read": {
        "status": CommandEntry("status", "How far runs have come, also while they are written."),
        "score": CommandEntry("score", "What runs say, in numbers."),
        "report": CommandEntry("report", "Runs as a page that needs no network."),
        "view": CommandEntry("view", "Read every reply on this machine, and answer."),
        "compare": CommandEntry("compare", "Which system is better, by how much, on what."),
        "profile": CommandEntry("profile", "Models over the dimensions of a suite."),
    },
    "Trust": {
        "reliability": CommandEntry("reliability", "When a judge can be trusted; how far people agree."),
        "judges": CommandEntry("judges", "Judges side by side, under stress, as a panel."),
        "annotate": CommandEntry("annotate", "People rate, too: blind rounds in the browser."),
        "ratings": CommandEntry("ratings", "How ratings of any shape are read."),
        "audit": CommandEntry("audit", "What is wrong with data, and what it does to results."),
        "reproduce": CommandEntry("reproduce", "A paper's tables, recomputed from its files."),
    },
    "Release": {
        "gate": CommandEntry("gate", "Whether a build may be released, by your rules."),
        "watch": CommandEntry("watch", "Look at what is new in logs; raise an alarm."),
        "logs": CommandEntry("logs", "What is in logs, and a sample without personal data."),
        "export": CommandEntry("export", "A run in another tool's format."),
        "dataset": CommandEntry("dataset", "A data set of your own: build it, label it, release it."),
        "data": CommandEntry("data", "The authors' files: which there are, how to get them."),
        "salvage": CommandEntry("salvage", "What can be read of a damaged run."),
    },
}
"""Heading → the commands below it."""
FIRST = {
    "mindgauge demo": "a report at once, without a key",
    "mindgauge list": "the benchmarks, a line each",
    "mindgauge run NAME --model MODEL --dry-run": "its calls and cost; then run it",
    "mindgauge report RUN": "the run as a page",
    "mindgauge reliability RATINGS": "how far a judge can be trusted",
}
"""Five commands to begin with."""


_NEW_OBJECTS = 250_000
"""How many new objects there are before the garbage collector looks; with its default, a tenth of a short command is its time."""
_HELP = "NoArgsIsHelpError"
"""What a group of commands raises where none of them is named: its message is its help."""
_INTERRUPTED = 130
"""What Typer makes of an interrupt, without a word."""
_SHOW_WARNING = warnings.showwarning
_SCARCE = re.compile(
    r"can't start new thread|failed to map segment|Cannot allocate memory|previously been poisoned"
    r"|PanicException: .*(?:spawn|WouldBlock|TooManyOpenFiles|OutOfMemory)"
)
"""What Python and libraries raise where the system gives them no more; of the last, a lock that broke so before."""
_NO_MORE = "the system gives no more memory, threads or open files: raise its limits (ulimit -a), or end other programs"
_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")
"""What Python makes of a byte in a name that is no text."""
_AROUND = 40
"""Characters before and after it that are repeated."""


class _Commands(UserDict[str, Any]):
    """Commands by name, each imported when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        command = super().__getitem__(name)
        if isinstance(command, CommandEntry):
            module = import_module(f"mindgauge.cli.{command.module}")
            group = getattr(module, "app", None)
            if group is None:
                from mindgauge.cli.options import Command

                group = typer.Typer(add_completion=False, rich_markup_mode=None)
                group.command(name, cls=Command)(getattr(module, command.module))
            self.data[name] = command = typer.main.get_command(group)
        return command


class _Mindgauge(TyperGroup):
    """The command `mindgauge`."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _Commands({name: entry for part in COMMANDS.values() for name, entry in part.items()})

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a line for each command below its heading, without importing any."""
        del ctx
        for heading, part in COMMANDS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, entry.purpose) for name, entry in part.items()])


app = typer.Typer(
    name="mindgauge",
    cls=_Mindgauge,
    help=(
        "Measures how safely and how well language models talk with people in distress,\nand how far each number can be trusted."
    ),
    invoke_without_command=True,
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
    ctx: typer.Context,
    *,
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Show the version."),
) -> None:
    """Say what to begin with, where no command is named; `--version` has been done."""
    del version
    if ctx.invoked_subcommand is None:
        print(f"{app.info.help}\n\nTo begin with:")
        wide = max(map(len, FIRST))
        for command, purpose in FIRST.items():
            print(f"  {command:<{wide}}  {purpose}")
        print("\nAll commands: mindgauge --help; one of them: mindgauge COMMAND --help")


def execute() -> int:
    """Run the command line and return its exit code, which who reads what is printed cannot change.

    Raises:
        KeyboardInterrupt: the user stopped it.
    """
    gc.set_threshold(_NEW_OBJECTS)
    deferred.defer()
    with suppress(ImportError, AttributeError):  # another Typer inside: it reads all values its own way
        import_module("mindgauge.cli.values").read_as_typed()
    terminal.guard()
    for argument in sys.argv:
        if _ESCAPED_BYTE.search(os.fsencode(argument).decode(errors="surrogateescape")):
            return _say(str(_no_text(argument)), UsageError.exit_code)
    warnings.showwarning = _warned
    code = _code()
    sys.stdout.flush()
    sys.stderr.flush()
    fault = terminal.fault(sys.stdout)
    return code if fault is None else _say(f"standard output cannot be written ({fault.strerror})", 1)


def _code() -> int:
    try:
        code = app(standalone_mode=False)
    except MindgaugeError as error:
        return _say_all(error) if isinstance(error, FaultsError) else _say(str(error), error.exit_code)
    except typer.TyperException as error:
        message = error.format_message()
        if type(error).__name__ != _HELP:
            return _say(message, error.exit_code)
        print(message)
        code = error.exit_code
    except typer.Abort:
        code = _INTERRUPTED
    except ModuleNotFoundError as error:
        from mindgauge.cli.extras import advice

        return _say(advice(error), 2)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # polars' panics are no `Exception`
        known = _of_system(error)
        if known is None:
            raise
        return _say(str(known), known.exit_code)
    if code == _INTERRUPTED:
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0


def _warned(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
    """Print what is left out of a workbook as a note; any other warning as Python does."""
    if category is HiddenContentWarning:
        print(redacted(f"Note: {message}"), file=sys.stderr)
    else:
        _SHOW_WARNING(message, category, *place, **more)


def _of_system(error: BaseException) -> MindgaugeError | None:
    """Return what the system could not do; None where it is another fault."""
    for cause in _causes(error):
        if isinstance(cause, MemoryError):
            return MindgaugeError("out of memory; give less at once: smaller files, or parts of them")
        if _SCARCE.search(f"{type(cause).__name__}: {cause}"):
            return MindgaugeError(f"{_NO_MORE} ({cause}); everything finished is kept")
        if isinstance(cause, UnicodeEncodeError) and _ESCAPED_BYTE.search(cause.object):
            return _no_text(cause.object[max(0, cause.start - _AROUND) : cause.end + _AROUND])
    if isinstance(error, OSError):
        return MindgaugeError(f"{error.filename or 'the system'}: {error.strerror or error}")
    path = re.fullmatch(r"""Symlink loop from ['\"](.*)['\"]""", str(error), re.DOTALL)
    if path is None or not isinstance(error, RuntimeError):
        return None
    return MindgaugeError(f"{path[1]}: a link that leads back to itself; name the file or folder that is meant")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Go through an error, those that tasks raised together in it, and those that it came from."""
    while error is not None:
        yield error
        if isinstance(error, BaseExceptionGroup):
            for part in error.exceptions:
                yield from _causes(part)
        error = error.__cause__ or error.__context__


def _no_text(name: str) -> UsageError:
    return UsageError(
        f"{name!a}: the name holds bytes that are no UTF-8 text, so no run or report can say it; rename it"
    )


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
