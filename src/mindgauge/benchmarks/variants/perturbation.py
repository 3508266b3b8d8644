"""Noise in what the person writes: in characters, in words, in sentences, at a stated intensity.

Levels build on each other: noise in words comes on top of that in characters, noise in sentences on top of both.
What is hit does not depend on the intensity, only how much of it: each place draws one number, and is hit where that is
below the intensity. So all that a lower intensity hits, a higher one hits alike.
After TrustMH-Bench (arXiv 2603.03047), which publishes the kinds of noise and neither intensities nor formulas: those
here are our definition.
"""

from __future__ import annotations

import math
import tomllib
from enum import StrEnum
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mindgauge.benchmarks.metrics.variants import (
    INTENSITY,
    NOISE,
    NONE,
    mean_absolute_drop,
    mean_relative_drop,
    relative_drop_at,
    worst_relative_drop,
)
from mindgauge.benchmarks.variants.options import generator, order, pick, uniforms
from mindgauge.records import Message, Sample
from mindgauge.records.regex import regex
from mindgauge.records.text import HAN, split

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable

INTENSITIES = (0.05, 0.10, 0.20, 0.30)
SYMBOLS = "@$."
_WORDS = regex(r"[\u3400-\u9fff]+|[^\s\u3400-\u9fff]+")


class Depth(StrEnum):
    """Up to which unit there is noise."""

    CHARACTER = "character"
    WORD = "word"
    SENTENCE = "sentence"


CELLS = tuple((depth, intensity) for depth in Depth for intensity in INTENSITIES)
"""Every depth at every intensity."""
DROPS = (mean_relative_drop, worst_relative_drop, mean_absolute_drop, *(relative_drop_at(*cell) for cell in CELLS))
"""What noise costs: over all cells, and in each."""


def written(intensity: float) -> str:
    """Write an intensity as tags and names of variants have it."""
    return f"{intensity:.2f}"


class Perturbed(NamedTuple):
    """A text with noise: which characters (other than blanks) and words were hit, by their places, and what was put in."""

    text: str
    characters: tuple[int, ...] = ()
    words: tuple[int, ...] = ()
    sentences: tuple[str, ...] = ()


@cache
def material() -> dict[str, dict[str, Any]]:
    """Return the table `look_alikes` and the unrelated `sentences` by language."""
    content = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    return tomllib.loads(content)


def with_noise(samples: Iterable[Sample]) -> list[Sample]:
    """Return each sample, and after it the same with noise of every depth at every intensity."""
    return [
        variant for sample in samples for variant in (_clean(sample), *(perturbed(sample, *cell) for cell in CELLS))
    ]


def _clean(sample: Sample) -> Sample:
    tags = {**sample.tags, NOISE: NONE, INTENSITY: "0.00"}
    return msgspec.structs.replace(sample, tags=tags).variant(sample.messages)


def perturbed(sample: Sample, depth: Depth, intensity: float, seed: int = 0) -> Sample:
    """Return a variant with noise in the person's turns; instructions and the assistant's turns stay as they are.

    The tags `noise` (`word`) and `intensity` (`0.10`) say what was done.
    """
    language = sample.tags.get("language", "en")
    messages = tuple(
        Message(
            m.role, perturb(m.content, depth, intensity, seed=seed, item=f"{sample.id}:{turn}", language=language).text
        )
        if m.role == "user"
        else m
        for turn, m in enumerate(sample.messages)
    )
    return sample.variant(messages, **{NOISE: depth.value, INTENSITY: written(intensity)})


def perturb(
    text: str, depth: Depth, intensity: float, *, seed: int = 0, item: str = "", language: str = "en"
) -> Perturbed:
    """Put noise into a text.

    Args:
        text: of any length; a text without words stays as it is.
        depth: up to which unit.
        intensity: the chance of each place to be hit, 0 to 1.
        seed: of all draws.
        item: what the text belongs to, so that equal texts of two items get different noise.
        language: of the unrelated sentences, `en` or `zh`.
    """
    draws = _draws(text, seed, item)
    segments = draws.segments
    if not segments or not intensity:
        return Perturbed(text)
    letters, characters = _characters(text, intensity, draws.of_characters)
    line = [("".join(letters[start:end]), text[end:gap]) for start, end, gap in segments]
    words: list[int] = []
    if depth is not Depth.CHARACTER:
        line, words = _reordered(line, intensity, draws.of_words)
    sentences: list[str] = []
    if depth is Depth.SENTENCE:
        line, sentences = _inserted(line, draws.ends, intensity, language, generator(seed, item, Depth.SENTENCE))
    noisy = text[: segments[0][0]] + "".join(word + gap for word, gap in line)
    return Perturbed(noisy if noisy.strip() else text, tuple(characters), tuple(words), tuple(sentences))


