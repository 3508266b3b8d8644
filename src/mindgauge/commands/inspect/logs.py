"""A log as an `.eval` file, which inspect-ai writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def log_writer() -> Callable[[dict[str, Any], Path], None]:
    """Return what writes a log, given as data, to an `.eval` file.

    Raises:
        ModuleNotFoundError: inspect-ai is not installed.
    """
    from inspect_ai.log import EvalLog, write_eval_log

    def write(log: dict[str, Any], path: Path) -> None:
        write_eval_log(EvalLog.model_validate(log), str(path), "eval")

    return write
