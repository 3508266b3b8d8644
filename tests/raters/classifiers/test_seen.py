"""What a classifier learned from is known again, also written a little otherwise, and no text of it is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mindgauge.raters.classifiers.dialogues import FILE, TrainingDigests
from mindgauge.records import Message, Sample

if TYPE_CHECKING:
    from pathlib import Path

LONG = "I have not slept properly since the move, and my chest is tight all day"
REPLY = "That sounds exhausting. Would you like to tell me what the nights are like?"


def talk(*said: str) -> Sample:
    """Make a dialogue that the person begins."""
    return Sample.of(tuple(Message("assistant" if i % 2 else "user", text) for i, text in enumerate(said)))


LEARNED = TrainingDigests.of([talk("I miss her"), talk("hello", "Hi, how are you?"), talk(LONG, REPLY)])


@pytest.mark.parametrize(
    ("rated", "how"),
    [
        (talk("I miss her"), "text"),
        (talk("i  MISS her..."), "text"),
        (talk("I miss\u200b her\ufeff"), "text"),
        (talk("Ｉ miss her"), "text"),
        (talk(" ", "", "I miss her"), "text"),
        (talk("I miss him"), "no"),
        (talk("hello", "Hi, how are you?"), "text"),
        (talk("hello", "Good evening."), "dialogue"),
        (talk("hello"), "no"),
        (talk("good morning", "Hi, how are you?"), "no"),
        (talk("thanks", "Of course.", LONG.upper()), "dialogue"),
        (talk("another night awake", REPLY), "dialogue"),
        (talk(REPLY), "no"),
        (talk("😀"), "no"),
    ],
)
def test_a_dialogue_is_known_again(rated: Sample, how: str) -> None:
    assert LEARNED.how(rated) == how


def test_texts_without_letters_are_told_apart() -> None:
    assert TrainingDigests.of([talk("😀")]).how(talk("😢")) == "no"
    assert TrainingDigests.of([talk("😀")]).how(talk("😀")) == "text"


def test_clusters_that_are_numbered_alike_tie_nothing() -> None:
    one, other = (Sample.of((Message("user", text),), cluster="1") for text in ("I miss her", "I cannot breathe"))
    assert TrainingDigests.of([one]).how(other) == "no"


def test_digests_are_kept_and_nothing_else(tmp_path: Path) -> None:
    LEARNED.save(tmp_path)
    written = (tmp_path / FILE).read_bytes()
    assert TrainingDigests.load(tmp_path) == LEARNED
    assert not any(word in written for word in (b"miss", b"hello", b"slept", b"move"))
    TrainingDigests.of([talk(LONG, REPLY), talk("I miss her"), talk("hello", "Hi, how are you?")]).save(tmp_path)
    assert (tmp_path / FILE).read_bytes() == written, "the order of the dialogues is not kept either"
    (tmp_path / FILE).unlink()
    assert TrainingDigests.load(tmp_path) is None
