"""What is thinned by default and whole in the long form, `make test-long`."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Sequence

WHOLE = 100
"""Examples of a property in the long form, where it names no number of its own."""
THIRD = 30
"""The same by default."""


def examples(count: int) -> settings:
    """Draw so many examples in the long form, and a third of them by default."""
    return settings(max_examples=count if settings.default.max_examples >= WHOLE else max(5, count // 3))


def later(*values: Any) -> Any:
    """Leave a parameter to the long form."""
    return pytest.param(*values, marks=pytest.mark.long)


def sampled(values: Sequence[Any], share: float = 0.1, always: int = 1) -> list[Any]:
    """Take a seeded share of parameters by default, the first `always` among them; the long form takes all."""
    chosen = {*range(always), *random.Random(0).sample(range(len(values)), round(share * len(values)))}
    return [value if place in chosen else later(value) for place, value in enumerate(values)]
