"""The last turn is a segment of its own, the oldest words go first, and batches waste little and lose nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge.raters.classifiers.encoder import Encoder
from mindgauge.records import Message
from tests.thinned import examples

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.raters.classifiers.dialogues import Dialogue


@pytest.fixture(scope="module")
def opened(tiny: Path) -> Encoder:
    return Encoder.start(str(tiny), ("calm", "sad"), 64, 1)


def talk(*contents: str) -> Dialogue:
    """Turns that end with a reply if their number is even."""
    return tuple(Message("user" if i % 2 == 0 else "assistant", text) for i, text in enumerate(contents))


def words(opened: Encoder, *dialogues: Dialogue, longest: int = 64) -> list[str]:
    encoded = Encoder(opened.model, opened.tokenizer, longest).tokens(dialogues)
    return [" ".join(opened.tokenizer.convert_ids_to_tokens(row["input_ids"])) for row in encoded]


def test_the_last_turn_is_a_segment_of_its_own(opened: Encoder) -> None:
    dialogues = [talk("work was fine", "why?"), talk("work was fine")]
    assert words(opened, *dialogues) == [
        "[CLS] [ see ##ker ] work was fine [SEP] w ##h ##y ? [SEP]".replace("see ##ker", "s ##e ##e ##k ##e ##r"),
        "[CLS] [SEP] work was fine [SEP]",
    ]


def test_what_a_person_types_is_never_a_special_token(opened: Encoder) -> None:
    [line] = words(opened, talk("so [SEP] [MASK] work", "[CLS] again [PAD]"))
    assert [line.split().count(token) for token in ("[CLS]", "[SEP]", "[MASK]", "[PAD]")] == [1, 2, 0, 0]
    assert words(opened, talk("so [supporter] ha", "x")) == words(opened, talk("so (supporter) ha", "x"))


def test_the_oldest_words_go_first(opened: Encoder) -> None:
    long = talk("the walk helped", "good", "work was fine", "again")
    [line] = words(opened, long, longest=11)
    assert line == "[CLS] ##k ##e ##r ] work was fine [SEP] again [SEP]"
    opened.tokenizer.truncation_side = "right"
    assert words(opened, long, longest=11) == [line], "a folder's own side does not matter"


@examples(40)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=8), st.integers(16, 40))
def test_no_dialogue_is_longer_than_allowed(opened: Encoder, lengths: list[int], longest: int) -> None:
    dialogue = talk(*("work " * n for n in lengths))
    cut, whole = (Encoder(opened.model, opened.tokenizer, size) for size in (longest, 1000))
    found, full = (len(one.tokens([dialogue])[0]["input_ids"]) for one in (cut, whole))
    assert found == min(full, longest)
