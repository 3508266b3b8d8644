"""The named result of an estimate."""

from __future__ import annotations

from typing import NamedTuple


class Interval(NamedTuple):
    """An estimate and its interval.

    `undefined` says in a few words why there is no value or no interval, or why the interval is not the one asked for.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    undefined: str = ""
