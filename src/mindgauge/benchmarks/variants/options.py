"""Questions with lettered options, and the same question with its options in another order."""

from __future__ import annotations

from string import ascii_uppercase

import msgspec

from mindgauge.benchmarks.variants.draws import generator, order
from mindgauge.records import Message, Sample


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

    def ordered(self, places: list[int]) -> MultipleChoice:
        """Return it with the options that stood at these places, in this order."""
        right = None if self.right is None else places.index(self.right)
        return MultipleChoice(self.text, tuple(self.options[place] for place in places), right)

    def shuffled(self, seed: int, item: str) -> MultipleChoice:
        """Return it with its options in a drawn order."""
        return self.ordered(order(generator(seed, item, "options"), len(self.options)))
