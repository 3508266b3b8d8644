"""Twice as many rows, raters, criteria, levels, systems or categories may take an analysis three times as long, and no more."""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
import pytest

import mindgauge
from tests.attacks.growth import MOST, seconds

if TYPE_CHECKING:
    from collections.abc import Callable

CELLS = ("subject", "system", "category", "criterion", "rater", "rater_kind")
LONGER = 4
"""How many times as many the long form has."""


class Size(NamedTuple):
    """How many there are of each: `each` rater rates this many items drawn by chance, all where it is 0."""

    items: int = 40
    raters: int = 4
    criteria: int = 1
    levels: int = 5
    systems: int = 1
    categories: int = 1
    judges: int = 0
    each: int = 0


def table(size: Size) -> pl.DataFrame:
    """Return made-up ratings, one a row: most raters give an item its own level, some the next one."""
    random = np.random.default_rng(0)
    people = [(f"worker{i}", "person") for i in range(size.raters)]
    rows = []
    for name, kind in (*people, *((f"judge-{i}-x", "model") for i in range(size.judges))):
        drawn = size.each and kind == "person"
        for item in random.choice(size.items, size.each, replace=False) if drawn else range(size.items):
            level = item * 7919 % size.levels + random.choice([0, 0, 0, 1, -1], (size.systems, size.criteria))
            rows += [
                (f"item{item}-{system}", f"system{system}", f"category{item % size.categories}", f"criterion{criterion}",
                 name, kind, str(min(max(level[system, criterion], 0), size.levels - 1) + 1))
                for system in range(size.systems) for criterion in range(size.criteria)
            ]  # fmt: skip
    return pl.DataFrame(rows, (*CELLS, "value"), orient="row")


DIMENSIONS: dict[str, tuple[int, Callable[[int], Size]]] = {
    "rows": (4000, lambda n: Size(items=n, raters=2, judges=1)),
    "raters of the same items": (200, lambda n: Size(raters=n)),
    "raters of a few items each": (400, lambda n: Size(items=4 * n, raters=n, each=20)),
    "raters of a few items each, and a judge": (400, lambda n: Size(items=4 * n, raters=n, each=20, judges=1)),
    "raters of three criteria": (300, lambda n: Size(items=2 * n, raters=n, each=10, criteria=3)),
    "raters of one item each": (600, lambda n: Size(items=60, raters=n, each=1)),
    "judges": (20, lambda n: Size(raters=2, judges=n)),
    "criteria": (24, lambda n: Size(raters=3, criteria=n)),
    "levels": (80, lambda n: Size(items=1000, raters=3, levels=n)),
    "systems": (60, lambda n: Size(items=20, raters=2, systems=n, judges=1)),
    "categories": (80, lambda n: Size(items=10 * n, raters=2, categories=n, judges=1)),
}
"""The larger of two sizes, and the table of a size."""
FEW = {"resamples": 100}
ANALYSES: dict[str, Callable[[pl.DataFrame], object]] = {
    "audit": mindgauge.audit,
    "judges_panel": partial(mindgauge.judges_panel, **FEW),  # type: ignore[arg-type]  # other options are strings
    "ratings": mindgauge.ratings,
    "reliability": partial(mindgauge.reliability, **FEW),  # type: ignore[arg-type]
    "reliability_plan": partial(mindgauge.reliability_plan, **FEW),  # type: ignore[arg-type]
}
OF_TEXTS = {"annotate_new", "judges_compare", "judges_stress", "rate", "train"}
"""Functions that take a table of texts, which they put to people or models, or from which a classifier learns."""
QUICK = {
    *(("audit", dimension) for dimension in DIMENSIONS),
    *(("ratings", dimension) for dimension in DIMENSIONS),
    ("reliability", "raters of the same items"), ("reliability", "raters of a few items each, and a judge"),
    ("reliability", "rows"),
}  # fmt: skip
CASES = [
    pytest.param(analysis, dimension, 1, id=f"{analysis}, {dimension}") for analysis, dimension in sorted(QUICK)
] + [
    pytest.param(analysis, dimension, LONGER, id=f"{analysis}, {dimension}", marks=pytest.mark.long)
    for analysis in ANALYSES for dimension in DIMENSIONS
]  # fmt: skip


def test_every_function_that_takes_a_table_of_ratings_is_measured() -> None:
    public = {name: getattr(mindgauge, name) for name in mindgauge.__all__}
    tables = {
        name for name, function in public.items()
        if inspect.isfunction(function) and any("Frame" in str(p.annotation) for p in inspect.signature(function).parameters.values())
    }  # fmt: skip
    assert tables == ANALYSES.keys() | OF_TEXTS


@pytest.mark.parametrize(("analysis", "dimension", "times"), CASES)
def test_twice_as_many_take_at_most_three_times_as_long(analysis: str, dimension: str, times: int) -> None:
    size, sized = DIMENSIONS[dimension]
    analyse = ANALYSES[analysis]
    seconds(partial(analyse, table(Size(items=12, raters=2, judges=1))))  # what is imported and read once
    half, whole = (partial(analyse, table(sized(n * times))) for n in (size // 2, size))
    ratios = (seconds(whole, tries) / seconds(half, tries) for tries in (1, 2, 4))  # a busy machine slows one of them
    assert any(ratio < MOST for ratio in ratios)
