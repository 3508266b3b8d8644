"""Options and arguments of a command, from the parameters of its function: what each type is called, and how it is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args, get_origin

import click

from mindgauge.commands.command import CommandOption, Parameter, kinds
from mindgauge.records.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mindgauge.records.request import Price

MAP = "NAME=COLUMN, where a column has another name (reply=Antwort, user=#1), or how the file is read (sheet, header, encoding, separator); or FILE.toml."
"""What is said of every mapping of columns; it is spelled `--map` everywhere."""
SHAPE = {
    "subject": "Columns that together say what a row rates: A,B; or row.",
    "rater": "The column with who rated; file (or sheet: each is one); columns (each is one).",
    "criteria": "Columns with values, or criteria: a,b.",
    "levels": "Words for levels, worst,…,best; other words for one: low|niedrig,high|hoch.",
    "not_applicable": 'Answers that say that a criterion does not apply: "Not Relevant",N/A.',
    "drop": "Columns, criteria, raters, files to leave out: a,b.",
}
"""How ratings stand in tables: a field of `RatingLayout` → what is said of its option."""
_OF_SHAPE = "How ratings stand in the files (else seen from them)"
_COLUMNS = "columns_of_layout"


class Built(NamedTuple):
    """An option or argument: how the terminal reads it, what help says of it, and what its text is turned into."""

    name: str
    """The parameter of the function, or of its layout."""
    key: str
    """The parameter of the command, of which several functions may have one."""
    param: click.Parameter
    heading: str
    help: str
    required: bool
    read: Callable[[Any], Any]


def built(parameters: Sequence[Parameter]) -> list[Built]:
    """Return the options and arguments of a function."""
    mapped = any(_is_map(parameter) for parameter in parameters)
    entries: list[Built] = []
    for parameter in parameters:
        if [getattr(kind, "__name__", "") for kind in kinds(parameter.hint)] == ["RatingLayout"]:
            of_shape = CommandOption(heading=_OF_SHAPE)
            entries += [
                _one(Parameter(n, str, "", text, of_shape, None, positional=False)) for n, text in SHAPE.items()
            ]
            if not mapped:
                columns = Parameter(_COLUMNS, Mapping[str, str], None, MAP, of_shape, None, positional=False)
                entries.append(_one(columns))
        else:
            entries.append(_one(parameter))
    return entries


def values(typed: Mapping[str, Any], parameters: Iterable[Parameter]) -> dict[str, Any]:
    """Return keyword arguments of a function: fields of its layout and of its settings are put together.

    Args:
        typed: what the user typed, read, by parameter.
        parameters: the function's.
    """
    kept = [*parameters]
    names = {parameter.name for parameter in kept}
    settings = {parameter.name for parameter in kept if parameter.setting}
    arguments = {name: value for name, value in typed.items() if name in names - settings}
    chosen = {name: value for name, value in typed.items() if name in settings}
    if chosen:
        from mindgauge.models.settings import Settings

        arguments["settings"] = Settings.of_file(chosen)
    if "layout" in names:
        from mindgauge.records.ratings import RatingLayout

        shape = {name: value for name, value in typed.items() if name in SHAPE and name not in names}
        if shape.get("rater") == "sheet":
            shape["rater"] = "file"
        arguments["layout"] = RatingLayout(**shape, columns=typed.get(_COLUMNS, {}))
    return arguments


def _is_map(parameter: Parameter) -> bool:
    alternatives = kinds(parameter.hint)
    return str not in alternatives and any(_mapping(kind) is str for kind in alternatives)


def _mapping(kind: Any) -> Any:
    """Return what the values of a mapping are, None where it is no mapping."""
    return get_args(kind)[1] if get_origin(kind) in {Mapping, dict} else None


def _one(parameter: Parameter) -> Built:
    """Return the option or argument of one parameter."""
    alternatives = kinds(parameter.hint)
    flag = parameter.option.flag or f"--{parameter.name.replace('_', '-')}"
    read: Callable[[Any], Any] = _as_it_is
    kind: Any = str
    several = False
    mapped = next((value for value in map(_mapping, alternatives) if value is not None), None)
    listed = next((get_args(part)[0] for part in alternatives if get_origin(part) in {Sequence, tuple, list}), None)
    if bool in alternatives:
        return _switch(parameter, flag, both=type(None) in alternatives)
    if mapped is not None:
        several = True
        read = _scales if str in alternatives else _numbers if mapped is float else _columns if mapped is str else where
        if read is _columns:
            flag = "--map"
    elif listed is not None:
        several = True
        kind = _kind([*kinds(listed), *(part for part in alternatives if part is Path)], parameter)
        read = _parts if parameter.option.commas else list
    else:
        kind = _kind(alternatives, parameter)
        read = price if any(getattr(part, "__name__", "") == "Price" for part in alternatives) else read
    known = None if isinstance(kind, click.Choice) else _METAVARS.get(getattr(kind, "name", ""), "TEXT")
    param: click.Parameter
    if parameter.positional:
        param = click.Argument(
            [parameter.name],
            nargs=-1 if several else 1,
            type=kind,
            required=False,
            metavar=_argument(parameter, several=several),
        )
    else:
        param = click.Option(
            [flag, _key(flag)],
            type=kind,
            multiple=several,
            metavar=parameter.option.metavar or known,
            help=_said(parameter),
        )
    key = parameter.name if parameter.positional else _key(flag)
    return Built(parameter.name, key, param, parameter.option.heading, _said(parameter), parameter.required, read)


def _key(flag: str) -> str:
    return flag.removeprefix("--").replace("-", "_")


def _argument(parameter: Parameter, *, several: bool) -> str:
    name = parameter.option.metavar or parameter.name.upper()
    name = f"{name}..." if several else name
    return name if parameter.required else f"[{name}]"


def _switch(parameter: Parameter, flag: str, *, both: bool) -> Built:
    """Return a flag; where it is on by itself, the one that turns it off."""
    off = parameter.default is True
    if off and not parameter.option.flag:
        flag = f"--no-{parameter.name.replace('_', '-')}"
    spelled = f"{flag}/--no-{parameter.name.replace('_', '-')}" if both else flag
    param = click.Option([spelled, _key(flag)], is_flag=True, default=None, help=parameter.help)
    read = (lambda _: False) if off else _as_it_is
    return Built(parameter.name, _key(flag), param, parameter.option.heading, parameter.help, required=False, read=read)


_METAVARS = {"integer": "N", "integer range": "N", "float": "NUMBER", "float range": "NUMBER", "path": "PATH"}


def _kind(alternatives: Sequence[Any], parameter: Parameter) -> Any:
    """Return how the terminal reads one value."""
    low, high = (parameter.meta.ge, parameter.meta.le) if parameter.meta else (None, None)
    literal = next((part for part in alternatives if get_origin(part) is Literal), None)
    if literal is not None:
        return click.Choice([choice for choice in get_args(literal) if choice])
    if Path in alternatives and not parameter.option.text:
        return click.Path(path_type=Path)
    if str in alternatives or not {int, float} & {*alternatives}:
        return click.STRING
    if int in alternatives:
        return click.INT if low is None else click.IntRange(int(low), None if high is None else int(high))
    return click.FLOAT if low is None else click.FloatRange(low, high)


def _said(parameter: Parameter) -> str:
    """Return what help says: what it is, and what holds where nothing is typed."""
    sentence = MAP if _is_map(parameter) else parameter.help
    default = parameter.default
    if parameter.required:
        return sentence if parameter.positional else f"{sentence}  [required]"
    if isinstance(default, Sequence) and not isinstance(default, str):
        default = ",".join(map(str, default))
    if isinstance(default, bool) or not isinstance(default, str | int | float | Path) or default in {"", 0}:
        return sentence
    return f"{sentence}  [default: {default:g}]" if isinstance(default, float) else f"{sentence}  [default: {default}]"


# How values are read.


def _as_it_is(value: Any) -> Any:
    return value


def _parts(items: Sequence[str]) -> list[str]:
    """Read an option that takes several values, repeated or separated by commas."""
    return [part.strip() for text in items for part in text.split(",") if part.strip()]


def _columns(items: Sequence[str]) -> dict[str, str]:
    """Read `--map`: NAME=COLUMN, several separated by commas, or files of them; see `mindgauge.records.files.mapping`."""
    from mindgauge.records.files.mapping import parse

    return parse([*items])


def _scales(items: Sequence[str]) -> dict[str, str]:
    """Read scales, `1:5` for all criteria (kept under `*`) or CRITERION=1:5."""
    result = {}
    for item in items:
        name, equals, value = item.partition("=")
        result[name.strip() if equals else "*"] = (value if equals else name).strip()
    return result


def _numbers(items: Sequence[str]) -> dict[str, float]:
    """Read NAME=NUMBER options, several in one with commas.

    Raises:
        UsageError: one has no name or no number.
    """
    result = {}
    for part in _parts(items):
        name, _, value = part.partition("=")
        try:
            result[name.strip()] = float(value)
        except ValueError as error:
            raise UsageError(f"--assume {part!r}: write NAME=NUMBER, or several with commas") from error
    return result


def where(items: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Read TAG=VALUE options; a tag with several values, `made=released,ours`, or given twice allows each of them.

    Raises:
        UsageError: one has no equals sign, or no tag before it.
    """
    result: dict[str, tuple[str, ...]] = {}
    for item in items:
        tag = ""
        for part in item.split(","):
            before, equals, remainder = part.partition("=")
            tag, value = (before.strip(), remainder.strip()) if equals else (tag, before.strip())
            if not (tag and value):
                raise UsageError(f"--where {item!r}: write TAG=VALUE, or TAG=VALUE,VALUE")
            result[tag] = tuple(dict.fromkeys((*result.get(tag, ()), value)))
    return result


def price(text: str) -> Price:
    """Read a price.

    Raises:
        UsageError: it is not IN:OUT or IN:OUT:CACHED.
    """
    from mindgauge.records.request import Price

    try:
        return Price.parse(text)
    except ValueError as error:
        raise UsageError(f"--{error}") from error