class _NoiseDraws:
    """What is drawn for a text, and where its words and sentences end: the same at every depth and intensity."""

    def __init__(self, text: str, seed: int, item: str) -> None:
        self._text, self._seed, self._item = text, seed, item
        self.segments = _words(text, generator(seed, item, "segments"))

    @cached_property
    def of_characters(self) -> tuple[list[float], ...]:
        """Return whether each character is hit, what is done to it, and by which symbol."""
        draws = generator(self._seed, self._item, Depth.CHARACTER)
        return tuple(uniforms(draws, len(self._text)) for _ in range(3))

    @cached_property
    def of_words(self) -> list[list[float]]:
        """Return for each word whether it is hit, what is done to it, and how three are shuffled."""
        draws = generator(self._seed, self._item, Depth.WORD)
        return [uniforms(draws, 5) for _ in self.segments]

    @cached_property
    def ends(self) -> list[int]:
        """Return the places of the words that end a sentence."""
        return _ends(self._text, [end for _, end, _ in self.segments])


_draws = lru_cache(maxsize=64)(_NoiseDraws)
"""Of the texts of one sample, which is asked about at every depth and intensity in turn."""


def _words(text: str, draws: random.Random) -> list[tuple[int, int, int]]:
    """Return where each word begins and ends and where the blank after it ends; Chinese is cut into pairs of characters."""
    spans: list[tuple[int, int]] = []
    for match in _WORDS.finditer(text):
        start, end = match.span()
        if not HAN.match(text[start]):
            spans.append((start, end))
            continue
        cuts = [start, *range(start + 1 + int(2 * draws.random()), end, 2), end]
        spans += [(a, b) for a, b in pairwise(cuts) if a < b]
    nexts = [*(start for start, _ in spans[1:]), len(text)][: len(spans)]
    return [(start, end, gap) for (start, end), gap in zip(spans, nexts, strict=True)]


def _characters(text: str, intensity: float, draws: tuple[list[float], ...]) -> tuple[list[str], list[int]]:
    """Write each character as it is, or, where it is hit, in another case, doubled, with a symbol, alike, or not at all."""
    letters = [*text]
    hit, operation, symbol = draws
    hits = [place for place, draw in enumerate(hit) if draw < intensity and not text[place].isspace()]
    for place in hits:
        letters[place] = _changed(text[place], operation[place], symbol[place])
    return letters, hits


def _changed(character: str, operation: float, symbol: float) -> str:
    forms = [character + pick(SYMBOLS, symbol), character * 2, ""]
    other_case, alike = character.swapcase(), material()["look_alikes"].get(character)
    forms += [other_case] * (other_case != character and len(other_case) == 1) + ([alike] if alike else [])
    return pick(forms, operation)


def _reordered(
    line: list[tuple[str, str]], intensity: float, draws: list[list[float]]
) -> tuple[list[tuple[str, str]], list[int]]:
    """Drop words, swap them with the next, or shuffle three; blanks stay where they are."""
    places, dropped, hits = [*range(len(line))], set(), []
    for place, (hit, operation, *keys) in enumerate(draws):
        if hit >= intensity:
            continue
        hits.append(place)
        kind = int(3 * operation)
        if kind == 0:
            dropped.add(place)
        else:
            window = places[place : place + kind + 1]
            moved = window[::-1] if kind == 1 else [w for _, w in sorted(zip(keys, window, strict=False))]
            places[place : place + kind + 1] = moved
    return [("", "") if word in dropped else (line[word][0], line[place][1]) for place, word in enumerate(places)], hits


def _ends(text: str, words: list[int]) -> list[int]:
    """Return the places of the words that end a sentence."""
    ends, place = [], 0
    for sentence in split(text):
        place = text.index(sentence, place) + len(sentence)
        ends.append(max((n for n, end in enumerate(words) if end <= place), default=0))
    return ends


def _inserted(
    line: list[tuple[str, str]], ends: list[int], intensity: float, language: str, draws: random.Random
) -> tuple[list[tuple[str, str]], list[str]]:
    """Put unrelated sentences behind some of the sentences, or before the first: one for each so many."""
    sentences = material()["sentences"]
    offered = sentences.get(language, sentences["en"])
    chosen = order(draws, len(offered))
    places = uniforms(draws, len(ends))
    inserted = [offered[chosen[n % len(offered)]] for n in range(math.ceil(intensity * len(ends)))]
    line = [*line]
    for sentence, draw in zip(inserted, places, strict=False):
        place = pick([-1, *ends], draw)
        blank = "" if HAN.search(sentence) else " "
        word, gap = line[max(place, 0)]
        line[max(place, 0)] = (f"{sentence}{blank}{word}" if place < 0 else f"{word}{blank}{sentence}", gap)
    return line, inserted
