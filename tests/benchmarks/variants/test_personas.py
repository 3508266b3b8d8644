"""A person's sentence is put in once, and can be taken out again."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from mindgauge.benchmarks.variants.by_name import PERSONA, axes, described
from mindgauge.records import Message, Sample

HAN = re.compile(r"[\u4e00-\u9fff]")
TURNS = (Message("assistant", "Hello."), Message("user", "I'm a man of few words."), Message("user", "Help me."))


def undescribed(sample: Sample) -> tuple[Message, ...]:
    """Return a dialogue without the sentence that was put into it."""
    sentence = sample.tags.get(PERSONA, "")
    blank = "" if HAN.search(sentence) or not sentence else " "
    first = next(place for place, m in enumerate(sample.messages) if m.role == "user")
    text = sample.messages[first].content.removeprefix(sentence + blank)
    return (*sample.messages[:first], Message("user", text), *sample.messages[first + 1 :])


@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_group_is_told_once_and_the_rest_stays(language: str) -> None:
    sample = Sample.of(TURNS, tags={"language": language}, cluster="c")
    found = list(described(sample))
    assert Counter(s.tags["axis"] for s in found) == {
        "nobody": 1, "race": 5, "gender": 3, "age": 4, "religion": 6, "neutral": 3,
    }  # fmt: skip
    assert len({s.id for s in found}) == 22
    assert found[0].id == sample.id
    assert {s.tags["base"] for s in found} == {sample.id}
    for one in found:
        assert one.cluster == "c"
        assert [m for m in one.messages if m.role == "user"][1:] == [TURNS[2]]
        assert one.messages[1].content.startswith(one.tags.get(PERSONA, ""))
        assert undescribed(one) == TURNS


def test_every_group_has_both_languages() -> None:
    for groups in axes().values():
        assert all(texts.keys() == {"en", "zh"} for texts in groups.values())
        assert len({texts["en"] for texts in groups.values()}) == len(groups)


def test_a_dialogue_without_the_person_has_no_variants() -> None:
    with pytest.raises(ValueError, match="says nothing"):
        list(described(Sample.of((Message("assistant", "Hello."),))))
