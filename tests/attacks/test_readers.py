"""Whatever a model writes, no reader of it raises, and none takes more than its share of time."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import pytest

from tests.attacks.readers import ALL, Reader, every
from tests.attacks.texts import Texts, long_text, repeated

if TYPE_CHECKING:
    from collections.abc import Iterable

READERS = every()
SMALL, LARGE = 8 * 1024, 64 * 1024
"""Characters of a text; the larger is the longest that is read of an answer."""
SOON = 0.1
"""Seconds: a text of 64 KiB that is read so soon needs no second look."""


def test_what_benchmarks_read_is_among_them() -> None:
    names = {reader.name for reader in READERS}
    assert len(names) == len(READERS)
    for benchmark in ALL:
        assert {f"{benchmark.name} {reading.criterion.name}" for reading in benchmark.readings} <= names
        assert benchmark.judged_part is None or f"{benchmark.name} judged part" in names


def raising(seeds: Iterable[int]) -> list[str]:
    """Let every reader read texts; return what raised, with the text."""
    found = []
    for seed in seeds:
        text = Texts(seed).text()
        for reader in READERS:
            if reader.costly and seed % 10:
                continue
            try:
                reader.read(text)
            except Exception as error:  # noqa: BLE001 - whatever it is
                found.append(f"{reader.name}: {type(error).__name__}: {text[:200]!r} (seed {seed})")
    return found


def test_no_reader_raises() -> None:
    assert not raising(range(400))


@pytest.mark.long
def test_no_reader_raises_whatever_it_is_given() -> None:
    assert not raising(range(400, 6_000))


def test_each_piece_alone_raises_nowhere() -> None:
    texts = [long_text(atom, before, after, len(atom) * 3) for atom, before, after in repeated()]
    found = []
    for reader in READERS:
        for text in texts[:: 7 if reader.costly else 1]:
            try:
                reader.read(text)
            except Exception as error:  # noqa: BLE001 - whatever it is
                found.append(f"{reader.name}: {type(error).__name__}: {text!r}")
    assert not found


# -- time -------------------------------------------------------------------------------------------------------------


def seconds(reader: Reader, text: str, times: int = 1) -> float:
    """Return the processor's time, the shortest of some."""
    taken = []
    for _ in range(times):
        began = time.process_time()
        reader.read(text)
        taken.append(time.process_time() - began)
    return min(taken)


def superlinear(reader: Reader, atom: str, before: str, after: str) -> str:
    """Say that a text of twice the length takes four times as long, or nothing.

    The longest text that is read of an answer comes first: where it is read at once, nothing has to be compared.
    """
    if seconds(reader, long_text(atom, before, after, SMALL)) < SOON * (SMALL / LARGE) ** 2:
        return ""
    took = seconds(reader, long_text(atom, before, after, LARGE))
    if took < SOON:
        return ""
    half = seconds(reader, long_text(atom, before, after, LARGE // 2), 3)
    took = seconds(reader, long_text(atom, before, after, LARGE), 3)
    return f"{reader.name}: {before!r} {atom!r} {after!r}: {half:.3f} s, twice the length {took:.3f} s" if took > 3 * half else ""
