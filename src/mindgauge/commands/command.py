"""`@command`: a function whose signature and `Args:` are a command's options and their help.

    @command(first="model judge limit", doing="Asking")
    def run(names: str | Sequence[str] = (), *, model: AnyModel, limit: Annotated[int, Meta(ge=1)] | None = None): ...

What an option is follows from the type of its parameter; `Option` says what a type cannot. The keyword arguments that a
`TypedDict` lists are options, too: those that a record of `runs.options` holds have their sentence there.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import functools
import importlib
import inspect
import re
import typing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

F = TypeVar("F", bound="Callable[..., Any]")
SUPPLIED = frozenset({"progress", "notice", "command", "ready", "say"})
"""Parameters that the program itself fills in."""
_LIGHT = frozenset({"mindgauge.commands.command", "mindgauge.runs.options"})
"""Modules of ours that a signature may load."""
_ENTRY = re.compile(r"^ {4}(\w+): ?(.*(?:\n(?: {5,}.*)?)*)", re.MULTILINE)
"""A parameter and what `Args:` says of it, with lines that are further in."""


class CommandOption(NamedTuple):
    """What a parameter's type does not say of its option."""

    flag: str = ""
    """How it is spelled, if not as the parameter."""
    heading: str = ""
    """Above it in the help."""
    metavar: str = ""
    commas: bool = False
    """Whether several values may stand in one, separated by commas."""
    text: bool = False
    """Whether a path may also be a name or an address, and is read as text."""


COMMAS, NAMED = CommandOption(commas=True), CommandOption(text=True)
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]
FromZero: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
Resamples: TypeAlias = Annotated[int, msgspec.Meta(ge=100)]


class Declaration(NamedTuple):
    """What a function says of its command."""

    first: tuple[str, ...] = ()
    """The parameters that `--help` shows, where it does not show all; `--help-all` does."""
    without: tuple[str, ...] = ()
    """Parameters that are for Python alone."""
    doing: str = ""
    """What is said while it works."""
    each: bool = False
    """Whether it takes one of what the command takes several of."""
    defaults: Any = None
    """What holds of `Judging` where nothing is said."""


class Parameter(NamedTuple):
    """A parameter that is an option or an argument."""

    name: str
    hint: Any
    default: Any
    help: str
    option: CommandOption
    meta: msgspec.Meta | None
    positional: bool
    setting: bool = False
    """Whether it is a field of `Settings`."""

    @property
    def required(self) -> bool:
        """Whether a value must be given."""
        return self.default is inspect.Parameter.empty


class Signature(NamedTuple):
    """What a command's options follow from."""

    about: str
    parameters: list[Parameter]
    supplied: frozenset[str]
    declaration: Declaration


def command(
    *,
    first: str = "",
    without: str = "",
    doing: str = "",
    each: bool = False,
    defaults: Any = None,
) -> Callable[[F], F]:
    """Make a function a command; what is given is a field of `Declaration`, names of parameters as words of a text."""

    def declared(function: F) -> F:
        function.declaration = Declaration(tuple(first.split()), tuple(without.split()), doing, each, defaults)  # type: ignore[attr-defined]  # read by `signature`
        return function

    return declared


class _Unloaded(type):
    """A type that is known by its name alone, since its module is not loaded to read a signature."""

    def __getattr__(cls, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return unloaded(name)


def unloaded(name: str) -> type:
    """Return what stands for a type whose module is not loaded."""
    return _Unloaded(name, (), {})


class _Names(dict[str, Any]):
    """The names of a module, each looked up when a signature asks for it: the module itself is not loaded."""

    def __init__(self, module: str) -> None:
        super().__init__()
        path = Path(__file__).parent.parent.joinpath(*module.split(".")[1:])
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        self.module, self.tree = module, ast.parse(file.read_text(encoding="utf-8"))
        self.imports = {
            alias.asname or alias.name: (node.module, alias.name)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.ImportFrom) and node.module
            for alias in node.names
        }

    def __missing__(self, name: str) -> Any:
        if hasattr(builtins, name):
            raise KeyError(name)
        self[name] = value = self._found(name)
        return value

    def _found(self, name: str) -> Any:
        own = getattr(importlib.import_module(self.module), name, None) if self.module in _LIGHT else None
        if own is not None:
            return own
        if name in self.imports:
            return self._imported(*self.imports[name])
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
                return ast.literal_eval(node.value)
            if isinstance(node, ast.ClassDef) and node.name == name and name.endswith("Options"):
                self.run(node)
                return self[name]
        return unloaded(name)

    def _imported(self, module: str, name: str) -> Any:
        if module.startswith("mindgauge.commands.") and module != __name__:
            return _names(module)[name]
        if module.startswith("mindgauge.") and module not in _LIGHT:
            return unloaded(name)
        return getattr(importlib.import_module(module), name, None) or unloaded(name)

    def run(self, node: ast.stmt) -> None:
        """Run a definition; the annotations of a class stay text."""
        flags = __future__.annotations.compiler_flag if isinstance(node, ast.ClassDef) else 0
        program = compile(ast.Module([node], []), self.module, "exec", flags, dont_inherit=True)
        exec(program, {"__name__": self.module}, self)  # noqa: S102 - our own signature alone


