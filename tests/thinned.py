"""What is thinned by default and whole in the long form, `make test-long`."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.mark import ParameterSet
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Iterable

WHOLE = 100
"""Examples of a property in the long form, where it names no number of its own."""
FIFTH = 20
"""The same by default."""
MANY_VARIANTS = "trustmh/fairness"
"""A benchmark whose samples are each asked about in dozens of variants: of a share of all, it is never one."""


def examples(count: int) -> settings:
    """Draw so many examples in the long form, and a fifth of them by default."""
    return settings(max_examples=count if settings().max_examples >= WHOLE else max(5, count // 5))


def sampled(values: Iterable[Any], share: int) -> list[Any]:
    """Leave all but one of `share` parameters, drawn with a fixed seed, to the long form."""
    rows = list(values)
    usual = [number for number, row in enumerate(rows) if getattr(row, "name", row) != MANY_VARIANTS]
    kept = set(random.Random(0).sample(usual, -(-len(usual) // share)))
    return [row if number in kept else _late(row) for number, row in enumerate(rows)]


def of_few_variants(benchmarks: Iterable[Any]) -> list[Any]:
    """Leave the benchmark that asks about dozens of variants of a sample to the long form."""
    return [_late(each) if each.name == MANY_VARIANTS else each for each in benchmarks]


def _late(row: Any) -> Any:
    if isinstance(row, ParameterSet):
        return pytest.param(*row.values, marks=[*row.marks, pytest.mark.long], id=row.id)
    return pytest.param(*(row if isinstance(row, tuple) else (row,)), marks=pytest.mark.long)


def later(*values: Any) -> Any:
    """Leave a parameter to the long form."""
    return pytest.param(*values, marks=pytest.mark.long)
