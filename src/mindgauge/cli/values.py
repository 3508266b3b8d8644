"""Values of options, read without pydantic where there is nothing to check: loading it takes as long as all of `list`.

Typer makes a pydantic adapter for every option. Text is what was typed, a path is that path, and a default is what it is; a
number that was typed goes through Typer's own adapter. Where Typer has changed its inside, all values do.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin

from typer import core
from typer._coercion import RuntimeParam, build_runtime_param
from typer._param_types import coerce_cli_path

if TYPE_CHECKING:
    from typer._coercion import TypeDescriptor


_PLAIN = {str, bool, int, float}


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
        items = value if several else [value]
        info = self.parameter_info
        if info.parser is None and kind is Path and all(isinstance(item, str | Path) for item in items):
            read = [self._path(Path(item), param, ctx) for item in items]
        elif info.parser is None and kind in _PLAIN and all(type(item) is kind and self._fits(item) for item in items):
            read = list(items)
        else:
            return build_runtime_param(param.type_descriptor).coerce(value, param=param, ctx=ctx)
        return read if several else read[0]

    def _path(self, path: Path, param: Any, ctx: Any) -> Any:
        return coerce_cli_path(path, self.parameter_info, path_type=Path, param=param, ctx=ctx)

    def _fits(self, value: Any) -> bool:
        """Whether a value, a default for one, lies within the bounds."""
        low, high = self.parameter_info.min, self.parameter_info.max
        return (low is None or value >= low) and (high is None or value <= high)
