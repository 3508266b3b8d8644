"""Examples in the prompt: as many for each label, in the sample's language, drawn with a seed, and never its own dialogue.

Candidates stand in an order that follows from the seed and each one's id, so a draw is the same on every machine, and
one candidate more or less changes no other's place. All repeats of a run see the same examples, unless each is to
have its own.
"""

from __future__ import annotations

import itertools
from functools import cached_property

import msgspec

from mindgauge.raters.part import worded
from mindgauge.raters.quotes import fold
from mindgauge.raters.user_instrument import UserInstrument
from mindgauge.records import Sample, digest
from mindgauge.records.errors import DataError
from mindgauge.records.prompt import Nonces, Prompt, fence, transcript
from mindgauge.records.rubric import Criterion


class FewShotExamples(msgspec.Struct, frozen=True, dict=True):
    """Labelled samples from which examples are drawn, `each` so many for every level of the criterion."""

    criterion: Criterion
    prompts: dict[str, Prompt]
    """`shots.md` by language: the words around the examples."""
    pool: tuple[Sample, ...]
    each: int = 1
    seed: int = 0
    anew: bool = False
    """Whether every repeat draws examples of its own, shown in the order of the labels."""
    brought: UserInstrument | None = None
    """The user's own, which may show each example in words of its own; ours if not given."""
    run: int = 0
    """The repeat that these are for, where each has its own."""

    def of_run(self, run: int) -> FewShotExamples:
        """Return the examples of a repeat."""
        return msgspec.structs.replace(self, run=run) if self.anew else self

    @cached_property
    def hash(self) -> str:
        """Hash over the words around the examples and over how they are drawn."""
        words = sorted((k, prompt.hash) for k, prompt in self.prompts.items())
        instruments = [] if self.brought is None else [self.brought.hash]
        draws = (sorted({s.id for s in self.pool}), self.each, self.seed)
        return digest("shots", words, *draws, *(["anew"] * self.anew), *instruments)

    @cached_property
    def _ranked(self) -> dict[tuple[str, object], list[Sample]]:
        ranked: dict[tuple[str, object], list[Sample]] = {}
        for sample in sorted({s.id: s for s in self.pool}.values(), key=self._rank):
            ranked.setdefault((_language(sample), sample.target), []).append(sample)
        return ranked

    @cached_property
    def _blocks(self) -> dict[tuple[str, str], tuple[str, str]]:
        return {}

    @cached_property
    def _letters(self) -> dict[tuple[str, ...], list[str]]:
        return {}

    def draw(self, sample: Sample) -> tuple[Sample, ...]:
        """Draw the examples for one sample, in the order in which they are shown.

        Raises:
            DataError: a label has too few outside the sample's own dialogue.
        """
        language = _language(sample)
        drawn: list[Sample] = []
        for value in self.criterion.values:
            ranked = self._ranked.get((language, value), [])
            others = (s for s in ranked if s.cluster != sample.cluster and s.id != sample.id)
            examples = list(itertools.islice(others, self.each))
            if len(examples) < self.each:
                raise DataError(
                    f"few-shot needs {self.each} examples of {value!r} in {language!r}, the training part has {len(examples)} "
                    "outside the dialogue that is asked about; ask with fewer --shots, or give more labelled samples"
                )
            drawn += examples
        return tuple(drawn) if self.anew else tuple(sorted(drawn, key=self._place))

    def _rank(self, sample: Sample) -> str:
        return digest("shot", self.seed + self.run, sample.id)

    def _place(self, sample: Sample) -> str:
        return digest("place", self.seed + self.run, sample.id)

    def block(self, sample: Sample, nonces: Nonces, *folded: str) -> tuple[str, str]:
        """Write the examples for one sample, each behind a fence and with its label below it, and return them with the fence's nonce.

        The fence's nonce is the same for all samples that see the same examples, so that a server's prefix cache serves the
        whole block.

        Args:
            sample: that is asked about.
            nonces: draws the fence's nonce.
            folded: letters and digits of what else is shown, in lower case, which must not hold the nonce either.
        """
        drawn = self.draw(sample)
        language, ids = _language(sample), tuple(s.id for s in drawn)
        texts = [transcript(s.messages) for s in drawn]
        nonce = nonces.draw(digest("examples", ids), *self._folded(ids, texts), *folded)
        if (language, nonce) not in self._blocks:
            instrument = self.brought if self.brought is not None and self.brought.bare else None
            examples = (
                f"{fence('example', text, nonce)}\n{self.criterion.name}: {s.target}"
                if instrument is None
                else instrument.example(s, self.criterion.name)
                for s, text in zip(drawn, texts, strict=True)
            )
            between = "\n\n" if instrument is None else instrument.between_examples
            filled = worded(self.prompts, language).fill({"examples": between.join(examples), "nonce": nonce})
            self._blocks[language, nonce] = filled, nonce
        return self._blocks[language, nonce]

    def _folded(self, ids: tuple[str, ...], texts: list[str]) -> list[str]:
        if ids not in self._letters:
            self._letters[ids] = list(map(fold, texts))
        return self._letters[ids]


def _language(sample: Sample) -> str:
    return sample.tags.get("language", "en")
