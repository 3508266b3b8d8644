"""The named result of an estimate."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

Ends: TypeAlias = tuple[float, float]
"""The lowest and the highest value that a mean can take."""

TIE = 1e-12
"""Two values of one statistic that differ by less than this, relative to their size, differ by rounding."""

SAME = "no interval: every resample gives the same value"
AGREED = "exact: all conversations have the same value"


class Interval(NamedTuple):
    """An estimate and its interval.

    `undefined` says in a few words why there is no value or no interval, or why the interval is not the one asked for.
    An interval has a width: where a method finds none, there is no interval, or an exact one.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    undefined: str = ""


def tied(first: float, second: float) -> bool:
    """Whether two values differ by rounding only."""
    return abs(second - first) <= TIE * max(1.0, abs(first), abs(second))
