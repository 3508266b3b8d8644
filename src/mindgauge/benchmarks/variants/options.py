"""Questions with lettered options, and the same question with its options in another order."""

from __future__ import annotations

import hashlib
import random
import re
from string import ascii_uppercase
from typing import TYPE_CHECKING, TypeVar

import msgspec

from mindgauge.records import Message, Sample
from mindgauge.records.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence


T = TypeVar("T")


def generator(*parts: object) -> random.Random:
    """Return a generator seeded with the first 8 bytes of the SHA-256 of its parts, joined by `|`.

    Only `random()` is drawn from it: of Python's generator, that sequence alone is promised never to change.
    """
    key = "|".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return random.Random(int.from_bytes(hashlib.sha256(key).digest()[:8], "big"))


def uniforms(generator: random.Random, count: int) -> list[float]:
    """Draw numbers from [0, 1)."""
    return [generator.random() for _ in range(count)]


def pick(choices: Sequence[T], draw: float) -> T:
    """Return the choice that a draw from [0, 1) falls on; all are equally likely."""
    return choices[int(draw * len(choices))]


def order(generator: random.Random, count: int) -> list[int]:
    """Draw an order of 0 … count − 1."""
    keys = uniforms(generator, count)
    return sorted(range(count), key=keys.__getitem__)


_OPTION = re.compile(r"([A-Z])\. (.*\S)\s*")


def listed(text: str) -> list[tuple[str, ...]]:
    """Return the options of each list of lettered lines in a text (`A. …`, `B. …`), at least two each."""
    lists: list[list[str]] = []
    expected = 0
    for line in text.split("\n"):
        match = _OPTION.fullmatch(line)
        expected = 0 if match is None or match[1] == "A" else expected
        if match is None or match[1] != ascii_uppercase[expected]:
            expected = 0
            continue
        if not expected:
            lists.append([])
        lists[-1].append(match[2])
        expected += 1
    return [tuple(options) for options in lists if len(options) > 1]


class MultipleChoice(msgspec.Struct, frozen=True):
    """A question, its options in their order, and the place of the right one; None where nobody says which it is."""

    text: str
    options: tuple[str, ...]
    right: int | None = None

    def sample(self, tags: dict[str, str] | None = None, cluster: str = "") -> Sample:
        """Write it as one message with the options `A. …` below; the target is the right one's letter.

        The tag `options` says how many there are.
        """
        lettered = (f"{letter}. {option}" for letter, option in zip(ascii_uppercase, self.options, strict=False))
        text = "\n".join([self.text, "", *lettered])
        target = None if self.right is None else ascii_uppercase[self.right]
        return Sample.of(
            (Message("user", text),),
            target=target,
            tags={**(tags or {}), "options": str(len(self.options))},
            cluster=cluster,
        )

    @classmethod
    def of(cls, sample: Sample) -> MultipleChoice:
        """Return the question that a sample was written from, as `sample` writes it.

        Raises:
            DataError: the message does not end with lettered options, or the target is none of them.
        """
        text = sample.messages[0].content
        lists = listed(text)
        if len(sample.messages) != 1 or not lists or not text.rstrip().endswith(lists[-1][-1]):
            raise DataError("the message does not end with its options, one a line: A. …, B. …")
        options = lists[-1]
        letters = ascii_uppercase[: len(options)]
        if sample.target is not None and str(sample.target) not in letters:
            raise DataError(f"the target is {sample.target}, and the options are {letters[0]} to {letters[-1]}")
        right = None if sample.target is None else letters.index(str(sample.target))
        return cls(text[: text.rindex("A. ")].rstrip(), options, right)

    @classmethod
    def written(cls, sample: Sample, **tags: str) -> Sample:
        """Return a question of the user's as `sample` writes it, with these tags beside its own.

        Raises:
            DataError: see `of`.
        """
        question = cls.of(sample).sample({**sample.tags, **tags})
        return question if sample.cluster == sample.id else msgspec.structs.replace(question, cluster=sample.cluster)

    def ordered(self, places: list[int]) -> MultipleChoice:
        """Return it with the options that stood at these places, in this order."""
        right = None if self.right is None else places.index(self.right)
        return MultipleChoice(self.text, tuple(self.options[place] for place in places), right)

    def shuffled(self, seed: int, item: str) -> MultipleChoice:
        """Return it with its options in a drawn order."""
        return self.ordered(order(generator(seed, item, "options"), len(self.options)))