@functools.cache
def _names(module: str) -> _Names:
    """Return the names of a module; several functions of a command, or their printers, are in one."""
    return _Names(module)


def signature(module: str, name: str) -> Signature:
    """Return what a command's options follow from, without loading its module, which may take seconds.

    Args:
        module: the module with the function.
        name: the function's.
    """
    names = _names(module)
    node = next(node for node in names.tree.body if isinstance(node, ast.FunctionDef) and node.name == name)
    node.body, node.returns = node.body[:1], None
    node.decorator_list = [part for part in node.decorator_list if ast.unparse(part).startswith("command(")]
    for argument in node.args.kwonlyargs:
        if argument.arg in SUPPLIED:
            argument.annotation = None
    names.run(node)
    function = names[name]
    about, said = documented(function)
    declaration: Declaration = getattr(function, "declaration", Declaration())
    parameters: list[Parameter] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            parameters += _of_options(get_args(parameter.annotation)[0], said, declaration)
        else:
            entry = _parameter(parameter.name, parameter.annotation, parameter.default, said)
            is_argument = parameter.kind is parameter.POSITIONAL_OR_KEYWORD and not entry.option.flag
            parameters.append(entry._replace(positional=is_argument))
    supplied = frozenset(entry.name for entry in parameters) & SUPPLIED
    kept = [entry for entry in parameters if entry.name not in {*SUPPLIED, *declaration.without}]
    return Signature(about, kept, supplied, declaration)


def documented(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Return the first paragraph of a docstring, and what `Args:` says of each parameter."""
    text = inspect.cleandoc(function.__doc__ or "")
    about, *_ = text.split("\n\n")
    _, _, section = text.partition("\nArgs:\n")
    section = re.split(r"^\S", section, maxsplit=1, flags=re.MULTILINE)[0]
    return " ".join(about.split()), dict(_entries(section))


def _entries(section: str) -> Iterator[tuple[str, str]]:
    for name, text in _ENTRY.findall(section):
        said, _, nested = text.partition("\n\n")
        yield name, re.sub(r"[;.] [Ii]n Python .*", ".", " ".join(said.split()))
        if nested.strip():
            yield from _entries(re.sub(r"^ {4}", "", nested, flags=re.MULTILINE))


def _parameter(name: str, hint: Any, default: Any, said: dict[str, str]) -> Parameter:
    """Return a parameter with what is said of it."""
    extra = [part for alternative in (hint, *get_args(hint)) for part in getattr(alternative, "__metadata__", ())]
    meta = next((part for part in extra if isinstance(part, msgspec.Meta)), None)
    option = next((part for part in extra if isinstance(part, CommandOption)), CommandOption())
    sentence = said.get(name) or (meta.description if meta else None) or ""
    return Parameter(name, hint, default, sentence, option, meta, positional=False)


def _of_options(listed: Any, said: dict[str, str], declaration: Declaration) -> Iterator[Parameter]:
    """Yield the keyword arguments that a `TypedDict` lists: those of records with the records' sentences."""
    from mindgauge.runs.options import Judging, RunConfig

    config = RunConfig(judging=declaration.defaults or Judging())
    calls = "settings" in listed.__annotations__  # else a name that a record has, too, means something else
    records = (
        {"The models under test": config.asking, "Judging": config.judging, "Calls and cost": config} if calls else {}
    )
    for name, reference in listed.__annotations__.items():
        if name == "settings":
            yield from (e._replace(setting=True) for e in _of_record(config.settings, said, "Calls and cost"))
            continue
        heading = next((heading for heading, record in records.items() if name in _described(type(record))), None)
        if heading is not None:
            yield from (entry for entry in _of_record(records[heading], said, heading) if entry.name == name)
        else:
            text, module = reference.__forward_arg__, reference.__forward_module__
            hint = None if name in SUPPLIED else eval(text, {}, _names(module))  # noqa: S307 - our own annotation
            yield _parameter(name, hint, None, said)


def _described(record: type[msgspec.Struct]) -> dict[str, Any]:
    from mindgauge.runs.options import bounds

    return bounds(record)


def _of_record(record: msgspec.Struct, said: dict[str, str], heading: str) -> Iterator[Parameter]:
    hints = get_type_hints(type(record), include_extras=True)
    from mindgauge.runs.options import FILE_ONLY

    for name in (name for name in _described(type(record)) if name not in FILE_ONLY):
        entry = _parameter(name, hints[name], getattr(record, name), {})
        option = entry.option._replace(heading=heading)
        yield entry._replace(
            option=option, help=said.get(name) or entry.help, meta=None
        )  # the record itself has the bounds


def kinds(hint: Any) -> list[Any]:
    """Return the alternatives of a type, without what is said of it."""
    if get_origin(hint) is Annotated:
        return kinds(get_args(hint)[0])
    if get_origin(hint) in {typing.Union, type(int | str)}:
        return [kind for part in get_args(hint) for kind in kinds(part)]
    return [hint]
