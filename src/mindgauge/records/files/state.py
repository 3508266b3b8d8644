"""What this machine remembers between runs: small JSON files in the user's own state folder.

The folder is `$MINDGAUGE_STATE`, or `mindgauge` below `$XDG_STATE_HOME` or `~/.local/state`. Nothing that people or models
said stands there. What cannot be read or written is no reason to fail: it is then not known.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TypeVar

import msgspec

from mindgauge.records.files import bounds, private

FOLDER = "MINDGAUGE_STATE"
T = TypeVar("T")


def _place() -> Path:
    named = os.environ.get(FOLDER)
    if named:
        return Path(named)
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "mindgauge"


def read(name: str, kind: type[T]) -> T | None:
    """Return what a file holds; None where it is not there or holds something else."""
    with contextlib.suppress(OSError, RuntimeError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return msgspec.json.decode(bounds.content(_place() / name), type=kind)
    return None


def write(name: str, content: object) -> None:
    """Replace a file; only its owner can read it."""
    with contextlib.suppress(OSError, RuntimeError):  # RuntimeError: there is no home
        path = _place() / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        private.write(path, msgspec.json.encode(content))
