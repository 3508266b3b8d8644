"""Role tags are one id each, old turns go first and whole, batches waste little and lose nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge.raters.classifiers import encoder, form
from mindgauge.records import Message
from tests.thinned import examples

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def tokenizer(tiny: Path) -> Any:
    from transformers import AutoTokenizer

    found = AutoTokenizer.from_pretrained(tiny)
    encoder.add_tags(found)
    return found


def talk(*contents: str) -> form.Dialogue:
    """Turns that end with a reply if their number is even."""
    return tuple(Message("user" if i % 2 == 0 else "assistant", text) for i, text in enumerate(contents))


def words(tokenizer: Any, encoded: encoder.Encoded) -> list[str]:
    return [" ".join(tokenizer.convert_ids_to_tokens(ids)) for ids in encoded.ids]


def test_every_tag_is_one_id_whatever_stands_before_it(tokenizer: Any) -> None:
    for tag in form.TAGS.values():
        number = tokenizer.convert_tokens_to_ids(tag)
        assert number != tokenizer.unk_token_id
        for before in ("", "。", "累，", "！", "a", "?"):
            assert tokenizer(before + tag + "我", add_special_tokens=False)["input_ids"].count(number) == 1
    size = len(tokenizer)
    encoder.add_tags(tokenizer)
    assert len(tokenizer) == size


def test_a_reply_is_a_segment_of_its_own(tokenizer: Any) -> None:
    found = encoder.encode(tokenizer, [talk("我很累。", "why?"), talk("work was fine")], 64)
    assert words(tokenizer, found) == [
        "[CLS] [seeker] 我 很 累 。 [SEP] [supporter] w ##h ##y ? [SEP]",
        "[CLS] [seeker] work was fine [SEP]",
    ]
    assert found.types == [[0] * 7 + [1] * 6, [0] * 6]
    assert (found.shortened, found.cut) == (0, 0)


def test_what_a_person_types_is_never_a_tag(tokenizer: Any) -> None:
    typed = f"so {''.join(form.TAGS.values())} 。[seeker] [SEP] work"
    found = encoder.encode(tokenizer, [talk(typed), talk(typed, typed)], 512)
    one, two = (line.split() for line in words(tokenizer, found))
    assert [token for token in one if token in (*form.TAGS.values(), "[SEP]")] == ["[seeker]", "[SEP]"]
    assert [two.count(token) for token in ("[seeker]", "[supporter]", "[system]", "[SEP]")] == [1, 1, 0, 2]


def test_tags_stay_single_ids_when_the_tokenizer_is_opened_again(tokenizer: Any, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer.save_pretrained(tmp_path)
    again = AutoTokenizer.from_pretrained(tmp_path)
    dialogue = talk("我很累。[seeker]", "why? [supporter]", "。", "！")
    assert encoder.encode(again, [dialogue], 64) == encoder.encode(tokenizer, [dialogue], 64)
    for tag in form.TAGS.values():
        assert again(f"。{tag}我", add_special_tokens=False)["input_ids"].count(again.convert_tokens_to_ids(tag)) == 1


def test_whole_old_turns_go_first(tokenizer: Any) -> None:
    long = talk("work was fine", "good", "the walk helped", "again")
    whole = encoder.encode(tokenizer, [long], 64).lengths[0]
    fits = encoder.encode(tokenizer, [long], int(whole))
    assert fits.shortened == 0
    found = encoder.encode(tokenizer, [long, talk("work")], int(whole) - 1)
    assert words(tokenizer, found)[0].startswith("[CLS] [supporter] g ##o ##o ##d [seeker] the walk helped [SEP]")
    assert (found.shortened, found.cut) == (1, 0)
    least = encoder.encode(tokenizer, [long], 10)
    assert words(tokenizer, least) == ["[CLS] [seeker] the walk helped [SEP] [supporter] again [SEP]"]


def test_only_what_must_stay_is_cut(tokenizer: Any) -> None:
    found = encoder.encode(tokenizer, [talk("so it is", "the walk helped my heart", "work was fine again", "today")], 8)
    assert words(tokenizer, found) == ["[CLS] [seeker] fine again [SEP] [supporter] today [SEP]"]
    assert (found.shortened, found.cut) == (1, 1)
    one = encoder.encode(tokenizer, [talk("the walk helped")], 5)
    assert words(tokenizer, one) == ["[CLS] [seeker] walk helped [SEP]"]
    both = encoder.encode(tokenizer, [talk("the walk helped today", "my heart races again today")], 9)
    assert words(tokenizer, both) == ["[CLS] [seeker] helped today [SEP] [supporter] my heart [SEP]"]


@examples(40)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=8), st.integers(8, 40))
def test_no_dialogue_is_longer_than_allowed(tokenizer: Any, lengths: list[int], longest: int) -> None:
    dialogue = talk(*("work " * n for n in lengths))
    found = encoder.encode(tokenizer, [dialogue], longest)
    assert len(found.ids[0]) == len(found.types[0]) <= longest
    tags = [t for t in tokenizer.convert_ids_to_tokens(found.ids[0]) if t in form.TAGS.values()]
    assert tags[-1] == form.TAGS[dialogue[-1].role]


@given(st.lists(st.integers(1, 500), max_size=80), st.integers(1, 4000))
def test_batches_by_budget_hold_every_row_once(lengths: list[int], budget: int) -> None:
    found = list(encoder.by_budget(np.array(lengths, dtype=np.intp), budget))
    assert sorted(row for batch in found for row in batch) == list(range(len(lengths)))
    for batch in found:
        assert len(batch) == 1 or len(batch) * max(lengths[row] for row in batch) <= budget


def test_training_batches_are_random_and_of_like_length() -> None:
    lengths = np.random.default_rng(0).integers(1, 500, 1000)
    one, same, other = (encoder.shuffled(lengths, 16, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert sorted(row for batch in one for row in batch) == list(range(1000))
    assert all(np.array_equal(a, b) for a, b in zip(one, same, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    assert sum(lengths[b].max() * len(b) for b in one) < 1.1 * lengths.sum()
    means = [lengths[batch].mean() for batch in one]
    assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.3
