"""Which verdicts are compared with which; the verdicts themselves are one array beside it, of shape (N, K)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
INAPPLICABLE = -1.0
"""Stands in the array for a verdict that the criterion does not apply; NaN for one that is missing."""


class VersionPairs(NamedTuple):
    """What is compared on one criterion, or over all of them: places of verdicts, shape (m,), and their conversations."""

    probe: str
    version: str
    against: str
    criterion: str
    left: Codes
    right: Codes
    conversation: Codes


class Kin(NamedTuple):
    """Replies by models of the judge's family and by others, on one criterion.

    `people` (n, P) are each person's levels, `others` (n, K) those of judges of other families, in shares of the scale,
    NaN where one has none, or rates its own family. `models` are those of the judge's family, `judges` the K others.
    """

    criterion: str
    place: Codes
    people: Floats
    others: Floats
    own: NDArray[np.bool_]
    conversation: Codes
    models: list[str]
    judges: list[str]


class Languages(NamedTuple):
    """Replies in Chinese and English whose level on a criterion is known. A conversation in two languages is two."""

    criterion: str
    place: Codes
    stated_levels: Floats
    chinese: NDArray[np.bool_]
    conversation: Codes


class Attempts(NamedTuple):
    """Every attempt of the battery on a reply: its verdict, that without it, that with the placebo, and what it wants."""

    place: Codes
    original: Codes
    placebo: Codes
    aim: Floats
    conversation: Codes
    facts: dict[str, NDArray[np.str_]]


class HaloDesign(NamedTuple):
    """The originals' verdicts on all criteria, shape (m, C): asked all at once, and one at a time."""

    together: Codes
    separate: Codes
    conversation: Codes


class StressDesign(NamedTuple):
    """All comparisons of a stress test. `conversations` there are G; verdicts are N, each given K times."""

    conversations: int
    pairs: list[VersionPairs]
    kin: list[Kin]
    languages: list[Languages]
    attempts: Attempts | None
    halo: HaloDesign | None
    originals: dict[str, tuple[Codes, Codes]]
    """Criterion → the originals' verdicts and their conversations."""
    stated_levels: Floats
    """Shape (N,): the level that the authors of a reply gave it, for all its versions; NaN where they gave none."""
    levels: Codes
    """Shape (N,): how many levels the scale of each verdict has."""
    items: int
    notes: list[str]
