"""What `annotate` needs beside the rest of Mindgauge."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from mindgauge.records.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

_LIBRARIES = ("fastapi", "multipart", "pg8000", "python_multipart", "sqlalchemy", "starlette", "uvicorn")


@contextlib.contextmanager
def needed() -> Iterator[None]:
    """Say in one line how to get what is missing.

    Raises:
        UsageError: a library of the extra `web` is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _LIBRARIES:
            raise
        raise UsageError(
            f"annotate needs {error.name}, which is not installed; pip install 'mindgauge[web]'"
        ) from error
