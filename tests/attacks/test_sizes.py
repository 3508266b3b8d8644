"""No reader of files takes the square of a file: twice the rows, columns, names, turns or words take at most three times as long."""

from __future__ import annotations

import contextlib
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

import pytest

from mindgauge.records.errors import MindgaugeError
from mindgauge.records.logs import reading
from tests.attacks.growth import grows
from tests.attacks.handed import READERS
from tests.attacks.sizes import GROWING, readers

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FIRST, LAST, SOON, ENOUGH = 2_000, 64_000, 0.1, 0.2
"""Rows or other pieces of the first file and of the last, and seconds that need no second look and that can be compared."""
OF_EACH = 12
"""Of this many readers each way is tried with one on every push; the long form tries all."""


def faults(ending: str, way: str, folder: Path, stride: int, first: int) -> list[str]:
    """Return the readers that a file that grows in this way takes to the square."""
    numbers = count()

    def work(size: int, read: Callable[[Path], object]) -> Callable[[], object]:
        path = (
            folder
            / f"{next(numbers)}.{'json' if way.startswith('inspect') else 'jsonl' if ending == 'log' else ending}"
        )
        GROWING[ending][way](path, size)
        return partial(_tried, read, path)

    tried = [*readers(ending).items()]
    begin = [*GROWING[ending]].index(way) % stride
    return [
        f"{ending}, {way}, {name}: {told}"
        for name, read in tried[begin % len(tried) :: stride]
        if (told := grows(lambda size, read=read: work(size, read), first, SOON, ENOUGH, LAST))  # type: ignore[misc]
    ]  # fmt: skip


def _tried(read: Callable[[Path], object], path: Path) -> None:
    with contextlib.suppress(MindgaugeError):
        read(path)


def test_every_kind_of_file_that_has_readers_grows() -> None:
    assert GROWING.keys() >= READERS.keys()
    words = {"calls": "otlp", "span_calls": "spans", "of_table": "spans", "langfuse_calls": "langfuse"}
    formats = {words[kind.__name__] for kind in reading._FORMATS}
    assert all(any(way.startswith(word) for way in GROWING["log"]) for word in formats)


@pytest.mark.parametrize("ending", GROWING)
def test_a_file_of_twice_the_size_takes_at_most_three_times_as_long(ending: str, tmp_path: Path) -> None:
    assert not [line for way in GROWING[ending] for line in faults(ending, way, tmp_path, OF_EACH, FIRST // 2)]


@pytest.mark.long
@pytest.mark.parametrize(("ending", "way"), [(ending, way) for ending, ways in GROWING.items() for way in ways])
def test_no_reader_takes_the_square_of_a_file(ending: str, way: str, tmp_path: Path) -> None:
    assert not faults(ending, way, tmp_path, 1, FIRST)


def test_a_reader_that_takes_the_square_is_found() -> None:
    assert grows(lambda size: lambda: [[*range(size)].count(place) for place in range(size)], 3_200, 0.05, 0.1, 12_800)
    assert not grows(lambda size: lambda: [*range(size)], 1_000, 0.0001, 0.001, 64_000)
