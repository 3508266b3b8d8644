"""Columns that stand for a rater or a system each, with or without a criterion: `expert1_empathy`, `empathy (gpt-4o)`, `H2`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mindgauge.records.english import named
from mindgauge.records.errors import DataError
from mindgauge.records.ratings import raters
from mindgauge.records.ratings.columns import key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_CUT = re.compile(r"[\s_.\-/:|()\[\]]+")
_FILLED, _NAMED = 0.6, 0.5
"""The least share of a grid that there is, and of its raters that are named like one."""


class Grid(NamedTuple):
    """Columns as a grid: column → (rater or system, criterion); the criterion is empty where the name has none."""

    cells: dict[str, tuple[str, str]]

    @property
    def raters(self) -> list[str]:
        """Its raters, or systems, in the order of the columns."""
        return list(dict.fromkeys(rater for rater, _ in self.cells.values()))

    @property
    def criteria(self) -> list[str]:
        """Its criteria."""
        return list(dict.fromkeys(criterion for _, criterion in self.cells.values() if criterion))


def of(names: Sequence[str]) -> Grid | None:
    """See whether some columns are a grid of raters, or systems, and criteria: the smallest that holds most of them."""
    if len(names) < 2:
        return None
    grids = [
        grid
        for before in (True, False)
        for cut in (_shortest, _longest, _shared(names, before=before))
        if (grid := _grid(names, cut, before=before)) is not None
    ]
    persons = [name for name in names if raters.names_person(name)]
    if not grids and len(persons) >= 2 and 2 * len(persons) >= len(names):  # beside them, what they agreed on
        return whole(persons)
    return min(grids, key=lambda grid: (len(grid.raters) + max(1, len(grid.criteria)), not grid.criteria), default=None)


def split(names: Sequence[str], criteria: Sequence[str] = ()) -> Grid | None:
    """Split columns of which the user says that they are raters: `Anna_empathy`, `Ben_empathy`; None where they have one part.

    Args:
        names: the columns.
        criteria: how the user calls the criteria.

    Raises:
        DataError: which part is the rater and which the criterion is not told.
    """
    known = {key(criterion) for criterion in criteria}
    grids = []
    for before in (True, False):
        cut = _shared(names, before=before)
        cells = {name: parts for name in names if (parts := cut(_cuts(name, before=before)))}
        grid = Grid(cells)
        told = not known or {key(criterion) for criterion in grid.criteria} <= known
        if len(cells) == len(names) and len(grid.raters) > 1 and grid.criteria and told:
            grids.append(grid)
    if len(grids) > 1 and grids[0].raters != grids[1].raters and min(len(grid.criteria) for grid in grids) > 1:
        raise DataError(
            f"the columns {', '.join(names[:4])}, … may have the raters {named(grids[0].raters)}, or {named(grids[1].raters)}; "
            "say which are the criteria with --criteria a,b"
        )
    return min(grids, key=lambda grid: len(grid.criteria), default=None)


def whole(names: Sequence[str]) -> Grid:
    """Take each column for a rater."""
    return Grid({name: (name, "") for name in names})


def _grid(
    names: Sequence[str], cut: Callable[[list[tuple[str, str]]], tuple[str, str] | None], *, before: bool
) -> Grid | None:
    cells: dict[str, tuple[str, str]] = {}
    for name in names:
        parts = cut(_cuts(name, before=before))
        if parts is not None:
            cells[name] = parts
    grid = Grid(cells)
    rating, criteria = grid.raters, grid.criteria
    if len(rating) < 2 or len(cells) < _FILLED * len(rating) * max(1, len(criteria)):
        return None
    if len(cells) < 0.8 * len(names) or (criteria and any(not criterion for _, criterion in cells.values())):
        return None
    return grid if sum(map(raters.names_rater, rating)) >= _NAMED * len(rating) else None


def _cuts(name: str, *, before: bool) -> list[tuple[str, str]]:
    """Return every way to cut a name into a rater and a criterion, the shortest rater first, the whole name last."""
    places = [(match.start(), match.end()) for match in _CUT.finditer(name)]
    pairs = [(name[:start].strip(), name[end:].strip(" )]")) for start, end in places]
    if not before:
        pairs = [(rater, criterion) for criterion, rater in reversed(pairs)]
    return [(rater, criterion) for rater, criterion in pairs if rater and criterion] + [(name, "")]


def _shortest(cuts: list[tuple[str, str]]) -> tuple[str, str] | None:
    return next((cut for cut in cuts if raters.names_rater(cut[0])), None)


def _longest(cuts: list[tuple[str, str]]) -> tuple[str, str] | None:
    return next((cut for cut in reversed(cuts) if raters.names_rater(cut[0])), None)


def _shared(names: Sequence[str], *, before: bool) -> Callable[[list[tuple[str, str]]], tuple[str, str] | None]:
    """Cut where the same criteria stand beside the same raters, whatever these are called."""
    beside: dict[str, set[str]] = {}
    for name in names:
        for rater, criterion in _cuts(name, before=before)[:-1]:
            beside.setdefault(criterion, set()).add(rater)
    grids: dict[frozenset[str], list[str]] = {frozenset(): []}
    for criterion, heads in beside.items():
        if len(heads) > 1:
            grids.setdefault(frozenset(heads), []).append(criterion)
    rating, criteria = max(grids.items(), key=lambda grid: len(grid[0]) * len(grid[1]))

    def cut(cuts: list[tuple[str, str]]) -> tuple[str, str] | None:
        return next(
            ((rater, criterion) for rater, criterion in cuts if rater in rating and criterion in criteria), None
        )

    return cut
