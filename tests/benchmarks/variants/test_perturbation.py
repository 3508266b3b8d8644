"""Noise is the same everywhere, grows with intensity, and touches only what the person wrote."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge.benchmarks.variants.perturbation import INTENSITIES, Depth, material, perturb, perturbed
from mindgauge.records import Message, Sample
from mindgauge.records.text import HAN

TEXT = "I can't sleep any more. My father says I should pull myself together, but I don't know how. What should I do?"
ZH = "我最近总是睡不着。爸爸说我应该振作起来，可我不知道怎么办。你说我该怎么办？"
texts = st.text(st.characters(codec="utf-8"), max_size=200) | st.just(TEXT) | st.just(ZH)
depths = st.sampled_from(list(Depth))


def test_noise_is_the_same_on_every_machine() -> None:
    told = [
        perturb(text, depth, intensity, item="x", language=language).text
        for text, language in ((TEXT, "en"), (ZH, "zh"))
        for depth in Depth
        for intensity in INTENSITIES
    ]
    assert hashlib.sha256("\n".join(told).encode()).hexdigest()[:16] == "1039cf30a88f2f96"
    assert len({*told}) > 20


@given(texts, depths, st.floats(0, 1), st.floats(0, 1), st.integers(0, 5))
def test_what_a_lower_intensity_hits_a_higher_one_hits_too(
    text: str, depth: Depth, a: float, b: float, seed: int
) -> None:
    low, high = (perturb(text, depth, p, seed=seed, item="i") for p in sorted((a, b)))
    assert {*low.characters} <= {*high.characters}
    assert {*low.words} <= {*high.words}
    assert low.sentences == high.sentences[: len(low.sentences)]
    assert low == perturb(text, depth, min(a, b), seed=seed, item="i")


@given(texts, st.integers(0, 5))
def test_depths_build_on_each_other(text: str, seed: int) -> None:
    character, word, sentence = (perturb(text, depth, 0.3, seed=seed) for depth in Depth)
    assert character.characters == word.characters == sentence.characters
    assert character.words == ()
    assert word.words == sentence.words
    assert (character.sentences, word.sentences) == ((), ())


@given(texts, depths)
def test_no_intensity_changes_nothing_and_no_text_is_lost(text: str, depth: Depth) -> None:
    assert perturb(text, depth, 0).text == text
    noisy = perturb(text, depth, 0.3).text
    assert bool(noisy.strip()) == bool(text.strip())


def test_shares_of_hits_are_near_the_intensity() -> None:
    long = TEXT * 200
    for p in INTENSITIES:
        found = perturb(long, Depth.WORD, p)
        blanks = sum(character.isspace() for character in long)
        assert len(found.characters) / (len(long) - blanks) == pytest.approx(p, abs=0.01)
        assert len(found.words) / len(long.split()) == pytest.approx(p, abs=0.03)


def test_unrelated_sentences_are_one_for_each_so_many_and_of_the_language() -> None:
    for p, count in ((0.05, 1), (0.30, 1), (0.34, 2), (1.0, 3)):
        found = perturb(TEXT, Depth.SENTENCE, p)
        assert len(found.sentences) == count
        assert all(sentence in found.text for sentence in found.sentences)
    assert all(HAN.search(s) for s in perturb(ZH, Depth.SENTENCE, 1.0, language="zh").sentences)
    assert len(material()["sentences"]["en"]) == len(material()["sentences"]["zh"]) == 20


def test_look_alikes_look_like_one_other_character() -> None:
    table = material()["look_alikes"]
    assert {c for c in table if c.isascii() and c.isalpha()} == set("aceijoprsxyABCEHIJKMOPSTXY")
    assert all(len(a) == len(b) == 1 and a != b for a, b in table.items())
    assert all(HAN.match(b) or not HAN.match(a) for a, b in table.items())


def test_only_the_persons_turns_are_touched() -> None:
    turns = (Message("system", TEXT), Message("user", TEXT), Message("assistant", TEXT), Message("user", TEXT))
    sample = Sample.of(turns, target="yes", tags={"language": "en"}, cluster="c")
    noisy = perturbed(sample, Depth.WORD, 0.2)
    assert [m.content == TEXT for m in noisy.messages] == [True, False, True, False]
    assert noisy.messages[1] != noisy.messages[3]
    assert (noisy.target, noisy.cluster) == ("yes", "c")
    assert (noisy.tags["noise"], noisy.tags["intensity"]) == ("word", "0.20")


def test_the_documented_table_is_the_one_that_is_used() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "variants.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\S) \| (\S) \| U\+([0-9A-F]{4}) \|$", page, re.MULTILINE)
    assert {one: other for one, other, _ in rows} == {k: v for k, v in material()["look_alikes"].items() if k.isascii()}
    assert all(ord(other) == int(code, 16) for _, other, code in rows)
