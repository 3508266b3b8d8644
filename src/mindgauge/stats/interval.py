"""The named result of an estimate."""

from __future__ import annotations

from typing import NamedTuple


class Interval(NamedTuple):
    """An estimate and its interval; `low` and `high` are NaN where none can be given."""

    value: float
    low: float
    high: float
