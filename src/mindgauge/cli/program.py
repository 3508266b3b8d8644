"""All commands by name, and how one runs: whatever goes wrong is one line and an exit code."""

from __future__ import annotations

import gc
import os
import re
import sys
import warnings
from typing import TYPE_CHECKING, Any

import click

from mindgauge.cli import deferred, terminal
from mindgauge.commands import registry
from mindgauge.records.english import nearest
from mindgauge.records.errors import FaultsError, HiddenContentWarning, MindgaugeError, UsageError
from mindgauge.records.redaction import redacted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.cli.command import Command


EXTRAS = {
    "classifier": ("accelerate", "huggingface_hub", "safetensors", "sklearn", "threadpoolctl", "torch", "transformers"),
    "cloud": ("aiobotocore", "fsspec", "s3fs"),
    "inspect": ("inspect_ai",),
    "local": ("xllamacpp",),
    "ray": ("grpc", "ray"),
    "web": ("fastapi", "multipart", "pg8000", "python_multipart", "sqlalchemy", "starlette", "uvicorn"),
}
"""Extra → what is imported of it."""
_NEW_OBJECTS = 250_000
"""How many new objects there are before the garbage collector looks; with its default, a tenth of a short command is its time."""
_HELP = "NoArgsIsHelpError"
"""What a group of commands raises where none of them is named: its message is its help."""
_INTERRUPTED = 130
"""What click makes of an interrupt, without a word."""
_SHOW_WARNING = warnings.showwarning
_SCARCE = re.compile(
    r"can't start new thread|failed to map segment|[Cc]an(?:not|'t) allocate memory|CUDA out of memory|previously been poisoned"
    r"|PanicException: .*(?:spawn|WouldBlock|TooManyOpenFiles|OutOfMemory)"
)
"""What Python and libraries raise where the system gives them no more; of the last, a lock that broke so before."""
_NO_MORE = "the system gives no more memory, threads or open files: raise its limits (ulimit -a), or end other programs"
_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")
"""What Python makes of a byte in a name that is no text."""
_AROUND = 40
"""Characters before and after it that are repeated."""


class _Group(click.Group):
    """Commands that belong together, each built when it is asked for; where none is named, one may be meant."""

    def __init__(self, word: str) -> None:
        about = registry.GROUPS.get(word, ABOUT)
        super().__init__(name=word or "mindgauge", help=about, no_args_is_help=bool(word))
        self.usual = registry.DEFAULTS.get(word, "")
        self._words = f"{word} " if word else ""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands in the order of the registry."""
        del ctx
        return list(
            dict.fromkeys(
                words.removeprefix(self._words).partition(" ")[0]
                for words in registry.COMMANDS
                if words.startswith(self._words)
            )
        )

    def get_command(self, ctx: click.Context | None, cmd_name: str) -> click.Command | None:
        """Build a command, with what its function says of it."""
        del ctx
        if cmd_name not in self.commands:
            words = f"{self._words}{cmd_name}"
            if words in registry.COMMANDS:
                from mindgauge.cli.command import Command

                self.commands[cmd_name] = Command(words)
            elif not self._words and words in registry.GROUPS:
                self.commands[cmd_name] = _Group(words)
        return self.commands.get(cmd_name)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Let the name of the usual command be left out, and options stand first."""
        if self.usual and args and args[0] != "--help" and args[0] not in self.list_commands(ctx):
            args = [self.usual, *args]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find a command, or name the one that is nearest to what was typed.

        Raises:
            UsageError: there is none of that name.
        """
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            known = self.list_commands(ctx)
            meant = registry.elsewhere(f"{self._words}{args[0]}")
            hint = f"did you mean {meant}?" if meant else nearest(args[0], known, "mindgauge --help lists them")
            raise UsageError(f"there is no command {self._words}{args[0]}: {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a line for each command, at the top below its heading; nothing is loaded for these."""
        if not self._words:
            purposes = registry.GROUPS | {words: entry.purpose for words, entry in registry.COMMANDS.items()}
            for heading, names in registry.HEADINGS.items():
                with formatter.section(heading):
                    formatter.write_dl([(name, purposes[name]) for name in names])
            return
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.help or "") for name, command in commands if command is not None])


ABOUT = "Measures how safely and how well language models talk with people in distress,\nand how far each number can be trusted."


class _Mindgauge(_Group):
    """The command `mindgauge`."""

    def __init__(self) -> None:
        super().__init__("")
        self.invoke_without_command, self.callback = True, _begin
        self.params = [
            click.Option(
                ["--version"],
                is_flag=True,
                expose_value=False,
                is_eager=True,
                callback=_show_version,
                help="Show the version.",
            )
        ]


def _begin() -> None:
    """Say what to begin with, where no command is named."""
    if click.get_current_context().invoked_subcommand is None:
        print(f"{ABOUT}\n\nTo begin with:")
        wide = max(map(len, registry.FIRST))
        for command, purpose in registry.FIRST.items():
            print(f"  {command:<{wide}}  {purpose}")
        print("\nAll commands: mindgauge --help; one of them: mindgauge COMMAND --help")


def _show_version(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
    del param
    if wanted:
        from mindgauge.store.manifest import software

        print(software())
        ctx.exit()


app = _Mindgauge()


def leaves() -> dict[str, Command]:
    """Return every command that does something, by its words: what is counted, tested and documented."""
    from mindgauge.cli.command import Command

    return {words: Command(words) for words in registry.COMMANDS}


def counted() -> tuple[int, int, int]:
    """Return how many commands there are, how many options they have, and how many options `run --help` shows."""
    commands = leaves()
    return len(commands), sum(len(command.options()) for command in commands.values()), len(commands["run"].shown())


def execute() -> int:
    """Run the command line and return its exit code, which who reads what is printed cannot change.

    Raises:
        KeyboardInterrupt: the user stopped it.
    """
    gc.set_threshold(_NEW_OBJECTS)
    deferred.defer()
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
    except click.ClickException as error:
        message = error.format_message() + _in_file(error)
        if type(error).__name__ != _HELP:
            return _say(message, error.exit_code)
        print(message)
        code = error.exit_code
    except click.Abort:
        code = _INTERRUPTED
    except ModuleNotFoundError as error:
        return _say(_advice(error), 2)
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


def _advice(error: ModuleNotFoundError) -> str:
    """Say in one line how to get what is missing.

    Raises:
        ModuleNotFoundError: it is a part of Mindgauge itself.
    """
    package = (error.name or "").partition(".")[0]
    if package in {"", "mindgauge"}:
        raise error
    extra = next((f"'mindgauge[{extra}]'" for extra, packages in EXTRAS.items() if package in packages), package)
    return f"this command needs {package}, which is not installed; pip install {extra}"


def _in_file(error: click.ClickException) -> str:
    """Say where an option is set that the command line does not take; empty where it is set nowhere, or something else is wrong."""
    if not isinstance(error, click.NoSuchOption) or error.ctx is None:
        return ""
    if "max_cost" not in getattr(error.ctx.command, "built", {}):  # it makes no calls
        return ""
    from mindgauge.runs.options import FILE_ONLY

    name = error.option_name.lstrip("-").replace("-", "_")
    return f" Set it in mindgauge.toml, in the table [run]: {name} = …" if name in FILE_ONLY else ""


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
