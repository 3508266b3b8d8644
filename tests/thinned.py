"""What is thinned by default and whole in the long form, `make test-long`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings

WHOLE = 100
"""Examples of a property in the long form, where it names no number of its own."""
THIRD = 30
"""The same by default."""


def examples(count: int) -> settings:
    """Draw so many examples in the long form, and a third of them by default."""
    return settings(max_examples=count if settings().max_examples >= WHOLE else max(5, count // 3))


def later(*values: Any) -> Any:
    """Leave a parameter to the long form."""
    return pytest.param(*values, marks=pytest.mark.long)
