"""Values of options, read without pydantic where there is nothing to check: loading it takes as long as all of `list`.

Typer makes a pydantic adapter for every option. Text is what was typed, a path is that path, a default is what it is, and
digits are their number; whatever else was typed for a number goes through Typer's own adapter. Where Typer has changed its
inside, all values do.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin

from typer import core
from typer._coercion import RuntimeParam, build_runtime_param
from typer._param_types import coerce_cli_path

from mindgauge.records.regex import regex

if TYPE_CHECKING:
    from typer._coercion import TypeDescriptor


_PLAIN = {str, bool, int, float}
_NUMBERS = {int: regex(r"[0-9]{1,15}"), float: regex(r"[0-9]{1,15}(\.[0-9]{1,15})?")}
"""How numbers are typed as a rule."""


def read_as_typed() -> None:
    """Let the options of all commands read their values so."""
    core.build_runtime_param = _as_typed  # type: ignore[attr-defined]  # a private name of Typer's, used there alone


def _as_typed(descriptor: TypeDescriptor) -> RuntimeParam:
    return _AsTyped(descriptor.parameter_info, descriptor.annotation)


class _AsTyped(RuntimeParam):
    """How one option is read."""

    def _coerce_value(self, value: Any, param: Any, ctx: Any) -> Any:
        annotation: Any = self.annotation
        several = get_origin(annotation) is list and isinstance(value, list | tuple)
        kind = get_args(annotation)[0] if several else annotation
        items = list(value) if several else [value]
        usual_parser = self.parameter_info.parser is None
        if usual_parser and kind in _PLAIN:
            items = [_number(kind, item) for item in items]
        if usual_parser and kind is Path and all(isinstance(item, str | Path) for item in items):
            items = [self._path(Path(item), param, ctx) for item in items]
        elif not (usual_parser and kind in _PLAIN) or not all(
            type(item) is kind and self._fits(item) for item in items
        ):
            return build_runtime_param(param.type_descriptor).coerce(value, param=param, ctx=ctx)
        return items if several else items[0]

    def _path(self, path: Path, param: Any, ctx: Any) -> Any:
        return coerce_cli_path(path, self.parameter_info, path_type=Path, param=param, ctx=ctx)

    def _fits(self, value: Any) -> bool:
        """Whether a value lies within the bounds."""
        low, high = self.parameter_info.min, self.parameter_info.max
        return (low is None or value >= low) and (high is None or value <= high)


def _number(kind: Any, item: Any) -> Any:
    """Return the number that digits are, where one is asked for; anything else as it is."""
    pattern = _NUMBERS.get(kind)
    return kind(item) if pattern is not None and isinstance(item, str) and pattern.fullmatch(item) else item
