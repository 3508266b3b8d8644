"""A command: what its function says of itself becomes options and help; it is called with what was typed, and its result printed."""

from __future__ import annotations

import contextlib
import inspect
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from mindgauge.cli import options, printers, render, terminal
from mindgauge.commands import command, registry
from mindgauge.records.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from mindgauge.cli.options import Built

SHOWN = 14
"""Options that `--help` shows at most, where a command says which come first; `--help-all` shows all."""
_FULL = "Everything: every table, every row, every note."
_MINUTE = 60


class CommandCall(NamedTuple):
    """What a command was called with, for who prints its result."""

    arguments: dict[str, Any]
    """Of the function."""
    options: dict[str, Any]
    """How the result is shown."""
    told_before: Collection[str] = ()
    """Notes that the user has seen already."""


class _Function(NamedTuple):
    """A function of a command, with its options; `option` is the one that asks for it."""

    name: str
    place: tuple[str, str]
    signature: command.Signature
    built: list[Built]
    shown: list[Built]
    option: str = ""

    @classmethod
    def of(cls, name: str, place: tuple[str, str], option: str = "") -> _Function:
        """Read what a function and its printer say of themselves."""
        signature = command.signature(*place)
        module, shown_as = printers.printer(name)
        printer = command.signature(module, f"show_{shown_as}")
        shown = [parameter for parameter in printer.parameters if not parameter.positional]
        shown = [p._replace(help=p.help or _FULL) if p.name == "full" else p for p in shown]
        return cls(name, place, signature, options.built(signature.parameters), options.built(shown), option)


