"""What is dear to make is made once a session: workers of pytest-xdist find on disk what one of them has made."""

from __future__ import annotations

import fcntl
import os
import pickle
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

Made = TypeVar("Made")


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], Made]) -> Made:
    """Return what `make` returns for a folder of this name; who asks while it is being made waits for it."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "made-once" / name
    folder.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = folder.with_suffix(".pickle")
        if not kept.exists():
            made = make(folder)
            kept.write_bytes(pickle.dumps(made))
            return made
        kind: Made = pickle.loads(kept.read_bytes())
        return kind
