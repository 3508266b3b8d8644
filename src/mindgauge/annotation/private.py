"""Files that are for their owner alone: whole or not at all, and never through a link that somebody put in their place."""

from __future__ import annotations

import contextlib
import os
import secrets
from typing import IO, TYPE_CHECKING

from mindgauge.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MODE = 0o600


@contextlib.contextmanager
def written(path: Path, *, anew: bool = True) -> Iterator[IO[bytes]]:
    """Give a file to write, readable for its owner only, which takes its place in the end.

    Args:
        path: its place.
        anew: whether it may take the place of one that is there; if not, that one stays.

    Raises:
        UsageError: nothing can be written there.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, MODE)
    except OSError as error:
        raise UsageError(f"{path}: cannot write here ({error.strerror})") from error
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        if anew:
            draft.replace(path)
        else:
            with contextlib.suppress(FileExistsError):
                os.link(draft, path, follow_symlinks=False)
    except OSError as error:
        raise UsageError(f"{path}: cannot write here ({error.strerror})") from error
    finally:
        draft.unlink(missing_ok=True)
