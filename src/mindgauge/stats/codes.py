"""Labels as codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import ArrayLike, NDArray

_SPARSE = 8
"""Whole numbers up to so many times as many as there are of them are counted, not sorted."""


def dense(labels: ArrayLike) -> tuple[NDArray[np.generic], NDArray[np.intp]]:
    """Return the labels that occur, in order, and the place of each among them: `np.unique` with its inverse, but soon done for codes."""
    names = np.asarray(labels)
    if names.dtype.kind in "iu" and names.size and names.min() >= 0 and names.max() <= _SPARSE * names.size:
        occurs = np.bincount(names) > 0
        return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[names]
    present, place = np.unique(names, return_inverse=True)
    return present, place.astype(np.intp)


def components(
    size: int,
    links: Iterable[tuple[int, int]],
    joined: NDArray[np.intp] | None = None,
    holds: Callable[[int, int], bool] | None = None,
) -> NDArray[np.intp]:
    """Join what links lead to: for each place the smallest place of its component, shape (size,).

    Args:
        size: how many places there are.
        links: between places.
        joined: what was joined before, as this returned it.
        holds: whether a link counts, asked only where it joins what is apart; every one, if not given.
    """
    parent = list(range(size)) if joined is None else joined.tolist()

    def root(place: int) -> int:
        while parent[place] != place:
            parent[place] = place = parent[parent[place]]
        return place

    for link in links:
        low, high = sorted(map(root, link))
        if low != high and (holds is None or holds(*link)):
            parent[high] = low
    return np.array([root(place) for place in range(size)], dtype=np.intp)
