"""What some commands need beside the rest of Mindgauge."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from mindgauge.records.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

_WEB = ("fastapi", "multipart", "pg8000", "python_multipart", "sqlalchemy", "starlette", "uvicorn")


@contextlib.contextmanager
def web(command: str) -> Iterator[None]:
    """Say in one line how to get what is missing of the extra `web`.

    Raises:
        UsageError: a library of it is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _WEB:
            raise
        raise UsageError(
            f"{command} needs {error.name}, which is not installed; pip install 'mindgauge[web]'"
        ) from error
