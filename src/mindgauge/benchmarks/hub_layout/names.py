"""How a benchmark's authors spell names in the layout."""

from __future__ import annotations

from collections.abc import Callable

import msgspec


class LayoutNames(msgspec.Struct, frozen=True):
    """How a benchmark's authors spell what we spell in one way, and what they say of people's scores in a paper only."""

    model: Callable[[str], str] = str
    label: Callable[[object], str | None] = lambda cell: None if cell is None else str(cell)
    source: Callable[[object], str] = str
    selection: str = ""
    """Why people rated just these replies, where the tables do not say it."""


PLAIN = LayoutNames()
