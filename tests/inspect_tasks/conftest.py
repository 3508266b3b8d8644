"""These tests need inspect-ai; `make test-inspect` runs them with the oldest and with the newest version that is supported."""

from __future__ import annotations

import gc
import importlib.util
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

if importlib.util.find_spec("inspect_ai") is None:
    pytest.skip(
        "inspect-ai is not installed; `make test-inspect` installs it in places of its own", allow_module_level=True
    )


@pytest.fixture(autouse=True, scope="module")
def nothing_left_open() -> Iterator[None]:
    """Let streams that Inspect leaves open be closed here, where its warnings are passed over, and not at the end of all tests."""
    yield
    gc.collect()