class Command(click.Command):
    """A command that follows from its function, and from the functions of its other steps."""

    def __init__(self, words: str) -> None:
        entry = registry.COMMANDS[words]
        name = registry.python_name(words)
        self._own = _Function.of(name, registry.place(name, entry))
        self._steps = [_Function.of(s.name, registry.place(s.name, s), s.option) for s in entry.steps]
        self._first = self._own.signature.declaration.first
        self.built: dict[str, Built] = {}
        """All options and arguments, by key."""
        arguments = [entry for entry in self._own.built if isinstance(entry.param, click.Argument)]
        for function in (self._own, *self._steps):
            places = iter(arguments)
            for entry_ in (*function.built, *function.shown):
                key = next(places).key if isinstance(entry_.param, click.Argument) else entry_.key
                required = function is self._own and entry_.required
                said = entry_.help if required else entry_.help.removesuffix("  [required]")
                self.built.setdefault(key, entry_._replace(help=said))
            if function.option and function.option not in self.built:
                about = function.signature.about.partition(". ")[0].rstrip(".")
                flag = f"--{function.option.replace('_', '-')}"
                param = click.Option([flag], is_flag=True, default=None)
                self.built[function.option] = options.Built(
                    function.option, function.option, param, "", f"{about}.", required=False, read=bool
                )
        json = click.Option(["--json"], is_flag=True, default=None)
        self.built["json"] = options.Built("json", "json", json, "", "Print JSON instead.", required=False, read=bool)
        if self._own.signature.declaration.each:
            arguments[0].param.nargs = -1
            arguments[0].param.metavar = f"{arguments[0].name.upper()}S..."
        super().__init__(
            words.rpartition(" ")[2],
            params=[entry.param for entry in self.built.values()],
            help=self._own.signature.about,
        )
        self.params.append(
            click.Option(["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_show_all)
        )

    def options(self) -> list[Built]:
        """Return all options; `--help` is none of them."""
        return [entry for entry in self.built.values() if isinstance(entry.param, click.Option)]

    def shown(self) -> list[Built]:
        """Return the options that `--help` shows."""
        entries = self.options()
        shortened = self._first and len(entries) > SHOWN
        return [e for e in entries if e.key in {*self._first, "full", "json"}] if shortened else entries

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return what follows the command's name: `gate RUN` has its argument in it."""
        pieces = super().collect_usage_pieces(ctx)
        return pieces[:-1] if pieces[-1] == self.name else pieces

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write arguments, then options heading by heading: with `--help-all` all of them."""
        everything = bool(ctx.meta.get("all"))
        listed = self.options() if everything else self.shown()
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for entry in self.built.values():
            if isinstance(entry.param, click.Argument):
                sections["Arguments"].append((entry.param.make_metavar(ctx), entry.help))
            elif entry in listed:
                record = entry.param.get_help_record(ctx)
                first = not self._first or entry.key in {*self._first, "full", "json"}
                heading = "" if not everything or first else entry.heading or "More options"
                sections.setdefault(heading or "Options", []).append((record[0] if record else "", entry.help))
        hidden = len(self.options()) - len(self.shown())
        if hidden and not everything:
            sections["Options"].append(("--help-all", f"Show {hidden} more options, too."))
        sections["Options"].append(("--help", "Show this message and exit."))
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)

    def invoke(self, ctx: click.Context) -> None:
        """Call the function that is meant with what was typed; print its result; leave with its exit code."""
        typed = {
            key: entry.read(ctx.params[key])
            for key, entry in self.built.items()
            if ctx.get_parameter_source(key) is ParameterSource.COMMANDLINE
        }
        function = self._meant(typed)
        arguments, shown = self._arguments(function, ctx, typed)
        while True:
            code = _done(function, arguments, shown, json=bool(typed.get("json")))
            every = shown.get("every")
            if every is None or terminal.left(every * _MINUTE):
                ctx.exit(code)

    def missing(self, ctx: click.Context) -> str:
        """Say which required option or argument was not typed; empty where none lacks."""
        typed = {
            key: ctx.params[key] for key in self.built if ctx.get_parameter_source(key) is ParameterSource.COMMANDLINE
        }
        known = self._known(self._meant(typed))
        lacking = next((key for key, entry in known.items() if entry.required and key not in typed), None)
        return (
            "" if lacking is None else click.MissingParameter(ctx=ctx, param=self.built[lacking].param).format_message()
        )

    def _known(self, function: _Function) -> dict[str, Built]:
        """Return options and arguments of a function by key: its arguments have the keys of the command's own."""
        places = (entry.key for entry in self._own.built if isinstance(entry.param, click.Argument))
        return {
            (next(places) if isinstance(entry.param, click.Argument) else entry.key): entry for entry in function.built
        }

    def _meant(self, typed: dict[str, Any]) -> _Function:
        """Return the function that the options ask for."""
        for step in self._steps:
            asked = typed.get(step.option) if step.option else printers.AUTOMATIC[step.name](typed)
            if asked:
                return step
        return self._own

    def _arguments(
        self, function: _Function, ctx: click.Context, typed: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return keyword arguments of a function and of its printer.

        Raises:
            UsageError: an option is missing, or has no use here.
        """
        known = self._known(function)
        display = {entry.key: entry for entry in function.shown}
        for key in typed:
            if key not in {*known, *display, function.option, "json"}:
                raise UsageError(self._useless(key, function))
        if lacking := self.missing(ctx):
            raise UsageError(lacking)
        values = {entry.name: typed[key] for key, entry in known.items() if key in typed}
        for key, entry in known.items():
            one = isinstance(entry.param, click.Argument) and entry.param.nargs == 1
            if one and function is not self._own and isinstance(typed.get(key), list | tuple):
                if len(typed[key]) > 1:
                    raise UsageError(f"--{function.option.replace('_', '-')} takes one of these at a time")
                values[entry.name] = typed[key][0]
        return options.values(values, function.signature.parameters), {
            entry.name: typed[key] for key, entry in display.items() if key in typed
        }

    def _useless(self, key: str, function: _Function) -> str:
        """Say with what an option goes, where it has no use."""
        flag = self.built[key].param.opts[0]
        owners = [f for f in (self._own, *self._steps) if key in {e.key for e in (*f.built, *f.shown)}]
        switch = f"--{function.option.replace('_', '-')}"
        if function.option and (not owners or owners[0] is self._own):
            return f"{flag} does not go with {switch}"
        owner = owners[0]
        asked = f"--{owner.option.replace('_', '-')}" if owner.option else printers.NEEDED[owner.name]
        return f"{flag} goes with {asked}"


def _show_all(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
    del param
    if wanted:
        ctx.meta["all"] = True
        print(ctx.get_help())
        ctx.exit()


def _done(function: _Function, arguments: dict[str, Any], shown: dict[str, Any], *, json: bool) -> int:
    """Call a function, print what comes of it, and return the exit code."""
    supplied, declaration = function.signature.supplied, function.signature.declaration
    module, name = printers.printer(function.name)
    printer = import_module(module)
    notices = render.Notices()
    call = CommandCall(arguments, shown, notices)

    def show(result: Any) -> None:
        if json:
            as_json = getattr(printer, f"json_{name}", None)
            render.as_json(_told(as_json, result, call) if as_json else result)
        elif arguments.get("dry_run"):
            render.foreseen(result)
        else:
            for one in result if declaration.each else [result]:
                _told(getattr(printer, f"show_{name}"), one, call, **shown)
        if "ready" in supplied:
            sys.stdout.flush()

    offered = {"notice": notices, "command": render.command(), "ready": show, "say": None if json else print}
    with _working(function) as progress:
        extra = {name: value for name, value in {**offered, "progress": progress}.items() if name in supplied}
        called = getattr(import_module(function.place[0]), function.place[1])
        if declaration.each:
            parameter = next(p.name for p in function.signature.parameters if p.positional)
            others = {name: value for name, value in arguments.items() if name != parameter}
            result: Any = [called(one, **others, **extra) for one in arguments[parameter]]
            call = call._replace(arguments=arguments)
        else:
            result = called(**arguments, **extra)
    if "ready" in supplied:
        return 0
    if json and declaration.each and len(result) == 1 and not hasattr(printer, f"json_{name}"):
        render.as_json(result[0])
    else:
        show(result)
    end = None if arguments.get("dry_run") else getattr(printer, f"end_{name}", None)
    return int(_told(end, result, call) or 0) if end else 0


def _told(function: Any, result: Any, call: CommandCall, **shown: Any) -> Any:
    """Call a function that says something of a result; what was typed it is told if it asks."""
    asked = {"call": call} if "call" in inspect.signature(function).parameters else {}
    return function(result, **asked, **shown)


@contextlib.contextmanager
def _working(function: _Function) -> Iterator[Any]:
    """Say how far it is, or for how long it has been at it."""
    if "progress" in function.signature.supplied:
        with render.progress() as progress:
            yield progress
    elif function.signature.declaration.doing:
        with render.working(function.signature.declaration.doing):
            yield None
    else:
        yield None
