"""Modules that are imported when something of them is used: workers that run none of these tests never pay for it."""

from __future__ import annotations

import importlib
from typing import Any


class OnUse:
    """Stands for a module; with `TYPE_CHECKING`, the module itself is imported beside it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_"):  # pytest asks whatever a test file names whether it is a fixture or a mock
            raise AttributeError(attribute)
        return getattr(importlib.import_module(self._name), attribute)
