"""Whatever a model writes, no reader of it raises, and none takes more than its share of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.attacks.growth import superlinear
from tests.attacks.readers import ALL, every
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
    assert not raising(range(60))


@pytest.mark.long
def test_no_reader_raises_whatever_it_is_given() -> None:
    assert not raising(range(60, 6_000))


def raising_alone(stride: int) -> list[str]:
    """Let readers read each piece alone, and between what makes a pattern begin and fail; return what raised."""
    texts = [long_text(atom, before, after, len(atom) * 3) for atom, before, after in repeated()]
    found = []
    for number, reader in enumerate(READERS):
        for text in texts[number % stride :: stride * (7 if reader.costly else 1)]:
            try:
                reader.read(text)
            except Exception as error:  # noqa: BLE001 - whatever it is
                found.append(f"{reader.name}: {type(error).__name__}: {text!r}")
    return found


def test_pieces_alone_raise_nowhere() -> None:
    assert not raising_alone(10)


@pytest.mark.long
def test_each_piece_alone_raises_nowhere() -> None:
    assert not raising_alone(1)


# -- time -------------------------------------------------------------------------------------------------------------


def tried(stride: int, size: int = LARGE) -> list[str]:
    """Let every reader read every so many of the texts, others for each reader; return what grew faster than its text."""
    texts = [*repeated()]
    return [
        f"{reader.name}: {slow}"
        for number, reader in enumerate(READERS)
        for atom, before, after in texts[number % stride :: stride * (5 if reader.costly else 1)]
        if (slow := superlinear(reader.read, before, atom, after, size, SOON * size / LARGE))
    ]


def test_twice_the_text_takes_no_reader_four_times_as_long() -> None:
    assert not tried(1_487, SMALL)


@pytest.mark.long
def test_every_reader_is_linear_in_every_text() -> None:
    assert not tried(13)


@pytest.mark.long
def test_every_reader_is_linear_in_texts_longer_than_any_answer() -> None:
    assert not tried(499, 8 * LARGE)


def test_a_reader_that_is_quadratic_is_found() -> None:
    def slow(text: str) -> list[int]:
        return [text.count("x", place) for place in range(len(text))]

    assert superlinear(slow, "", "a", "", 4 * SMALL, SOON)
    assert not superlinear(lambda text: [*text], "", "a", "", 4 * SMALL, SOON)
