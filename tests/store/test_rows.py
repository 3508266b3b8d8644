"""What a table gives back of a row is known before it is written: its checksum is over that."""

from __future__ import annotations

import contextlib
import math
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge.store.rows import SCHEMA, put, tables

if TYPE_CHECKING:
    from collections.abc import Sequence

SECONDS = [0.25, 0.0, -0.0, -1.5, math.nan, math.inf, None, 3, 2.0**70]


@pytest.mark.parametrize("seconds", SECONDS)
@pytest.mark.parametrize("cost", [0.0, -0.0, 0.5, None, math.nan])
def test_a_call_is_read_as_its_checksum_has_it(seconds: object, cost: object) -> None:
    row = (
        b"key", b"prompt", "b", "m", 0, "ok", "text", "stop", 1, 2, 3, seconds, 1, "m-1", "fp", cost, "", 1795729751.5, "",
    )  # fmt: skip
    assert _kept("calls", row) == [_same(tables()["calls"].stored(row))]


@given(st.floats() | st.none() | st.integers(-(2**62), 2**62), st.text(max_size=5) | st.none())
def test_a_reply_is_read_as_its_checksum_has_it(seconds: float | None, text: str | None) -> None:
    clean = None if text is None else text.encode(errors="replace").decode().replace("\0", "")
    row = ("b", "id", "s", "m", 0, "ok", clean, "stop", 1, 2, 3, seconds, b"{}")
    assert _kept("replies", row) == [_same(tables()["replies"].stored(row))]


def _kept(table: str, row: tuple[Any, ...]) -> list[list[Any]]:
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        db.executescript(SCHEMA)
        put(db, table, [row])
        [kept] = db.execute(f"SELECT * FROM {table}").fetchall()
        assert tables()[table].holds(kept)
        return [_same(kept[:-1])]


def _same(values: Sequence[Any]) -> list[Any]:
    """Tell numbers apart that are equal, such as 1 and 1.0, or 0.0 and -0.0."""
    return [(type(value), repr(value)) for value in values]
