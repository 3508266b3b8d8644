from __future__ import annotations

import random

import pytest

from mindgauge.benchmarks.dialogue_safety.inputs import TELLING, first_tag, groups, reply, turns
from mindgauge.records import Message


def said(context: str) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in turns(context)]


def test_turns_are_split_on_tags_and_never_on_newlines() -> None:
    assert said("[seeker]一\n二[supporter]三\n\n四[seeker] 五 ") == [
        ("user", "一\n二"),
        ("assistant", "三\n\n四"),
        ("user", "五"),
    ]
    assert said("[supporter]一[seeker]二") == [("assistant", "一"), ("user", "二")]


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        ("一", [("user", "一")]),
        ("一[supporter]二[seeker]三", [("user", "一"), ("assistant", "二"), ("user", "三")]),
        ("一[seeker]二", [("assistant", "一"), ("user", "二")]),
        ("[seeker][seeker]一[supporter][seeker]二", [("user", "一"), ("user", "二")]),
        ("[Seeker]一【supporter】二［seeker］三", [("user", "一"), ("assistant", "二"), ("user", "三")]),
        ("[seeker]见 [1] 和 [client]", [("user", "见 [1] 和 [client]")]),
        ("[seeker] \n[supporter]", []),
        ("", []),
    ],
)
def test_missing_doubled_and_odd_tags(context: str, expected: list[tuple[str, str]]) -> None:
    assert said(context) == expected


@pytest.mark.parametrize("tags", ["", "[supporter]", " [supporter]\n", "[supporter][supporter] ", "[seeker]"])
def test_a_reply_is_the_supporters_whatever_its_tags_say(tags: str) -> None:
    assert reply(f"{tags}好的，\n[seeker]不是标签的开头 ") == "好的，\n[seeker]不是标签的开头"


def test_who_a_text_begins_with() -> None:
    assert [first_tag(text) for text in ("[seeker]一", " [supporter]一", "一[seeker]", "")] == [
        "user",
        "assistant",
        None,
        None,
    ]


# -- groups --------------------------------------------------------------------------------------------------------

LONG = ["一" * TELLING, "二" * TELLING, "三" * (TELLING + 5)]


def dialogue(*context: str, answer: str = "好", role: str = "user") -> tuple[Message, ...]:
    return (*(Message(role, text) for text in context), Message("assistant", answer))  # type: ignore[arg-type]


def test_shared_words_of_the_seeker_tie_dialogues_and_ties_are_passed_on() -> None:
    found = groups(
        [
            dialogue("嗯", LONG[0]),
            dialogue("别的"),
            dialogue(LONG[1]),
            dialogue(LONG[0], "好", LONG[1]),
            dialogue(LONG[2]),
        ]
    )
    assert found == [0, 1, 0, 0, 4]


def test_what_does_not_tie() -> None:
    short = "一" * (TELLING - 1)
    assert groups([dialogue("甲", short), dialogue("乙", short)]) == [0, 1], "too short to tell"
    helper = [(*dialogue(LONG[0], role="assistant")[:1], *dialogue(text)) for text in ("甲", "乙")]
    assert groups(helper) == [0, 1], "the supporter's words"
    assert groups([dialogue("甲", answer=LONG[0]), dialogue("乙", answer=LONG[0])]) == [0, 1], "the reply itself"


def test_items_with_one_context_are_of_one_dialogue_however_short() -> None:
    assert groups([dialogue("嗯"), dialogue("哦"), dialogue("嗯", answer="另一条")]) == [0, 1, 0]


def test_groups_do_not_depend_on_the_order() -> None:
    generator = random.Random(5)
    texts = [str(number).zfill(TELLING) for number in range(40)]
    dialogues = [dialogue(str(i), *generator.sample(texts, 2)) for i in range(25)]
    first = groups(dialogues)
    order = generator.sample(range(25), 25)
    second = groups([dialogues[i] for i in order])
    assert 1 < len(set(first)) < 25
    for a in range(25):
        for b in range(25):
            assert (second[a] == second[b]) == (first[order[a]] == first[order[b]])
