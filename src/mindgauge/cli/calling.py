"""The options of commands that make calls, built from the records that hold them (`runs.options`)."""

from __future__ import annotations

import inspect
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_args, get_origin, get_type_hints

import typer

from mindgauge.cli import options
from mindgauge.models.settings import Settings
from mindgauge.records.errors import UsageError
from mindgauge.runs.options import bounds, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    import msgspec

    from mindgauge.records.request import Price
    from mindgauge.runs.options import RunConfig

Chosen: TypeAlias = dict[str, Any]
"""What the user chose of these options, as keyword arguments of the command's function."""
NONE: Chosen = {}
_FLAGS = {
    "own_family": "--own-family",
    "local_only": "--local-only",
    "batch": "--batch",
    "qualify": "--qualify/--no-qualify",
}
_HEADINGS = {
    "Asking": "The models under test",
    "Judging": "Judging",
    "Settings": "Calls and cost",
    "RunConfig": "Calls and cost",
}
"""The heading in the help above the options of each record."""
_HERE = "plain"
"""What the user types for calls from this process."""


def takes_calls(
    config: RunConfig, *, without: Collection[str] = ()
) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """Give a command the options of its calls: its parameter `chosen` stands for all of them.

    Args:
        config: what holds where the user says nothing.
        without: the options that this command does not have.
    """
    built = [parameter for parameter in _parameters(config) if parameter.name not in without]
    return lambda command: options.spread(command, "chosen", built, _read)


def _parameters(config: RunConfig) -> list[inspect.Parameter]:
    """Return an option for each field that has a sentence."""
    return [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=_default(getattr(record, name)),
            annotation=Annotated[
                _kind(hint),
                typer.Option(
                    *_spelled(name),
                    help=bounds(type(record))[name].description,
                    rich_help_panel=_HEADINGS[type(record).__name__],
                ),
            ],
        )
        for record in (config.asking, config.judging, config.settings, config)
        for name, hint in _hints(type(record)).items()
    ]


def _hints(record: type[msgspec.Struct]) -> dict[str, Any]:
    hints = get_type_hints(record)
    return {name: hints[name] for name in bounds(record)}


def _spelled(name: str) -> tuple[str, ...]:
    return (_FLAGS[name],) if name in _FLAGS else ()


def _kind(hint: Any) -> Any:
    """Return what the command line reads for a field: names for enumerations, a list for several, text for a price."""
    if get_origin(hint) is tuple:
        return list[str]
    if isinstance(hint, type):
        return str if issubclass(hint, StrEnum) else hint
    plain = {int, float, bool, str, type(None)}
    return hint if plain.issuperset(get_args(hint)) else str | None


def _default(value: Any) -> Any:
    if isinstance(value, tuple):
        return [str(part) for part in value]
    if isinstance(value, str):
        return str(value) or _HERE
    return value


def _read(typed: Mapping[str, Any]) -> Chosen:
    """Turn what was typed into keyword arguments.

    Raises:
        UsageError: the price is not IN:OUT or IN:OUT:CACHED, the engine is unknown, or options exclude each other.
    """
    settings = {name: value for name, value in typed.items() if name in bounds(Settings)}
    chosen = {name: value for name, value in typed.items() if name not in settings}
    if "method" in chosen:
        chosen["method"] = options.several(listed(chosen["method"]))
    settings["price"] = price_of(settings.get("price"))
    engine = settings.get("engine", _HERE)
    if engine not in {_HERE, "ray"} and not engine.startswith("ray://"):
        raise UsageError(f"--engine is plain, ray or ray://HOST:PORT, not {engine!r}")
    if settings.get("actors") is not None and engine == _HERE:
        raise UsageError("--actors goes with --engine ray")
    if settings.get("batch") and engine != _HERE:
        raise UsageError("--batch and --engine ray exclude each other: a batch service needs no actors")
    if settings.get("wait") is not None and not settings.get("batch"):
        raise UsageError("--wait goes with --batch")
    settings["engine"] = "" if engine == _HERE else engine
    return {**chosen, "settings": Settings(**settings)}


def price_of(text: str | None) -> Price | None:
    """Read a price.

    Raises:
        UsageError: it is not IN:OUT or IN:OUT:CACHED.
    """
    from mindgauge.records.request import Price

    if text is None:
        return None
    try:
        return Price.parse(text)
    except ValueError as error:
        raise UsageError(f"--{error}") from error
